"""Types of what a call makes, at the user's line, where some sizes may not be known.

A size that is not known is tried with two numbers: what comes out the same for both does not
depend on it. Where neither will do, because the size must meet a known one, the known ones are
tried, for as few of the unknown ones as possible.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base import MXNetError
from hybridnet.graph import STATE
from hybridnet.ops.core import Call, tensor_type

from .by_value import Unresolved

__all__ = ["Kind", "infer_kinds"]

#: Sizes with many divisors, so that splitting and reshaping are possible.
_SIZES: Final = (5040, 10080)
#: How many ways to fill in the unknown sizes are tried.
_MOST_TRIALS: Final = 64
#: Numbers of dimensions that are tried where nothing is known, the likeliest first.
_RANKS: Final = (2, 4, 3, 1, 0, 5)


class Kind(NamedTuple):
    """The type of a tensor: its dtype and its static shape, as far as it is known.

    Attributes:
        dtype: the dtype of its elements.
        dims: its sizes, None for one that is unknown; `dims` is None if the rank is unknown.
    """

    dtype: np.dtype[Any]
    dims: tuple[int | None, ...] | None

    def row(self) -> Kind:
        """Returns what is known of its rows."""
        return Kind(self.dtype, None if self.dims is None else self.dims[1:])

    def stacked(self, count: int | None) -> Kind:
        """Returns what is known of so many of it, as the rows of one tensor."""
        return Kind(self.dtype, None if self.dims is None else (count, *self.dims))

    def common(self, other: Kind) -> Kind:
        """Returns what is known of what may be this or another of its dtype."""
        if self.dims is None or other.dims is None or len(self.dims) != len(other.dims):
            return Kind(self.dtype, None)
        pairs = zip(self.dims, other.dims, strict=True)
        return Kind(self.dtype, tuple(a if a == b else None for a, b in pairs))


def infer_kinds(call: Call, inputs: Sequence[Kind]) -> list[Kind]:
    """Returns what is known of the outputs of a call.

    Args:
        call: what is applied.
        inputs: to what; without the state of a random generator.

    Raises:
        ShapeError, DTypeError: the inputs do not fit, whatever the unknown sizes are.
    """
    if isinstance(call, Unresolved):  # the caller knows the dtype, and values decide the shape
        return [Kind(inputs[0].dtype, None)] * call.num_visible
    if any(one.dims is None for one in inputs):
        return _of_any_rank(call, inputs)
    if not any(None in (one.dims or ()) for one in inputs):
        return _made(call, inputs)
    unknown = sum(n is None for one in inputs for n in one.dims or ())
    known = sorted({n for one in inputs for n in one.dims or () if n is not None} | {1})
    refused: MXNetError | None = None
    for sizes in itertools.islice(_assignments(unknown, known), _MOST_TRIALS):
        try:
            found = [_made(call, inputs, sizes)]
        except MXNetError as error:
            refused = refused or error
            continue
        found += _variations(call, inputs, sizes)
        return [reduce(Kind.common, several) for several in zip(*found, strict=True)]
    assert refused is not None
    raise type(refused)(re.sub(rf"\b{_SIZES[0]}\b", "?", str(refused))) from refused


def _assignments(count: int, known: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields sizes for the unknown ones: first any size for all, then known ones for some."""
    for met in range(count + 1):
        for places in itertools.combinations(range(count), met):
            for chosen in itertools.product(known, repeat=met):
                sizes = dict(zip(places, chosen, strict=True))
                yield tuple(sizes.get(place, _SIZES[0]) for place in range(count))


def _variations(call: Call, inputs: Sequence[Kind], sizes: tuple[int, ...]) -> Iterator[list[Kind]]:
    """Yields what comes out for other sizes that will do, too."""
    others = [tuple(_SIZES[1] if n == _SIZES[0] else n for n in sizes)]
    met = [place for place, n in enumerate(sizes) if n not in (_SIZES[0], 1)]
    others += [(*sizes[:place], 1, *sizes[place + 1 :]) for place in met]
    for one in others:
        try:
            yield _made(call, inputs, one)
        except MXNetError:
            continue


def _made(call: Call, inputs: Sequence[Kind], sizes: Sequence[int] = ()) -> list[Kind]:
    """Returns the outputs for certain sizes in the place of the unknown ones."""
    rest = iter(sizes)
    types = [
        tensor_type(tuple(next(rest) if n is None else n for n in one.dims or ()), one.dtype)
        for one in inputs
    ]
    if call.takes_state:
        types.append(STATE)
    return [Kind(one.dtype, one.shape) for one in call.infer(tuple(types))]


def _of_any_rank(call: Call, inputs: Sequence[Kind]) -> list[Kind]:
    """Returns the dtypes of the outputs, whose shapes nothing tells."""
    refused: MXNetError | None = None
    for dims in _trials(inputs):
        tried = [
            one if one.dims is not None else Kind(one.dtype, guess)
            for one, guess in zip(inputs, dims, strict=True)
        ]
        try:
            return [Kind(one.dtype, None) for one in infer_kinds(call, tried)]
        except MXNetError as error:
            refused = refused or error
    if isinstance(refused, TypeError) and not isinstance(refused, ValueError):
        raise refused
    return [Kind(inputs[0].dtype, None)] * (call.num_outputs - call.takes_state)


def _trials(inputs: Sequence[Kind]) -> Iterator[list[tuple[int | None, ...]]]:
    known = [one.dims for one in inputs if one.dims is not None]
    for dims in dict.fromkeys(known):
        yield [dims] * len(inputs)
    for rank, fewer in itertools.product(_RANKS, (0, 1)):
        yield [(None,) * rank, *[(None,) * max(rank - fewer, 0)] * (len(inputs) - 1)]
