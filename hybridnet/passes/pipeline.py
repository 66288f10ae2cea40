"""The passes, in the order in which they run, and `optimize`, which runs them.

A pass is a function of a graph and a `PassContext` that returns a graph of the same inputs, whose
outputs have the same values and types. `optimize` checks what can be checked of that after each.

`register` puts a pass of a user's among them. The order is one tuple, which is replaced and never
changed: so who runs the passes reads it once, and what was made by it is known by it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, final, overload

from hybridnet.base.errors import GraphError, MXNetError, ParameterError
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.locks import free_in_children
from hybridnet.base.removable import Removable
from hybridnet.engine import RLock
from hybridnet.graph import Graph
from hybridnet.ops.core import Types

from . import arithmetic, attention, dead, duplicates, epilogue, fold, layout, prune, remap
from .context import PassContext
from .ordered import ControlFreeGraph, has_order
from .report import Record, Report, size_of
from .rule import Rule

_LOG: Final = logging.getLogger("hybridnet.passes")


@final
@dataclass(frozen=True, slots=True)
class Pass:
    """One pass.

    Attributes:
        name: by which it is asked for.
        run: from a graph and a context to a graph; changes neither.
        rules: what it replaces by what.
        by_default: whether it runs where no passes are named; one that does not is no gain
            everywhere.
    """

    name: str
    run: Callable[[Graph, PassContext], Graph]
    rules: tuple[Rule, ...] = ()
    by_default: bool = True

    def __repr__(self) -> str:
        return f"<pass {self.name}>"


@final
class Pipeline(Sequence[Pass]):
    """All passes, in their order: the library's, and those that were registered.

    Args:
        built_in: the library's.

    Attributes:
        steps: the passes as they are now. Another tuple whenever one was registered or removed;
            the first one again once all that were registered are removed.
        revision: how often that happened.
    """

    def __init__(self, built_in: tuple[Pass, ...]) -> None:
        self._built_in = built_in
        self._lock = free_in_children(RLock())
        self._listeners: list[Callable[[], None]] = []
        self.steps = built_in
        self.revision = 0

    @property
    def is_extended(self) -> bool:
        """Whether there are passes of a user's among them."""
        return self.steps is not self._built_in

    def is_built_in(self, step: Pass) -> bool:
        """Whether a pass is the library's."""
        return any(step is one for one in self._built_in)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Registers a function called after each registration and removal, before that returns."""
        self._listeners.append(listener)

    def add(self, step: Pass, before: str | None, after: str | None) -> None:
        """Puts a pass in its place; see `register`."""
        with self._lock:
            names = [one.name for one in self.steps]
            if step.name in names:
                whose = "the library" if self.is_built_in(self[step.name]) else "a program"
                raise ParameterError(
                    f"passes.register: there is a pass {step.name!r} of {whose} already; give "
                    "another name, or remove that one first"
                )
            neighbour = after if before is None else before
            place = len(names)
            if neighbour is not None:
                if neighbour not in names:
                    raise ParameterError(
                        f"passes.register: {'after' if before is None else 'before'} must name one "
                        f"of {', '.join(names)}, got {neighbour!r}"
                    )
                place = names.index(neighbour) + (before is None)
            self._exchange((*self.steps[:place], step, *self.steps[place:]))

    def remove(self, step: Pass) -> None:
        """Takes a registered pass out; nothing happens if it is not there."""
        with self._lock:
            left = tuple(one for one in self.steps if one is not step)
            if len(left) < len(self.steps):
                self._exchange(self._built_in if left == self._built_in else left)

    def _exchange(self, steps: tuple[Pass, ...]) -> None:
        self.steps = steps
        self.revision += 1
        for listener in self._listeners:
            listener()

    @overload
    def __getitem__(self, key: int | str) -> Pass: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Pass, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        """Returns a pass by its number or its name, or several by a slice of numbers."""
        return passes_by_name([key])[0] if isinstance(key, str) else self.steps[key]

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return repr(self.steps)


#: All passes, in their order.
PIPELINE: Final = Pipeline(
    (
        Pass("attention", attention.run, attention.RULES),
        Pass("prune", prune.run, prune.RULES),
        Pass("fold", fold.run, fold.RULES),
        Pass("arithmetic", arithmetic.run, arithmetic.RULES),
        Pass("duplicates", duplicates.run, duplicates.RULES),
        Pass("layout", layout.run, layout.RULES, by_default=False),
        Pass("remap", remap.run, remap.RULES),
        Pass("epilogue", epilogue.run, epilogue.RULES, by_default=False),
        Pass("dead", dead.run, dead.RULES),
    )
)


@final
class Registration(Removable):
    """A pass that was registered, and the way to remove it; also as ``with register(...):``.

    Attributes:
        step: the pass.
    """

    def __init__(self, step: Pass) -> None:
        self.step = step

    def remove(self) -> None:
        """Removes the pass; graphs are run without it from now on. Again, it does nothing."""
        PIPELINE.remove(self.step)

    def __repr__(self) -> str:
        there = any(one is self.step for one in PIPELINE)
        return f"<{self.step!r}, {'registered' if there else 'removed'}>"


def register(step: Pass, *, before: str | None = None, after: str | None = None) -> Registration:
    """Puts a pass among those that are run over every graph: of symbols, blocks and functions.

    Graphs that have run already are optimized anew before they run again, and so they are when the
    pass is removed. It holds for the whole process. Programs of graphs are not kept on disk
    meanwhile, since a pass cannot be told from another one by what would outlive the process.

    Where `Symbol.optimize` or `optimize` runs a pass that fails, they raise a `GraphError` that
    names it. A graph that is about to run is run without what the pass would have done, and a
    warning of the logger "hybridnet.passes" says so.

    Args:
        step: the pass. Results may change by no more than the tolerance of the context that it is
            given, which is 0 for most graphs that are run; `rewritten` sees to that.
        before: the name of the pass that it comes before.
        after: the name of the pass that it comes after. Neither: it comes last.

    Returns:
        A handle, to remove it: ``handle.remove()``, or the end of ``with handle:``.

    Raises:
        ParameterError: it is no `Pass`, its name is taken, or there is no such place.

    Examples:
        >>> same = hn.passes.Pass("same", lambda graph, context: graph)
        >>> with hn.passes.register(same, before="fold"):
        ...     print(hn.passes.pipeline[1:4])
        (<pass prune>, <pass same>, <pass fold>)
    """
    if not isinstance(step, Pass) or not callable(step.run):
        raise ParameterError(
            "passes.register: needs a Pass of a function of a graph and a context, as "
            f"hn.passes.Pass('mine', function), got {step!r}"
        )
    if before is not None and after is not None:
        raise ParameterError(
            f"passes.register: give before or after, not both, got before={before!r} and "
            f"after={after!r}"
        )
    PIPELINE.add(step, before, after)
    return Registration(step)


def passes_by_name(names: Sequence[str]) -> tuple[Pass, ...]:
    """Returns the passes of these names, in the order of the names.

    Raises:
        ParameterError: there is no such pass.
    """
    known = {step.name: step for step in PIPELINE}
    for name in names:
        if name not in known:
            raise ParameterError(
                f"optimize: passes must be names among {', '.join(known)}, got {name!r}"
            )
    return tuple(known[name] for name in names)


def optimize(
    graph: Graph,
    context: PassContext,
    passes: Sequence[str | Pass] | None = None,
    *,
    lenient: bool = False,
) -> tuple[Graph, Report]:
    """Runs passes over a graph.

    Args:
        graph: what is optimized; it is left as it is.
        context: see there.
        passes: which, by name or themselves; default those of `PIPELINE` that run by default.
        lenient: whether a pass that fails, and that is not the library's, is left out with a
            warning.

    Returns:
        A graph of the same inputs, whose outputs have the same types and, within what `context`
        allows, the same values; and what was done. Nodes that control edges lead to or from, and
        targets, are still there.

    Raises:
        ParameterError: there is no such pass.
        GraphError: a pass failed, or returned a graph that is not well formed, or of other types.
        ShapeError, DTypeError: the inputs do not fit the graph.
    """
    chosen = (
        tuple(step for step in PIPELINE.steps if step.by_default)
        if passes is None
        else tuple(step if isinstance(step, Pass) else passes_by_name([step])[0] for step in passes)
    )
    graph.verify()
    if has_order(graph):
        free = ControlFreeGraph(graph, context)
        inside = replace(context, input_types=free.input_types)
        made, report = optimize(free.graph, inside, chosen, lenient=lenient)
        return free.restored(made), report
    types = _output_types(graph, context)
    records = []
    size = size_of(graph)
    for step in chosen:
        start, before = time.perf_counter(), size
        own = replace(context, fired=Counter())
        try:
            made = _run(step, graph, types, own)
        except GraphError as error:
            if not lenient or PIPELINE.is_built_in(step):
                raise
            _LOG.warning("%s; the graph is run without it", error, exc_info=error.__cause__)
            own.fired.clear()
            made = graph
        if made is not graph:
            size = size_of(made)
        graph = made
        seconds = time.perf_counter() - start
        records.append(Record(step.name, before, size, dict(own.fired), seconds))
    return graph, Report(tuple(records))


def _run(step: Pass, graph: Graph, types: Types, context: PassContext) -> Graph:
    """Returns what a pass makes of a graph.

    Args:
        types: of the outputs.

    Raises:
        GraphError: it failed, or left a graph that is not as it must be.
    """
    try:
        made = step.run(graph, context)
    except Exception as error:
        if is_from_signal(error):
            raise
        raise GraphError(f"pass {step.name!r} failed: {type(error).__name__}: {error}") from error
    if made is not graph:
        _check(step, graph, made, types, context)
    return made


def _output_types(graph: Graph, context: PassContext) -> Types:
    types = context.types(graph)
    return tuple(types[edge.node][edge.index] for edge in graph.outputs)


def _check(done: Pass, before: Graph, after: object, types: Types, context: PassContext) -> None:
    """Raises GraphError unless a pass left a graph as it must be."""
    if not isinstance(after, Graph):
        raise GraphError(
            f"after pass {done.name!r}: it must return a graph, got {type(after).__name__}"
        )
    try:
        after.verify()
        if after.inputs != before.inputs:
            raise GraphError("the graph must have the inputs it had")
        found = _output_types(after, context)
    except MXNetError as error:
        raise GraphError(f"after pass {done.name!r}: {error}") from error
    if len(found) != len(types):
        raise GraphError(
            f"after pass {done.name!r}: the graph must have the {len(types)} outputs it had, got "
            f"{len(found)}"
        )
    for number, (wanted, got) in enumerate(zip(types, found, strict=True)):
        if wanted is not got:
            raise GraphError(
                f"after pass {done.name!r}: output {number} must be {wanted}, got {got} "
                f"from node {after.outputs[number].node.name!r}"
            )
