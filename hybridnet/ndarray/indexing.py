"""Indexing: which parts are views, which are copies, and what assignment changes.

As in MXNet: basic indexing (integers, slices, None, Ellipsis) gives a view exactly when the part
is one contiguous run of memory, and a copy otherwise; index arrays always give a copy. Positions
are inputs of the program, so that a loop over ``x[:, i]`` does not compile for each ``i``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, SupportsFloat, TypeGuard

import numpy as np

from hybridnet.base.array_types import ArrayLike, Index
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.shape_arguments import size_of
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.shape import reshaped
from hybridnet.runtime.recording import Value, in_place, recorder

from ._advanced import (
    Gather,
    Scatter,
    Window,
    WindowAssign,
)
from .applying import check_positions, watch_positions
from .copies import host_array, put
from .parts import fill_call

__all__ = ["assign", "get", "is_run", "reshape"]

_EXACT: Final = 2**53
_WHOLE: Final = slice(None)
_INTEGERS: Final = frozenset({int})


def get(x: Any, key: Index) -> Any:
    """Returns ``x[key]``."""
    rows = _rows(x, key)
    if rows is not None:
        return x.view(*rows)
    if type(key) is slice and key == _WHOLE:
        return x
    if isinstance(key, tuple) and not key:
        return x
    items, with_arrays = _expand(x, key)
    if with_arrays:
        pattern, arrays = _advanced(x, items)
        call, inputs = Gather.of(*pattern), [x, *arrays]
        later = check_positions(call, inputs)
        part = type(x).apply_call(call, inputs)[0]
        if later:
            watch_positions(inputs, later)
        return part
    offset, shape, starts, pattern = _resolve(x.shape, items)
    if offset is not None:
        return x.view(offset, shape)
    return type(x).apply_call(Window.of(*pattern, shape), [x], starts)[0]


def _rows(x: Any, key: Index) -> tuple[int, tuple[int, ...]] | None:
    """Resolves an index that takes a row, or some that follow each other, as most do.

    Returns:
        Where the part begins and its shape; None where the index is another, or takes everything.
    """
    kind = x.type
    shape = kind.shape
    if not kind.size or not shape:
        return None
    size = shape[0]
    if type(key) is int:
        if not -size <= key < size:
            return None
        return key % size * (kind.size // size), shape[1:] or (1,)
    if type(key) is not slice:
        return None
    start, stop, step = key.indices(size)
    if step != 1 or not 0 < stop - start < size:
        return None
    return start * (kind.size // size), (stop - start, *shape[1:])


def is_run(key: tuple[object, ...], shape: tuple[int, ...]) -> bool:
    """Whether a part of an array of a shape is one run of memory, so that its index is a view.

    Args:
        key: integers and slices, at most one for each axis.
        shape: of the array.
    """
    offset, part, _, _ = _resolve(shape, list(key))
    return offset is not None or not math.prod(part)


def assign(x: Any, key: Index, value: ArrayLike) -> None:
    """Performs ``x[key] = value``."""
    rows = _rows(x, key)
    if rows is not None:
        _overwrite(x.part(*rows), value)
        return
    items, with_arrays = _expand(x, key)
    if with_arrays:
        pattern, arrays = _advanced(x, items)
        operand = _operand(x, value)
        (part,) = Gather.of(*pattern).infer((x.type, *(array.type for array in arrays)))
        _check_broadcast(operand.shape, part.shape)
        call, operands = Scatter.of(*pattern), [operand, *arrays]
        later = check_positions(call, [x, *operands])
        _rewrite(x, call, operands)
        if later:
            watch_positions([x, *operands], later)
        return
    offset, shape, starts, pattern = _resolve(x.shape, items)
    if offset is not None:
        whole = x.detach()
        _overwrite(whole if shape == x.shape else whole.view(offset, shape), value)
        return
    operand = _operand(x, value)
    _check_broadcast(operand.shape, shape)
    _rewrite(x, WindowAssign.of(*pattern, shape), [operand], starts)


def _rewrite(x: Any, call: Any, operands: list[Any], scalars: tuple[float, ...] = ()) -> None:
    if recorder.several:
        recorder.launch_others((x, *operands))
    with in_place:
        x.write(type(x).apply_call(call, [x.detach(), *operands], scalars)[0].read())


def reshape(x: Any, shape: tuple[Any, ...], options: dict[str, object]) -> Any:
    """Returns a view in another shape; see `NDArray.reshape`."""
    reverse = False
    if options:
        reverse = bool(options.pop("reverse", False))
        if "shape" in options:
            if shape:
                raise ParameterError("reshape: the shape was given twice")
            shape = (options.pop("shape"),)
        if options:
            raise ParameterError(f"reshape: takes shape and reverse, got {', '.join(options)}")
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    if not _INTEGERS.issuperset(map(type, shape)):
        shape = tuple([size_of("reshape", size) for size in shape])
    return x.view(0, _reshaped(x.type.shape, shape, reverse))


_reshaped = lru_cache(4096)(reshaped)


def _overwrite(part: Any, value: ArrayLike) -> None:
    """Fills an array or a view with a number or the values of another array."""
    if _is_number(value):
        part.write_number(float(value))
        return
    operand = _operand(part, value)
    if operand.shape == part.shape:
        if part.is_same_part(operand):
            return  # ``x[i] += 1`` ends so: the row, changed in place, is assigned to itself
    else:
        _check_broadcast(operand.shape, part.shape)
        surplus = operand.ndim - part.ndim
        if surplus > 0:  # leading axes of size 1 may be more than the part has
            operand = operand.view(0, operand.shape[surplus:])
    part.assign(operand)


def _is_number(value: object) -> TypeGuard[SupportsFloat]:
    """Whether a value is a number that a float64 holds."""
    if type(value) is float:
        return True
    if isinstance(value, (int, np.integer)):
        return abs(int(value)) <= _EXACT
    return isinstance(value, (float, np.number, np.bool_))


def _filled(part: TensorType, ctx: Context, value: SupportsFloat) -> Value:
    """Returns a Value of a type with a number everywhere, which is an input of the program."""
    return recorder.record(ctx, fill_call(part), (), (float(value),), (part,))[0]


def _operand(x: Any, value: ArrayLike) -> Any:
    """Returns a value to be assigned as an array on the context of `x`."""
    if isinstance(value, type(x)):
        return value.detach().as_in_context(x.context)
    if _is_number(value):
        scalar = tensor_type((1,), x.type.dtype)
        return type(x).from_value(_filled(scalar, x.context, value), x.context)
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


def _expand(x: Any, key: Index) -> tuple[list[Any], bool]:
    """Returns the items of an index without Ellipsis, and whether there are arrays among them.

    Items are None or stand for one axis each; axes beyond them are taken whole.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    with_arrays = False
    used = ellipses = 0
    for position, item in enumerate(items):
        if item is None:
            continue
        if item is Ellipsis:
            ellipses += 1
            continue
        used += 1
        if type(item) is int or isinstance(item, slice):
            continue
        if isinstance(item, (int, np.bool_, np.integer)):
            items[position] = int(item)
            continue
        with_arrays = True
        if isinstance(item, np.ndarray):
            items[position] = item
        elif isinstance(item, (list, tuple)):
            host = np.asarray(item)
            # As in MXNet: True and False in a list are the positions 1 and 0, and no mask.
            items[position] = host.astype(np.intp) if host.dtype == np.bool_ else host
        elif isinstance(item, range):
            items[position] = np.arange(item.start, item.stop, item.step)
        elif not isinstance(item, type(x)):
            raise IndexError(
                f"an NDArray is indexed with integers, slices, None, ..., ranges and integer "
                f"arrays, got {item!r}"
            )
    if with_arrays:
        items = _split_masks(x, items)
        used = sum(item is not None and item is not Ellipsis for item in items)
    if ellipses > 1:
        raise IndexError("an index can have one Ellipsis ('...') only")
    if used > x.ndim:
        raise IndexError(f"too many indices ({used}) for an array with {x.ndim} dimensions")
    if ellipses:
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[at : at + 1] = [_WHOLE] * (x.ndim - used)
    return items, with_arrays


