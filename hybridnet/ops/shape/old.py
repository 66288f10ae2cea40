"""Operators that MXNet keeps for old programs; each has a successor, which its text names."""

from __future__ import annotations

from typing import Any

from hybridnet.base.attrs import Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp

from ..core.call import IndexBound
from ..core.operator import describe
from ..core.registry import operator
from .indexing import whole


def _window(
    *types: Any, offset: tuple[int, ...], h_w: tuple[int, ...], center_crop: bool, **_: Any
) -> tuple[int, int, int, int]:
    """Returns the first row and column, and how many of each."""
    rows, columns = types[1].shape[2:] if len(types) > 1 else h_w
    if center_crop:
        height, width = types[0].shape[2:]
        return (height - rows) // 2, (width - columns) // 2, rows, columns
    return offset[0], offset[1], rows, columns


def _check_crop(
    *types: TensorType, offset: tuple[int, ...], h_w: tuple[int, ...], center_crop: bool, **_: Any
) -> None:
    got = describe(("data", "crop_like"), types)
    if len(types) > 2 or any(len(array.shape) != 4 for array in types):
        raise ShapeError(
            "Crop: requires data, and where h_w is not given an array to crop like, both (batch, "
            f"channel, height, width), got {got}"
        )
    if len(offset) != 2 or len(h_w) != 2:
        raise ParameterError(f"Crop: offset and h_w must be two numbers, got {offset} and {h_w}")
    top, left, rows, columns = _window(*types, offset=offset, h_w=h_w, center_crop=center_crop)
    height, width = types[0].shape[2:]
    if not (0 <= top <= height - rows and 0 <= left <= width - columns and rows and columns):
        raise ShapeError(
            f"Crop: the window must lie in the data and not be empty, got {got} with "
            f"offset={offset}, h_w={h_w} and center_crop={center_crop}"
        )


def _crop_type(*types: TensorType, **params: Any) -> tuple[TensorType]:
    size = _window(*types, **params)[2:]
    return (tensor_type((*types[0].shape[:2], *size), types[0].dtype),)


@operator("Crop", check=_check_crop, infer=_crop_type)
def crop(
    *data: Any,
    num_args: int = 0,
    offset: Shape = (0, 0),
    h_w: Shape = (0, 0),
    center_crop: bool = False,
) -> Any:
    """Cuts a window out of the last two axes; `slice` does so for any axes.

    Args:
        data: (batch, channel, height, width), and maybe an array of four dimensions, whose height
            and width the window gets.
        offset: its first row and column.
        h_w: its height and width, where no array gives them.
        center_crop: put it into the middle, whatever `offset` says.
    """
    top, left, rows, columns = _window(*data, offset=offset, h_w=h_w, center_crop=center_crop)
    return data[0][:, :, top : top + rows, left : left + columns]


def _check_fill(lhs: TensorType, mhs: TensorType, rhs: TensorType) -> None:
    if len(lhs.shape) != 2 or mhs.shape != lhs.shape[:1] or rhs.shape != lhs.shape[:1]:
        raise ShapeError(
            "fill_element_0index: lhs must be (rows, columns), and mhs and rhs (rows,), got "
            f"{describe(('lhs', 'mhs', 'rhs'), (lhs, mhs, rhs))}"
        )


@operator(
    "fill_element_0index",
    check=_check_fill,
    infer=lambda lhs, mhs, rhs: (lhs,),
    bounds=lambda lhs, *_: (IndexBound(2, "rhs", lhs.shape[1:], (1,), always=True),),
)
def fill_element_0index(lhs: Any, mhs: Any, rhs: Any) -> Any:
    """Replaces one element of each row; indexing does so too.

    Args:
        lhs: (rows, columns).
        mhs: (rows,), the new elements.
        rhs: (rows,), their columns.
    """
    return at(lhs)[jnp.arange(lhs.shape[0]), whole(rhs)].set(mhs.astype(lhs.dtype))
