"""`draw_network`: a network drawn with Matplotlib, which needs no program besides Python.

The layout is that of layered drawings (Sugiyama, Tagawa and Toda 1981): a row for each topological
generation; a link over several rows is led through a point in each row between; rows are ordered
by the mean place of what they are linked to, over a few sweeps down and up, and of the orders met
the one with the fewest crossings is taken. Boxes are as large as Matplotlib says that their words
are: they lie beside each other, and where the axes are too small for that, all words are smaller.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any, Final, final

from hybridnet.symbol import Symbol

from .layers import FAMILIES, Layer, import_extra, layers_of

_FONT: Final = 8.0  # points
_PAD: Final = 0.3  # from the words to the line around them, in heights of the font
# Inches.
_BESIDE: Final = 0.2  # between two boxes of a row
_BETWEEN: Final = 0.35  # between two rows
_POINT: Final = 0.1  # what a link takes that passes through a row
_LEGEND: Final = 2.0  # more than the legend takes, until it is measured
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
    is_new = ax is None
    if ax is None:
        pyplot = import_extra("matplotlib.pyplot", "draw_network")
        _, ax = pyplot.subplots(layout="constrained")
    boxes: dict[_Item, Any] = {layer.name: _box(ax, layer) for layer in layers}
    sizes = {item: _inches(box) for item, box in boxes.items()}
    layout = _lay_out(networkx, layers, {item: width for item, (width, _) in sizes.items()})
    size = _set_limits(ax, layout, sizes)
    for item, box in boxes.items():
        box.set_position(layout.places[item])
    half = max(height for _, height in sizes.values()) / 2 * _rows_in_an_inch(sizes)
    for chain in layout.chains:
        _arrow(ax, boxes, _path(layout, chain, half), chain[0], chain[-1])
    _legend(ax, layers)
    if is_new:
        _fit(ax, size)
    _shrink(ax, boxes.values(), size)
    return ax


def _inches(box: Any) -> tuple[float, float]:
    """Returns how wide and high a box is."""
    words = box.get_window_extent()
    dots, edge = box.figure.dpi, 2 * _PAD * _FONT / 72
    return words.width / dots + edge, words.height / dots + edge


def _set_limits(
    ax: Any, layout: _Layout, sizes: Mapping[_Item, tuple[float, float]]
) -> tuple[float, float]:
    """Sets what the axes show: inches across, rows down; returns how many inches that needs."""
    reach = [(x, sizes.get(item, (_POINT, 0.0))[0] / 2) for item, (x, _) in layout.places.items()]
    left = min(x - half for x, half in reach) - _BESIDE / 2
    right = max(x + half for x, half in reach) + _BESIDE / 2
    rows = max(y for _, y in layout.places.values()) + 1
    ax.set_xlim(left, right)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.axis("off")
    return right - left, rows / _rows_in_an_inch(sizes)


def _rows_in_an_inch(sizes: Mapping[_Item, tuple[float, float]]) -> float:
    return 1 / (max(height for _, height in sizes.values()) + _BETWEEN)


def _path(layout: _Layout, chain: Sequence[_Item], half: float) -> list[tuple[float, float]]:
    """Returns where a link leads: down, not aslant, where it passes boxes that are so high."""
    first, *passed, last = (layout.places[item] for item in chain)
    return [first, *((x, y + side) for x, y in passed for side in (-half, half)), last]


def _fit(ax: Any, size: tuple[float, float]) -> None:
    """Makes the figure so large that its axes are so many inches across and down."""
    figure, (width, height) = ax.figure, size
    figure.set_size_inches(width + _LEGEND, height + _BETWEEN)
    figure.draw_without_rendering()  # lays out the axes and the legend
    drawn = ax.get_window_extent()
    whole = figure.get_size_inches()
    figure.set_size_inches(
        whole[0] + width - drawn.width / figure.dpi, whole[1] + height - drawn.height / figure.dpi
    )
    figure.draw_without_rendering()


def _shrink(ax: Any, boxes: Iterable[Any], size: tuple[float, float]) -> None:
    """Makes the words smaller if the axes are smaller than so many inches across and down."""
    drawn, dots = ax.get_window_extent(), ax.figure.dpi
    scale = min(drawn.width / dots / size[0], drawn.height / dots / size[1])
    if scale < 1:
        for box in boxes:
            box.set_fontsize(_FONT * scale)


# The name of a layer, or a point that a link passes through: (source, target, row).
_Item = str | tuple[str, str, int]


@final
@dataclass(frozen=True, slots=True)
class _Layout:
    """The places of everything.

    Attributes:
        places: of layers and of the points of links, (x, y): inches, and rows downward.
        chains: for each link its source, the points it passes through, and its target.
    """

    places: dict[_Item, tuple[float, float]]
    chains: list[list[_Item]]


def _lay_out(networkx: Any, layers: Sequence[Layer], widths: Mapping[_Item, float]) -> _Layout:
    """Returns the places of layers that are so many inches wide."""
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
        _spread(items, {item: float(i) for i, item in enumerate(items)}, columns, widths)
    best = (_cost(pieces, columns), dict(columns))
    for sweep in range(_SWEEPS):
        downward = sweep % 2 == 0
        for items in rows if downward else rows[::-1]:
            linked = above if downward else below
            wanted = {
                item: fmean([columns[name] for name in linked.get(item, ())] or [columns[item]])
                for item in items
            }
            _spread(items, wanted, columns, widths)
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


def _spread(
    items: list[_Item],
    wanted: Mapping[_Item, float],
    columns: dict[_Item, float],
    widths: Mapping[_Item, float],
) -> None:
    """Orders a row by the places wanted, and gives each a place as near as its neighbors allow."""
    items.sort(key=lambda item: wanted[item])
    last: float | None = None
    room = 0.0
    for item in items:
        half = (widths.get(item, _POINT) + _BESIDE) / 2
        place = wanted[item] if last is None else max(wanted[item], last + room + half)
        columns[item] = last = place
        room = half
    # They were pushed to the right only; the row as a whole goes back by as much as that.
    shift = fmean(wanted[item] - columns[item] for item in items)
    for item in items:
        columns[item] += shift


def _box(ax: Any, layer: Layer) -> Any:
    """Returns the box of a layer, whose place is not known yet."""
    words = layer.name
    if layer.operator != "null":
        words += f"\n{layer.operator}" + (f" {layer.facts}" if layer.facts else "")
    if layer.shape is not None:
        words += f"\n{layer.shape}"
    return ax.text(
        0,
        0,
        words,
        ha="center",
        va="center",
        fontsize=_FONT,
        bbox={"boxstyle": f"round,pad={_PAD}", "facecolor": layer.color, "edgecolor": _GREY},
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
