"""Types of what a call makes, at the user's line, where some sizes may not be known.

A size that is not known is tried with two numbers: what comes out the same for both does not
depend on it. Where neither will do, because the size must meet a known one, the known ones are
tried; the result then says nothing of the sizes that they stand for.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.by_value import Unsettled
from hybridnet.graph.transform import STATE
from hybridnet.ops.call import Call

__all__ = ["Kind", "infer_kinds"]

#: Sizes with many divisors, so that splitting and reshaping are possible.
_SIZES: Final = (5040, 10080)
#: Numbers of dimensions that are tried where nothing is known, the likeliest first.
_RANKS: Final = (2, 4, 3, 1, 0, 5)


class Kind(NamedTuple):
    """What is known of a tensor.

    Attributes:
        dtype: of its elements.
        dims: its sizes, None for one that is not known; None if even their number is not.
    """

    dtype: np.dtype[Any]
    dims: tuple[int | None, ...] | None


def infer_kinds(call: Call, inputs: Sequence[Kind]) -> list[Kind]:
    """Returns what is known of the outputs of a call.

    Args:
        call: what is applied.
        inputs: to what; without the state of a random generator.

    Raises:
        ShapeError, DTypeError: the inputs do not fit, whatever the unknown sizes are.
    """
    if isinstance(call, Unsettled):  # the caller knows the dtype, and values decide the shape
        return [Kind(inputs[0].dtype, None)] * call.num_visible
    if any(one.dims is None for one in inputs):
        return _of_any_rank(call, inputs)
    if not any(None in (one.dims or ()) for one in inputs):
        return _made(call, inputs, 0)
    found = []
    refused: MXNetError | None = None
    for size in _SIZES:
        try:
            found.append(_made(call, inputs, size))
        except MXNetError as error:
            refused = refused or error
    if len(found) == len(_SIZES):
        return [_common(*pair) for pair in zip(*found, strict=True)]
    known = {size for one in inputs for size in one.dims or () if size is not None}
    for size in sorted(known | {1}):
        try:
            made = _made(call, inputs, size)
        except MXNetError:
            continue
        found.append([_without(one, {size, *_SIZES}) for one in made])
    if found:
        return [_all_common(several) for several in zip(*found, strict=True)]
    assert refused is not None
    raise type(refused)(re.sub(rf"\b{_SIZES[0]}\b", "?", str(refused))) from refused


def _made(call: Call, inputs: Sequence[Kind], size: int) -> list[Kind]:
    types = [
        tensor_type(tuple(size if n is None else n for n in one.dims or ()), one.dtype)
        for one in inputs
    ]
    if call.takes_state:
        types.append(STATE)
    return [Kind(one.dtype, one.shape) for one in call.infer(tuple(types))]


def _common(one: Kind, other: Kind) -> Kind:
    """Returns what two trials agree on."""
    if one.dims is None or other.dims is None or len(one.dims) != len(other.dims):
        return Kind(one.dtype, None)
    pairs = zip(one.dims, other.dims, strict=True)
    return Kind(one.dtype, tuple(a if a == b else None for a, b in pairs))


def _all_common(several: Sequence[Kind]) -> Kind:
    found = several[0]
    for one in several[1:]:
        found = _common(found, one)
    return found


def _without(kind: Kind, sizes: set[int]) -> Kind:
    """Returns a kind without the sizes that may only be those that were tried."""
    dims = tuple(None if n in sizes else n for n in kind.dims or ())
    return Kind(kind.dtype, dims)


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
    if (
        refused is not None
        and isinstance(refused, TypeError)
        and not isinstance(refused, ValueError)
    ):
        raise refused
    return [Kind(inputs[0].dtype, None)] * (call.num_outputs - call.takes_state)


def _trials(inputs: Sequence[Kind]) -> Iterator[list[tuple[int | None, ...]]]:
    known = [one.dims for one in inputs if one.dims is not None]
    for dims in dict.fromkeys(known):
        yield [dims] * len(inputs)
    for rank, fewer in itertools.product(_RANKS, (0, 1)):
        yield [(None,) * rank, *[(None,) * max(rank - fewer, 0)] * (len(inputs) - 1)]
