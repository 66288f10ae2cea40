"""Greatest elements and sums of the windows along an axis of NumPy arrays, and their gradients.

There is a pass over the array for each element of the windows, and what is made lies in memory in
the order of what was given. Windows are described by a `WindowAxis` of
`hybridnet.ops.nn.conv._sliding`, and their data is padded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .table import FUNCTIONS, named
from .traced import Pull, rule

# Elements of a window from which on it is reduced as an axis of its own.
_LONG_WINDOW: Final = 16

_where = FUNCTIONS["where"]


def _is_axis(axis: Any) -> bool:
    return bool(axis.tiles) and axis.kernel >= _LONG_WINDOW


def _cut(x: NumpyArray, dim: int, axis: Any) -> NumpyArray:
    """(..., output, kernel, ...): windows that do not overlap."""
    return x.reshape(*x.shape[:dim], axis.output, axis.kernel, *x.shape[dim + 1 :])


def _places(dim: int, axis: Any) -> list[tuple[slice, ...]]:
    """Returns the slices that select element ``k`` of every window, for each ``k``."""
    before = (slice(None),) * dim
    reach = (axis.output - 1) * axis.stride + 1
    return [(*before, slice(k, k + reach, axis.stride)) for k in range(axis.kernel)]


def _reduced(x: NumpyArray, dim: int, axis: Any, reduce: Any) -> NumpyArray:
    if _is_axis(axis):
        made: NumpyArray = reduce.reduce(_cut(x, dim, axis), dim + 1)
        return made
    first, *rest = [x[place] for place in _places(dim, axis)]
    if not rest:
        return first
    made = reduce(first, rest[0])
    for each in rest[1:]:
        reduce(made, each, out=made)
    return made


def _put_together(
    x: NumpyArray, dim: int, axis: Any, part: Callable[[Any], NumpyArray]
) -> NumpyArray:
    """The gradient of the data of what `part(place)` gives for each element of the windows."""
    if axis.tiles:  # each element is in one window
        made = np.empty_like(x)
        for place in _places(dim, axis):
            made[place] = part(place)
        return made
    made = np.zeros_like(x)
    for place in _places(dim, axis):
        made[place] += part(place)
    return made


@named("greatest_along")
def _greatest(x: NumpyArray, dim: int, axis: Any) -> NumpyArray:
    return _reduced(x, dim, axis, np.maximum)  # of which not-a-number is the greatest


@rule("greatest_along")
def _greatest_rule(y: NumpyArray, x: NumpyArray, dim: int, axis: Any) -> Sequence[Pull]:
    def pull(g: NumpyArray) -> NumpyArray:
        with_nan = y.dtype.kind == "f" and bool(np.isnan(y).any())
        if _is_axis(axis):
            best = np.expand_dims(y, dim + 1)
            wins = _equal(_cut(x, dim, axis), best, with_nan)
            return _to_first(wins, dim + 1, g).reshape(x.shape)
        free = np.ones_like(y, np.bool_)
        zero = np.zeros((), g.dtype)

        def won(place: Any) -> NumpyArray:
            """Gradients of the windows whose first greatest element is this one, 0 of others."""
            wins = _equal(x[place], y, with_nan)
            wins &= free
            np.logical_xor(free, wins, out=free)
            return _where(wins, g, zero)  # type: ignore[no-any-return]

        return _put_together(x, dim, axis, won)

    return [pull]


def _equal(x: NumpyArray, y: NumpyArray, with_nan: bool) -> NumpyArray:
    """Returns where elements are equal; with `with_nan`, not-a-number equals itself."""
    same: NumpyArray = x == y
    if with_nan:
        same |= (x != x) & (y != y)
    return same


def _to_first(wins: NumpyArray, dim: int, g: NumpyArray) -> NumpyArray:
    """Puts gradients to the first element that wins along an axis, 0 to the others."""
    made = np.zeros_like(wins, g.dtype)
    np.put_along_axis(made, np.argmax(wins, dim, keepdims=True), np.expand_dims(g, dim), dim)
    return made


@named("sums_along")
def _sums(x: NumpyArray, dim: int, axis: Any) -> NumpyArray:
    return _reduced(x, dim, axis, np.add)


@rule("sums_along")
def _sums_rule(y: NumpyArray, x: NumpyArray, dim: int, axis: Any) -> Sequence[Pull]:
    return [lambda g: _put_together(x, dim, axis, lambda place: g)]
