"""Lab 12: pictures of windows as a matrix, and of times beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.visualization.layers import import_extra

from ...pictures import write_picture

#: Of the windows of the example; of what is measured.
_WINDOWS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44")
_METHODS: Final = ("#bbbbbb", "#4477aa", "#ee6677")


def draw_example(file: Path) -> None:
    """Draws an image, its windows as the columns of a matrix, and the product with a filter."""
    pyplot = import_extra("matplotlib.pyplot", "the figure of this lab")
    image, kernel = np.arange(1, 10).reshape(3, 3), np.array([[1, 2], [0, -1]])
    windows = [image[i : i + 2, j : j + 2].ravel() for i in range(2) for j in range(2)]
    patches = np.stack(windows, axis=1)
    picture, ax = pyplot.subplots(figsize=(9, 2.9), layout="constrained")
    _draw_array(ax, pyplot, image, 0, 0.5, title="data")
    for number, color in enumerate(_WINDOWS):
        row, column = divmod(number, 2)
        inset = 0.06 + 0.05 * number
        _outline(ax, pyplot, column + inset, 0.5 + row + inset, 2 - 2 * inset, color)
    _draw_array(ax, pyplot, kernel.reshape(1, 4), 4.2, 1.5, title="weight, as a row")
    ax.text(8.6, 2, "×", ha="center", va="center", fontsize=15)
    _draw_array(ax, pyplot, patches, 9, 0, _WINDOWS, title="each window, as a column")
    ax.text(13.4, 2, "=", ha="center", va="center", fontsize=15)
    result = kernel.reshape(1, 4) @ patches
    _draw_array(ax, pyplot, result, 13.8, 1.5, _WINDOWS, title="result, as a row")
    ax.set_xlim(-0.1, 17.9)
    ax.set_ylim(4.1, -0.7)
    ax.set_aspect("equal")
    ax.axis("off")
    write_picture(picture, file)


def _draw_array(
    ax: Any,
    pyplot: Any,
    array: NumpyArray,
    left: float,
    top: float,
    colors: Sequence[str] = (),
    *,
    title: str,
) -> None:
    for (row, column), value in np.ndenumerate(array):
        color = {"facecolor": colors[column], "alpha": 0.35} if colors else {"facecolor": "none"}
        corner = left + column, top + row
        if colors:
            ax.add_patch(pyplot.Rectangle(corner, 1, 1, **color))
        ax.add_patch(pyplot.Rectangle(corner, 1, 1, fill=False, linewidth=0.6, color="#333333"))
        ax.text(corner[0] + 0.5, corner[1] + 0.5, f"{value}", ha="center", va="center", fontsize=10)
    ax.text(left + array.shape[1] / 2, top - 0.2, title, ha="center", va="bottom", fontsize=9)


def _outline(ax: Any, pyplot: Any, left: float, top: float, size: float, color: str) -> None:
    ax.add_patch(
        pyplot.Rectangle((left, top), size, size, fill=False, linewidth=1.6, edgecolor=color)
    )


def draw_times(file: Path, times: Mapping[tuple[str, str, str], float]) -> None:
    """Draws bars, a panel for each layer.

    Args:
        file: that is written.
        times: by the titles of layer, kind and method; in seconds.
    """
    pyplot = import_extra("matplotlib.pyplot", "the pictures of this lab")
    layers, kinds, methods = (list(dict.fromkeys(one)) for one in zip(*times, strict=True))
    picture, panels = pyplot.subplots(1, len(layers), figsize=(10, 4), layout="constrained")
    width = 0.8 / len(methods)
    for ax, layer in zip(panels, layers, strict=True):
        for number, method in enumerate(methods):
            places = np.arange(len(kinds)) + (number - (len(methods) - 1) / 2) * width
            heights = [times[layer, kind, method] * 1e3 for kind in kinds]
            bars = ax.bar(places, heights, width, label=method, color=_METHODS[number])
            ax.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
        ax.set_xticks(range(len(kinds)), kinds, fontsize=9)
        ax.set_title(layer, fontsize=10, loc="left")
        ax.margins(y=0.12)
    panels[0].set_ylabel("ms of processors")
    panels[0].legend(frameon=False, fontsize=9, loc="upper left")
    write_picture(picture, file)
