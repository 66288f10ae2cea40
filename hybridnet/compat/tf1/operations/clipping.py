"""Limits on values and norms: ``tf.clip_by_value``, ``tf.clip_by_global_norm``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..graph import as_floats, axes_of, convert_to_tensor, require_same
from ..graph.adding import EdgeHandle, Tensor, fused, handle, is_zero, name_scope, ones_where

__all__ = [
    "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm",
]  # fmt: skip


def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """Returns the elements, moved to two limits where they lie beyond.

    Args:
        t: a tensor.
        clip_value_min: numbers, or a tensor, that broadcast to its shape.
        clip_value_max: likewise.
    """
    inputs = require_same("ClipByValue", "tlh", (t, clip_value_min, clip_value_max))

    def clipped(x: EdgeHandle, low: EdgeHandle, high: EdgeHandle) -> EdgeHandle:
        return handle("broadcast_maximum", handle("broadcast_minimum", x, high), low)

    with name_scope(name, "clip_by_value", [t]) as scope:
        return fused("Maximum", clipped, inputs, name=scope, shape=inputs[0].shape)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor, made shorter where its norm is above a limit.

    Args:
        t: floating point.
        clip_norm: the limit, a number or a tensor.
        axes: those that vectors lie along; default all.
    """

    def length(x: EdgeHandle) -> EdgeHandle:
        total = handle("_np_sum", x.square(), axis=along, keepdims=True)
        nothing = is_zero(total)
        return handle("_npi_where", nothing, total, ones_where(nothing, total).sqrt())

    x = as_floats("ClipByNorm", t, "t")
    limit = convert_to_tensor(clip_norm, x.dtype.base_dtype)
    along = axes_of("ClipByNorm", axes, x.shape.ndims)
    return _shortened(x, limit, length, "clip_by_norm", name)


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """As `clip_by_norm`, with the norm divided by the number of elements."""

    def length(x: EdgeHandle) -> EdgeHandle:
        count = handle("Cast", x.size_array(), dtype=kind.numpy.name)
        total = handle("_np_sum", x.square(), keepdims=True)
        return total.sqrt() / handle("_np_squeeze", count)

    x = as_floats("ClipByNorm", t, "t")
    kind = x.dtype.base_dtype
    return _shortened(x, convert_to_tensor(clip_norm, kind), length, "clip_by_average_norm", name)


def _shortened(
    x: Tensor,
    limit: Tensor,
    length: Callable[[EdgeHandle], EdgeHandle],
    scope: str,
    name: str | None,
) -> Tensor:
    """Returns a tensor, made shorter where its length is above a limit."""

    def clipped(x: EdgeHandle, limit: EdgeHandle) -> EdgeHandle:
        return x * limit / handle("broadcast_maximum", length(x), limit)

    with name_scope(name, scope, [x]) as own:
        return fused("Identity", clipped, [x, limit], name=own, shape=x.shape)


def _tensors(t_list: Any) -> list[Any]:
    """Returns a list of tensors, of sparse gradients their values, with the Nones in it."""
    if isinstance(t_list, (str, Tensor)) or not isinstance(t_list, Sequence):
        raise TypeError("`t_list` should be a sequence of tensors.")
    return [
        None if one is None else convert_to_tensor(getattr(one, "values", one)) for one in t_list
    ]


def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """Returns the square root of the sum of the squares of all elements of several tensors.

    Args:
        t_list: tensors of one floating dtype; None where there is none.
    """
    held = [one for one in _tensors(t_list) if one is not None]

    def norm(*tensors: EdgeHandle) -> EdgeHandle:
        return handle("add_n", *(handle("_np_sum", one.square()) for one in tensors)).sqrt()

    with name_scope(name, "global_norm", held):
        return fused("Sqrt", norm, held, name="global_norm", shape=())


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Makes several tensors shorter, by one factor, where their common norm is above a limit.

    Args:
        t_list: tensors, sparse gradients and Nones.
        clip_norm: the limit, a number or a tensor.
        use_norm: their norm, where it is known; default `global_norm`.

    Returns:
        The list, and the norm; all NaN where the norm is not finite.
    """
    norm = global_norm(t_list, name) if use_norm is None else convert_to_tensor(use_norm)
    limit = convert_to_tensor(clip_norm, norm.dtype.base_dtype)

    def scaled(x: EdgeHandle, norm: EdgeHandle, limit: EdgeHandle) -> EdgeHandle:
        smaller, unchanged = (one.ones_like() / one for one in (norm, limit))
        factor = limit * handle("broadcast_minimum", smaller, unchanged)
        # An infinite norm would give zeros: as in TensorFlow, it is to be seen.
        return x * (factor + (norm - norm))

    held = _tensors(t_list)
    found: list[Any] = []
    with name_scope(name, "clip_by_global_norm", [one for one in held if one is not None]) as scope:
        for number, (given, one) in enumerate(zip(t_list, held, strict=True)):
            if one is None:
                found.append(None)
                continue
            made = fused(
                "Identity", scaled, [one, norm, limit],
                name=f"{scope.rstrip('/').split('/')[-1]}/_{number}", shape=one.shape,
            )  # fmt: skip
            found.append(given.with_values(made) if hasattr(given, "with_values") else made)
    return found, norm
