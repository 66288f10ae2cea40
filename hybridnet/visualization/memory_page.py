"""`memory_page`: the plan of a network's memory as a page, by each of the strategies.

The same picture as that of `plot_memory`. `memory.js` draws it, and tells all of a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.errors import ParameterError
from hybridnet.base.html_page import HtmlPage, json_element, script_file
from hybridnet.graph import Edge, Graph, Node
from hybridnet.symbol import Symbol, plan_memory

from .layers import FAMILIES, family_of
from .memory import last_reads

_STRATEGIES: Final = {
    "naive": "each has memory of its own",
    "inplace": "written over what nothing reads afterwards",
    "co-share": "takes what a dead one has left",
    "both": "both",
}
_STYLE: Final = """\
.line i { border: 1px solid #8888; }
.line button[aria-pressed=true] { border-width: 2px; font-weight: bold; }
#scroll { overflow-x: auto; }
svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
svg .axis { stroke: currentColor; opacity: .5; }
.result { stroke: #0006; cursor: pointer; }
.result.chosen { stroke: #f60; stroke-width: 2.5; }
#told { min-height: 7em; }
"""


def memory_page(
    symbol: Symbol,
    is_train: bool = False,
    type_dict: Mapping[str, Any] | None = None,
    grad_req: Any = "write",
    **kwargs: Any,
) -> HtmlPage:
    """Draws the plan of a network's memory as a page: a rectangle for each result.

    It reaches from the node that computes the result to the last that reads it, and from the byte
    where it begins to that where it ends, as in `plot_memory`. Buttons change the strategy; a
    rectangle that is pointed at, or chosen by a click or the arrow keys, tells its name, operator,
    line, size and life.

    Args:
        symbol: the network.
        is_train: with the gradients, whose nodes come after those of forward.
        type_dict, grad_req: see `Symbol.estimate_memory`.
        kwargs: shapes of inputs by name.

    Returns:
        The page. Notebooks show it; ``.save("memory.html")`` writes it as one file.

    Raises:
        ParameterError: `symbol` is no symbol.
        MXNetError: the shapes do not tell all others.

    Examples:
        >>> net = sym.FullyConnected(sym.relu(sym.var("data")), num_hidden=10)
        >>> hn.viz.memory_page(net, is_train=True, data=(32, 20))
        <HtmlPage 'Memory for training': .save(path) writes it>
    """
    if not isinstance(symbol, Symbol):
        raise ParameterError(f"memory_page: needs a Symbol, got {type(symbol).__name__}")
    plans, families = {}, set()
    for strategy in _STRATEGIES:
        graph, types, plan = plan_memory(symbol, is_train, strategy, type_dict, grad_req, **kwargs)
        results = [*_results(graph, types, plan.place)]
        families |= {result["family"] for result in results}
        plans[strategy] = {"size": plan.num_bytes, "results": results, "nodes": len(graph.nodes)}
    buttons = "".join(
        f'<button data-strategy="{name}" title="{what}">{name}</button>'
        for name, what in _STRATEGIES.items()
    )
    body = (
        f'<div class="line" role="group" aria-label="Strategies">{buttons}'
        '<span id="size" role="status"></span></div>\n'
        f'<div class="line">{_legend(families)}</div>\n'
        '<div id="scroll"><svg id="plan" tabindex="0" role="application" '
        'aria-label="Results by time and place: arrow keys go from one to the next"></svg></div>\n'
        '<div id="told" role="status"></div>\n'
        f"{json_element('data', {'plans': plans, 'colors': _colors()})}"
    )
    what = "training" if is_train else "prediction"
    return HtmlPage(f"Memory for {what}", body, _STYLE, script_file(__package__, "memory.js"), 560)


def _results(
    graph: Graph, types: Mapping[Node, Any], place: Mapping[Edge, int]
) -> Iterator[dict[str, Any]]:
    """Yields what is told of each result that lies somewhere, in the order in which they come."""
    at = {node: number for number, node in enumerate(graph.nodes)}
    last = last_reads(graph)
    for edge, begin in sorted(place.items(), key=lambda item: (at[item[0].node], item[1])):
        node, kind = edge.node, types[edge.node][edge.index]
        call = "" if node.call is None else node.call.name
        found = engine.resolve_origin(node.origin)
        yield {
            "name": node.name,
            "operator": call,
            "family": family_of(call),
            "type": str(kind),
            "size": kind.nbytes,
            "place": begin,
            "from": at[node],
            "to": max(last.get(edge, 0), at[node]),
            "line": f"{found[0]}:{found[1]}" if found else "",
        }


def _colors() -> dict[str, str]:
    return {family: color for family, (color, _) in FAMILIES.items()}


def _legend(families: set[str]) -> str:
    colors = _colors()
    return " ".join(
        f'<span><i style="background:{colors[family]}"></i>{escape(family)}</span>'
        for family in FAMILIES
        if family in families
    )
