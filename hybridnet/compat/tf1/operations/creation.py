"""Arrays from nothing, and the shapes of others: ``tf.zeros``, ``tf.range``, ``tf.shape``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..graph import TensorShape, cast_to, constant, convert_to_tensor, handle, require_same
from ..graph.adding import EdgeHandle, Tensor, apply_shaped, described, fused, of_shape, op
from ..graph.arguments import as_shape, known_numbers, require_kind, static_value
from ..graph.control import name_scope

__all__ = [
    "broadcast_dynamic_shape", "broadcast_static_shape", "fill", "lin_space", "linspace", "ones",
    "ones_like", "range", "rank", "shape", "shape_n", "size", "zeros", "zeros_like",
]  # fmt: skip

#: Arrays of one number with at most this many elements are constants, as in TensorFlow.
_CONSTANT = 1000


def _filled(shape: Any, value: int, dtype: Any, name: str | None, default: str) -> Tensor:
    kind = as_dtype(dtype).base_dtype
    sizes = as_shape(shape)
    with name_scope(name, default) as scope:
        if isinstance(sizes, Tensor):
            operator, params = f"_{default}", {"dtype": kind.numpy.name}
            return of_shape("Fill", operator, [], sizes, kind, params, name=scope)
        number = bool(value) if kind.is_bool else value
        if np.prod(sizes) < _CONSTANT and not isinstance(shape, Tensor):
            return constant(np.full(sizes, number, kind.numpy), kind, name=scope)
        return op("Fill", "_full", [], name=scope, shape=sizes, value=float(value), dtype=kind.name)


def zeros(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns an array of zeros.

    Args:
        shape: a list of numbers (some may be tensors), or a tensor.
        dtype: of the elements.
    """
    return _filled(shape, 0, dtype, name, "zeros")


