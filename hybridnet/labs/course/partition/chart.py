"""Draws a cut: a column for each device, a box for each node, a red line from Send to Recv."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hybridnet.graph import Node
from hybridnet.passes import DevicePart, RecvCall, SendCall, Transfer
from hybridnet.visualization.layers import import_extra

from ...pictures import write_picture

_COLORS: Final = ("#9ec5e8", "#f3c98b", "#a8d5a2", "#e3b1d6")
_RED: Final = "#b03a2e"
_GREY: Final = "#777777"
#: Inches: from column to column, and from row to row.
_WIDE: Final = 3.2
_HIGH: Final = 0.34
#: Columns: that a letter takes, and that a line keeps from a box that it passes.
_LETTER: Final = 0.07 / _WIDE
_ASIDE: Final = 0.06


def draw_parts(file: Path, parts: Mapping[str, DevicePart]) -> None:
    """Draws the parts of the devices. Time goes down: what reads a node stands below it.

    Variables are left out. Grey lines lead to the readers of a node on the same device.
    """
    pyplot = import_extra("matplotlib.pyplot", "lab")
    rows = _rows(parts)
    count = max(rows.values()) + 1
    size = _WIDE * len(parts), _HIGH * count + 0.5
    figure, ax = pyplot.subplots(figsize=size, layout="constrained")
    ends: dict[Transfer, dict[type, tuple[float, float]]] = {}
    for column, (device, part) in enumerate(parts.items()):
        ax.text(column, -1, device.rpartition("device:")[2], ha="center", weight="bold")
        color = _COLORS[column % len(_COLORS)]
        for node in _nodes(part):
            place = column, rows[node]
            ax.text(*place, _words(node), ha="center", va="center", fontsize=8, zorder=3,
                    bbox=_box(node, color))  # fmt: skip
            if isinstance(node.call, (SendCall, RecvCall)):
                ends.setdefault(node.call.transfer, {})[type(node.call)] = place
            for source in _before(node):
                above, below = rows[source], rows[node]
                between = [one for one in _nodes(part) if above < rows[one] < below]
                passed = max((_LETTER * len(_words(one)) for one in between), default=0.0)
                _line(ax, column, above, below, source not in node.controls, passed)
    for pair in ends.values():
        ax.plot(
            *zip(pair[SendCall], pair[RecvCall], strict=True), color=_RED, linewidth=1.2, zorder=2
        )
    ax.set_xlim(-0.5, len(parts) - 0.5)
    ax.set_ylim(count - 0.4, -1.6)
    ax.axis("off")
    write_picture(figure, file)


def _line(ax: Any, column: int, above: int, below: int, is_tensor: bool, passed: float) -> None:
    """Leads a line from a node to one below it, around those between that are so wide."""
    side = column - passed / 2 - _ASIDE
    across = [column, side, side, column] if passed else [column, column]
    down = [above, above + 0.5, below - 0.5, below] if passed else [above, below]
    style = "-" if is_tensor else "--"
    ax.plot(across, down, style, color=_GREY, linewidth=0.8, zorder=1)


def _box(node: Node, color: str) -> dict[str, Any]:
    is_end = isinstance(node.call, (SendCall, RecvCall))
    return {
        "boxstyle": "round,pad=0.25",
        "facecolor": "white" if is_end else color,
        "edgecolor": _RED if is_end else _GREY,
    }


def _words(node: Node) -> str:
    if isinstance(node.call, (SendCall, RecvCall)):
        what = "Send" if isinstance(node.call, SendCall) else "Recv"
        return f"{what} {node.call.transfer.tensor}"
    return node.name


def _nodes(part: DevicePart) -> list[Node]:
    nodes = dict.fromkeys((*part.graph.nodes, *part.receives))
    return [node for node in nodes if not node.is_variable]


def _before(node: Node) -> Iterator[Node]:
    yield from dict.fromkeys(edge.node for edge in node.inputs if not edge.node.is_variable)
    yield from node.controls


def _rows(parts: Mapping[str, DevicePart]) -> dict[Node, int]:
    """Returns the row of each node: below those that it waits for, one below the other."""
    rows: dict[Node, int] = {}
    sent: dict[Transfer, int] = {}
    free = dict.fromkeys(parts, 0)
    left = {device: _nodes(part) for device, part in parts.items()}
    while any(left.values()):
        for device, nodes in left.items():
            for node in list(nodes):
                call = node.call
                is_late = isinstance(call, RecvCall) and call.transfer not in sent
                if is_late or any(source not in rows for source in _before(node)):
                    continue
                least = [rows[source] + 1 for source in _before(node)]
                least += [sent[call.transfer] + 1] if isinstance(call, RecvCall) else []
                rows[node] = max(free[device], *least, 0)
                free[device] = rows[node] + 1
                nodes.remove(node)
                if isinstance(call, SendCall):
                    sent[call.transfer] = rows[node]
    return rows
