"""The errors for positions that are outside of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet import engine
from hybridnet.base.errors import OutOfBoundsError
from hybridnet.base.origins import CallSite
from hybridnet.ops.core import IndexBound, outside

from .positions import PositionRow

__all__ = ["outside_error", "require_inside"]

#: Operators that users write by Python's brackets.
_SHOWN = {"_gather": "x[index]", "_scatter": "x[index] = value"}


def outside_error(
    table: Any, places: Sequence[PositionRow], outer: engine.Origin | None
) -> OutOfBoundsError | None:
    """Returns the error for the first row that tells of a position outside; None: all are inside.

    Args:
        table: rows as `BoundsCall` gives them, NumPy's; of a loop, those of each turn.
        places: what each is about.
        outer: the line that called the graph they are of.
    """
    if not table[..., 0].any():
        return None
    found = np.argwhere(table[..., 0])
    *turn, number = map(int, found[0])
    row = places[number]
    site = row.place._replace(origin=row.place.origin or outer, outer=outer)
    if turn:
        site = site._replace(turn=turn[0])
    at, value = table[(*turn, number)].tolist()
    return _error(row._replace(place=site), at - 1, value)


def require_inside(name: str, bound: IndexBound, positions: Any, place: CallSite) -> None:
    """Checks positions that are at hand.

    Args:
        name: of the operator.
        bound: what they may be.
        positions: NumPy's.
        place: where the operator was called.

    Raises:
        OutOfBoundsError: one is outside.
    """
    found = outside(np, positions, bound)
    if found.any():
        at = int(found.argmax())
        value = positions.reshape(-1)[at].item()
        raise _error(PositionRow(name, bound, positions.shape, place), at, value)


def _error(where: PositionRow, at: int, value: float) -> OutOfBoundsError:
    bound = where.bound
    at_all = tuple(map(int, np.unravel_index(at, where.shape))) if where.shape else ()
    part = at_all[0] if len(bound.sizes) > 1 else 0
    size = bound.sizes[part]
    position = f", at position {list(at_all)} of {bound.what}" if at_all else f" ({bound.what})"
    if bound.axes:
        limit = f"is out of bounds for axis {bound.axes[part]} with size {size}"
    else:
        least = -size if bound.least is None else bound.least
        limit = f"is out of bounds: it must be from {least} to {size - 1}"
    name = _SHOWN.get(where.operator, where.operator)
    called = f"; called{where.place}" if str(where.place) else ""
    return OutOfBoundsError(f"{name}: index {value:.0f} {limit}{position}{called}")
