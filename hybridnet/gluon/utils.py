"""`gluon.utils`: splitting batches over devices, and clipping gradients."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hybridnet import ndarray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.numpy_mode import mode
from hybridnet.ndarray import NDArray

from ._hooks import HookHandle

__all__ = ["HookHandle", "clip_global_norm", "split_and_load", "split_data"]


def split_data(
    data: NDArray, num_slice: int, batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cuts an array into parts along the batch axis.

    Args:
        data: the array.
        num_slice: how many parts.
        batch_axis: along which axis.
        even_split: whether the parts must be equal; else the first ones may be larger by one, and
            the last ones empty.

    Returns:
        The parts: views of the array where they are contiguous in memory.

    Raises:
        ShapeError: the size is not divisible.
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ShapeError(
            f"split_data: {size} examples do not divide into {num_slice} equal parts; use another "
            "batch size, or even_split=False"
        )
    step, extra = divmod(size, num_slice)
    bounds = [step * i + min(i, extra) for i in range(num_slice + 1)]
    if batch_axis == 0:
        return [data[begin:end] for begin, end in pairwise(bounds)]
    return [
        data.slice_axis(axis=batch_axis, begin=begin, end=end) for begin, end in pairwise(bounds)
    ]


def split_and_load(
    data: Any, ctx_list: Sequence[Context], batch_axis: int = 0, even_split: bool = True
) -> list[NDArray]:
    """Cuts an array into one part for each context, and copies the parts there.

    Args:
        data: an NDArray or NumPy array.
        ctx_list: the contexts.
        batch_axis, even_split: see `split_data`.
    """
    if not isinstance(data, NDArray):
        data = ndarray.array(data, ctx_list[0])
    if mode.array:
        data = data.as_np_ndarray()
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def clip_global_norm(
    arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True
) -> Any:
    """Scales arrays in place so that the norm of all of them together is at most `max_norm`.

    Args:
        arrays: on any contexts.
        max_norm: the bound, > 0.
        check_isfinite: read the norm and warn where it is not finite.

    Returns:
        The norm before: a number with `check_isfinite`, else an NDArray of shape (1,).
    """
    if not arrays:
        raise ParameterError("clip_global_norm: needs at least one array")
    ctx = arrays[0].context
    squares = [(array.astype("float32") ** 2).sum().as_in_context(ctx) for array in arrays]
    total = ndarray.add_n(*squares).sqrt()
    scale = ndarray.minimum(max_norm / (total + 1e-8), 1.0)
    for array in arrays:
        array *= scale.as_in_context(array.context).astype(array.dtype)
    if not check_isfinite:
        return total
    norm = float(total.asscalar())
    if not np.isfinite(norm):
        warnings.warn(f"clip_global_norm: the norm is {norm}", stacklevel=2)
    return norm
