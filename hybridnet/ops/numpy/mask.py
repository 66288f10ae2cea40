"""Writing where a mask holds, as ``x[mask] = values`` does, as operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from hybridnet.base.attrs import Range, Scalar
from hybridnet.base.dtype import INT64
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp

from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import same_type


def _check_mask(name: str) -> Callable[..., None]:
    def check(
        data: TensorType, mask: TensorType, *_: TensorType, start_axis: int, **__: Any
    ) -> None:
        ends = start_axis + len(mask.shape)
        if data.shape[start_axis:ends] != mask.shape:
            raise ShapeError(
                f"{name}: mask must have the shape of data from axis {start_axis} on, got "
                f"{describe(('data', 'mask'), (data, mask))}"
            )

    return check


def _mask_over(data: Any, mask: Any, start_axis: int) -> Any:
    """Returns a mask with axes of size 1 for those of `data` behind its own."""
    return (mask != 0).reshape(*mask.shape, *(1,) * (data.ndim - mask.ndim - start_axis))


@operator(
    "_npi_boolean_mask_assign_scalar",
    check=_check_mask("_npi_boolean_mask_assign_scalar"),
    infer=same_type,
)
def _boolean_mask_assign_scalar(
    data: Any, mask: Any, *, value: Scalar = 0.0, start_axis: Annotated[int, Range(0)] = 0
) -> Any:
    """An array with a number where a mask holds.

    Args:
        mask: over some neighboring axes.
        value: the number.
        start_axis: the first of these axes.
    """
    return jnp.where(
        _mask_over(data, mask, start_axis), jnp.asarray(value).astype(data.dtype), data
    )


@operator(
    "_npi_boolean_mask_assign_tensor",
    check=_check_mask("_npi_boolean_mask_assign_tensor"),
    infer=same_type,
)
def _boolean_mask_assign_tensor(
    data: Any, mask: Any, value: Any, *, start_axis: Annotated[int, Range(0)] = 0
) -> Any:
    """An array with elements of another one where a mask holds, in order.

    Args:
        mask: over some neighboring axes.
        value: broadcasts to what the mask chooses: the axes of the mask are one there, as long as
            the mask holds.
        start_axis: the first of these axes.
    """
    rank = data.ndim - mask.ndim + 1
    value = value.astype(data.dtype).reshape((1,) * (rank - value.ndim) + tuple(value.shape))
    if not value.shape[start_axis] or not mask.size:  # it holds nowhere
        return data
    if value.shape[start_axis] != 1:
        places = jnp.cumsum((mask != 0).reshape(-1).astype(INT64)) - 1
        value = jnp.take(value, jnp.clip(places, 0, value.shape[start_axis] - 1), start_axis)
        where = (*value.shape[:start_axis], *mask.shape, *value.shape[start_axis + 1 :])
    else:
        ones = (1,) * mask.ndim
        where = (*value.shape[:start_axis], *ones, *value.shape[start_axis + 1 :])
    return jnp.where(_mask_over(data, mask, start_axis), value.reshape(where), data)
