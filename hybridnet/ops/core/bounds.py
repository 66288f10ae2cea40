"""Bounds: which positions among the values of an operator's inputs there are.

A program cannot raise. So an operator says in which of its inputs positions are held, and what
they may be (`IndexBound`); what lies outside is found by NumPy where the values are at hand, and
else by the program itself, which gives out a row of numbers (`BoundsCall`) that is looked at when
somebody reads a value anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final
from weakref import WeakValueDictionary

import numpy as np

from hybridnet.base.dtype import INT64
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.host.namespace import jnp

from .call import Arrays, Backward, Call, IndexBound, Types, only

__all__ = ["FIRST_ROWS", "JOINED_ROWS", "BoundsCall", "bounds_call", "may_be_outside", "outside"]


def outside(xp: Any, positions: Any, bound: IndexBound) -> Any:
    """Returns which positions are outside, bool of their shape; fractions do not count.

    Args:
        xp: the array functions, NumPy's or JAX's.
        positions: an array of numbers.
        bound: what they may be.
    """
    sizes = np.array(bound.sizes, np.int64)
    least = -sizes if bound.least is None else np.full_like(sizes, bound.least)
    if len(sizes) > 1:
        parts = (-1, *(1,) * (positions.ndim - 1))
        sizes, least = sizes.reshape(parts), least.reshape(parts)
    else:
        sizes, least = sizes[0], least[0]
    wide = positions if positions.dtype.kind == "f" else positions.astype(np.int64)
    inside = (wide > least - 1) & (wide < sizes)  # also False of NaN
    if bound.besides is not None:
        inside |= wide == bound.besides
    return xp.logical_not(inside)


def may_be_outside(positions: Any, bound: IndexBound) -> bool:
    """Whether a position may be outside: a quick look, which takes all for positions on one axis.

    Args:
        positions: NumPy's.
        bound: what they may be.
    """
    if not positions.size:
        return False
    size = min(bound.sizes)
    least = -size if bound.least is None else bound.least
    smallest, largest = positions.min(), positions.max()
    return not (smallest > least - 1 and largest < size)  # True of NaN


class _TableCall(Call):
    """A call that makes or changes tables: what positions are outside, int64[rows, 2].

    A row says where in the flattened array of positions the first one outside is, counted from 1,
    or 0 where all are inside; and what it is.
    """

    __slots__ = ()

    def facts(self) -> Sequence[object]:
        """It has no parameters."""
        return ()

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """As for XLA, by NumPy."""
        return self.lower("cpu", operands, scalars)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """There is none."""
        return [None] * len(back.inputs)


@final
class BoundsCall(_TableCall):
    """Finds the first position that is outside of its bound, of each of some arrays.

    Its inputs are the arrays of positions, one for each bound; its output has a row for each.
    """

    __slots__ = ("limits",)
    name = "_outside"

    def __init__(self, bounds: tuple[IndexBound, ...]) -> None:
        super().__init__()
        self.limits = bounds

    def facts(self) -> Sequence[object]:
        """The bounds."""
        return [tuple(bound) for bound in self.limits]

    def infer(self, types: Types) -> Types:
        """A row for each bound."""
        return (tensor_type((len(self.limits), 2), INT64),)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the rows."""
        rows = [_first_outside(x, bound) for x, bound in zip(operands, self.limits, strict=True)]
        return [jnp.stack(rows)]

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the rows by NumPy."""
        rows = np.zeros((len(self.limits), 2), np.int64)
        for row, positions, bound in zip(rows, operands, self.limits, strict=True):
            if may_be_outside(positions, bound):
                found = outside(np, positions, bound).reshape(-1)
                place = int(found.argmax())
                if found[place]:
                    value = positions.reshape(-1)[place]
                    row[:] = place + 1, 0 if value != value else value  # NaN is no number here
        return [rows]


def _first_outside(positions: Any, bound: IndexBound) -> Any:
    if not positions.size:
        return jnp.asarray(np.zeros(2, np.int64))
    found = outside(jnp, positions, bound).reshape(-1)
    place = jnp.argmax(found).astype(INT64)
    value = positions.reshape(-1)[place].astype(INT64)
    return jnp.stack([jnp.where(found.any(), place + 1, 0), value])


@final
class _JoinedRows(_TableCall):
    """Joins tables as `BoundsCall` gives them into one; of those of loops the first turn counts.

    The inputs are int64[..., rows, 2], the output is int64[all rows, 2].
    """

    __slots__ = ()
    name = "_joined_rows"

    def infer(self, types: Types) -> Types:
        """As many rows as all have."""
        return (tensor_type((sum(kind.shape[-2] for kind in types), 2), INT64),)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Takes of each row the first turn in which something is outside."""
        return [jnp.concatenate([*map(_first_turn, operands)])]


def _first_turn(table: Any) -> Any:
    if table.ndim == 2:
        return table
    turns = table.reshape(-1, *table.shape[-2:])
    if not turns.shape[0]:
        return jnp.zeros(table.shape[-2:], INT64)
    first = jnp.argmax(turns[:, :, 0] > 0, axis=0)
    return jnp.take_along_axis(turns, first[None, :, None], axis=0)[0]


@final
class _FirstRows(_TableCall):
    """Of two tables as `BoundsCall` gives them, row by row the first that tells of something."""

    __slots__ = ()
    name = "_first_rows"

    def infer(self, types: Types) -> Types:
        """The type of both."""
        return types[:1]

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Chooses."""
        before, now = operands
        return [jnp.where(before[:, :1] > 0, before, now)]


JOINED_ROWS: Final[Call] = _JoinedRows()
FIRST_ROWS: Final[Call] = _FirstRows()
_calls: Final[WeakValueDictionary[Any, BoundsCall]] = WeakValueDictionary()


def bounds_call(bounds: tuple[IndexBound, ...]) -> BoundsCall:
    """Returns the call for some bounds."""
    call: BoundsCall = only(_calls, (bounds,), BoundsCall)
    return call
