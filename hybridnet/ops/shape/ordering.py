"""Sorting, and the largest or smallest elements along an axis. Equal elements keep their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from hybridnet.base.attrs import DType
from hybridnet.base.dtype import FLOAT32, as_dtype, is_float
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import has_host_form, jnp, lax

from ..core.alternatives import PLAIN, Site, alternative, builtin_choice
from ..core.backward import vjp_call
from ..core.call import Backward
from ..core.registry import get, operator
from ..core.rules import one_axis, refuse_bool
from ._sort_keys import order, plain_zeros, sorted_floats

ReturnType = Literal["both", "indices", "mask", "value"]


def _sorted_shape(name: str, data: TensorType, axis: int | None) -> tuple[int, ...]:
    if axis is None:
        return (data.size,)
    one_axis(name, axis, data)
    return data.shape


def _sort_type(data: TensorType, *, axis: int | None, is_ascend: bool) -> tuple[TensorType]:
    return (tensor_type(_sorted_shape("sort", data, axis), data.dtype),)


def _sort_gradient(back: Backward) -> Sequence[Any]:
    """The rule of sorting: a gradient goes where its element was; equal ones keep their order.

    That of the lowering, in descending order, would take equal elements from the last to the first.
    """
    attrs = {**back.attrs, "k": 0, "ret_typ": "value"}
    values, _ = get("topk").bind(attrs)
    return back.apply(vjp_call(values, (0,), (0,)), [*back.inputs, back.grads[0]])


@operator("sort", infer=_sort_type, check=refuse_bool("sort"), gradient=_sort_gradient)
def _sort(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    """The elements in order.

    Args:
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
        axis: the axis; None for the flattened array.
        k: how many; less than 1 for all.
        ret_typ: what is returned: the positions ("indices"), the elements ("value"), the elements
            and then the positions ("both"), or an array like `data` with 1 where an element is
            among them and 0 elsewhere ("mask").
        is_ascend: the smallest elements instead.
        dtype: the dtype of the positions.
    """
    x, along = (data.reshape(-1), 0) if axis is None else (data, axis % data.ndim)
    positions = _first_positions(x, k if k > 0 else x.shape[along], along, not is_ascend)
    return _chosen(data, x, positions, along, ret_typ, dtype)


@has_host_form("first_positions")
def _first_positions(x: Any, count: int, axis: int, descending: bool) -> Any:
    """Returns the positions of the first elements along an axis, were it sorted."""
    positions = jnp.argsort(x, axis=axis, descending=descending, stable=True)
    return positions[(slice(None),) * axis + (slice(count),)]


def _chosen(data: Any, x: Any, positions: Any, axis: int, ret_typ: str, dtype: str) -> Any:
    """Returns of the elements at these positions what `topk` is asked for."""
    if ret_typ == "mask":
        zeros = jnp.zeros_like(x)
        return jnp.put_along_axis(zeros, positions, 1, axis=axis, inplace=False).reshape(data.shape)
    indices = positions.astype(as_dtype(dtype))
    if ret_typ == "indices":
        return indices
    values = jnp.take_along_axis(x, positions, axis=axis)
    return values if ret_typ == "value" else (values, indices)


def _sorts_floats(site: Site) -> bool:
    data = site.operands[0]
    known = site.platform == "cpu" and site.is_static and site.wanted is None
    return known and is_float(data.dtype) and bool(data.shape)


def _packs(site: Site) -> bool:
    data = site.operands[0]
    fits = data.dtype.itemsize <= (2 if data.dtype.kind == "u" else 4)
    return site.platform == "cpu" and site.is_static and fits and bool(data.shape)


def _has_largest(site: Site) -> bool:
    data, attrs = site.operands[0], site.attrs
    known = _packs(site) and data.dtype == FLOAT32
    return known and not attrs["is_ascend"] and 0 < attrs["k"] <= _length(site)


def _length(site: Site) -> int:
    """The number of elements that are sorted together."""
    axis, shape = site.attrs["axis"], site.operands[0].shape
    return math.prod(shape) if axis is None else shape[axis]


def _last(data: Any, axis: int | None) -> tuple[Any, int]:
    """Returns the array with the axis at the end, and where it was."""
    if axis is None:
        return data.reshape(-1), 0
    return jnp.moveaxis(data, axis, -1), axis % data.ndim


@alternative("sort", "keys", applies=_sorts_floats, tolerance=0.0)
def _sort_by_keys(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    x, along = _last(data, axis)
    return jnp.moveaxis(sorted_floats(x, not is_ascend), -1, along)


@alternative("sort", "packed", applies=_packs, tolerance=0.0)
def _sort_packed(data: Any, *, axis: int | None = -1, is_ascend: bool = True) -> Any:
    x, along = _last(data, axis)
    return jnp.moveaxis(jnp.take_along_axis(x, order(x, not is_ascend), -1), -1, along)


@alternative("argsort", "packed", applies=_packs, tolerance=0.0)
def _argsort_packed(
    data: Any, *, axis: int | None = -1, is_ascend: bool = True, dtype: DType = "float32"
) -> Any:
    x, along = _last(data, axis)
    return jnp.moveaxis(order(x, not is_ascend), -1, along).astype(as_dtype(dtype))


def _topk_by(positions_of: Callable[[Any, int, bool], Any]) -> Callable[..., Any]:
    """Returns the lowering that finds the first k of a sorted last axis in this way."""

    def lowering(
        data: Any,
        *,
        axis: int | None = -1,
        k: int = 1,
        ret_typ: ReturnType = "indices",
        is_ascend: bool = False,
        dtype: DType = "float32",
    ) -> Any:
        x, along = _last(data, axis)
        positions = jnp.moveaxis(positions_of(x, k, is_ascend), -1, along)
        whole = data.reshape(-1) if axis is None else data
        return _chosen(data, whole, positions, along, ret_typ, dtype)

    return lowering


def _packed_positions(x: Any, k: int, is_ascend: bool) -> Any:
    positions = order(x, not is_ascend)
    return positions[..., :k] if k > 0 else positions


def _largest_positions(x: Any, k: int, is_ascend: bool) -> Any:
    return lax.top_k(plain_zeros(lax.stop_gradient(x)), k)[1]


alternative("topk", "packed", applies=_packs, tolerance=0.0)(_topk_by(_packed_positions))
alternative("topk", "largest", applies=_has_largest, tolerance=0.0)(_topk_by(_largest_positions))


# Milliseconds of the plain lowering and of the other in jaxlib 0.10, then in 0.12; normal numbers.
# sort by keys: 100000 20.8 5.7, 20.8 5.7; (128, 1000) 17.0 4.5, 8.6 2.4; (4096, 100) 36.8 10.1,
# 19.4 5.4. argsort packed: 25.5 5.9, 16.9 5.8; 20.2 4.8, 6.7 2.5; 44.4 10.4, 13.8 5.7. Below some
# hundred elements nothing can be told apart.
_MIN_ELEMENTS: Final = 500
# The largest k of n take the time of about 0.05 + 7 k / n packed sorts, in both: of 100000 k = 5
# 0.23 ms, 6250 2.9, 12500 4.9, 25000 7.8; of (4096, 100) k = 1 1.4 ms, 5 2.9, 12 6.0, 25 11.
_LENGTH_PER_K: Final = 10


@builtin_choice("sort")
def _choose_sort(site: Site) -> str:
    if math.prod(site.operands[0].shape) < _MIN_ELEMENTS:
        return PLAIN
    # Keys have no gradient, and whole numbers are their own.
    return "keys" if _sorts_floats(site) else "packed" if site.wanted is not None else PLAIN


@builtin_choice("argsort")
def _choose_argsort(site: Site) -> str:
    return "packed" if math.prod(site.operands[0].shape) >= _MIN_ELEMENTS else PLAIN


@builtin_choice("topk")
def _choose_topk(site: Site) -> str:
    if _has_largest(site) and site.attrs["k"] * _LENGTH_PER_K <= _length(site):
        return "largest"
    return _choose_argsort(site)
