"""Reductions of segments that ascending numbers say: ``tf.segment_sum`` and its kin.

How many segments there are is the last number and one: where that is not known when the graph is
built, it is read in a run, which cuts the program there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import int64
from ..graph import convert_to_tensor, kind_of, require_same
from ..graph.adding import EdgeHandle, Tensor, apply_shaped, described, fused, handle, name_scope
from ..graph.arguments import is_number, known_numbers, require_kind, static_value
from .gathering import gather
from .scripts import host_tensor

__all__ = [
    "segment_max", "segment_mean", "segment_min", "segment_sum", "sparse_segment_mean",
    "sparse_segment_sum",
]  # fmt: skip


def _count(ids: Tensor, num_segments: Any) -> Any:
    """Returns how many segments there are: a number, or a tensor that a run computes."""
    if num_segments is not None:
        known = known_numbers(num_segments)
        return convert_to_tensor(num_segments) if known is None else known
    value = static_value(ids)
    if value is not None:
        return int(value.max(initial=-1)) + 1
    return host_tensor(
        "NumSegments", lambda found: np.array(found.max(initial=-1) + 1, np.int64), [ids], int64,
        (), name="num_segments",
    )  # fmt: skip


def _reduced(kind: str, how: str, data: Any, ids: Any, count: Any, name: str | None) -> Tensor:
    with name_scope(name, kind) as scope:
        values = require_kind(kind, "data", convert_to_tensor(data, name="data"), is_number)
        numbers = convert_to_tensor(ids, name="segment_ids")
        return apply_shaped(
            kind, "_segment_reduce", [values, numbers],
            {"num_segments": _count(numbers, count)}, {"how": how}, dtype=values.dtype,
            dims=kind_of(values).row().stacked(None).dims, name=scope,
        )  # fmt: skip


def _segments(kind: str, how: str) -> Callable[..., Tensor]:
    def function(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        return _reduced(kind, how, data, segment_ids, None, name)

    function.__doc__ = f"""Returns the {how} of the rows of each segment.

        Args:
            data: (n, ...).
            segment_ids: (n,) ascending whole numbers: which segment a row belongs to.
        """
    return function


segment_max = _segments("SegmentMax", "max")
segment_min = _segments("SegmentMin", "min")
segment_sum = _segments("SegmentSum", "sum")


def _mean(kind: str, data: Any, ids: Any, count: Any, name: str | None) -> Tensor:
    with name_scope(name, kind) as scope:
        values, numbers = convert_to_tensor(data), convert_to_tensor(ids)
        number = _count(numbers, count)
        rank = values.shape.ndims
        if rank is None:
            raise ValueError(f"{kind}: the number of dimensions of data must be known")
        ones = fused("OnesLike", lambda x: _ones(x, rank), [values], name="ones")
        total = _reduced("SegmentSum", "sum", values, numbers, number, "total")
        sizes = _reduced("SegmentSum", "sum", ones, numbers, number, "sizes")

        def divided(total: EdgeHandle, sizes: EdgeHandle) -> EdgeHandle:
            return total / handle("_maximum_scalar", sizes, scalar=1.0)

        return fused(kind, divided, require_same(kind, "xy", (total, sizes)), name=scope)


def _ones(x: EdgeHandle, rank: int) -> EdgeHandle:
    """Returns (n, 1, ...) ones for (n, ...) rows."""
    for axis in range(1, rank):
        x = x.slice_axis(axis=axis, begin=0, end=1)
    return x.ones_like()


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Returns the mean of the rows of each segment, 0 of none; see `segment_sum`."""
    return _mean("SegmentMean", data, segment_ids, None, name)


def _of_some_rows(how: str, reduce: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
        sparse_gradient: bool = False,
    ) -> Tensor:
        with name_scope(name, f"SparseSegment{how.capitalize()}"):
            return reduce(gather(data, indices), segment_ids, num_segments, None)

    doc = f"""Returns the {how} of some rows of each segment.

        Args:
            data: (rows, ...).
            indices: (n,) which rows.
            segment_ids: (n,) ascending whole numbers: which segment each of them belongs to.
            num_segments: how many segments there are.
            sparse_gradient: without meaning here.
        """
    return described(function, f"sparse_segment_{how}", doc)


sparse_segment_sum = _of_some_rows("sum", partial(_reduced, "SegmentSum", "sum"))
sparse_segment_mean = _of_some_rows("mean", partial(_mean, "SegmentMean"))
