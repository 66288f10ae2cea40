"""NumPy's functions of positions: choosing, sorting and counting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import DType, Floats, Range, Scalar, Shape
from hybridnet.base.dtype import BOOL, FLOAT64, INT64, is_float
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.call import Backward, IndexBound
from ..core.checks import require_some
from ..core.families import STEP, convert, promoted
from ..core.registry import get, operator
from ..core.rules import broadcast_shape, one_axis, promote_types
from .elementwise import quotient_dtype

_POSITIONS: Final = f"its result is positions; {STEP}"


def _take_type(
    a: TensorType, indices: TensorType, *, axis: int | None, mode: str
) -> tuple[TensorType]:
    if axis is None:
        require_some("_npi_take", tensor_type((a.size,), a.dtype), [0], indices)
        return (tensor_type(indices.shape, a.dtype),)
    axis = one_axis("_npi_take", axis, a)
    require_some("_npi_take", a, [axis], indices)
    shape = a.shape[:axis] + indices.shape + a.shape[axis + 1 :]
    return (tensor_type(shape, a.dtype),)


def _take_bounds(
    a: TensorType, _: TensorType, *, axis: int | None, mode: str
) -> Sequence[IndexBound]:
    size = a.size if axis is None else a.shape[axis]
    axes = () if axis is None else (axis % len(a.shape),)
    raises = mode == "raise"
    bound = IndexBound(1, "indices", (size,), axes, None if raises else 0, always=raises)
    return () if mode == "wrap" else (bound,)


@operator("_npi_take", infer=_take_type, bounds=_take_bounds)
def _take(
    a: Any,
    indices: Any,
    *,
    axis: int | None = None,
    mode: Literal["raise", "clip", "wrap"] = "raise",
) -> Any:
    """Elements, or parts along an axis, at positions.

    Args:
        indices: the positions; floats lose their fraction.
        axis: which axis; None for the flattened array.
        mode: what is done with positions out of range: they are clipped, wrapped around, or, with
            'raise', counted from the end where negative, and an error beyond that: at once, or
            where a value is next read.
    """
    size = a.size if axis is None else a.shape[axis]
    indices = indices.astype(INT64)
    if mode == "raise":
        indices = jnp.where(indices < 0, indices + size, indices)
    wrapped = indices % max(size, 1) if mode == "wrap" else jnp.clip(indices, 0, max(size - 1, 0))
    return jnp.take(a, wrapped, axis, mode="clip")


def _where_type(condition: TensorType, x: TensorType, y: TensorType) -> tuple[TensorType]:
    names = ("condition", "x", "y")
    shape = broadcast_shape("_npi_where", names, (condition, x, y))
    return (tensor_type(shape, promote_types((x, y))),)


@operator("_npi_where", infer=_where_type)
def _where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of x where the condition is not 0, and of y elsewhere; all broadcast."""
    return jnp.where(condition != 0, *promoted(x, y))


def _one_side_type(condition: TensorType, x: TensorType, **_: Any) -> tuple[TensorType]:
    shape = broadcast_shape("_npi_where_scalar", ("condition", "x"), (condition, x))
    return (tensor_type(shape, x.dtype),)


@operator("_npi_where_rscalar", infer=_one_side_type)
def _where_rscalar(condition: Any, x: Any, *, scalar: Scalar = 0.0, is_int: bool = True) -> Any:
    """Elements of x where the condition is not 0, and a number elsewhere."""
    return jnp.where(condition != 0, x, jnp.asarray(scalar).astype(x.dtype))


@operator("_npi_where_lscalar", infer=_one_side_type)
def _where_lscalar(condition: Any, x: Any, *, scalar: Scalar = 0.0, is_int: bool = True) -> Any:
    """A number where the condition is not 0, and elements of x elsewhere."""
    return jnp.where(condition != 0, jnp.asarray(scalar).astype(x.dtype), x)


@operator(
    "_npi_where_scalar2",
    infer=lambda condition, **_: (tensor_type(condition.shape, np.dtype(np.float32)),),
    no_gradient="it does not depend on an array but by a condition",
)
def _where_scalar2(condition: Any, *, x: Scalar = 0.0, y: Scalar = 0.0) -> Any:
    """One number where the condition is not 0, and another elsewhere, in float32."""
    return jnp.where(condition != 0, x, y).astype(np.float32)


def _as_of_sort(back: Backward) -> Sequence[Any]:
    """The rule of `sort`."""
    rule = get("sort").gradient
    assert rule is not None
    return rule(back)


