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
from itertools import groupby, islice
from typing import Final, TextIO, final

from hybridnet.base.errors import ParameterError
from hybridnet.graph import Node, to_text

from ..observe import journal
from ..observe.journal import Launch
from ..record import recorder
from .reading import collectives_of, graph_of, head_of, history_of, operators, times
from .table import table_of

__all__ = ["Explanation", "Launch", "explain", "explaining", "text_of"]

# Launches that an `Explanation` keeps; the oldest go first.
_MAX_LAUNCHES: Final = 4096
# Those that a notebook shows as tables.
_MAX_TABLES: Final = 50
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
        self._launches: deque[Launch] = deque(maxlen=_MAX_LAUNCHES)

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

    def _repr_html_(self) -> str:
        """The tables that notebooks show: one for each launch, repeats as one, 50 at the most."""
        tables, left = [], len(self)
        for _, (first, *more) in islice(groupby(list(self), text_of), _MAX_TABLES):
            tables.append(table_of(first))
            if more:
                tables.append(f"<p>and the same {times(len(more))} more</p>")
            left -= 1 + len(more)
        if left:
            tables.append(f"<p>and {left} more launches</p>")
        return "\n".join(tables) or "<p>Nothing was launched.</p>"


@contextmanager
def explaining() -> Iterator[Explanation]:
    """A block in which is noted where each operator is recorded, and how each segment runs.

    What was recorded before it is launched as it begins, and what it records as it ends. It costs
    about a microsecond an operator; outside of such blocks, lines cost nothing.

        with hn.runtime.explaining() as explanation:
            train_step()
        print(explanation)

    A notebook shows `explanation` as tables, with times and memory.

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


def _text(launches: Sequence[Launch]) -> str:
    texts = []
    for text, same in groupby(map(text_of, launches)):
        more = len(list(same)) - 1
        texts.append(text + (f"# and the same {times(more)} more\n" if more else ""))
    if not launches:
        texts.append("# Nothing was launched.\n")
    if launches and not any(launch.lines for launch in launches):
        texts.append(_NO_LINES)
    waiting = sum(
        len(segment.instructions) for segment in recorder.thread.segments.values() if segment.open
    )
    if waiting:
        texts.append(f"# Recorded and not launched yet: {operators(waiting)}.\n")
    return "\n".join(texts).rstrip("\n")


def text_of(launch: Launch) -> str:
    """Returns a launch as text: what ran and how often, and its graph with lines."""
    code = launch.code
    graph, order, types = graph_of(launch)
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
    told = [head_of(launch), f"this structure: {history_of(launch)}", *collectives_of(launch)]
    head = "".join(f"# {line}\n" for line in told)
    return head + to_text(graph, types, order=order, notes=notes)
