"""The passes, in the order in which they run, and `optimize`, which runs them.

A pass is a function of a graph and a `PassContext` that returns a graph of the same inputs, whose
outputs have the same values and types. `optimize` checks what can be checked of that after each.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from hybridnet.base.errors import GraphError, ParameterError
from hybridnet.graph.node import Graph
from hybridnet.ops.core.call import Types

from . import arithmetic, dead, duplicates, epilogue, fold, layout, prune, remap
from .context import PassContext
from .ordered import ControlFreeGraph, has_order
from .report import Record, Report, size_of
from .rule import Rule

__all__ = ["PIPELINE", "Pass", "optimize", "passes_by_name"]


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


#: All passes, in their order.
PIPELINE: Final[tuple[Pass, ...]] = (
    Pass("prune", prune.run, prune.RULES),
    Pass("fold", fold.run, fold.RULES),
    Pass("arithmetic", arithmetic.run, arithmetic.RULES),
    Pass("duplicates", duplicates.run, duplicates.RULES),
    Pass("layout", layout.run, layout.RULES, by_default=False),
    Pass("remap", remap.run, remap.RULES),
    Pass("epilogue", epilogue.run, epilogue.RULES, by_default=False),
    Pass("dead", dead.run, dead.RULES),
)


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
    graph: Graph, context: PassContext, passes: Sequence[str | Pass] | None = None
) -> tuple[Graph, Report]:
    """Runs passes over a graph.

    Args:
        graph: what is optimized; it is left as it is.
        context: see there.
        passes: which, by name or themselves; default those of `PIPELINE` that run by default.

    Returns:
        A graph of the same inputs, whose outputs have the same types and, within what `context`
        allows, the same values; and what was done. Nodes that control edges lead to or from, and
        targets, are still there.

    Raises:
        ParameterError: there is no such pass.
        GraphError: a pass returned a graph that is not well formed, or of other types.
        ShapeError, DTypeError: the inputs do not fit the graph.
    """
    chosen = (
        tuple(step for step in PIPELINE if step.by_default)
        if passes is None
        else tuple(step if isinstance(step, Pass) else passes_by_name([step])[0] for step in passes)
    )
    graph.verify()
    if has_order(graph):
        free = ControlFreeGraph(graph, context)
        inside = replace(context, input_types=free.input_types)
        made, report = optimize(free.graph, inside, chosen)
        return free.restored(made), report
    types = _output_types(graph, context)
    records = []
    size = size_of(graph)
    for step in chosen:
        start, before = time.perf_counter(), size
        own = replace(context, fired=Counter())
        made = step.run(graph, own)
        if made is not graph:
            _check(step, graph, made, types, own)
            size = size_of(made)
        graph = made
        seconds = time.perf_counter() - start
        records.append(Record(step.name, before, size, dict(own.fired), seconds))
    return graph, Report(tuple(records))


def _output_types(graph: Graph, context: PassContext) -> Types:
    types = context.types(graph)
    return tuple(types[edge.node][edge.index] for edge in graph.outputs)


def _check(done: Pass, before: Graph, after: Graph, types: Types, context: PassContext) -> None:
    """Raises GraphError unless a pass left a graph as it must be."""
    try:
        after.verify()
    except GraphError as error:
        raise GraphError(f"after pass {done.name!r}: {error}") from error
    if after.inputs != before.inputs:
        raise GraphError(f"after pass {done.name!r}: the graph must have the inputs it had")
    found = _output_types(after, context)
    for number, (wanted, got) in enumerate(zip(types, found, strict=True)):
        if wanted is not got:
            raise GraphError(
                f"after pass {done.name!r}: output {number} must be {wanted}, got {got} "
                f"from node {after.outputs[number].node.name!r}"
            )
