"""`explain`: the last segments that were launched, as graphs people can read, with their lines.

    # 3 operators on cpu(0): hot, one dispatch; launched at train.py:14
    # this structure: its program ran 12 times
    %0 = input('input0') : float32[32,32]                    # donated
    %1 = _mul_scalar(%0, scalar=1.001) : float32[32,32]      # train.py:11
    %2 = broadcast_add(%1, %1) : float32[32,32]              # train.py:12, output
    %3 = tanh(%1) : float32[32,32]                           # train.py:12, not needed
    return %2

A segment and a graph are two forms of one thing, so this is the text of a graph (`graph.text`), in
the order in which it was recorded. Outputs are the results that somebody still referred to; the
memory of a donated input becomes that of an output. What no output depends on was not computed.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Final, TextIO, final

from hybridnet.base.errors import ParameterError
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.graph.text import to_text
from hybridnet.ops.core.call import Types

from .observe import journal
from .observe.journal import Launch
from .programs.cache import cache
from .programs.compiling import result_types
from .record import recorder

__all__ = ["Explanation", "Launch", "explain", "explaining", "text_of"]

# Launches that an `Explanation` keeps; the oldest go first.
_COLLECTED: Final = 4096
_NO_LINES: Final = (
    "# The lines are not known: nobody listened when this was recorded. Run it in\n"
    "# `with hn.runtime.explaining():`, or set HYBRIDNET_EXPLAIN=1.\n"
)


def explain(n: int = 1, *, file: TextIO | None = None) -> None:
    """Prints the last segments that this process launched as graphs, oldest first.

    The lines of the user's code are there for what was recorded in an `explaining` block, while the
    profiler ran, or with HYBRIDNET_EXPLAIN=1. Nothing is launched by this: what is recorded and not
    launched yet is only counted.

    Args:
        n: how many; the last 16 are kept.
        file: where to; default standard output.

    Raises:
        ParameterError: `n` is less than 1.
    """
    if n < 1:
        raise ParameterError(f"explain: n must be at least 1, got {n}")
    print(_text(list(journal.launches.copy())[-n:]), file=file or sys.stdout)


@final
class Explanation:
    """The launches of an `explaining` block, in order; its text is what `explain` prints."""

    def __init__(self) -> None:
        self._launches: deque[Launch] = deque(maxlen=_COLLECTED)

    def add(self, launch: Launch) -> None:
        """Adds a launch."""
        self._launches.append(launch)

    def __len__(self) -> int:
        return len(self._launches)

    def __iter__(self) -> Iterator[Launch]:
        return iter(self._launches.copy())

    def __str__(self) -> str:
        return _text(list(self))

    __repr__ = __str__


@contextmanager
def explaining() -> Iterator[Explanation]:
    """A block in which is noted where each operator is recorded, and how each segment runs.

    What was recorded before it is launched as it begins, and what it records as it ends. It costs
    about a microsecond an operator; outside of such blocks, lines cost nothing.

        with hn.runtime.explaining() as explanation:
            train_step()
        print(explanation)

    Errors of what is recorded here name the line, too, wherever they are raised.

    Yields:
        The launches of the block, in all threads; the last 4096.
    """
    explanation = Explanation()
    recorder.flush_all()
    with journal.collecting(explanation.add):
        try:
            yield explanation
        finally:
            recorder.flush()


# -- text ------------------------------------------------------------------------------------------


def _text(launches: Sequence[Launch]) -> str:
    texts = []
    for text, same in groupby(map(text_of, launches)):
        more = len(list(same)) - 1
        texts.append(text + (f"# and the same {_times(more)} more\n" if more else ""))
    if not launches:
        texts.append("# Nothing was launched.\n")
    if launches and not any(launch.lines for launch in launches):
        texts.append(_NO_LINES)
    waiting = sum(
        len(segment.instructions) for segment in recorder.thread.segments.values() if segment.open
    )
    if waiting:
        texts.append(f"# Recorded and not launched yet: {_operators(waiting)}.\n")
    return "\n".join(texts).rstrip("\n")


def text_of(launch: Launch) -> str:
    """Returns a launch as text: what ran and how often, and its graph with lines."""
    code = launch.code
    graph, order, types = _graph_of(launch)
    needed = set(graph.nodes)
    outputs = {edge.node for edge in graph.outputs}
    donated = {graph.inputs[slot] for slot in code.donated}
    notes: dict[Node, str] = dict.fromkeys(donated, "donated")
    number = 0
    for node in order:
        words = [
            journal.ranges([launch.lines.get(number)]),
            "output" if node in outputs else "",
            "" if node in needed else "not needed",
        ]
        number += node.num_outputs
        note = ", ".join(word for word in words if word)
        if note:
            notes[node] = note
    head = [f"# {_operators(len(order))} on {code.ctx}"]
    if launch.how:
        head[0] += f": {launch.how}"
    by = journal.ranges([launch.origin])
    if by:
        head[0] += f"; launched at {by}"
    head.append(f"# this structure: {_history(launch)}")
    return "\n".join(head) + "\n" + to_text(graph, types, order=order, notes=notes)


def _history(launch: Launch) -> str:
    state = cache.state(launch.code)
    if state is None:
        return "dropped from the program cache"
    if state.compiled:
        return f"its program ran {_times(state.runs)}"
    return f"no program yet, launched {_times(state.launches)}"


def _graph_of(launch: Launch) -> tuple[Graph, list[Node], dict[Node, Types]]:
    """Returns a launch as a graph, its nodes but the inputs as recorded, and the types of all."""
    code = launch.code
    inputs = [variable(f"input{slot}") for slot in range(len(code.input_types))]
    types: dict[Node, Types] = {
        node: (kind,) for node, kind in zip(inputs, code.input_types, strict=True)
    }
    of_results = result_types(code)
    order: list[Node] = []
    results: list[Edge] = []
    position = 0
    for call, operands in code.instructions:
        scalars = tuple(launch.scalars[position : position + call.num_scalars])
        position += call.num_scalars
        edges = tuple(results[i] if i >= 0 else Edge(inputs[~i], 0) for i in operands)
        node = Node(call, edges, call.name, scalars)
        first = len(results)
        results.extend(Edge(node, index) for index in range(call.num_outputs))
        types[node] = tuple(of_results[first : len(results)])
        order.append(node)
    return Graph(tuple(inputs), tuple(results[i] for i in code.outputs)), order, types


def _operators(count: int) -> str:
    return f"{count} operator{'s' * (count != 1)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
