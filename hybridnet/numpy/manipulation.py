"""The functions of `np` that reshape, join, split, repeat and turn arrays around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as onp

from hybridnet.base.array_types import Axes, Dims
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.shape_arguments import sizes_of
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Operand

from .calls import (
    apply,
    apply_all,
    operand,
    shape_of,
)
from .multiarray import ndarray
from .operands import ArrayLike

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concatenate",
    "copy",
    "delete",
    "dsplit",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "insert",
    "meshgrid",
    "moveaxis",
    "pad",
    "ravel",
    "repeat",
    "reshape",
    "resize",
    "roll",
    "rollaxis",
    "rot90",
    "row_stack",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "vsplit",
    "vstack",
]


# Shape --------------------------------------------------------------------------------------------


def reshape(a: ArrayLike, newshape: Dims, order: str = "C", out: NDArray | None = None) -> ndarray:
    """Returns the elements in another shape, in which one -1 stands for what is left."""
    return apply("_np_reshape", a, out=out, newshape=newshape, order=order)


def ravel(x: ArrayLike, order: str = "C") -> ndarray:
    """Returns the elements along one axis."""
    return apply("_np_reshape", x, newshape=(-1,), order=order)


def squeeze(a: ArrayLike, axis: Axes = None, out: NDArray | None = None) -> ndarray:
    """Returns the array without axes of size 1: those given, or all."""
    return apply("_np_squeeze", a, out=out, axis=axis)


def expand_dims(a: ArrayLike, axis: int) -> ndarray:
    """Returns the array with an axis of size 1 put in."""
    return apply("_npi_expand_dims", a, axis=axis)


def transpose(a: ArrayLike, axes: Axes = None) -> ndarray:
    """Returns the axes in another order; in reverse order by default."""
    return apply("_np_transpose", a, axes=axes)


def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> ndarray:
    """Returns the array with two axes exchanged."""
    return apply("_npi_swapaxes", a, dim1=axis1, dim2=axis2)


def moveaxis(a: ArrayLike, source: Dims, destination: Dims) -> ndarray:
    """Returns the array with axes moved to other positions; the rest keep their order."""
    return apply("_np_moveaxis", a, source=source, destination=destination)


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> ndarray:
    """Returns the array with an axis moved back until it is before another."""
    return apply("_npi_rollaxis", a, axis=axis, start=start)


def broadcast_to(array: ArrayLike, shape: Dims) -> ndarray:
    """Returns the array with axes of size 1 repeated, and axes added in front."""
    return apply("_npi_broadcast_to", array, shape=shape)


def broadcast_arrays(*args: ArrayLike) -> list[ndarray]:
    """Returns the arrays broadcast to their common shape."""
    arrays = [operand(arg) for arg in args]
    try:
        shape = onp.broadcast_shapes(*(shape_of("broadcast_arrays", array) for array in arrays))
    except ValueError as error:
        raise ShapeError(f"broadcast_arrays: {error}") from error
    return [broadcast_to(array, shape) for array in arrays]


def _at_least(rank: int, arys: tuple[ArrayLike, ...]) -> Any:
    made = apply_all(f"_np_atleast_{rank}d", *arys, num_args=len(arys))
    return made[0] if len(made) == 1 else made


def atleast_1d(*arys: ArrayLike) -> Any:
    """Returns arrays of one dimension at least; one of them, or a list."""
    return _at_least(1, arys)


def atleast_2d(*arys: ArrayLike) -> Any:
    """Returns arrays of two dimensions at least, axes being added in front."""
    return _at_least(2, arys)


def atleast_3d(*arys: ArrayLike) -> Any:
    """Returns arrays of three dimensions at least."""
    return _at_least(3, arys)


def copy(a: ArrayLike, out: NDArray | None = None) -> ndarray:
    """Returns a copy."""
    return apply("_np_copy", a, out=out)


# Joining ------------------------------------------------------------------------------------------


def _join(
    name: str, arrays: Sequence[ArrayLike], out: NDArray | None = None, **attrs: object
) -> ndarray:
    if isinstance(arrays, NDArray):
        arrays = list(arrays)
    return apply(name, *arrays, out=out, **attrs)


def concatenate(
    seq: Sequence[ArrayLike], axis: int | None = 0, out: NDArray | None = None
) -> ndarray:
    """Joins arrays along an axis that they have; flattened ones where that is None."""
    return _join("_npi_concatenate", seq, out, axis=axis)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> ndarray:
    """Joins two arrays along an axis; flattened ones where that is None."""
    return _join("_npi_concatenate", (arr, values), axis=axis)


def stack(arrays: Sequence[ArrayLike], axis: int = 0, out: NDArray | None = None) -> ndarray:
    """Joins arrays along a new axis."""
    return _join("_npi_stack", arrays, out, axis=axis)


def vstack(arrays: Sequence[ArrayLike], out: NDArray | None = None) -> ndarray:
    """Joins arrays as rows, along the first axis."""
    return _join("_npi_vstack", arrays, out)


def row_stack(arrays: Sequence[ArrayLike]) -> ndarray:
    """Joins arrays as rows, along the first axis."""
    return _join("_npi_vstack", arrays)


def hstack(arrays: Sequence[ArrayLike]) -> ndarray:
    """Joins arrays along the second axis, 1-d ones along the first."""
    return _join("_npi_hstack", arrays)


def dstack(arrays: Sequence[ArrayLike]) -> ndarray:
    """Joins arrays along the third axis."""
    return _join("_npi_dstack", arrays)


def column_stack(tup: Sequence[ArrayLike]) -> ndarray:
    """Joins 1-d arrays as the columns of a matrix."""
    return _join("_npi_column_stack", tup)


def meshgrid(*xi: ArrayLike, **kwargs: object) -> list[ndarray]:
    """Returns the coordinates of a grid, an array for each of its axes.

    Args:
        xi: 1-d arrays, the positions along each axis.
        kwargs: ``indexing``: 'xy' (the first two axes exchanged, the default) or 'ij';
            ``sparse``: leave the arrays at size 1 along the other axes; ``copy``: must be True.
    """
    indexing, sparse = kwargs.pop("indexing", "xy"), kwargs.pop("sparse", False)
    if not kwargs.pop("copy", True) or kwargs or indexing not in ("xy", "ij"):
        raise ParameterError("meshgrid: takes indexing='xy' or 'ij', sparse and copy=True")
    count = len(xi)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    grids = [
        reshape(x, [-1 if i == axis else 1 for i in range(count)])
        for x, axis in zip(xi, axes, strict=True)
    ]
    return grids if sparse else broadcast_arrays(*grids)


# Splitting ----------------------------------------------------------------------------------------


def _split(ary: ArrayLike, cuts: Dims, axis: int) -> list[ndarray]:
    if isinstance(cuts, int):
        return apply_all("_npi_split", ary, sections=cuts, axis=axis)
    indices = cuts.tolist() if hasattr(cuts, "tolist") else cuts
    return apply_all("_npi_split", ary, indices=tuple(map(int, indices)), axis=axis)


def split(ary: ArrayLike, indices_or_sections: Dims, axis: int = 0) -> list[ndarray]:
    """Cuts an array along an axis.

    Args:
        ary: the array.
        indices_or_sections: into how many equal parts, or the positions to cut at.
        axis: which axis.

    Raises:
        ShapeError: equal parts are not possible.
    """
    ary = operand(ary)
    if isinstance(indices_or_sections, int) and isinstance(ary, NDArray) and ary.ndim:
        size, parts = ary.shape[axis], indices_or_sections
        if parts < 1 or size % parts:
            raise ShapeError(
                f"split: axis {axis} of size {size} cannot be cut into {parts} equal parts; use "
                "array_split"
            )
    return _split(ary, indices_or_sections, axis)


def array_split(ary: ArrayLike, indices_or_sections: Dims, axis: int = 0) -> list[ndarray]:
    """Cuts an array as `split` does, the first parts being longer where it does not divide."""
    return _split(ary, indices_or_sections, axis)


def vsplit(ary: ArrayLike, indices_or_sections: Dims) -> list[ndarray]:
    """Cuts an array along the first axis."""
    return split(ary, indices_or_sections, 0)


def hsplit(ary: ArrayLike, indices_or_sections: Dims) -> list[ndarray]:
    """Cuts an array along the second axis; a 1-d one along the first."""
    ary = operand(ary)
    return split(ary, indices_or_sections, 0 if len(shape_of("hsplit", ary)) == 1 else 1)


def dsplit(ary: ArrayLike, indices_or_sections: Dims) -> list[ndarray]:
    """Cuts an array along the third axis."""
    return split(ary, indices_or_sections, 2)


# Repeating, turning, changing parts ---------------------------------------------------------------


def repeat(a: ArrayLike, repeats: int, axis: int | None = None) -> ndarray:
    """Repeats each element along an axis; of the flattened array where that is None."""
    return apply("_np_repeat", a, repeats=repeats, axis=axis)


def tile(A: ArrayLike, reps: Dims) -> ndarray:
    """Repeats the whole array, `reps` times along each axis."""
    return apply("_npi_tile", A, reps=reps)


def flip(m: ArrayLike, axis: Axes = None, out: NDArray | None = None) -> ndarray:
    """Turns axes around: those given, or all."""
    return apply("_npi_flip", m, out=out, axis=axis)


def flipud(m: ArrayLike) -> ndarray:
    """Turns the first axis around."""
    return flip(m, 0)


def fliplr(m: ArrayLike) -> ndarray:
    """Turns the second axis around."""
    return flip(m, 1)


def roll(a: ArrayLike, shift: Dims, axis: Axes = None) -> ndarray:
    """Moves elements along axes; what leaves at the end comes in at the start."""
    return apply("_np_roll", a, shift=shift, axis=axis)


def rot90(m: ArrayLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> ndarray:
    """Turns a plane by 90 degrees, k times, from the first of its axes towards the second."""
    return apply("_npi_rot90", m, k=k, axes=tuple(axes))


def resize(a: ArrayLike, new_shape: Dims) -> ndarray:
    """Returns an array of a shape, filled with the elements over and over."""
    a = ravel(a)
    shape = sizes_of("np.resize", new_shape)
    count, size = int(onp.prod(shape, dtype=int)), shape_of("resize", a)[0]
    if not size:
        return apply("_npi_full_like", broadcast_to(operand(0.0), shape), fill_value=0.0)
    return reshape(tile(a, -(-count // size))[:count], shape)


def pad(x: ArrayLike, pad_width: Any = None, mode: str = "constant", **kwargs: Any) -> ndarray:
    """Widens an array at its borders.

    Args:
        x: the array.
        pad_width: how much: a number, (before, after), or such a pair for each axis.
        mode: 'constant', 'edge', 'reflect', 'symmetric', 'maximum' or 'minimum'.
        kwargs: ``constant_values``, a number; ``reflect_type='even'``.
    """
    x = operand(x)
    rank = len(shape_of("pad", x))
    widths = onp.broadcast_to(onp.asarray(pad_width, int), (rank, 2)).reshape(-1).tolist()
    return apply("_npi_pad", x, pad_width=tuple(widths), mode=mode, **kwargs)


def _positions(name: str, obj: object, size: int, end: int = 0) -> list[int]:
    """Returns positions, given as a number, a slice or an array, counted from the start.

    Args:
        name: the function, for the message.
        obj: as it was given.
        size: of the axis.
        end: 1 where the position behind the last part is one, too.
    """
    if isinstance(obj, slice):
        return list(range(*obj.indices(size)))
    host = onp.asarray(obj.asnumpy() if isinstance(obj, NDArray) else obj)
    found = [int(position) for position in host.reshape(-1)]
    last = size - 1 + end
    if any(not -size <= value <= last for value in found):
        raise IndexError(f"{name}: positions must be from {-size} to {last}, got {found}")
    return [value + size if value < 0 else value for value in found]


def delete(arr: ArrayLike, obj: slice | ArrayLike, axis: int | None = None) -> ndarray:
    """Returns an array without parts of it.

    Args:
        arr: the array.
        obj: the positions of the parts: a number, a slice, a list or an array. Of an array those
            that are not from 0 up to the size of the axis are passed over, as in MXNet.
        axis: along which; None for the flattened array.
    """
    arr = operand(arr) if axis is not None else ravel(arr)
    axis = (axis or 0) % max(len(shape_of("delete", arr)), 1)
    size = arr.shape[axis]
    if isinstance(obj, NDArray):
        gone = {int(position) for position in obj.asnumpy().reshape(-1)}
    else:
        gone = set(_positions("delete", obj, size))
    kept = tuple(position for position in range(size) if position not in gone)
    return apply("_npi_delete_parts", arr, kept=kept, axis=axis)


def insert(arr: ArrayLike, obj: slice | ArrayLike, values: Any, axis: int | None = None) -> ndarray:
    """Returns an array with parts put into it.

    Args:
        arr: the array.
        obj: before which positions: a number, a slice or an array.
        values: what is put in. At several positions it broadcasts to the parts there. At a single
            one it is as many parts as it has along the axis: its first axis, where `obj` is a
            number, or the same axis, where it is an array of one.
        axis: along which; None for the flattened array.
    """
    arr = operand(arr) if axis is not None else ravel(arr)
    rank = len(shape_of("insert", arr))
    axis = (axis or 0) % max(rank, 1)
    size = arr.shape[axis]
    single = isinstance(obj, (int, onp.integer))
    places = _positions("insert", [obj] if single else obj, size, end=1)
    values = values if isinstance(values, Operand) else operand(values)
    if values.ndim < rank:
        values = reshape(values, (1,) * (rank - values.ndim) + tuple(values.shape))
    if single:
        values = moveaxis(values, 0, axis)
    if len(places) == 1:
        places *= values.shape[axis]
    order = sorted(range(len(places)), key=places.__getitem__)
    if order != list(range(len(places))) and values.shape[axis] > 1:
        values = apply("_npi_take", values, order, axis=axis)
    return apply("_npi_insert_tensor", arr, values, places=tuple(sorted(places)), axis=axis)
