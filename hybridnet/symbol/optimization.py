"""`Symbol.optimize`: the passes, for symbols."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import current_context
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import ControlCall, Edge, Graph, Node, call_with_train, is_known
from hybridnet.passes import TOLERANCE, PassContext, Report
from hybridnet.passes import optimize as run_passes

from . import _infer
from ._bind import Bindable, all_types

__all__ = ["optimize", "optimize_with_report", "with_context"]


class _Made(Bindable, Protocol):
    """A symbol, of which there can be others."""

    def __init__(self, edges: Sequence[Edge] | None) -> None: ...


S = TypeVar("S", bound=_Made)


def optimize(
    symbol: S,
    passes: Sequence[str] | None = None,
    unsafe: bool = False,
    train: bool = False,
    tolerance: float = TOLERANCE,
    keep: Iterable[str] = (),
    type_dict: Mapping[str, DTypeLike] | None = None,
    report: bool = False,
    **kwargs: object,
) -> S:
    """Returns a symbol that computes the same with fewer or faster operators.

    ``hn.passes.pipeline`` lists the passes, ``docs/passes.md`` what they do. Outputs have the
    names that they had; nodes inside may be gone, and so may variables that turned out not to
    matter. The symbol is made for these shapes and dtypes, and for this mode.

    Args:
        passes: names of passes, to run these and in this order; default all but 'layout',
            which is no gain everywhere.
        unsafe: apply rules too that are not exact in floating point, or differ at zero,
            infinity or NaN.
        train: whether it will be trained; otherwise, operators that matter in training only
            (Dropout, BlockGrad, make_loss) are taken out.
        tolerance: by how much results may change, relatively; 0 for not at all.
        keep: names of nodes to keep, with the values that they have.
        type_dict: dtypes by name; the rest follow, or are float32.
        report: print what was done.
        kwargs: shapes by name, as for `simple_bind`.

    Raises:
        ParameterError: there is no such pass.
        MXNetError: the shapes do not tell all others, or contradict one another.
    """
    made, done = optimize_with_report(
        symbol, passes, unsafe, train, tolerance, keep, type_dict, **kwargs
    )
    if report:
        print(done)
    return made


def optimize_with_report(
    symbol: S,
    passes: Sequence[str] | None = None,
    unsafe: bool = False,
    train: bool = False,
    tolerance: float = TOLERANCE,
    keep: Iterable[str] = (),
    type_dict: Mapping[str, DTypeLike] | None = None,
    **kwargs: object,
) -> tuple[S, Report]:
    """Returns what `optimize` does, and the report of what was done."""
    graph, context = with_context(
        symbol, unsafe, train, tolerance, keep, type_dict, "optimize", **kwargs
    )
    made, report = run_passes(graph, context, passes)
    found = type(symbol)(made.outputs)
    return type(symbol)(_with_shapes(found.graph, kwargs, graph, context)), report


def with_context(
    symbol: Bindable,
    unsafe: bool = False,
    train: bool = False,
    tolerance: float = TOLERANCE,
    keep: Iterable[str] = (),
    type_dict: Mapping[str, DTypeLike] | None = None,
    function: str = "optimize",
    **kwargs: object,
) -> tuple[Graph, PassContext]:
    """Returns the graph over which the passes are run, and the context in which they are.

    Args:
        symbol, unsafe, train, tolerance, keep, type_dict, kwargs: see `Symbol.optimize`.
        function: for messages.
    """
    graph = _in_mode(symbol.graph, train)
    types = all_types(function, symbol, kwargs, type_dict or {})
    context = PassContext(
        input_types=tuple(tensor_type(*types[node.name]) for node in graph.inputs),
        platform=_platform(),
        train=train,
        unsafe=unsafe,
        tolerance=tolerance,
        keep=frozenset((*keep, *(edge.node.name for edge in graph.outputs))),
    )
    return graph, context


def _with_shapes(
    graph: Graph, given: Mapping[str, object], before: Graph, context: PassContext
) -> Sequence[Edge]:
    """Notes the shapes of variables that could be told before the passes, and cannot any more.

    Returns:
        The outputs of a graph whose variables know them.
    """
    pairs = zip(before.inputs, context.input_types, strict=True)
    types = {node.name: type_ for node, type_ in pairs}
    dtypes = _infer.inferred_dtypes(graph, {name: type_.dtype for name, type_ in types.items()})
    known = _infer.inferred_shapes(graph, given, dtypes)
    place: dict[Edge, Edge] = {}
    for node in graph.inputs:
        if not is_known(known[Edge(node, 0)]):
            attrs = {**node.attrs, "__shape__": str(types[node.name].shape)}
            place[Edge(node, 0)] = Edge(replace(node, attrs=attrs), 0)
    if not place:
        return graph.outputs
    made = graph.map(
        lambda node, inputs: node.with_inputs(tuple(place.get(edge, edge) for edge in inputs))
    )
    return tuple(place.get(edge, edge) for edge in made.outputs)


def _platform() -> str:
    return "cpu" if current_context().device_type.startswith("cpu") else "gpu"


def _in_mode(graph: Graph, train: bool) -> Graph:
    """Returns the graph with its operators in, or out of, a training pass.

    Loops and branches stay open, since their random states would show otherwise.
    """

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        call = node.call
        assert call is not None
        moved = call if isinstance(call, ControlCall) else call_with_train(call, train)
        return (
            node.with_inputs(inputs) if moved is call else replace(node, call=moved, inputs=inputs)
        )

    return graph.map(change)