@operator("_npi_sort", gradient=_as_of_sort)
def _sort(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    """Sorts along an axis, the flattened array where that is None."""
    done = jnp.sort(data, axis, stable=True)
    return done if is_ascend else jnp.flip(done, -1 if axis is None else axis)


@operator("_npi_argsort", no_gradient=_POSITIONS)
def _argsort(
    data: Any, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = "int64"
) -> Any:
    """Positions that would sort along an axis, the flattened array where that is None."""
    return jnp.argsort(data, axis, stable=True, descending=not is_ascend).astype(dtype)


def _check_edges(data: TensorType, bins: TensorType | None = None, **_: Any) -> None:
    if data.dtype == BOOL:
        raise DTypeError(f"_npi_histogram: needs numbers, got {data}; cast with astype('int32')")
    if bins is not None and (len(bins.shape) != 1 or bins.size < 2):
        raise ShapeError(f"_npi_histogram: bins must be a 1-d array of 2 edges or more, got {bins}")


@operator(
    "_npi_histogram",
    outputs=2,
    check=_check_edges,
    takes=lambda *, bin_cnt, **_: ("data", "bins") if bin_cnt is None else ("data",),
    no_gradient=f"it counts; {STEP}",
)
def _histogram(
    data: Any, bins: Any = None, *, bin_cnt: int | None = None, range: Floats = (0.0, 1.0)
) -> Any:
    """Counts elements in bins; returns the counts, int64, and the edges of the bins.

    Args:
        bins: the edges, ascending, where `bin_cnt` is None.
        bin_cnt: the number of bins of equal width.
        range: from where to where these go.
    """
    if bins is None:
        edges = jnp.linspace(range[0], range[1], (bin_cnt or 1) + 1, dtype=FLOAT64)
        bins = edges.astype(quotient_dtype(np.dtype(data.dtype)))
    counts, _ = jnp.histogram(data.reshape(-1).astype(FLOAT64), bins.astype(FLOAT64))
    return counts.astype(INT64), bins


@operator(
    "_npi_unravel_index",
    outputs=lambda *, shape: max(len(shape), 1),
    no_gradient=_POSITIONS,
)
def _unravel_index(indices: Any, *, shape: Shape) -> Any:
    """Positions along each axis of an array of a shape, from positions in it flattened."""
    return tuple(position.astype(indices.dtype) for position in jnp.unravel_index(indices, shape))


@operator("_npi_delete_parts")
def _delete_parts(arr: Any, *, kept: Shape, axis: Annotated[int, Range(0)] = 0) -> Any:
    """The rest of an array when parts along an axis are taken away.

    Args:
        kept: the positions that are left.
    """
    return jnp.take(arr, np.asarray(kept, np.int64), axis)


@operator("_npi_insert_tensor")
def _insert(arr: Any, values: Any, *, places: Shape, axis: Annotated[int, Range(0)] = 0) -> Any:
    """Puts parts into an array along an axis.

    Args:
        values: what is put in; it broadcasts to the parts.
        places: before which positions of `arr`; one for each part.
    """
    shape = list(arr.shape)
    shape[axis] = len(places)
    values = jnp.broadcast_to(convert(values, np.dtype(arr.dtype)), shape)
    order = np.argsort([*range(arr.shape[axis]), *(p - 0.5 for p in places)], kind="stable")
    return jnp.take(jnp.concatenate([arr, values], axis), order, axis)


# Sizes that only values tell ----------------------------------------------------------------------


def _count_nonzero(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    return int(np.count_nonzero(inputs[0].asnumpy()))


@operator(
    "_npx_nonzero",
    aliases=("_npi_nonzero",),
    infer=lambda x, *, size: (tensor_type((size, max(len(x.shape), 1)), INT64),),
    sizes={"size": _count_nonzero},
    no_gradient=_POSITIONS,
)
def _nonzero(x: Any, *, size: Annotated[int, Range(0)] | None = None) -> Any:
    """Positions of the elements that are not zero, one in each row.

    Args:
        size: how many there are; measured on arrays, to be given in a graph.
    """
    found = jnp.nonzero(jnp.atleast_1d(x), size=size)
    return jnp.stack(found, -1).astype(INT64)


def _check_counted(x: TensorType, weights: TensorType | None = None, **_: Any) -> None:
    if is_float(x.dtype) or len(x.shape) != 1:
        raise DTypeError(f"_npi_bincount: needs a 1-d array of integers (dtype int32), got {x}")
    if weights is not None and weights.shape != x.shape:
        raise ShapeError(f"_npi_bincount: weights must have the shape of x, {x}, got {weights}")


def _count_length(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    host = inputs[0].asnumpy()
    if host.size and host.min() < 0:
        raise ParameterError(f"_npi_bincount: x must not be negative, got {host.min()}")
    least: int = attrs["minlength"]
    return max(int(host.max()) + 1 if host.size else 0, least)


@operator(
    "_npi_bincount",
    check=_check_counted,
    takes=lambda *, has_weights, **_: ("data", "weights")[: 1 + has_weights],
    sizes={"size": _count_length},
)
def _bincount(
    data: Any,
    weights: Any = None,
    *,
    minlength: Annotated[int, Range(0)] = 0,
    has_weights: bool = False,
    size: Annotated[int, Range(0)] | None = None,
) -> Any:
    """Counts each whole number from 0 on, or sums its weights.

    Args:
        data: 1-d, integers, none negative.
        weights: one for each.
        minlength: the least length of the result.
        has_weights: whether there are weights.
        size: the length; measured on arrays, to be given in a graph.
    """
    return jnp.bincount(data, weights, length=size).astype(
        data.dtype if weights is None else weights.dtype
    )
