"""`fold_network`: a network as a page in which parts fold and unfold by the scopes of their names.

Layers stand below each other, those of a scope in a box that opens at a click (an HTML ``details``,
which needs no script). A small script draws the links between what is seen: a short line down where
one stands just above the other, and an arc at the right where it passes others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, final

from hybridnet.base.html_page import HtmlPage
from hybridnet.symbol import Symbol

from .layers import Layer, layers_of

_SEPARATOR: Final = re.compile(r"(?<=.)[/_]+")
_STYLE: Final = """\
#network { position: relative; display: inline-block; padding-right: 140px; }
#network svg { position: absolute; left: 0; top: 0; pointer-events: none; overflow: visible; }
#network path { fill: none; stroke: #888; stroke-width: 1.2; }
#network path.hot { stroke: #f60; stroke-width: 2.5; }
details { border: 1px solid #8889; border-radius: 6px; margin: 10px 0; padding: 0 10px;
  background: #8881; }
details:not([open]) { background: #8883; }
summary { cursor: pointer; padding: 3px 0; }
summary small { opacity: .7; }
.layer { border: 1px solid #0005; border-radius: 5px; margin: 10px 0; padding: 2px 8px;
  color: #000; width: max-content; min-width: 180px; }
.layer small { color: #0009; }
"""
_SCRIPT: Final = """\
const root = document.getElementById("network"), svg = root.querySelector("svg");
const boxes = [...root.querySelectorAll(".layer")];
const links = JSON.parse(document.getElementById("links").textContent);
function seen(box) {                    // the outermost folded scope around it, or itself
  let found = box;
  for (let up = box.parentElement; up !== root; up = up.parentElement)
    if (up.tagName === "DETAILS" && !up.open) found = up;
  return found;
}
function draw() {
  const origin = root.getBoundingClientRect(), drawn = new Set();
  const shown = new Map(boxes.map(box => [box, seen(box)]));
  const order = [...new Set(shown.values())];
  const place = new Map(order.map((box, at) => [box, at]));
  let paths = "";
  for (const [from, to] of links) {
    const a = shown.get(boxes[from]), b = shown.get(boxes[to]);
    const key = place.get(a) + ">" + place.get(b);
    if (a === b || drawn.has(key)) continue;
    drawn.add(key);
    const s = a.getBoundingClientRect(), t = b.getBoundingClientRect();
    const far = place.get(b) - place.get(a);
    if (far === 1) {
      const x = Math.max(s.left, t.left) + 40 - origin.left;
      paths += `<path data-key="${key}" d="M${x} ${s.bottom - origin.top}V${t.top - origin.top}"` +
        ` marker-end="url(#arrow)"/>`;
    } else {
      const y1 = s.top + s.height / 2 - origin.top, y2 = t.top + t.height / 2 - origin.top;
      const x1 = s.right - origin.left, x2 = t.right - origin.left;
      const out = Math.max(x1, x2) + Math.min(25 + 6 * Math.abs(far), 130);
      paths += `<path data-key="${key}" d="M${x1} ${y1}C${out} ${y1} ${out} ${y2} ${x2} ${y2}"` +
        ` marker-end="url(#arrow)"/>`;
    }
  }
  svg.setAttribute("width", origin.width);
  svg.setAttribute("height", origin.height);
  svg.querySelector("g").innerHTML = paths;
  const drawnPaths = svg.querySelectorAll("path[data-key]");
  order.forEach((box, at) => box.onmouseenter = () => drawnPaths.forEach(
    path => path.classList.toggle("hot", path.dataset.key.split(">").includes(String(at)))));
}
root.querySelectorAll("details").forEach(one => one.addEventListener("toggle", draw));
document.getElementById("open").onclick = () =>
  root.querySelectorAll("details").forEach(one => one.open = true);
document.getElementById("fold").onclick = () =>
  root.querySelectorAll("details").forEach(one => one.open = false);
addEventListener("resize", draw);
draw();
"""
_ARROW: Final = (
    '<svg><defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#888;stroke:none"/>'
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
    Moving over a box shows its links.

    Args:
        symbol: the network.
        shape: shapes of inputs by name; each box then tells the shape of its output.
        depth: how many scopes, one within the other, are open at first.
        hide_weights: leave out the parameters and auxiliary states.

    Returns:
        The page. Notebooks show it; ``.save("network.html")`` writes it as one file, which any
        browser opens without a network.

    Raises:
        ParameterError: `symbol` is no symbol.
        ShapeError: the shapes given do not tell all others.
    """
    layers = layers_of("fold_network", symbol, shape, hide_weights=hide_weights)
    whole = _scopes(layers)
    order = {layer.name: number for number, layer in enumerate(whole.layers())}
    links = [
        [order[link.source], order[layer.name]] for layer in whole.layers() for link in layer.links
    ]
    drawn = "\n".join(_drawn(part, depth) for part in whole.parts)
    body = (
        '<p><button id="open">open all</button> <button id="fold">fold all</button></p>\n'
        f'<div id="network">\n{drawn}\n{_ARROW}</div>\n'
        f'<script id="links" type="application/json">{json.dumps(links)}</script>'
    )
    return HtmlPage(symbol.name or "network", body, _STYLE, _SCRIPT, 600)


def _scopes(layers: Sequence[Layer]) -> _Scope:
    """Sorts layers into scopes; one that holds nothing but another is that other."""
    whole = _Scope("")
    for layer in layers:
        scope = whole
        for cut in _SEPARATOR.finditer(layer.name if layer.operator != "null" else ""):
            name = layer.name[: cut.start()]
            if name not in scope.inside:
                scope.inside[name] = _Scope(name)
                scope.parts.append(scope.inside[name])
            scope = scope.inside[name]
        scope.parts.append(layer)
    whole.parts = [_without_single(part) for part in whole.parts]
    return whole


def _without_single(part: Layer | _Scope) -> Layer | _Scope:
    if isinstance(part, Layer):
        return part
    part.parts = [_without_single(inner) for inner in part.parts]
    return part.parts[0] if len(part.parts) == 1 else part


def _drawn(part: Layer | _Scope, depth: int) -> str:
    if isinstance(part, Layer):
        facts = [part.operator if part.operator != "null" else "input", part.facts]
        facts.append("x".join(map(str, part.shape)) if part.shape else "")
        words = escape(", ".join(fact for fact in facts if fact))
        sources = escape(", ".join(link.source for link in part.links) or "nothing")
        return (
            f'<div class="layer" style="background:{part.color}" title="takes {sources}">'
            f"{escape(part.name)} <small>{words}</small></div>"
        )
    layers = part.layers()
    inner = "\n".join(_drawn(one, depth - 1) for one in part.parts)
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
