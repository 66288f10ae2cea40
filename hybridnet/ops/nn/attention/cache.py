"""Keys and values of earlier positions, written where the next ones belong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import at, jnp

from ...core.call import IndexBound
from ...core.checks import require_one_dtype
from ...core.operator import describe
from ...core.registry import operator

_OP = "cache_write"
_NAMES = ("cache", "data", "starts")


def _check(cache: TensorType, data: TensorType, starts: TensorType) -> None:
    types = (cache, data, starts)
    require_one_dtype(_OP, _NAMES[:2], types[:2])
    fits = (
        len(cache.shape) >= 2
        and len(data.shape) == len(cache.shape)
        and data.shape[0] == cache.shape[0]
        and data.shape[2:] == cache.shape[2:]
        and data.shape[1] <= cache.shape[1]
        and starts.shape == cache.shape[:1]
    )
    if not fits:
        raise ShapeError(
            f"{_OP}: cache must be (batch, length, ...), data (batch, as many or fewer, ...) and "
            f"starts (batch,), got {describe(_NAMES, types)}"
        )


def _bounds(cache: TensorType, data: TensorType, starts: TensorType) -> Sequence[IndexBound]:
    last = cache.shape[1] - data.shape[1] + 1
    return (IndexBound(2, "starts", (last,), (), always=True),)


@operator(
    "_contrib_cache_write",
    check=_check,
    infer=lambda cache, *_: (cache,),
    bounds=_bounds,
    rewrites=True,
)
def cache_write(cache: Any, data: Any, starts: Any) -> Any:
    """Returns a cache with some rows of each sequence replaced.

    Args:
        cache: (batch, length, ...).
        data: (batch, n, ...), what is written to positions ``starts[b]`` up to ``starts[b] + n``.
        starts: (batch,), whole numbers from 0 to ``length - n``; others are an error, at once or
            where a value is next read.

    Returns:
        The shape and dtype of `cache`, in its memory where nobody else needs that.
    """
    rows = jnp.arange(cache.shape[0], dtype=np.int32)[:, None]
    columns = starts.astype(np.int32)[:, None] + jnp.arange(data.shape[1], dtype=np.int32)
    return at(cache)[rows, columns].set(data)
