"""Parts of tensors: ``x[1:, ..., tf.newaxis]``, ``tf.slice``, ``tf.strided_slice``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.ops.core import registry

from ..dtypes import int32
from ..graph import ByValue, Dimension, Kind, apply_call
from ..graph.adding import EdgeHandle, cast_to, convert_to_tensor, fused, handle, name_scope, op
from ..graph.arguments import as_shape, dims_of, known_numbers, static_value
from ..graph.tensor import Tensor, overload

__all__ = ["newaxis", "slice", "strided_slice"]

newaxis = None
#: Python's own, which TensorFlow's function of that name hides.
slice_ = slice
_ALL: Final = slice_(None)


@overload("__getitem__")
def _part_of(tensor: Tensor, key: Any) -> Tensor:
    """Returns a part of a tensor, by NumPy's rules for numbers, slices, None and an ellipsis.

    Args:
        key: numbers and bounds may be tensors of whole numbers.

    Raises:
        TypeError: something else is in the key.
        ValueError: an index is out of range, or there are too many.
    """
    items = key if isinstance(key, tuple) else (key,)
    with name_scope(None, "strided_slice", [tensor]) as scope:
        return part(tensor, [_item(one) for one in items], scope)


def _item(one: Any) -> Any:
    if isinstance(one, slice_):
        return slice_(_bound(one.start), _bound(one.stop), _bound(one.step))
    if one is None or one is Ellipsis:
        return one
    return _bound(one)


def _bound(value: Any) -> Any:
    """Returns a bound as a number where it is known, or as a tensor."""
    if value is None:
        return None
    if isinstance(value, Dimension):
        value = value.value
    if isinstance(value, Tensor):
        known = static_value(value)
        if not value.dtype.is_integer:
            raise TypeError(f"an index must be a whole number, got {value!r}")
        return value if known is None else int(known)
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return int(value)
    if hasattr(value, "_as_graph_element"):
        return convert_to_tensor(value)
    raise TypeError(
        "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/"
        f"tf.int64 tensors are valid indices, got {value!r}"
    )


def part(tensor: Tensor, items: Sequence[Any], name: str) -> Tensor:
    """Adds the Operation for a part of a tensor.

    Args:
        items: numbers, slices, Ellipsis and None; numbers may be tensors.
    """
    rank = tensor.shape.ndims
    used = sum(one is not None and one is not Ellipsis for one in items)
    if rank is not None and used > rank:
        raise ValueError(f"Index out of range using input dim {rank}; input has only {rank} dims")
    whole = list(items) if any(one is Ellipsis for one in items) else [*items, Ellipsis]
    if rank is not None:
        at = next(i for i, one in enumerate(whole) if one is Ellipsis)
        whole[at : at + 1] = [slice_(None)] * (rank - used)
    elif whole[-1] is Ellipsis:
        whole.pop()
    else:
        raise ValueError("an ellipsis in an index needs a tensor with a known number of dimensions")
    axes = [one for one in whole if one is not None]
    _check_range(tensor, axes)
    if any(map(_is_late, axes)):
        return _by_values(tensor, whole, axes, name)
    return _known(tensor, whole, axes, name)


def _bounds(item: Any) -> tuple[Any, Any, Any]:
    return item.start, item.stop, item.step


def _check_range(tensor: Tensor, axes: Sequence[Any]) -> None:
    for number, (one, size) in enumerate(zip(axes, tensor.shape._dims or (), strict=False)):
        if isinstance(one, int) and size is not None and not -size <= one < size:
            raise ValueError(
                f"slice index {one} of dimension {number} out of bounds: its size is {size}"
            )
        if isinstance(one, slice_) and one.step == 0:
            raise ValueError("strided_slice: a step must not be 0")


def _known(tensor: Tensor, whole: Sequence[Any], axes: Sequence[Any], name: str) -> Tensor:
    """A part whose slices are known; single indices may be tensors, which only pick."""
    late = [one for one in axes if isinstance(one, Tensor)]

    def cut(x: EdgeHandle, *indices: EdgeHandle) -> EdgeHandle:
        rest = list(indices)
        slices = [_as_slice(one) for one in axes]
        if any(one != _ALL for one in slices):
            begin, end, step = zip(*map(_bounds, slices), strict=True)
            x = x.slice(begin=begin, end=end, step=step)
        for number, one in enumerate(axes):
            if isinstance(one, Tensor):
                index = handle("_npi_expand_dims", rest.pop(0), axis=0)
                x = x.take(index, axis=number, mode="wrap")
        return _reformed(x, whole)

    params = {} if late else {"key": tuple(whole)}
    return fused("StridedSlice", cut, [tensor, *late], name=name, **params)


def _as_slice(one: Any) -> Any:
    if isinstance(one, slice_):
        return one
    return _ALL if isinstance(one, Tensor) else slice_(one, one + 1 if one != -1 else None, None)


def _reformed(x: EdgeHandle, whole: Sequence[Any]) -> EdgeHandle:
    """Drops the axes of single indices, and adds new ones."""
    axes = enumerate(one for one in whole if one is not None)
    dropped = tuple(number for number, one in axes if not isinstance(one, slice_))
    if dropped:
        x = handle("_np_squeeze", x, axis=dropped)
    left = enumerate(one for one in whole if one is None or isinstance(one, slice_))
    for number in (number for number, one in left if one is None):
        x = x.expand_dims(axis=number)
    return x


def _by_values(tensor: Tensor, whole: Sequence[Any], axes: Sequence[Any], name: str) -> Tensor:
    """A part some of whose slices have bounds that are tensors: cut one axis after another."""
    with name_scope(f"{name.rstrip('/').rsplit('/', 1)[-1]}_parts", values=[tensor]):
        for number, one in enumerate(axes):
            if _is_late(one):
                tensor = _cut_axis(tensor, number, one)
    settled = [_ALL if _is_late(one) else one for one in whole]
    return _known(tensor, settled, [one for one in settled if one is not None], name)


def _is_late(item: Any) -> bool:
    """Whether something is a slice with a tensor for a bound."""
    return isinstance(item, slice_) and any(isinstance(one, Tensor) for one in _bounds(item))


def _cut_axis(tensor: Tensor, axis: int, item: Any) -> Tensor:
    if item.step not in (None, 1):
        raise ValueError("strided_slice: a slice with bounds that are tensors must have step 1")
    bounds = {"begin": 0 if item.start is None else item.start, "end": item.stop}
    late = {key: one for key, one in bounds.items() if isinstance(one, Tensor)}
    params = {"axis": axis} | {key: one for key, one in bounds.items() if key not in late}
    call = ByValue(registry.get("slice_axis"), 1, params, tuple(late))
    dims = tensor.shape._dims
    if dims is not None:
        dims = tuple(None if number == axis else one for number, one in enumerate(dims))
    inputs, kinds = [tensor, *late.values()], [Kind(tensor.dtype.numpy, dims)]
    made: Tensor = apply_call("StridedSlice", call, inputs, name="part", kinds=kinds)
    return made


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Returns a block of a tensor.

    Args:
        begin: where it begins along each axis: a list of numbers (some may be tensors), or a
            tensor. What only a run tells is moved so that the block lies within the tensor.
        size: of the block along each axis; -1 for all that is left. As a tensor it, and `begin`,
            must be known before the program runs.

    Raises:
        ValueError: a number is missing, or the block is known to lie outside.
    """
    x = convert_to_tensor(input_, name="input")
    starts, sizes = as_shape(begin), as_shape(size)
    if not isinstance(starts, Tensor) and not isinstance(sizes, Tensor):
        pairs = zip(starts, sizes, strict=True)
        items = [slice_(at, None if count == -1 else at + count) for at, count in pairs]
        _check_block(x, starts, sizes)
        return fused("Slice", lambda data: _block(data, items), [x], name=name)
    if isinstance(sizes, Tensor) or -1 in sizes:
        return _late_block(x, starts, sizes, name)
    assert isinstance(starts, Tensor)
    return op("Slice", "_dynamic_slice", [x, starts], name=name, size=sizes)


