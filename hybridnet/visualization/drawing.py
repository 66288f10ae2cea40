"""`draw_network`: a network drawn with Matplotlib, which needs no program besides Python.

The layout is that of layered drawings (Sugiyama, Tagawa and Toda 1981): a row for each topological
generation; a link over several rows is led through a point in each row between; rows are ordered
by the mean place of what they are linked to, over a few sweeps down and up, and of the orders met
the one with the fewest crossings is taken.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Final, final

from hybridnet.symbol import Symbol

from .layers import FAMILIES, Layer, import_extra, layers_of

# Inches that a box takes across and down, with the room around it.
_ACROSS: Final = 2.2
_DOWN: Final = 0.85
_MARGIN: Final = 0.6  # of a box, around the picture
_POINT: Final = 0.4  # of a box: the room for a link that passes through a row
_SWEEPS: Final = 8
_GREY: Final = "#555555"


def draw_network(
    symbol: Symbol, shape: Mapping[str, tuple[int, ...]] | None = None, ax: Any = None
) -> Any:
    """Draws a network: the inputs at the top, a box for each layer in the color of its family.

    Parameters and auxiliary states are left out.

    Args:
        symbol: the network.
        shape: shapes of inputs by name; each box then tells the shape of its output.
        ax: the Matplotlib axes to draw in; default new ones of a fitting size.

    Returns:
        The axes.

    Raises:
        ImportError: matplotlib or networkx is not installed.
        ParameterError: `symbol` is no symbol.
        ShapeError: the shapes given do not tell all others.
    """
    networkx = import_extra("networkx", "draw_network")
    layers = layers_of("draw_network", symbol, shape)
    layout = _lay_out(networkx, layers)
    columns = [x for x, _ in layout.places.values()]
    rows = [y for _, y in layout.places.values()]
    if ax is None:
        pyplot = import_extra("matplotlib.pyplot", "draw_network")
        size = (
            _ACROSS * (max(columns) - min(columns) + 2 * _MARGIN),
            _DOWN * (max(rows) - min(rows) + 2 * _MARGIN),
        )
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    ax.set_xlim(min(columns) - _MARGIN, max(columns) + _MARGIN)
    ax.set_ylim(max(rows) + _MARGIN, min(rows) - _MARGIN)
    ax.axis("off")
    boxes: dict[_Item, Any] = {
        layer.name: _box(ax, layer, *layout.places[layer.name]) for layer in layers
    }
    for chain in layout.chains:
        _arrow(ax, boxes, [layout.places[name] for name in chain], chain[0], chain[-1])
    _legend(ax, layers)
    return ax


# The name of a layer, or a point that a link passes through: (source, target, row).
_Item = str | tuple[str, str, int]


@final
@dataclass(frozen=True, slots=True)
class _Layout:
    """The places of everything, in boxes.

    Attributes:
        places: of layers and of the points of links, (x, y) with y downward.
        chains: for each link its source, the points it passes through, and its target.
    """

    places: dict[_Item, tuple[float, float]]
    chains: list[list[_Item]]


def _lay_out(networkx: Any, layers: Sequence[Layer]) -> _Layout:
    row_of = _rows(networkx, layers)
    links = dict.fromkeys((link.source, layer.name) for layer in layers for link in layer.links)
    rows: list[list[_Item]] = [[] for _ in range(max(row_of.values()) + 1)]
    for name, row in row_of.items():
        rows[row].append(name)
    chains: list[list[Any]] = []
    for source, target in links:
        points: list[_Item] = [
            (source, target, row) for row in range(row_of[source] + 1, row_of[target])
        ]
        for row, point in enumerate(points, row_of[source] + 1):
            rows[row].append(point)
        chains.append([source, *points, target])
    above: dict[_Item, list[_Item]] = {}
    below: dict[_Item, list[_Item]] = {}
    pieces: list[list[tuple[_Item, _Item]]] = [[] for _ in rows]
    for chain in chains:
        for row, (upper, lower) in enumerate(pairwise(chain), row_of[chain[0]]):
            below.setdefault(upper, []).append(lower)
            above.setdefault(lower, []).append(upper)
            pieces[row].append((upper, lower))
    columns: dict[_Item, float] = {}
    for items in rows:
        _spread(items, {item: float(i) for i, item in enumerate(items)}, columns)
    best = (_cost(pieces, columns), dict(columns))
    for sweep in range(_SWEEPS):
        downward = sweep % 2 == 0
        for items in rows if downward else rows[::-1]:
            linked = above if downward else below
            wanted = {
                item: fmean([columns[name] for name in linked.get(item, ())] or [columns[item]])
                for item in items
            }
            _spread(items, wanted, columns)
        best = min(best, (_cost(pieces, columns), dict(columns)), key=lambda found: found[0])
    columns = best[1]
    places = {item: (columns[item], float(y)) for y, items in enumerate(rows) for item in items}
    return _Layout(places, chains)


def _cost(
    pieces: Sequence[Sequence[tuple[_Item, _Item]]], columns: Mapping[_Item, float]
) -> tuple[int, float]:
    """Returns how often links cross, and how far sideways they go."""
    crossings = 0
    sideways = 0.0
    for row in pieces:
        passed: list[float] = []
        for start, end in sorted((columns[upper], columns[lower]) for upper, lower in row):
            # It crosses those that start further left and end further right.
            crossings += len(passed) - bisect_right(passed, end)
            insort(passed, end)
            sideways += abs(end - start)
    return crossings, sideways


def _rows(networkx: Any, layers: Sequence[Layer]) -> dict[str, int]:
    """Returns each layer's row: its generation, but an input stands just above its first use."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(layer.name for layer in layers)
    graph.add_edges_from((link.source, layer.name) for layer in layers for link in layer.links)
    rows: dict[str, int] = {
        name: row
        for row, names in enumerate(networkx.topological_generations(graph))
        for name in names
    }
    for name in graph:
        if graph.out_degree(name) and not graph.in_degree(name):
            rows[name] = min(rows[user] for user in graph.successors(name)) - 1
    return rows


