"""Indexing: which parts are views, which are copies, and what assignment changes.

As in MXNet: basic indexing (integers, slices, None, Ellipsis) gives a view exactly when the part
is one contiguous run of memory, and a copy otherwise; index arrays always give a copy. Positions
are inputs of the program, so that a loop over ``x[:, i]`` does not compile for each ``i``.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ops import registry
from hybridnet.ops.reshape import reshaped
from hybridnet.runtime.storage import in_place

from ._advanced import Gather, Scatter, Window, WindowAssign
from ._copy import host_array, put

__all__ = ["VIEW", "VIEW_ASSIGN", "assign", "get", "reshape"]

VIEW: Final = registry.get("_view")
VIEW_ASSIGN: Final = registry.get("_view_assign")
_FILL: Final = registry.get("_fill")
_EXACT: Final = 2**53


class _Basic(NamedTuple):
    """A basic index, resolved: on each axis of the array where it starts, its step and length."""

    starts: tuple[int, ...]
    steps: tuple[int, ...]
    lengths: tuple[int, ...]
    #: The shape of the result, with integers' axes dropped and None's added.
    shape: tuple[int, ...]


def get(x: Any, key: Any) -> Any:
    """Returns ``x[key]``."""
    if type(key) is slice and key == slice(None):
        return x
    if isinstance(key, tuple) and not key:
        return x
    items = _expand(x, key)
    if any(_is_array(one) for one in items):
        pattern, arrays = _advanced(x, items)
        return type(x).apply_call(Gather.of(*pattern), [x, *arrays])[0]
    basic = _resolve(x, items)
    offset = _contiguous(x.shape, basic)
    if offset is not None:
        return x.view(offset, basic.shape)
    window = Window.of(basic.steps, basic.lengths, basic.shape)
    return type(x).apply_call(window, [x], tuple(map(float, basic.starts)))[0]


def assign(x: Any, key: Any, value: Any) -> None:
    """Performs ``x[key] = value``."""
    items = _expand(x, key)
    if any(_is_array(one) for one in items):
        pattern, arrays = _advanced(x, items)
        operand = _operand(x, value)
        (part,) = Gather.of(*pattern).infer((x.type, *(one.type for one in arrays)))
        _check_broadcast(operand.shape, part.shape)
        _rewrite(x, Scatter.of(*pattern), [operand, *arrays])
        return
    basic = _resolve(x, items)
    offset = _contiguous(x.shape, basic)
    if offset is not None:
        whole = x.detach()
        _overwrite(whole if basic.shape == x.shape else whole.view(offset, basic.shape), value)
        return
    operand = _operand(x, value)
    _check_broadcast(operand.shape, basic.shape)
    call = WindowAssign.of(basic.steps, basic.lengths, basic.shape)
    _rewrite(x, call, [operand], tuple(map(float, basic.starts)))


def _rewrite(x: Any, call: Any, operands: list[Any], scalars: tuple[float, ...] = ()) -> None:
    with in_place:
        x.write(type(x).apply_call(call, [x.detach(), *operands], scalars)[0].read())


def reshape(x: Any, shape: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Returns a view in another shape; see `NDArray.reshape`."""
    reverse = bool(options.pop("reverse", False))
    if "shape" in options:
        if shape:
            raise ParameterError("reshape: the shape was given twice")
        shape = (options.pop("shape"),)
    if options:
        raise ParameterError(f"reshape: takes shape and reverse, got {', '.join(options)}")
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    wanted = tuple(int(one) for one in shape)
    return x.view(0, reshaped(x.shape, wanted, reverse))


def _overwrite(part: Any, value: Any) -> None:
    """Fills an array or a view with a number or the values of another array."""
    if isinstance(value, (int, float, np.number, np.bool_)) and not _too_long(value):
        attrs = {"shape": part.shape, "dtype": part.inferred_dtype.name, "scalar": float(value)}
        call, scalars = _FILL.bind(attrs)
        part.write(type(part).apply_call(call, [], scalars, part.context)[0].read())
        return
    operand = _operand(part, value)
    if operand.shape == part.shape and part.is_same_part(operand):
        return  # ``x[i] += 1`` ends so: the row, which was changed in place, is assigned to itself
    _check_broadcast(operand.shape, part.shape)
    surplus = operand.ndim - part.ndim
    if surplus > 0:  # leading axes of size 1 may be more than the part has
        operand = operand.view(0, operand.shape[surplus:])
    part.assign(operand)


