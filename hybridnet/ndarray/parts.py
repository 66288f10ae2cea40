"""The calls by which parts of arrays are read and written, found in one look-up each."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Call, registry
from hybridnet.ops.state import block_lengths

__all__ = ["assign_call", "cast_call", "fill_call", "fill_part_call", "view_call"]

_VIEW: Final = registry.get("_view")
_VIEW_ASSIGN: Final = registry.get("_view_assign")
_VIEW_FILL: Final = registry.get("_view_fill")
_FILL: Final = registry.get("_fill")
_ASSIGN_CAST: Final = registry.get("_assign_cast")
# Types, or pairs of them, remembered by each kind of call.
_LIMIT: Final = 4096


class _Form(NamedTuple):
    """The positions that a run of elements can have in an array.

    It is a block of the array (see `block_lengths`) where its offset is a multiple of `stride` and
    its position on the axis with that stride is at most `room`.
    """

    stride: int
    length: int
    room: int
    #: For runs that are no blocks, and for blocks.
    reads: tuple[Call, Call]
    writes: tuple[Call, Call]
    fills: tuple[Call, Call]

    def is_block(self, offset: int) -> bool:
        return not offset % self.stride and offset // self.stride % self.length <= self.room


@lru_cache(_LIMIT)
def _form(base: TensorType, part: TensorType) -> _Form:
    stride, length, room = 1, 1, -1
    lengths = block_lengths(base.shape, part.size) if 0 < part.size < base.size else None
    if lengths is not None:
        axis = next((i for i, length in enumerate(lengths) if length > 1), len(lengths) - 1)
        stride = part.size // lengths[axis]
        length = base.shape[axis]
        room = length - lengths[axis]
    kinds = False, True
    plain, block = (_VIEW.bind({"offset": 0, "shape": part.shape, "block": b})[0] for b in kinds)
    loose, tight = (_VIEW_ASSIGN.bind({"offset": 0, "block": b})[0] for b in kinds)
    given = {"offset": 0, "scalar": 0.0, "shape": part.shape}
    run, filled = (_VIEW_FILL.bind({**given, "block": b})[0] for b in kinds)
    return _Form(stride, length, room, (plain, block), (loose, tight), (run, filled))


def view_call(base: TensorType, part: TensorType, offset: int) -> tuple[Call, tuple[float]]:
    """Returns the call that reads a part of an array from an offset on, and its number.

    Whether the part is a block of the array is a fact of the call; where it is, its number.
    """
    form = _form(base, part)
    return form.reads[form.is_block(offset)], (float(offset),)


def assign_call(base: TensorType, part: TensorType, offset: int) -> tuple[Call, tuple[float]]:
    """Returns the call that writes a part of an array from an offset on, and its number."""
    form = _form(base, part)
    return form.writes[form.is_block(offset)], (float(offset),)


def fill_part_call(
    base: TensorType, part: TensorType, offset: int, number: float
) -> tuple[Call, tuple[float, float]]:
    """Returns the call that writes a number to a part of an array, and its numbers."""
    form = _form(base, part)
    return form.fills[form.is_block(offset)], (float(offset), number)


@lru_cache(_LIMIT)
def fill_call(part: TensorType) -> Call:
    """Returns the call that makes an array of a type from one number."""
    attrs = {"shape": part.shape, "dtype": part.dtype.name, "scalar": 0.0}
    return _FILL.bind(attrs)[0]


@lru_cache(_LIMIT)
def cast_call(part: TensorType) -> Call:
    """Returns the call that broadcasts and casts an array to a type."""
    return _ASSIGN_CAST.bind({"shape": part.shape, "dtype": part.dtype.name})[0]
