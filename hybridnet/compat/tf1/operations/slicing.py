"""Parts of tensors: ``x[1:, ..., tf.newaxis]``, ``tf.slice``, ``tf.strided_slice``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.graph.gradient import EdgeHandle
from hybridnet.ops.core import registry

from ..dtypes import int32
from ..graph.arguments import as_shape, dims_of, fused, known_numbers, op, static_value
from ..graph.building import apply_call
from ..graph.by_value import ByValue
from ..graph.control import name_scope
from ..graph.infer import Kind
from ..graph.operators import cast_to, handle
from ..graph.shapes import Dimension
from ..graph.tensor import Tensor, overload
from ..graph.values import convert_to_tensor

__all__ = ["newaxis", "slice", "strided_slice"]

newaxis = None
#: Python's own, which TensorFlow's function of that name hides.
slice_ = slice


@overload("__getitem__")
def _part_of(tensor: Tensor, key: Any) -> Tensor:
    """Returns a part of a tensor, by NumPy's rules for numbers, slices, None and an ellipsis.

    Args:
        tensor: a tensor.
        key: numbers and bounds may be tensors of whole numbers.

    Raises:
        TypeError: something else is in the key.
        ValueError: an index is out of range, or there are too many.
    """
    items = list(key) if isinstance(key, tuple) else [key]
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
        tensor: a tensor.
        items: numbers, slices, Ellipsis and None; numbers may be tensors.
        name: of the Operation.
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
    if any(isinstance(b, Tensor) for one in axes if isinstance(one, slice_) for b in _bounds(one)):
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
        if any(one != slice_(None) for one in slices):
            keys = ("begin", "end", "step")
            params = {
                key: tuple(getattr(one, name) for one in slices)
                for key, name in zip(keys, ("start", "stop", "step"), strict=True)
            }
            x = handle("slice", x, **params)
        for number, one in enumerate(axes):
            if isinstance(one, Tensor):
                index = handle("_npi_expand_dims", rest.pop(0), axis=0)
                x = handle("take", x, index, axis=number, mode="wrap")
        return _reformed(x, whole)

    params = {} if late else {"key": tuple(whole)}
    return fused("StridedSlice", cut, [tensor, *late], name=name, **params)


def _as_slice(one: Any) -> Any:
    if isinstance(one, slice_):
        return one
    if isinstance(one, Tensor):
        return slice_(None)
    return slice_(one, one + 1 if one != -1 else None, None)


def _reformed(x: EdgeHandle, whole: Sequence[Any]) -> EdgeHandle:
    """Drops the axes of single indices, and adds new ones."""
    dropped = []
    number = 0
    for one in whole:
        if one is None:
            continue
        if not isinstance(one, slice_):
            dropped.append(number)
        number += 1
    if dropped:
        x = handle("_np_squeeze", x, axis=tuple(dropped))
    number = 0
    for one in whole:
        if one is None:
            x = handle("expand_dims", x, axis=number)
            number += 1
        elif isinstance(one, slice_):
            number += 1
    return x


_ALL: Final = slice_(None)


def _by_values(tensor: Tensor, whole: Sequence[Any], axes: Sequence[Any], name: str) -> Tensor:
    """A part some of whose slices have bounds that are tensors: cut one axis after another."""
    with name_scope(f"{name.rstrip('/').rsplit('/', 1)[-1]}_parts", values=[tensor]):
        for number, one in enumerate(axes):
            if isinstance(one, slice_) and any(isinstance(b, Tensor) for b in _bounds(one)):
                tensor = _cut_axis(tensor, number, one)
    settled = [_ALL if isinstance(one, slice_) and _is_late(one) else one for one in whole]
    return _known(tensor, settled, [one for one in settled if one is not None], name)


def _is_late(item: Any) -> bool:
    return any(isinstance(bound, Tensor) for bound in _bounds(item))


def _cut_axis(tensor: Tensor, axis: int, item: Any) -> Tensor:
    if item.step not in (None, 1):
        raise ValueError("strided_slice: a slice with bounds that are tensors must have step 1")
    late, params = [], {"axis": axis, "begin": 0, "end": None}
    given = []
    for key, bound in (("begin", item.start), ("end", item.stop)):
        if isinstance(bound, Tensor):
            late.append(bound)
            given.append(key)
        elif bound is not None:
            params[key] = bound
    call = ByValue(registry.get("slice_axis"), 1, params, given)
    dims = tensor.shape._dims
    if dims is not None:
        dims = tuple(None if number == axis else one for number, one in enumerate(dims))
    kinds = [Kind(tensor.dtype.numpy, dims)]
    made: Tensor = apply_call("StridedSlice", call, [tensor, *late], name="part", kinds=kinds)
    return made


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Returns a block of a tensor.

    Args:
        input_: a tensor.
        begin: where it begins along each axis: a list of numbers (some may be tensors), or a
            tensor. What only a run tells is moved so that the block lies within the tensor.
        size: of the block along each axis; -1 for all that is left. As a tensor it, and `begin`,
            must be known before the program runs.
        name: of the Operation.

    Raises:
        ValueError: a number is missing, or the block is known to lie outside.
    """
    x = convert_to_tensor(input_, name="input")
    starts, sizes = as_shape(begin), as_shape(size)
    if not isinstance(starts, Tensor) and not isinstance(sizes, Tensor):
        items = []
        for start, count in zip(starts, sizes, strict=True):
            items.append(slice_(start, None if count == -1 else start + count))
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
    begin, end = tuple(one.start for one in items), tuple(one.stop for one in items)
    return handle("slice", data, begin=begin, end=end)


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
        input_: a tensor.
        begin: numbers, or tensors in a list.
        end: likewise.
        strides: likewise; default 1.
        begin_mask: bit i: ``begin[i]`` does not count.
        end_mask: bit i: ``end[i]`` does not count.
        ellipsis_mask: bit i: there is an ellipsis at i.
        new_axis_mask: bit i: there is a new axis at i.
        shrink_axis_mask: bit i: ``begin[i]`` is a single index.
        var: without meaning here; must be None.
        name: of the Operation.
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
