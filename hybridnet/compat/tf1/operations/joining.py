"""Joining and parting tensors: ``tf.concat``, ``tf.stack``, ``tf.split``, ``tf.unstack``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Kind, apply, compose, convert_to_tensor, identity, listed, require_same
from ..graph.adding import EdgeHandle, Tensor, fused, handle, name_scope, op
from ..graph.arguments import axis_of, known_numbers, with_default

__all__ = ["concat", "meshgrid", "split", "stack", "unstack"]


def concat(values: Any, axis: Any, name: str = "concat") -> Tensor:
    """Returns tensors joined along an axis.

    Args:
        values: tensors of one dtype, alike in all dimensions but one.
        axis: along which, known when the graph is built.

    Raises:
        ValueError: the shapes do not fit.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        with name_scope(name) as scope:
            value = convert_to_tensor(values[0])
            axis_of("ConcatV2", axis, value.shape.ndims)
            return identity(value, name=scope and f"{scope}concat/")
    names = [f"values_{number}" for number in range(len(values))]
    with name_scope(name, "concat", [one for one in values if isinstance(one, Tensor)]) as scope:
        tensors = require_same("ConcatV2", names, values)
        rank = next((one.shape.ndims for one in tensors if one.shape.ndims is not None), None)
        number = axis_of("ConcatV2", axis, rank)

        return fused(
            "ConcatV2", lambda *parts: handle("Concat", *parts, dim=number), tensors, name=scope,
            axis=number,
        )  # fmt: skip


def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Returns tensors of one shape and dtype joined along a new axis.

    Args:
        values: a list of them.
        axis: where the new axis is.

    Raises:
        ValueError: the shapes differ.
    """
    if axis == 0 and not any(hasattr(one, "graph") for one in values):
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass  # lists that hold tensors
    names = [f"values_{number}" for number in range(len(values))]
    tensors = require_same("Pack", names, list(values))
    shape = tensors[0].shape
    for one in tensors[1:]:
        shape.assert_is_compatible_with(one.shape)
    number = axis_of("Pack", axis, None if shape.ndims is None else shape.ndims + 1)
    return op("Pack", "stack", tensors, name=name, axis=number)


def unstack(
    value: Any, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """Returns the slices of a tensor along an axis.

    Args:
        num: how many there are; default what is known of the shape.
        axis: along which.

    Raises:
        ValueError: the number is not known.
    """
    x = convert_to_tensor(value)
    rank = x.shape.ndims
    number = axis_of("Unpack", axis, rank)
    if num is None:
        dims = x.shape._dims
        num = None if dims is None else dims[number]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {x.shape}")
    params = {"axis": number, "num_outputs": num, "squeeze_axis": True}
    if rank == 1:  # the operator leaves each element of a vector an axis

        def numbers(x: EdgeHandle) -> list[EdgeHandle]:
            parts = listed(handle("SliceChannel", x, **params))
            return [handle("_np_reshape", one, newshape=()) for one in parts]

        made = compose("Unpack", numbers, [x], name=name)
    else:
        dims, kinds = x.shape._dims, None
        if dims is not None and dims[number] is None:  # it must be `num`: no trial finds that
            left = tuple(size for at, size in enumerate(dims) if at != number % len(dims))
            kinds = [Kind(x.dtype.numpy, left)] * num
        made = apply("Unpack", "SliceChannel", [x], params, name=name, kinds=kinds)
    return listed(made)


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """Returns the parts of a tensor along an axis.

    Args:
        num_or_size_splits: how many equal parts, or the size of each, of which one may be -1.
        axis: along which, known when the graph is built.
        num: without meaning here.

    Raises:
        ValueError: the parts do not make up the axis.
    """
    x = convert_to_tensor(value, name="value")
    number = axis_of("Split", axis, x.shape.ndims)
    sizes = known_numbers(num_or_size_splits)
    if sizes is None:
        raise ValueError("split: the sizes must be known when the graph is built")
    if isinstance(sizes, int):
        params = {"axis": number, "num_outputs": sizes, "squeeze_axis": False}
        return listed(apply("Split", "SliceChannel", [x], params, name=name))
    dims = x.shape._dims
    whole = None if dims is None else dims[number]
    rest = sum(one for one in sizes if one != -1)
    if -1 in sizes:
        if whole is None:
            raise ValueError("split: a size of -1 needs an axis of known size")
        sizes = [whole - rest if one == -1 else one for one in sizes]
    elif whole is not None and rest != whole:
        raise ValueError(f"SplitV: sizes {sizes} must add up to {whole} along axis {number}")
    ends = np.cumsum(sizes).tolist()

    def parts(x: EdgeHandle) -> list[EdgeHandle]:
        pairs = zip([0, *ends[:-1]], ends, strict=True)
        return [x.slice_axis(axis=number, begin=begin, end=end) for begin, end in pairs]

    return listed(compose("SplitV", parts, [x], name=name))


def meshgrid(*args: Any, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Returns the coordinates of a grid: for each vector an array with an axis for each of them.

    Args:
        args: vectors of known sizes.
        indexing: 'xy', in which the first two axes are swapped, or 'ij'.

    Raises:
        ValueError: `indexing` is something else.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` must be 'xy' or 'ij', got {indexing}")
    with name_scope(name, "meshgrid", [one for one in args if isinstance(one, Tensor)]):
        vectors = [convert_to_tensor(one) for one in args]
        count = len(vectors)
        axes = list(range(count))
        if indexing == "xy" and count > 1:
            axes[:2] = [1, 0]
        sizes = [1] * count
        for vector, axis in zip(vectors, axes, strict=True):
            sizes[axis] = with_default(vector.shape.num_elements(), -1)
        made: list[Tensor] = []
        for vector, axis in zip(vectors, axes, strict=True):
            own = tuple(-1 if number == axis else 1 for number in range(count))

            def spread(x: EdgeHandle, own: Sequence[int] = own) -> EdgeHandle:
                return handle("broadcast_to", handle("_np_reshape", x, newshape=own), shape=sizes)

            name_of = "mul" if not made else f"mul_{len(made)}"
            made.append(fused("Mul", spread, [vector], name=name_of))
        return made
