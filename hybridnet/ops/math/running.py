"""Running sums and products, in both directions, with or without the element itself."""

from __future__ import annotations

from typing import Any, Literal

from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.lazy import jnp, lax
from hybridnet.base.tensor_type import TensorType

from ..core.registry import operator
from ..core.rules import same_type

__all__: list[str] = []


def _check(data: TensorType, *, axis: int, **_: Any) -> None:
    if not -len(data.shape) <= axis < len(data.shape):
        raise ShapeError(f"_running: axis must be an axis of data, got axis {axis} and data {data}")
    if data.dtype.kind == "b":
        raise DTypeError(f"_running: data must be numbers, got data {data}; cast them first")


@operator("_running", check=_check, infer=same_type)
def running(
    data: Any,
    *,
    axis: int = 0,
    how: Literal["prod", "sum"] = "sum",
    exclusive: bool = False,
    reverse: bool = False,
) -> Any:
    """The sum or product of the elements up to each one along an axis.

    Args:
        data: an array with at least one dimension.
        axis: along which.
        how: 'sum' or 'prod'.
        exclusive: leave out the element itself: the first result is 0, or 1.
        reverse: begin at the end.

    Returns:
        An array of the shape and dtype of `data`.
    """
    axis %= data.ndim
    if exclusive:
        neutral = jnp.asarray(0 if how == "sum" else 1, data.dtype)
        widths = [(0, 0, 0)] * data.ndim
        widths[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
        data = lax.pad(data, neutral, widths) if data.shape[axis] else data
    scan = lax.cumsum if how == "sum" else lax.cumprod
    return scan(data, axis, reverse)