def _too_long(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and abs(int(value)) > _EXACT


def _operand(x: Any, value: Any) -> Any:
    """Returns a value to be assigned as an array on the context of `x`."""
    if isinstance(value, type(x)):
        return value.detach().as_in_context(x.context)
    host = host_array(value, x.inferred_dtype, "x[...] = value")
    return type(x).from_value(put(host, x.context), x.context)


def _check_broadcast(got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    stripped = got
    while len(stripped) > len(wanted) and stripped[0] == 1:
        stripped = stripped[1:]
    aligned = wanted[len(wanted) - len(stripped) :]
    fits = len(stripped) <= len(wanted) and all(
        a in (1, b) for a, b in zip(stripped, aligned, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"x[...] = value: the value must broadcast to the shape {wanted} of the part, "
            f"got shape {got}"
        )


def _is_array(item: Any) -> bool:
    return not (item is None or isinstance(item, (int, slice)))


def _expand(x: Any, key: Any) -> list[Any]:
    """Returns the index as a list with an item for each axis and None, Ellipsis replaced."""
    items = list(key) if isinstance(key, tuple) else [key]
    for position, item in enumerate(items):
        if isinstance(item, (bool, np.bool_, np.integer)):
            items[position] = int(item)
        elif isinstance(item, type(x)):
            continue
        elif isinstance(item, (list, tuple, np.ndarray)):
            items[position] = np.asarray(item)
        elif not (item is None or item is Ellipsis or isinstance(item, (int, slice))):
            raise IndexError(
                f"an NDArray is indexed with integers, slices, None, ... and integer arrays, "
                f"got {item!r}"
            )
    items = _split_masks(x, items)
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can have one Ellipsis ('...') only")
    used = sum(item is not None and item is not Ellipsis for item in items)
    if used > x.ndim:
        raise IndexError(f"too many indices ({used}) for an array with {x.ndim} dimensions")
    at = ellipses[0] if ellipses else len(items)
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    return items


def _split_masks(x: Any, items: list[Any]) -> list[Any]:
    """Replaces a boolean mask by the index arrays of its True elements (this waits for it)."""
    split: list[Any] = []
    for position, item in enumerate(items):
        if isinstance(item, type(x)) and item.inferred_dtype == np.bool_:
            item = item.asnumpy()
        if isinstance(item, np.ndarray) and item.dtype == np.bool_:
            _check_mask(x, items, position, item.shape)
            split.extend(np.nonzero(item))
        else:
            split.append(item)
    return split


def _check_mask(x: Any, items: list[Any], position: int, shape: tuple[int, ...]) -> None:
    """Raises IndexError unless a mask has the shape of the axes it selects from."""
    before, after = items[:position], items[position + 1 :]
    axis = _axes(x, before)
    if any(item is Ellipsis for item in before):
        axis = x.ndim - _axes(x, after) - len(shape)
    wanted = x.shape[axis : axis + len(shape)]
    if shape != wanted or not shape:
        raise IndexError(
            f"a mask must have the shape of the axes it selects from: {wanted}, got {shape}"
        )


def _axes(x: Any, items: list[Any]) -> int:
    """Returns how many axes items of an index stand for, without an Ellipsis."""
    count = 0
    for item in items:
        if item is None or item is Ellipsis:
            continue
        mask = isinstance(item, (type(x), np.ndarray)) and np.dtype(item.dtype) == np.bool_
        count += len(item.shape) if mask else 1
    return count


def _resolve(x: Any, items: list[Any]) -> _Basic:
    starts, steps, lengths, shape = [], [], [], []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(item, int):
            starts.append(_position(item, axis, size))
            steps.append(1)
            lengths.append(1)
        else:
            start, stop, step = item.indices(size)
            length = len(range(start, stop, step))
            starts.append(start if length else 0)
            steps.append(step if length > 1 else 1)
            lengths.append(length)
            shape.append(length)
        axis += 1
    # MXNet has no 0-d arrays among its results: one element has shape (1,).
    return _Basic(tuple(starts), tuple(steps), tuple(lengths), tuple(shape) or (1,))


def _position(index: int, axis: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index % size


def _contiguous(shape: tuple[int, ...], basic: _Basic) -> int | None:
    """Returns where the part begins if it is one run of memory, else None."""
    offset = 0
    stride = 1
    partial = False
    for axis in reversed(range(len(shape))):
        length = basic.lengths[axis]
        if length == 0:
            return None
        if length > 1 and (partial or basic.steps[axis] != 1):
            return None
        offset += basic.starts[axis] * stride
        # Once an axis is cut, every axis further out must be a single position.
        partial = partial or length != shape[axis]
        stride *= shape[axis]
    return offset


def _advanced(x: Any, items: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """Returns the static pattern of an index with arrays in it, and the index arrays."""
    pattern: list[Any] = []
    arrays = []
    axis = 0
    for item in items:
        if item is None:
            pattern.append(None)
            continue
        size = x.shape[axis]
        if isinstance(item, int):
            pattern.append(_position(item, axis, size))
        elif isinstance(item, slice):
            ends = (item.start, item.stop, item.step)
            pattern.append(tuple(None if one is None else operator.index(one) for one in ends))
        else:
            pattern.append("array")
            arrays.append(_index_array(x, item, axis, size))
        axis += 1
    return (tuple(pattern),), arrays


def _index_array(x: Any, item: Any, axis: int, size: int) -> Any:
    if isinstance(item, type(x)):
        return item.detach()
    host = np.asarray(item)
    if host.size == 0:
        host = host.astype(np.int64)
    if not np.issubdtype(host.dtype, np.number):
        raise IndexError(f"an index array must hold integers, got dtype {host.dtype}")
    host = host.astype(np.int64)
    wrong = host[(host < -size) | (host >= size)]
    if wrong.size:
        raise IndexError(f"index {wrong.flat[0]} is out of bounds for axis {axis} with size {size}")
    return type(x).from_value(put(host, x.context), x.context)
