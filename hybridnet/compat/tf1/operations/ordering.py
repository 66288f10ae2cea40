"""Running sums, extremes and where they are, sorting, sums of segments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .. import dtypes
from ..dtypes import as_dtype
from ..graph import apply, convert_to_tensor, renamed, with_default
from ..graph.adding import EdgeHandle, Tensor, described, fused, handle, in_scope, name_scope, op
from ..graph.arguments import (
    as_floats,
    axis_of,
    is_number,
    known_count,
    known_numbers,
    require_kind,
)

__all__ = [
    "TopKV2", "arg_max", "arg_min", "argmax", "argmin", "argsort", "cumprod", "cumsum",
    "in_top_k", "sort", "top_k", "unsorted_segment_max", "unsorted_segment_mean",
    "unsorted_segment_min", "unsorted_segment_sum",
]  # fmt: skip


# Running sums -------------------------------------------------------------------------------------


def _running(called: str, how: str, doc: str) -> Callable[..., Tensor]:
    kind = called.capitalize()

    def function(
        x: Any,
        axis: Any = 0,
        exclusive: bool = False,
        reverse: bool = False,
        name: str | None = None,
    ) -> Tensor:
        tensor = require_kind(kind, "x", convert_to_tensor(x, name="x"), is_number)
        number = axis_of(kind, axis, tensor.shape.ndims)
        ways = {"how": how, "exclusive": bool(exclusive), "reverse": bool(reverse)}
        return op(kind, "_running", [tensor], name=name, axis=number, **ways)

    doc = f"""Returns running {doc} along an axis.

        Args:
            x: a tensor of numbers.
            axis: along which.
            exclusive: leave out the element itself.
            reverse: begin at the end.
        """
    return described(function, called, doc)


cumsum = _running("cumsum", "sum", "sums")
cumprod = _running("cumprod", "prod", "products")


# Extremes and order -------------------------------------------------------------------------------


def _where_extreme(kind: str, operator: str) -> Callable[..., Tensor]:
    def function(
        input: Any,
        axis: Any = None,
        name: str | None = None,
        dimension: Any = None,
        output_type: Any = dtypes.int64,
    ) -> Tensor:
        axis = with_default(renamed("axis", axis, "dimension", dimension), 0)
        x = convert_to_tensor(input, name="input")
        number = axis_of(kind, axis, x.shape.ndims)
        wanted = as_dtype(output_type).numpy.name

        def found(data: EdgeHandle) -> EdgeHandle:
            return handle("Cast", handle(operator, data, axis=number), dtype=wanted)

        return fused(kind, found, [x], name=name)

    function.__doc__ = f"""Returns where the {"greatest" if kind == "ArgMax" else "least"} element
        along an axis is; of several, the first.

        Args:
            input: a tensor.
            axis: along which; default 0.
            dimension: the older name of `axis`.
            output_type: int64 or int32.
        """
    return function


argmax = _where_extreme("ArgMax", "_npi_argmax")
argmin = _where_extreme("ArgMin", "_npi_argmin")


def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """An older form of `argmax`."""
    return argmax(input, dimension, name=name, output_type=output_type)


def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """An older form of `argmin`."""
    return argmin(input, dimension, name=name, output_type=output_type)


class TopKV2(NamedTuple):
    """The result of `top_k`: the largest elements and their indices."""

    values: Tensor
    indices: Tensor


def top_k(input: Any, k: Any = 1, sorted: bool = True, name: str | None = None) -> TopKV2:
    """Returns the `k` greatest elements along the last axis, and where they are (int32).

    Args:
        input: a tensor with at least one dimension.
        k: how many, known when the graph is built.
        sorted: without meaning here: they are sorted.
    """
    x = convert_to_tensor(input, name="input")
    count = known_count(k, f"top_k: k must be known when the graph is built, got {k}")
    params = {"axis": -1, "k": count, "ret_typ": "both", "dtype": "int32"}
    return TopKV2(*apply("TopKV2", "topk", [x], params, name=name))


def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Returns for each row whether the target is among the `k` greatest predictions.

    Args:
        predictions: (batch, classes), float32.
        targets: (batch,), whole numbers.
        k: how many.
    """
    rows = convert_to_tensor(predictions, dtypes.float32, name="predictions")
    chosen = convert_to_tensor(targets, name="targets")
    count = known_numbers(k)

    def among(data: EdgeHandle, target: EdgeHandle) -> EdgeHandle:
        own = data.pick(target, axis=-1, keepdims=True)
        better = handle("Cast", handle("_npi_greater", data, own), dtype="int32")
        before = handle("_np_sum", better, axis=(1,))
        inside = handle("_npi_less_scalar", before, scalar=float(count))
        finite = handle("_npi_isfinite", handle("_np_sum", own, axis=(1,)))
        return handle("_npi_bitwise_and", inside, finite)

    return in_scope("InTopKV2", among, [rows, chosen], scope="in_top_k", last="InTopKV2", name=name)


