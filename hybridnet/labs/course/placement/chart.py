"""Draws simulated runs: a row for each device, a bar for each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from hybridnet.visualization.layers import import_extra

from ...pictures import write_picture
from .simulated import Speeds, Work, run_of

_COLORS: Final = ("#9ec5e8", "#f3c98b", "#a8d5a2", "#e3b1d6")
_HIGH: Final = 0.7  # of a bar, where rows are 1 apart
#: Units of the axis, the largest first, in seconds.
_UNITS: Final = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))
_LETTER: Final = 0.08  # inches across


def draw_runs(
    file: Path,
    runs: Mapping[str, Mapping[Work, str]],
    nodes: Sequence[Work],
    speeds: Speeds,
) -> None:
    """Draws the simulated runs of some placements, by their titles, below each other.

    A line leads from a node to each that reads its result on another device.
    """
    pyplot = import_extra("matplotlib.pyplot", "lab")
    times = {title: run_of(nodes, places, speeds) for title, places in runs.items()}
    last = max(one.end for run in times.values() for one in run.values())
    unit, scale = next((one for one in _UNITS if last >= one[1]), _UNITS[-1])
    devices = list(dict.fromkeys(device for node in nodes for device in node.devices))
    size = 9, (len(devices) * 0.6 + 0.9) * len(runs)
    figure, axes = pyplot.subplots(len(runs), figsize=size, squeeze=False, layout="constrained")
    for ax, (title, places) in zip(axes[:, 0], runs.items(), strict=True):
        for node, (start, end) in times[title].items():
            row = devices.index(places[node])
            color = _COLORS[row % len(_COLORS)]
            bar = {"height": _HIGH, "color": color, "edgecolor": "#333333", "linewidth": 0.6}
            ax.barh(row, (end - start) / scale, left=start / scale, **bar)
            if (end - start) / last * size[0] * 0.85 > _LETTER * len(node.name):
                middle = (start + end) / 2 / scale
                ax.text(middle, row, node.name, ha="center", va="center", fontsize=8)
            for source, _ in node.reads:
                if places[source] != places[node]:
                    ends = times[title][source].end / scale, start / scale
                    other = devices.index(places[source])
                    side = _HIGH / 2 if other < row else -_HIGH / 2
                    rows = other + side, row - side
                    ax.plot(ends, rows, color="#b03a2e", linewidth=0.9, zorder=3)
        ax.set_yticks(range(len(devices)), [device.rpartition("device:")[2] for device in devices])
        ax.set_ylim(len(devices) - 0.5, -0.5)
        ax.set_xlim(0, last / scale * 1.02)
        ax.set_title(title, fontsize=10, loc="left")
    axes[-1, 0].set_xlabel(f"simulated time, {unit}")
    write_picture(figure, file)