def _spread(items: list[_Item], wanted: Mapping[_Item, float], columns: dict[_Item, float]) -> None:
    """Orders a row by the places wanted, and gives each a place as near as its neighbors allow."""
    items.sort(key=lambda item: wanted[item])
    last: float | None = None
    room = 0.0
    for item in items:
        half = (1.0 if isinstance(item, str) else _POINT) / 2
        place = wanted[item] if last is None else max(wanted[item], last + room + half)
        columns[item] = last = place
        room = half
    # They were pushed to the right only; the row as a whole goes back by as much as that.
    shift = fmean(wanted[item] - columns[item] for item in items)
    for item in items:
        columns[item] += shift


def _box(ax: Any, layer: Layer, x: float, y: float) -> Any:
    words = layer.name
    if layer.operator != "null":
        words += f"\n{layer.operator}" + (f" {layer.facts}" if layer.facts else "")
    if layer.shape is not None:
        words += f"\n{layer.shape}"
    return ax.text(
        x,
        y,
        words,
        ha="center",
        va="center",
        fontsize=8,
        bbox={"boxstyle": "round", "facecolor": layer.color, "edgecolor": _GREY},
    )


def _arrow(
    ax: Any,
    boxes: Mapping[_Item, Any],
    places: Sequence[tuple[float, float]],
    source: _Item,
    target: _Item,
) -> None:
    """Draws a line through the places, from box to box, that ends in an arrow."""
    # The line begins in the middle of the source's box, which hides that part (texts lie above).
    ax.plot(*zip(*places[:-1], strict=True), color=_GREY, linewidth=1, zorder=1)
    direct = len(places) == 2
    ax.annotate(
        "",
        places[-1],
        places[-2],
        arrowprops={
            "arrowstyle": "-|>",
            "color": _GREY,
            "patchA": boxes[source].get_bbox_patch() if direct else None,
            "patchB": boxes[target].get_bbox_patch(),
            "shrinkA": 2 if direct else 0,
        },
    )


def _legend(ax: Any, layers: Sequence[Layer]) -> None:
    """Names the colors, where there are several."""
    used = {layer.family for layer in layers}
    if len(used) > 1:
        for family, (color, _) in FAMILIES.items():
            if family in used:
                ax.scatter([], [], marker="s", s=60, c=color, edgecolors=_GREY, label=family)
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=8, frameon=False)
