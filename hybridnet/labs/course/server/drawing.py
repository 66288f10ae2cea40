"""Lab 11: pictures of pushes and pulls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hybridnet.visualization.layers import import_extra

from ...pictures import write_picture
from .client import SentRequest

_COLORS: Final = ("#4477aa", "#ee6677", "#228833")
_MARKS: Final = {"push": "o", "pull": "x"}
#: When two workers push in the example, by worker, and where each begins anew.
_SYNC: Final = (((0.0, 1.0, 2.6), (2.6, 3.6, 5.2)), ((0.0, 2.3, 2.6), (2.6, 4.9, 5.2)))
_ASYNC: Final = (
    ((0.0, 1.0, 1.3), (1.3, 2.3, 2.6), (2.6, 3.6, 3.9), (3.9, 4.9, 5.2)),
    ((0.0, 2.3, 2.6), (2.6, 4.6, 4.9)),
)


def draw_example(file: Path) -> None:
    """Draws who waits for whom: two workers, one of them slow, with each consistency."""
    pyplot = import_extra("matplotlib.pyplot", "the figure of this lab")
    picture, axes = pyplot.subplots(2, 1, figsize=(9, 4.4), layout="constrained", sharex=True)
    for ax, title, workers in zip(axes, ("sync", "async"), (_SYNC, _ASYNC), strict=True):
        for worker, steps in enumerate(workers):
            for number, (begin, push, answer) in enumerate(steps, 1):
                _draw_step(ax, worker, number, begin, push, answer)
        ax.set_title(title, loc="left")
        ax.set_yticks((0, 1, 2), ("worker 0", "worker 1", "server"))
        ax.set_ylim(2.35, -0.5)
        ax.set_xlim(-0.1, 5.5)
        ax.set_xticks([])
        ax.axhline(2, color="#888888", lw=1)
        for side in ax.spines.values():
            side.set_visible(False)
    axes[-1].set_xlabel("time")
    write_picture(picture, file)


def _draw_step(ax: Any, worker: int, number: int, begin: float, push: float, answer: float) -> None:
    """Draws a step: computing, the push, waiting, and the answer to the pull."""
    color = _COLORS[worker]
    ax.barh(worker, push - begin, 0.36, begin, color=color)
    ax.barh(worker, answer - push, 0.36, push, color="none", edgecolor=color, hatch="////")
    ax.text(begin + 0.12, worker, str(number), ha="center", va="center", color="white")
    there = {"arrowstyle": "-|>", "color": color, "lw": 1.4}
    ax.annotate("", (push + 0.08, 2), (push, worker + 0.18), arrowprops=there)
    back = {**there, "linestyle": "--"}
    ax.annotate("", (answer, worker + 0.18), (answer - 0.08, 2), arrowprops=back)


def draw_asked(
    workers: Sequence[Sequence[SentRequest]], kills: Sequence[float], file: Path
) -> None:
    """Draws how long each push and pull waited for its answer, and when the server was killed.

    Args:
        workers: what each asked for.
        kills: seconds.
        file: is written.
    """
    pyplot = import_extra("matplotlib.pyplot", "the picture of this lab")
    picture, axes = pyplot.subplots(
        len(workers),
        1,
        figsize=(9, 2.4 * len(workers)),
        layout="constrained",
        sharex=True,
        sharey=True,
    )
    start = min(one.began for asked in workers for one in asked)
    for worker, (ax, asked) in enumerate(zip(axes, workers, strict=True)):
        for what, mark in _MARKS.items():
            some = [one for one in asked if one.what == what]
            ax.scatter(
                [one.began - start for one in some],
                [1000 * (one.ended - one.began) for one in some],
                s=12, marker=mark, alpha=0.6, lw=0.8, label=what, color=_COLORS[what == "pull"],
                rasterized=True,
            )  # fmt: skip
        for kill in kills:
            ax.axvline(kill - start, color="black", ls="--", lw=1)
            if ax is axes[0]:
                above = ax.get_xaxis_transform()
                ax.text(kill - start, 1.02, "kill -9", ha="center", transform=above)
        ax.set_yscale("log")
        ax.set_ylabel(f"worker {worker}: ms")
    axes[0].legend(loc="lower right", fontsize=8)
    axes[-1].set_xlabel("s")
    write_picture(picture, file)
