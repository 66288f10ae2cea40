"""`plot_memory`: where the results of a network lie, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hybridnet.base.errors import ParameterError
from hybridnet.graph import Edge, Graph
from hybridnet.symbol import Symbol, plan_memory

from .layers import FAMILIES, family_of, import_extra

#: Bytes of each unit of the axis, the largest first.
_UNITS: Final = (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("bytes", 1))


def plot_memory(
    symbol: Symbol,
    is_train: bool = False,
    strategy: str = "both",
    ax: Any = None,
    type_dict: Mapping[str, Any] | None = None,
    grad_req: Any = "write",
    **kwargs: Any,
) -> Any:
    """Draws the plan of a network's memory: a rectangle for each result.

    It reaches from the node that computes the result to the last that reads it, and from the byte
    where it begins to that where it ends; its color is that of the operator's family. What
    `Symbol.estimate_memory` counts as internal is the height of the picture. Results that are
    outputs lie elsewhere and are not drawn.

    Args:
        symbol: the network.
        is_train: with the gradients, whose nodes come after those of forward.
        strategy: 'naive', 'inplace', 'co-share' or 'both'; see `Symbol.estimate_memory`.
        ax: the Matplotlib axes to draw in, by the scale of the plans in axes that share its height;
            default new ones.
        type_dict, grad_req: see `Symbol.estimate_memory`.
        kwargs: shapes of inputs by name.

    Returns:
        The axes.

    Raises:
        ImportError: matplotlib is not installed.
        ParameterError: `symbol` is no symbol, or there is no such strategy.
        MXNetError: the shapes do not tell all others.
    """
    if not isinstance(symbol, Symbol):
        raise ParameterError(f"plot_memory: needs a Symbol, got {type(symbol).__name__}")
    graph, types, plan = plan_memory(symbol, is_train, strategy, type_dict, grad_req, **kwargs)
    pyplot = import_extra("matplotlib.pyplot", "plot_memory")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7, 3), layout="constrained")
    fitting = next(name for name, size in _UNITS if plan.num_bytes >= size or size == 1)
    others = _beside(ax)
    unit = others[0].get_ylabel() if others else fitting
    scale = dict(_UNITS)[unit]
    at = {node: number for number, node in enumerate(graph.nodes)}
    last = last_reads(graph)
    for edge, place in plan.place.items():
        left, size = at[edge.node], types[edge.node][edge.index].nbytes
        wide = max(last.get(edge, left) - left, 0) + 1
        call = edge.node.call
        color = FAMILIES[family_of("" if call is None else call.name)][0]
        ax.add_patch(
            pyplot.Rectangle(
                (left, place / scale), wide, size / scale, fc=color, ec="#888888", lw=0.4
            )
        )
    ax.set_xlim(0, max(len(graph.nodes), 1))
    highest = ax.get_ylim()[1] if others else 1e-9
    ax.set_ylim(0, max(plan.num_bytes / scale * 1.02, highest))
    what = "training" if is_train else "prediction"
    ax.set_title(f"{what}, {strategy}: {plan.num_bytes / dict(_UNITS)[fitting]:.4g} {fitting}")
    ax.set_xlabel("node")
    ax.set_ylabel(unit)
    return ax


def _beside(ax: Any) -> list[Any]:
    """Returns the axes with plans that share their height, and so the unit, with these."""
    shared = ax.get_shared_y_axes().get_siblings(ax)
    return [one for one in shared if one is not ax and one.get_ylabel() in dict(_UNITS)]


def last_reads(graph: Graph) -> dict[Edge, int]:
    """Returns the number of the last node that reads each result."""
    return {edge: at for at, node in enumerate(graph.nodes) for edge in node.inputs}
