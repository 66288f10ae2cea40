"""`gluon.utils`: splitting batches over devices, clipping gradients, files from the network."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hybridnet import ndarray
from hybridnet.base.array_types import ArrayLike
from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.fetching import DownloadError, check_sha1, download
from hybridnet.base.fetching import repo_file_url as _get_repo_file_url
from hybridnet.base.fetching import repo_url as _get_repo_url
from hybridnet.base.mesh import Mesh
from hybridnet.base.numpy_mode import mode
from hybridnet.base.placement import split
from hybridnet.ndarray import NDArray

from ._hooks import HookHandle

__all__ = [
    "DownloadError",
    "HookHandle",
    "_get_repo_file_url",
    "_get_repo_url",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
]


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
    ranges = _ranges(data.shape[batch_axis], num_slice, even_split)
    if batch_axis == 0:
        return [data[begin:end] for begin, end in ranges]
    return [data.slice_axis(axis=batch_axis, begin=begin, end=end) for begin, end in ranges]


def _ranges(size: int, parts: int, even: bool) -> list[tuple[int, int]]:
    """Returns where the parts of an axis begin and end; see `split_data`."""
    if even and size % parts:
        raise ShapeError(
            f"split_data: {size} examples do not divide into {parts} equal parts; use another "
            "batch size, or even_split=False"
        )
    step, extra = divmod(size, parts)
    return [*pairwise([step * i + min(i, extra) for i in range(parts + 1)])]


def split_and_load(
    data: ArrayLike | NDArray,
    ctx_list: Sequence[Context],
    batch_axis: int = 0,
    even_split: bool = True,
) -> list[NDArray]:
    """Cuts an array into one part for each context, and copies the parts there.

    Args:
        data: an NDArray or NumPy array.
        ctx_list: the contexts; or one mesh, on whose devices along its first axis the array's parts
            lie then, as one array.
        batch_axis, even_split: see `split_data`.
    """
    if len(ctx_list) == 1 and isinstance(ctx_list[0], Mesh):
        data = ndarray.array(data, ctx_list[0], placement=split(batch_axis))
    elif isinstance(data, np.ndarray) and data.ndim and len(ctx_list) > 1:
        return _loaded_parts(data, ctx_list, batch_axis, even_split)
    elif not isinstance(data, NDArray):
        data = ndarray.array(data, ctx_list[0] if len(ctx_list) == 1 else cpu())
    if mode.array:
        data = data.as_np_ndarray()
    if len(ctx_list) == 1:
        return [data.as_in_context(ctx_list[0])]
    parts = split_data(data, len(ctx_list), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, ctx_list, strict=True)]


def _loaded_parts(
    data: np.ndarray[Any, Any], ctx_list: Sequence[Context], axis: int, even: bool
) -> list[NDArray]:
    """Returns the parts of NumPy's array, each copied to its context and nowhere else."""
    before = (slice(None),) * (axis % data.ndim)
    ranges = _ranges(data.shape[axis], len(ctx_list), even)
    hosts = [data[(*before, slice(*each))] for each in ranges]
    parts = [ndarray.array(host, ctx) for host, ctx in zip(hosts, ctx_list, strict=True)]
    return [part.as_np_ndarray() for part in parts] if mode.array else parts


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


def replace_file(src: str | os.PathLike[str], dst: str | os.PathLike[str]) -> None:
    """Renames a file over another one in the same folder; at any time there is one or the other.

    Raises:
        OSError: it cannot be renamed; `src` is removed then.
    """
    try:
        os.replace(src, dst)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.remove(src)
        raise OSError(
            error.errno,
            f"replace_file: {os.fspath(src)} could not be moved to {os.fspath(dst)}: "
            f"{error.strerror}; download it again",
        ) from error


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Returns whether nothing in a shape is left open.

    In NumPy's mode -1 stands for a size that is not known; otherwise 0 does, and () for a shape
    that is not.

    Raises:
        ShapeError: a size is less than that.
    """
    unknown = -1 if mode.shape else 0
    if shape is None or (not shape and not mode.shape):
        return False
    if any(size < unknown for size in shape):
        raise ShapeError(f"shape_is_known: sizes must be at least {unknown}, got {tuple(shape)}")
    return unknown not in shape


def _brief_print_list(lst: Sequence[object], limit: int = 7) -> str:
    """Returns the first and last names of a list, in quotes."""
    names = [f"'{name}'" for name in lst]
    if len(names) > limit:
        half = limit // 2
        names = [*names[:half], "...", *names[half - limit :]]
    return ", ".join(names)


def _indent(s_: str, numSpaces: int) -> str:
    """Indents all lines but the first."""
    return s_.replace("\n", "\n" + " " * numSpaces)
