"""Sorting, and the largest or smallest elements along an axis. Equal elements keep their order."""

from __future__ import annotations

from typing import Any, Literal

from hybridnet.base.attrs import DType
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.base.lazy import jnp
from hybridnet.base.tensor_type import TensorType, tensor_type

from .registry import operator
from .rules import one_axis, refuse_bool

__all__: list[str] = []

ReturnType = Literal["both", "indices", "mask", "value"]


def _sorted_shape(name: str, data: TensorType, axis: int | None) -> tuple[int, ...]:
    if axis is None:
        return (data.size,)
    one_axis(name, axis, data)
    return data.shape


def _sort_type(data: TensorType, *, axis: int | None, is_ascend: bool) -> tuple[TensorType]:
    return (tensor_type(_sorted_shape("sort", data, axis), data.dtype),)


@operator("sort", infer=_sort_type, check=refuse_bool("sort"))
def _sort(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    """The elements in order.

    Args:
        data: the array.
        axis: sort along this axis; None for the flattened array.
        is_ascend: the smallest first; otherwise the largest.
    """
    return jnp.sort(data, axis=axis, descending=not is_ascend, stable=True)


def _argsort_type(
    data: TensorType, *, axis: int | None, is_ascend: bool, dtype: str
) -> tuple[TensorType]:
    return (tensor_type(_sorted_shape("argsort", data, axis), as_dtype(dtype)),)


@operator(
    "argsort",
    infer=_argsort_type,
    check=refuse_bool("argsort"),
    no_gradient="its result is positions, which are whole numbers",
)
def _argsort(
    data: Any, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = "float32"
) -> Any:
    """The positions of the elements in order.

    Args:
        data: the array.
        axis: sort along this axis; None for the flattened array.
        is_ascend: the smallest first; otherwise the largest.
        dtype: the dtype of the positions.
    """
    order = jnp.argsort(data, axis=axis, descending=not is_ascend, stable=True)
    return order.astype(as_dtype(dtype))


def _topk_outputs(*, ret_typ: str, **_: Any) -> int:
    return 2 if ret_typ == "both" else 1


def _topk_type(
    data: TensorType, *, axis: int | None, k: int, ret_typ: str, is_ascend: bool, dtype: str
) -> tuple[TensorType, ...]:
    shape = list(_sorted_shape("topk", data, axis))
    position = -1 if axis is None else axis
    if k > shape[position]:
        raise ParameterError(
            f"topk: k must be at most the size of the axis, {shape[position]}, got {k}"
        )
    shape[position] = k if k > 0 else shape[position]
    values = tensor_type(tuple(shape), data.dtype)
    indices = tensor_type(tuple(shape), as_dtype(dtype))
    mask = tensor_type(data.shape, data.dtype)
    return {"value": (values,), "indices": (indices,), "both": (values, indices), "mask": (mask,)}[
        ret_typ
    ]


@operator("topk", outputs=_topk_outputs, infer=_topk_type, check=refuse_bool("topk"))
def _topk(
    data: Any,
    *,
    axis: int | None = -1,
    k: int = 1,
    ret_typ: ReturnType = "indices",
    is_ascend: bool = False,
    dtype: DType = "float32",
) -> Any:
    """The largest elements along an axis, in order.

    Args:
        data: the array.
        axis: the axis; None for the flattened array.
        k: how many; less than 1 for all.
        ret_typ: what is returned: the positions ("indices"), the elements ("value"), the elements
            and then the positions ("both"), or an array like `data` with 1 where an element is
            among them and 0 elsewhere ("mask").
        is_ascend: the smallest elements instead.
        dtype: the dtype of the positions.
    """
    x, along = (data.reshape(-1), 0) if axis is None else (data, axis % data.ndim)
    order = jnp.argsort(x, axis=along, descending=not is_ascend, stable=True)
    if k > 0:
        order = order[(slice(None),) * along + (slice(k),)]
    if ret_typ == "mask":
        zeros = jnp.zeros_like(x)
        return jnp.put_along_axis(zeros, order, 1, axis=along, inplace=False).reshape(data.shape)
    indices = order.astype(as_dtype(dtype))
    if ret_typ == "indices":
        return indices
    values = jnp.take_along_axis(x, order, axis=along)
    return values if ret_typ == "value" else (values, indices)
