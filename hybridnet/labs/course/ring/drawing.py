"""Lab 10: pictures of parts that go round a ring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hybridnet.visualization.layers import import_extra

from ...pictures import write_picture
from .link import Sending

#: Of part 0, 1, ... in the example; of each number of a part in a call.
_COLORS: Final = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
_SIZE: Final = 3


def draw_example(file: Path) -> None:
    """Draws the parts that three processes hold in each turn, and of how many each is the sum."""
    pyplot = import_extra("matplotlib.pyplot", "the figure of this lab")
    picture, ax = pyplot.subplots(figsize=(9, 3.6), layout="constrained")
    turns = 2 * (_SIZE - 1)
    for turn in range(turns + 1):
        for rank in range(_SIZE):
            for part in range(_SIZE):
                _draw_part(ax, pyplot, turn, rank, part, _summands(rank, part, turn))
            if turn < turns:
                _draw_sending(ax, turn, rank)
    ax.set_xlim(-0.1, turns + 0.75)
    ax.set_ylim(_SIZE - 0.35, -0.45)
    ax.set_yticks(range(_SIZE), [f"rank {rank}" for rank in range(_SIZE)])
    ax.set_xticks(
        [turn + 0.81 for turn in range(turns)],
        ["reduce-scatter 1", "reduce-scatter 2", "all-gather 1", "all-gather 2"],
    )
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    write_picture(picture, file)


def _summands(rank: int, part: int, turn: int) -> int:
    """Returns of how many processes a part holds the sum before a turn."""
    if turn >= _SIZE:
        arrived = (rank - part + 1) % _SIZE <= turn - _SIZE + 1
        return _SIZE if arrived else _scattered(rank, part, _SIZE - 1)
    return _scattered(rank, part, turn)


def _scattered(rank: int, part: int, turn: int) -> int:
    steps = (rank - part) % _SIZE  # that the part has been handed on until it is here
    return steps + 1 if steps <= turn else 1


def _draw_part(ax: Any, pyplot: Any, turn: int, rank: int, part: int, summands: int) -> None:
    whole = summands == _SIZE
    color = _COLORS[part]
    box = pyplot.Rectangle(
        (turn + 0.2 * part, rank - 0.17), 0.18, 0.34,
        fc=color, alpha=0.2 + 0.8 * (summands - 1) / (_SIZE - 1), ec=color, lw=1,
    )  # fmt: skip
    ax.add_patch(box)
    ink = "white" if whole else "black"
    ax.text(turn + 0.2 * part + 0.09, rank, str(summands), ha="center", va="center", color=ink)


def _draw_sending(ax: Any, turn: int, rank: int) -> None:
    part = (rank - turn) % _SIZE if turn < _SIZE - 1 else (rank + 1 - (turn - _SIZE + 1)) % _SIZE
    down = (rank + 1) % _SIZE
    arrow = {"arrowstyle": "-|>", "color": _COLORS[part], "lw": 1.8}
    ax.annotate("", (turn + 0.98, down), (turn + 0.62, rank), arrowprops=arrow)


def draw_call(calls: Sequence[Sequence[Sending]], file: Path) -> None:
    """Draws when each process sent and received each part of one call.

    Args:
        calls: of each process.
        file: is written.
    """
    pyplot = import_extra("matplotlib.pyplot", "the picture of this lab")
    picture, ax = pyplot.subplots(figsize=(9, 4), layout="constrained")
    start = min((one.began for call in calls for one in call), default=0.0)
    for rank, call in enumerate(calls):
        for one in call:
            up = -0.17 if one.what == "send" else 0.17
            left, right = (1000 * (at - start) for at in (one.began, one.ended))
            color = _COLORS[one.number % len(_COLORS)]
            full = one.what == "send"
            ax.barh(
                rank + up, right - left, 0.3, left,
                color=color if full else "none", edgecolor=color, hatch=None if full else "////",
            )  # fmt: skip
            ax.text(left, rank + up, f" {one.number + 1}", va="center", fontsize=9)
    _draw_arrows(ax, calls, start)
    ax.set_yticks(range(len(calls)), [f"rank {rank}" for rank in range(len(calls))])
    ax.invert_yaxis()
    ax.set_xlabel("ms; full: send, hatched: receive")
    write_picture(picture, file)


def _draw_arrows(ax: Any, calls: Sequence[Sequence[Sending]], start: float) -> None:
    """Draws each part's way, from the beginning of its sending to the end of its receiving."""
    for rank, call in enumerate(calls):
        after = (rank + 1) % len(calls)
        received = {one.number: one for one in calls[after] if one.what == "receive"}
        for one in call:
            other = received.get(one.number)
            if one.what == "send" and other is not None:
                ends = (1000 * (other.ended - start), after + 0.17)
                begins = (1000 * (one.began - start), rank - 0.17)
                color = _COLORS[one.number % len(_COLORS)]
                arrow = {"arrowstyle": "->", "color": color, "lw": 1.2}
                ax.annotate("", ends, begins, arrowprops=arrow)