def _split_masks(x: Any, items: list[Any]) -> list[object]:
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


def _check_mask(x: Any, items: list[object], position: int, shape: tuple[int, ...]) -> None:
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


def _resolve(
    shape: tuple[int, ...], items: list[Any]
) -> tuple[int | None, tuple[int, ...], tuple[float, ...], tuple[Any, ...]]:
    """Resolves a basic index into an array of a shape.

    Returns:
        Where the part begins if it is one run of memory, else None; its shape; and, on each axis
        of the array, where it starts, and (its steps, its lengths). The latter two are empty for
        a run.
    """
    starts: list[float] = []
    steps: list[int] = []
    lengths: list[int] = []
    kept: list[int] = []
    offset = axis = 0
    run, several = True, False
    for item in items:
        if item is None:
            kept.append(1)
            continue
        size = shape[axis]
        step = length = 1
        if isinstance(item, int):
            start = _position(item, axis, size)
        else:
            start, stop, step = item.indices(size)
            length = len(range(start, stop, step))
            kept.append(length)
            if length < 2:
                step = 1
                start = start if length else 0
        # No axis may be cut within one of which several positions are taken.
        if not length or (several and length != size) or step != 1:
            run = False
        several = several or length > 1
        offset = offset * size + start
        starts.append(start)
        steps.append(step)
        lengths.append(length)
        axis += 1
    rest = shape[axis:]
    within = math.prod(rest)
    # MXNet has no 0-d arrays among its results: one element has shape (1,).
    part = (*kept, *rest) or (1,)
    if run and within:
        return offset * within, part, (), ()
    starts += [0] * len(rest)
    steps += [1] * len(rest)
    return None, part, tuple(map(float, starts)), (tuple(steps), (*lengths, *rest))


def _position(index: int, axis: int, size: int) -> int:
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index % size


def _advanced(x: Any, items: Sequence[object]) -> tuple[tuple[Any, ...], list[Any]]:
    """Returns the static pattern of an index with arrays in it, and the index arrays."""
    pattern: list[object] = []
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
            pattern.append(tuple(None if end is None else operator.index(end) for end in ends))
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