def _late_block(x: Tensor, begin: Any, size: Any, name: str | None) -> Tensor:
    """A block whose size is known before the program runs, by what is fed or Python tells."""
    with name_scope("slice_parts", values=[x]):
        sizes: Any = op("Shape", "shape_array", [x])
        begin, size, whole = (
            cast_to(convert_to_tensor(one), int32) for one in (begin, size, sizes)
        )
        given = begin + size
        end = given + cast_to(size < 0, int32) * (whole - given)
    call = ByValue(registry.get("slice"), 1, {}, ("begin", "end"))
    known = dims_of(size)
    rank = x.shape.ndims
    kinds = [Kind(x.dtype.numpy, known if known is not None or rank is None else (None,) * rank)]
    made: Tensor = apply_call("Slice", call, [x, begin, end], name=name, kinds=kinds)
    return made


def _block(data: EdgeHandle, items: Sequence[Any]) -> EdgeHandle:
    if not items:
        return handle("_copy", data)
    return data.slice(begin=tuple(one.start for one in items), end=tuple(one.stop for one in items))


def _check_block(x: Tensor, starts: Sequence[int], sizes: Sequence[int]) -> None:
    dims = x.shape._dims
    if dims is None:
        return
    if not len(dims) == len(starts) == len(sizes):
        raise ValueError(
            f"Slice: begin and size must have one number for each dimension of {x.shape}, got "
            f"{list(starts)} and {list(sizes)}"
        )
    for whole, start, count in zip(dims, starts, sizes, strict=True):
        if whole is not None and (start < 0 or start + max(count, 0) > whole):
            raise ValueError(
                f"Slice: the block must lie within {x.shape}, got begin {list(starts)} and size "
                f"{list(sizes)}"
            )


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Returns a part of a tensor, as ``x[begin[0]:end[0]:strides[0], ...]``.

    Args:
        begin: numbers, or tensors in a list.
        end: likewise.
        strides: likewise; default 1.
        begin_mask: bit i: ``begin[i]`` does not count.
        end_mask: bit i: ``end[i]`` does not count.
        ellipsis_mask: bit i: there is an ellipsis at i.
        new_axis_mask: bit i: there is a new axis at i.
        shrink_axis_mask: bit i: ``begin[i]`` is a single index.
        var: without meaning here; must be None.
    """
    x = convert_to_tensor(input_, name="input")
    starts, stops = _listed(begin), _listed(end)
    steps = [1] * len(starts) if strides is None else _listed(strides)
    items: list[Any] = []
    for bit, (start, stop, step) in enumerate(zip(starts, stops, steps, strict=True)):
        mask = 1 << bit
        if ellipsis_mask & mask:
            items.append(Ellipsis)
        elif new_axis_mask & mask:
            items.append(None)
        elif shrink_axis_mask & mask:
            items.append(_bound(start))
        else:
            first = None if begin_mask & mask else start
            last = None if end_mask & mask else stop
            items.append(_item(slice_(first, last, step)))
    with name_scope(name, "StridedSlice", [x]) as scope:
        return part(x, items, scope)


def _listed(bounds: Any) -> list[Any]:
    known = known_numbers(bounds)
    if known is not None:
        return known if isinstance(known, list) else [known]
    if isinstance(bounds, (list, tuple)):
        return list(bounds)
    return list(convert_to_tensor(bounds))