def _direction(direction: str) -> bool:
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(
            f"Argument `direction` should be one of ASCENDING, DESCENDING, got {direction}"
        )
    return direction == "ASCENDING"


def _sorted(
    kind: str, values: Any, axis: Any, direction: str, name: str | None, **params: Any
) -> Tensor:
    up = _direction(direction)
    with name_scope(name, kind.lower()):
        x = convert_to_tensor(values)
        number = axis_of("Sort", axis, x.shape.ndims)
        return op(kind, kind.lower(), [x], axis=number, is_ascend=up, **params)


def sort(
    values: Any, axis: Any = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """Returns the elements sorted along an axis; `direction` is 'ASCENDING' or 'DESCENDING'."""
    return _sorted("Sort", values, axis, direction, name)


def argsort(
    values: Any,
    axis: Any = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the places (int32) of the elements in sorted order; arguments as `sort`'s."""
    return _sorted("ArgSort", values, axis, direction, name, dtype="int32")


# Segments -----------------------------------------------------------------------------------------


def _segments(kind: str, how: str) -> Callable[..., Tensor]:
    def function(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        values, ids = convert_to_tensor(data, name="data"), convert_to_tensor(segment_ids)
        count = known_count(
            num_segments,
            f"{kind}: num_segments must be known when the graph is built, got {num_segments}",
        )
        require_kind(kind, "data", values, is_number)
        return op(kind, "_segment_reduce", [values, ids], name=name, num_segments=count, how=how)

    function.__doc__ = f"""Returns the {how} of the slices of each segment.

        Args:
            data: (*ids, *rest).
            segment_ids: (*ids) whole numbers: which segment a slice belongs to, none if below 0.
            num_segments: how many there are, known when the graph is built.
        """
    return function


unsorted_segment_max = _segments("UnsortedSegmentMax", "max")
unsorted_segment_min = _segments("UnsortedSegmentMin", "min")
unsorted_segment_sum = _segments("UnsortedSegmentSum", "sum")


def unsorted_segment_mean(
    data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Tensor:
    """Returns the mean of the slices of each segment, 0 of none; see `unsorted_segment_sum`."""
    values = as_floats("UnsortedSegmentMean", data, "data")
    ids = convert_to_tensor(segment_ids)
    count = known_numbers(num_segments)
    extra = with_default(values.shape.ndims, 0) - with_default(ids.shape.ndims, 0)

    def mean(data: EdgeHandle, ids: EdgeHandle) -> EdgeHandle:
        total = handle("_segment_reduce", data, ids, num_segments=count)
        ones = handle("Cast", ids, dtype=values.dtype.numpy.name).ones_like()
        sizes = handle("_segment_reduce", ones, ids, num_segments=count)
        sizes = handle("_maximum_scalar", sizes, scalar=1.0)
        for _ in range(extra):
            sizes = sizes.expand_dims(axis=-1)
        return total / sizes

    return in_scope(
        "RealDiv", mean, [values, ids], scope="UnsortedSegmentMean", last="truediv", name=name
    )