def ones(shape: Any, dtype: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """Returns an array of ones; arguments as those of `zeros`."""
    return _filled(shape, 1, dtype, name, "ones")


def _like(called: str, kind: str, filled: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True
    ) -> Tensor:
        with name_scope(name, called, [tensor] if isinstance(tensor, Tensor) else None) as scope:
            x = convert_to_tensor(tensor, name="tensor")
            wanted = x.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
            if optimize and x.shape.is_fully_defined():  # then it need not have a value
                return filled(x.shape, wanted, scope)

            def made(x: EdgeHandle) -> EdgeHandle:
                return handle(called, handle("Cast", x, dtype=wanted.numpy.name))

            return fused(kind, made, [x], name=scope)

    what = called.removesuffix("_like")
    doc = f"Returns {what} of the shape of a tensor; `dtype` is by default the tensor's."
    return described(function, called, doc)


zeros_like = _like("zeros_like", "ZerosLike", zeros)
ones_like = _like("ones_like", "Fill", ones)


def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """Returns an array of one number.

    Args:
        dims: its shape, as for `zeros`.
        value: the number, which may be a tensor.
    """
    number = convert_to_tensor(value, name="value")
    return of_shape("Fill", "_npi_broadcast_to", [number], dims, number.dtype, name=name)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str | None = "range"
) -> Tensor:
    """Returns evenly spaced numbers, up to but not including a limit.

    Args:
        start: the first number, or where there is no `limit` the limit; then 0 is the first.
        limit: the end.
        delta: the distance, not 0.
        dtype: of the numbers; default what holds all three.

    Raises:
        ValueError: `delta` is 0.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        named = {"start": start, "limit": limit, "delta": delta}
        parts = [convert_to_tensor(one, name=key) for key, one in named.items()]
        if dtype is None:
            kinds = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
            kind = max((one.dtype.base_dtype for one in parts), key=kinds.index)
        else:
            kind = as_dtype(dtype).base_dtype
        known = [static_value(one) for one in parts]
        if known[2] is not None and not known[2]:
            raise ValueError(f"Range: Requires delta != 0, got {delta}")
        given = {
            key: one if value is None else value.item()
            for key, one, value in zip(("start", "stop", "step"), parts, known, strict=True)
        }
        params = {"dtype": kind.numpy.name}
        return apply_shaped(
            "Range", "_arange", [], given, params, dtype=kind, dims=[None], name=scope
        )


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """Returns `num` evenly spaced numbers from `start` to `stop`, both included.

    Args:
        start: a number, or a tensor with no dimensions; floating point.
        stop: likewise.
        num: how many, known when the graph is built.
        axis: must be 0.
    """
    with name_scope(name, "linspace", [start, stop]):
        pair = require_same("LinSpace", ("start", "stop"), (start, stop))
        count, kind = known_numbers(num), pair[0].dtype.base_dtype
        if not isinstance(count, int) or axis:
            raise ValueError("linspace: num must be known when the graph is built, and axis be 0")
        require_kind("LinSpace", "start", pair[0], lambda dtype: dtype.is_floating)

        part = constant(np.linspace(0.0, 1.0, count), kind, name="part")

        def spaced(start: EdgeHandle, stop: EdgeHandle, part: EdgeHandle) -> EdgeHandle:
            return (1.0 - part) * start + part * stop

        return fused("Slice", spaced, [*pair, part], name="Slice")


lin_space = linspace


# Shapes -------------------------------------------------------------------------------------------


def shape(
    input: Any, name: str | None = None, out_type: Any = dtypes.int32, optimize: bool = True
) -> Tensor:
    """Returns the sizes of a tensor as a tensor.

    Args:
        out_type: int32 or int64.
        optimize: whether a shape that is known already becomes a constant.
    """
    kind = as_dtype(out_type).base_dtype
    with name_scope(name, "Shape", [input] if isinstance(input, Tensor) else None) as scope:
        if hasattr(input, "dense_shape"):
            return cast_to(input.dense_shape, kind)
        x = convert_to_tensor(input)
        if optimize and x.shape.is_fully_defined():
            return constant(np.array(x.shape.as_list(), kind.numpy), kind, name=scope)
        return _of_shape("Shape", "shape_array", x, kind, scope)


def _of_shape(kind: str, operator: str, x: Tensor, dtype: DType, name: str) -> Tensor:
    def sizes(x: EdgeHandle) -> EdgeHandle:
        found = handle("Cast", handle(operator, x), dtype=dtype.numpy.name)
        return handle("_np_squeeze", found) if kind == "Size" else found

    rank = x.shape.ndims
    return fused(kind, sizes, [x], name=name, shape=() if kind == "Size" else [rank])


#: For modules in which the plain names are Python's own, or those of parameters.
range_of, shape_of = range, shape


def size_of(x: Tensor, axis: int) -> Any:
    """Returns the size of an axis: a number where it is known, else a tensor."""
    known = x.shape.as_list()[axis]
    return shape(x)[axis] if known is None else known  # type: ignore[index]  # overloaded


def shape_n(input: Sequence[Any], out_type: Any = dtypes.int32, name: str | None = None) -> Any:
    """Returns the sizes of several tensors."""
    return [shape(one, name or "ShapeN", out_type, optimize=False) for one in input]


def size(input: Any, name: str | None = None, out_type: Any = dtypes.int32) -> Tensor:
    """Returns the number of elements of a tensor, as a tensor."""
    kind = as_dtype(out_type).base_dtype
    with name_scope(name, "Size", [input] if isinstance(input, Tensor) else None) as scope:
        x = convert_to_tensor(input)
        if x.shape.is_fully_defined():
            return constant(np.array(x.shape.num_elements(), kind.numpy), kind, name=scope)
        return _of_shape("Size", "size_array", x, kind, scope)


def rank(input: Any, name: str | None = None) -> Tensor:
    """Returns the number of dimensions of a tensor, as a tensor."""
    with name_scope(name, "Rank", [input] if isinstance(input, Tensor) else None) as scope:
        x = convert_to_tensor(input)
        if x.shape.ndims is not None:
            return constant(x.shape.ndims, dtypes.int32, name=scope)

        def count(x: EdgeHandle) -> EdgeHandle:
            number = x.shape_array().size_array()
            return handle("_np_squeeze", handle("Cast", number, dtype="int32"))

        return fused("Rank", count, [x], name=scope, shape=())


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Returns the shape that two known shapes broadcast to.

    Raises:
        ValueError: they do not.
    """
    one, other = TensorShape(shape_x)._dims, TensorShape(shape_y)._dims
    if one is None or other is None:
        return TensorShape(None)
    length = max(len(one), len(other))
    found: list[int | None] = []
    padded = [(1,) * (length - len(dims)) + dims for dims in (one, other)]
    for a, b in zip(*padded, strict=True):
        if a == b or b == 1:
            found.append(a)
        elif a == 1:
            found.append(b)
        elif a is None or b is None:
            found.append(a or b if (a or b or 0) > 1 else None)
        else:
            raise ValueError(f"Incompatible shapes for broadcasting: {shape_x} and {shape_y}.")
    return TensorShape(found)


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Tensor:
    """Returns the shape that two shapes broadcast to, as a tensor."""
    pair = require_same("BroadcastArgs", ("s0", "s1"), (shape_x, shape_y))
    lengths = [one.shape.num_elements() or 0 for one in pair]
    if not all(one.shape.is_fully_defined() for one in pair):
        raise ValueError("broadcast_dynamic_shape: the numbers of dimensions must be known")

    def most(one: EdgeHandle, other: EdgeHandle) -> EdgeHandle:
        both = [one, other]
        for index, length in enumerate(lengths):
            if missing := max(lengths) - length:
                params = {"pad_width": (missing, 0), "mode": "constant", "constant_values": 1.0}
                both[index] = handle("_npi_pad", both[index], **params)
        return handle("broadcast_maximum", *both)

    return fused("BroadcastArgs", most, pair)
