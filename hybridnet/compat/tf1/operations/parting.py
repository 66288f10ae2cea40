"""Tensors taken apart and put together by numbers: ``tf.dynamic_partition``, ``tf.setdiff1d``.

What shapes come out only a run tells; so Python looks at the numbers, and the program is cut there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import as_dtype, int32
from ..graph import compose, constant, convert_n_to_tensor, convert_to_tensor, listed, require_same
from ..graph.adding import EdgeHandle, Tensor, fused, handle, name_scope
from ..graph.arguments import known_numbers, static_value
from .reshaping import reshape
from .scripts import host_call, host_tensor

__all__ = ["bincount", "dynamic_partition", "dynamic_stitch", "identity_n", "setdiff1d"]


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Returns the slices of a tensor by the part that each belongs to.

    Args:
        data: (*sizes, ...).
        partitions: (*sizes) int32, which part each slice belongs to.
        num_partitions: how many parts there are.

    Returns:
        For each part a tensor (slices, ...).
    """
    with name_scope(name, "DynamicPartition", [data, partitions]) as scope:
        x, parts = convert_to_tensor(data), convert_to_tensor(partitions, int32)
        rank, dims = parts.shape.ndims, x.shape._dims
        if rank is None or dims is None:
            raise ValueError("dynamic_partition: the number of dimensions must be known")
        parts.shape.assert_is_compatible_with(x.shape[:rank])
        count = known_numbers(num_partitions)

        def found(parts: np.ndarray[Any, Any]) -> list[Any]:
            flat = parts.reshape(-1)
            return [np.flatnonzero(flat == one).astype(np.int32) for one in range(count)]

        places = host_call("Where", found, [parts], [int32] * count, [(None,)] * count)
        rows = reshape(x, [-1, *dims[rank:]]) if rank != 1 else x

        def taken(rows: EdgeHandle, *places: EdgeHandle) -> list[EdgeHandle]:
            return [rows.take(one, axis=0, mode="clip") for one in places]

        return listed(compose("DynamicPartition", taken, [rows, *listed(places)], name=scope))


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """Returns the slices of tensors at the places that numbers say.

    Args:
        indices: a list of tensors of int32; of numbers that come more than once the last counts.
        data: a list of tensors as long, each (*sizes of its numbers, ...).

    Returns:
        (the highest number + 1, ...); a place that no number says is 0.
    """
    with name_scope(name, "DynamicStitch", [*indices, *data]) as scope:
        numbers = [convert_to_tensor(one, int32) for one in indices]
        values = require_same("DynamicStitch", [f"data_{i}" for i in range(len(data))], data)
        rows = []
        for one, of in zip(values, numbers, strict=True):
            rank, dims = of.shape.ndims, one.shape._dims
            if rank is None or dims is None or None in dims[rank:]:
                raise ValueError("dynamic_stitch: sizes beside the numbers must be known")
            rows.append(reshape(one, [-1, *dims[rank:]]))
        known = [static_value(one) for one in numbers]
        if any(one is None for one in known):
            places = host_tensor("StitchPlaces", _last_places, numbers, int32, (None,))
        else:
            places = constant(_last_places(*known))

        def stitched(places: EdgeHandle, *rows: EdgeHandle) -> EdgeHandle:
            zeros = rows[0].slice_axis(axis=0, begin=0, end=1).zeros_like()
            return handle("Concat", zeros, *rows, dim=0).take(places, axis=0, mode="clip")

        return fused("DynamicStitch", stitched, [places, *rows], name=scope)


def _last_places(*numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns which of all rows, counted from 1, comes where; 0 for none."""
    flat = np.concatenate([np.asarray(one).reshape(-1) for one in numbers])
    made = np.zeros(int(flat.max(initial=-1)) + 1, np.int32)
    made[flat] = np.arange(1, len(flat) + 1)
    return made


def setdiff1d(
    x: Any, y: Any, index_dtype: Any = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns the elements of a vector that are not in another, and where they were.

    Args:
        x: a vector.
        y: a vector of its dtype.
        index_dtype: of the second result.
    """
    pair = require_same("ListDiff", "xy", (x, y))
    kind = as_dtype(index_dtype).base_dtype

    def found(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> list[Any]:
        places = np.flatnonzero(~np.isin(x, y))
        return [x[places], places.astype(kind.numpy)]

    kinds = [pair[0].dtype.base_dtype, kind]
    made: tuple[Tensor, Tensor] = host_call(
        "ListDiff", found, pair, kinds, [(None,), (None,)], name=name
    )
    return made


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = int32,
) -> Tensor:
    """Returns how often each number from 0 on is in a tensor, or the sums of weights.

    Args:
        arr: whole numbers, none below 0.
        weights: what each counts; default 1.
        minlength: how many numbers are counted at least.
        maxlength: how many at most; greater ones are left out.
        dtype: of the result without weights.
    """
    inputs = [convert_to_tensor(arr, name="arr")]
    if weights is not None:
        inputs.append(convert_to_tensor(weights, name="weights"))
    least = 0 if minlength is None else known_numbers(minlength)
    most = None if maxlength is None else known_numbers(maxlength)
    kind = as_dtype(dtype).base_dtype if weights is None else inputs[1].dtype.base_dtype

    def counted(found: np.ndarray[Any, Any], *weights: np.ndarray[Any, Any]) -> Any:
        flat, given = found.reshape(-1), [one.reshape(-1) for one in weights]
        if most is not None:
            given = [one[flat < most] for one in given]
            flat = flat[flat < most]
        return np.bincount(flat, given[0] if given else None, least).astype(kind.numpy)

    with name_scope(None, "bincount"):
        return host_tensor("Bincount", counted, inputs, kind, (None,))


def identity_n(input: Any, name: str | None = None) -> list[Tensor]:
    """Returns tensors with the same values as those of a list; none is there before all are."""
    tensors = convert_n_to_tensor(input)
    return listed(
        compose("IdentityN", lambda *all: [handle("_copy", one) for one in all], tensors, name=name)
    )
