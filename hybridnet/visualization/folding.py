"""`fold_network`: a network as a page in which parts fold and unfold by the scopes of their names.

Layers stand below each other, those of a scope in a box that opens at a click (an HTML ``details``,
which needs no script). Parameters stand in the box of what takes them, other inputs above it.
`folding.js` draws the links between what is seen, a short line down where one stands just above the
other and an arc at the right where it passes others; it searches, and tells all of a layer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final, final

from hybridnet.base.html_page import HtmlPage, json_element, script_file
from hybridnet.ops.core import OpCall
from hybridnet.symbol import Symbol

from .layers import Layer, Link, layers_of

_SEPARATOR: Final = re.compile(r"(?<=.)[/_]+")
_STYLE: Final = """\
#beside { display: flex; flex-wrap: wrap; gap: 0 24px; align-items: flex-start; }
#scroll { max-width: 100%; overflow-x: auto; }
#told { position: sticky; top: 8px; flex: 1 1 20em; max-width: 40em; overflow-wrap: anywhere; }
#network { position: relative; display: inline-block; padding-right: 140px; }
#network svg { position: absolute; left: 0; top: 0; pointer-events: none; overflow: visible; }
#network path { fill: none; stroke: #888; stroke-width: 1.2; }
#network path.hot { stroke: #f60; stroke-width: 2.5; }
details { border: 1px solid #8889; border-radius: 6px; margin: 10px 0; padding: 0 10px;
  background: #8881; }
details:not([open]) { background: #8883; }
summary { cursor: pointer; padding: 3px 0; }
.layer { border: 1px solid #0005; border-radius: 5px; margin: 10px 0; padding: 2px 8px;
  color: #000; width: max-content; min-width: 180px; cursor: pointer; }
.layer small { color: #000c; }
.layer div { font-size: smaller; border-top: 1px dotted #0008; }
.layer.chosen { outline: 2px solid #f60; }
.layer.missed { filter: opacity(.35); }
"""
_ARROW: Final = (
    '<svg><defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
    'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
    '<path d="M0 0L8 4L0 8z" style="fill:#888;stroke:none"/>'
    "</marker></defs><g></g></svg>"
)


@final
@dataclass(slots=True)
class _Scope:
    """A part of a network: layers, and scopes within, in the order of their first layers."""

    name: str
    parts: list[Layer | _Scope] = field(default_factory=list)
    inside: dict[str, _Scope] = field(default_factory=dict)

    def layers(self) -> list[Layer]:
        """All layers in it, in order."""
        found = []
        for part in self.parts:
            found += [part] if isinstance(part, Layer) else part.layers()
        return found


def fold_network(
    symbol: Symbol,
    shape: Mapping[str, tuple[int, ...]] | None = None,
    depth: int = 1,
    hide_weights: bool = True,
) -> HtmlPage:
    """Draws a network as a page whose parts fold and unfold, by the scopes of the names.

    The name ``stage1_conv0_fwd`` is in the scopes ``stage1`` and ``stage1_conv0``, as gluon's
    blocks and `hn.name.Prefix` make them; so are names with slashes. A scope of one layer is none.
    Moving over a box shows its links, a click all that is known of it.

    Args:
        symbol: the network.
        shape: shapes of inputs by name; each box then tells the shape of its output.
        depth: how many scopes, one within the other, are open at first.
        hide_weights: leave out the parameters and auxiliary states; else they stand in the box of
            what takes them.

    Returns:
        The page. Notebooks show it; ``.save("network.html")`` writes it as one file, which any
        browser opens without a network.

    Raises:
        ParameterError: `symbol` is no symbol.
        ShapeError: the shapes given do not tell all others.
    """
    layers = layers_of("fold_network", symbol, shape)
    weights = [] if hide_weights else layers_of("fold_network", symbol, shape, hide_weights=False)
    taken = {layer.name: layer for layer in weights}
    whole = _scopes(layers)
    ordered = whole.layers()
    order = {layer.name: number for number, layer in enumerate(ordered)}
    links = [[order[link.source], order[layer.name]] for layer in ordered for link in layer.links]
    drawn = "\n".join(_drawn(part, depth, taken, order) for part in whole.parts)
    told = [_told(layer) for layer in ordered]
    body = (
        '<div class="line"><button id="open">open all</button><button id="fold">fold all</button>'
        '<button id="larger" aria-label="Larger">+</button>'
        '<button id="smaller" aria-label="Smaller">&minus;</button>'
        '<input id="search" type="search" placeholder="Search" aria-label="Search layers">'
        '<span id="count" role="status"></span></div>\n'
        '<div id="beside"><div id="scroll" tabindex="0" role="group" aria-label="Layers">'
        f'<div id="network">\n{drawn}\n{_ARROW}</div></div>\n'
        f'<div id="told" role="status">Choose a layer.</div></div>\n'
        f"{json_element('data', {'links': links, 'layers': told})}"
    )
    return HtmlPage(
        symbol.name or "network", body, _STYLE, script_file(__package__, "folding.js"), 600
    )


def _scopes(layers: Sequence[Layer]) -> _Scope:
    """Sorts layers into scopes; one that holds nothing but another is that other.

    A variable stands outside, above the first scope in which it is taken.
    """
    whole = _Scope("")
    waiting = {layer.name: layer for layer in layers if layer.operator == "null"}
    for layer in layers:
        if layer.name in waiting:
            continue
        cuts = [layer.name[: cut.start()] for cut in _SEPARATOR.finditer(layer.name)]
        variables = [waiting.pop(x.source) for x in layer.links if x.source in waiting]
        above = whole.inside.get(cuts[0]) if cuts else None
        place = len(whole.parts) if above is None else whole.parts.index(above)
        whole.parts[place:place] = variables
        scope = whole
        for name in cuts:
            if name not in scope.inside:
                scope.inside[name] = _Scope(name)
                scope.parts.append(scope.inside[name])
            scope = scope.inside[name]
        scope.parts.append(layer)
    whole.parts += waiting.values()
    whole.parts = [_without_single(part) for part in whole.parts]
    return whole


def _told(layer: Layer) -> dict[str, Any]:
    """Returns what is told of a layer that is chosen."""
    call = layer.node.call
    facts: dict[str, Any] = {"operator": "input" if call is None else layer.operator}
    if layer.shape:
        facts["shape"] = "x".join(map(str, layer.shape))
    if layer.num_parameters:
        facts["parameters"] = f"{layer.num_parameters:,}"
    if layer.device:
        facts["device"] = layer.device
    attrs = call.attrs if isinstance(call, OpCall) else {}
    facts |= {key: str(value) for key, value in attrs.items() if value is not None}
    facts |= {key: str(value) for key, value in layer.node.attrs.items()}
    return {"name": layer.name, "facts": facts}


def _without_single(part: Layer | _Scope) -> Layer | _Scope:
    if isinstance(part, Layer):
        return part
    part.parts = [_without_single(inner) for inner in part.parts]
    return part.parts[0] if len(part.parts) == 1 else part


def _drawn(
    part: Layer | _Scope, depth: int, taken: Mapping[str, Layer], order: Mapping[str, int]
) -> str:
    """Returns a box.

    Args:
        part: what is in it.
        depth: how many scopes are open.
        taken: all layers with the parameters that they take; empty: these are not shown.
        order: the numbers of layers.
    """
    if isinstance(part, Layer):
        facts = [part.operator if part.operator != "null" else "input", part.facts]
        facts.append("x".join(map(str, part.shape)) if part.shape else "")
        words = escape(", ".join(fact for fact in facts if fact))
        shown = {link.source for link in part.links}
        with_weights = taken.get(part.name, part).links
        lines = [escape(_weight(link)) for link in with_weights if link.source not in shown]
        weights = "".join(f"<div>{line}</div>" for line in lines)
        return (
            f'<div class="layer" data-layer="{order[part.name]}" style="background:{part.color}">'
            f"{escape(part.name)} <small>{words}</small>{weights}</div>"
        )
    layers = part.layers()
    inner = "\n".join(_drawn(one, depth - 1, taken, order) for one in part.parts)
    end = next((layer.shape for layer in reversed(layers) if layer.shape), None)
    words = f"{len(layers)} layers" + (", " + "x".join(map(str, end)) if end else "")
    known = [layer.num_parameters for layer in layers if layer.num_parameters is not None]
    total = sum(known)
    if total and len(known) == len(layers):
        words += f", {total:,} parameters"
    return (
        f"<details{' open' if depth > 0 else ''}><summary>{escape(part.name)} "
        f"<small>{words}</small></summary>\n{inner}\n</details>"
    )


def _weight(link: Link) -> str:
    shape = "x".join(map(str, link.shape)) if link.shape else ""
    return f"{link.source} {shape}".rstrip()
