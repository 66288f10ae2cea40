"""Operators on any number of arrays at once, for mixed precision and layer-wise learning rates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from hybridnet.base.attrs import Range, Scalar
from hybridnet.base.dtype import FLOAT32, is_float
from hybridnet.base.errors import DTypeError, ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.checks import require_floats, require_one_dtype, wide
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import check_same_shape, same_type
from .updates import UPDATE

_Number = Annotated[int, Range(1)]
_TRUTH = "its result is a truth value"


def _check_count(op: str, types: Sequence[TensorType], count: int, param: str) -> None:
    if count != len(types):
        raise ParameterError(
            f"{op}: {param} must be the number of arrays, {len(types)}, got {count}"
        )


def _check_floats(op: str, types: Sequence[TensorType], count: int) -> None:
    _check_count(op, types, count, "num_arrays")
    if not all(is_float(array.dtype) for array in types):
        got = describe([f"data{i}" for i in range(len(types))], types)
        raise DTypeError(f"{op}: all arrays must be floating point, got {got}")


def _check_finite(op: str) -> Callable[..., None]:
    def check(*types: TensorType, num_arrays: int = 1, init_output: bool) -> None:
        _check_floats(op, types, num_arrays)
        if not init_output:
            raise ParameterError(
                f"{op}: init_output must be True, as an operator does not read what it writes; "
                f"nd.{op} takes False together with `out`"
            )

    return check


def _all_finite(*data: Any) -> Any:
    finite = jnp.stack([jnp.isfinite(array).all() for array in data]).all()
    return finite.astype(np.float32).reshape(1)


@operator(
    "all_finite",
    check=_check_finite("all_finite"),
    infer=lambda data, **_: (tensor_type((1,), FLOAT32),),
    no_gradient=_TRUTH,
)
def all_finite(data: Any, *, init_output: bool = True) -> Any:
    """1 where no element is infinite or NaN, else 0, as float32 of shape (1,).

    Args:
        data: a floating array.
        init_output: whether the result is this alone; otherwise ``nd.all_finite`` multiplies it
            with what `out` holds.
    """
    return _all_finite(data)


@operator(
    "multi_all_finite",
    check=_check_finite("multi_all_finite"),
    infer=lambda *types, **_: (tensor_type((1,), FLOAT32),),
    no_gradient=_TRUTH,
)
def multi_all_finite(*data: Any, num_arrays: _Number = 1, init_output: bool = True) -> Any:
    """1 where no element of any array is infinite or NaN, else 0, as float32 of shape (1,).

    Args:
        data: floating arrays.
        init_output: whether the result is this alone; otherwise ``nd.multi_all_finite`` multiplies
            it with what `out` holds.
    """
    return _all_finite(*data)


def _check_sums(*types: TensorType, num_arrays: int) -> None:
    _check_floats("multi_sum_sq", types, num_arrays)


@operator(
    "multi_sum_sq",
    check=_check_sums,
    infer=lambda *types, num_arrays: (tensor_type((num_arrays,), FLOAT32),),
    no_gradient=UPDATE,
)
def multi_sum_sq(*data: Any, num_arrays: _Number) -> Any:
    """The sum of the squares of each array, as float32 of shape (num_arrays,).

    Args:
        data: floating arrays of any shapes; they are summed in float32 at least.
    """
    sums = [jnp.square(array.astype(wide(array.dtype))).sum() for array in data]
    return jnp.stack([total.astype(np.float32) for total in sums])


def _check_lars(*types: TensorType, **_: Any) -> None:
    names = ("lrs", "weights_sum_sq", "grads_sum_sq", "wds")
    require_floats("multi_lars", names, types)
    require_one_dtype("multi_lars", names, types)
    check_same_shape("multi_lars", names, types)


@operator("multi_lars", check=_check_lars, infer=same_type, no_gradient=UPDATE)
def multi_lars(
    lrs: Any,
    weights_sum_sq: Any,
    grads_sum_sq: Any,
    wds: Any,
    *,
    eta: Scalar,
    eps: Scalar,
    rescale_grad: Scalar = 1.0,
) -> Any:
    """Learning rates by layer (LARS; You, Gitman and Ginsburg, 2017) from the norms of the layers.

    ``lr * eta * |w| / (|g| + wd * |w| + eps)``, and `lr` alone where either norm is 0.

    Args:
        lrs: (layers,), learning rates.
        weights_sum_sq: (layers,), the squared norms of the weights.
        grads_sum_sq: (layers,), those of the gradients.
        wds: (layers,), weight decays.
        eta: the trust coefficient.
        eps: keeps the quotient from dividing by zero.
        rescale_grad: a factor of the gradients.
    """
    weights = jnp.sqrt(weights_sum_sq)
    grads = jnp.sqrt(grads_sum_sq) * rescale_grad
    usable = (weights > 0) & (grads > 0)
    divisor = jnp.where(usable, grads + wds * weights + eps, 1)
    return jnp.where(usable, lrs * eta * weights / divisor, lrs)


def _common(types: Sequence[Any], narrow: bool) -> np.dtype[Any] | None:
    """Returns the widest (or narrowest) floating dtype, or None where there is none."""
    floats = [np.dtype(array.dtype) for array in types if is_float(np.dtype(array.dtype))]
    if not floats:
        return None
    ordered: list[np.dtype[Any]] = sorted(floats, key=lambda dtype: dtype.itemsize)
    return ordered[0 if narrow else -1]


def _check_multicast(*types: TensorType, num_outputs: int, cast_narrow: bool) -> None:
    _check_count("amp_multicast", types, num_outputs, "num_outputs")


def _multicast_types(*types: TensorType, cast_narrow: bool, **_: Any) -> Sequence[TensorType]:
    dtype = _common(types, cast_narrow)
    return [
        tensor_type(array.shape, dtype) if dtype is not None and is_float(array.dtype) else array
        for array in types
    ]


@operator(
    "amp_multicast",
    outputs=lambda *, num_outputs, **_: num_outputs,
    check=_check_multicast,
    infer=_multicast_types,
)
def amp_multicast(*data: Any, num_outputs: _Number, cast_narrow: bool = False) -> Any:
    """Converts floating arrays to the widest of their dtypes; other arrays are passed on.

    Args:
        data: arrays of any shapes.
        num_outputs: how many there are.
        cast_narrow: to the narrowest instead.

    Returns:
        As many arrays.
    """
    dtype = _common(data, cast_narrow)
    return tuple(
        array.astype(dtype) if is_float(np.dtype(array.dtype)) else array for array in data
    )


def _overwritten(*, num_arrays: int) -> Mapping[int, int]:
    return {i: i for i in range(num_arrays)}


def _check_reset(*types: TensorType, num_arrays: int) -> None:
    _check_count("reset_arrays", types, num_arrays, "num_arrays")


@operator(
    "reset_arrays",
    outputs=lambda *, num_arrays: num_arrays,
    visible=0,
    mutates=_overwritten,
    check=_check_reset,
    infer=lambda *types, num_arrays: types,
    no_gradient=UPDATE,
)
def reset_arrays(*data: Any, num_arrays: _Number) -> Any:
    """Overwrites arrays with zeros; ``x[:] = 0`` does so too.

    Args:
        data: the arrays.
    """
    return tuple(jnp.zeros_like(array) for array in data)
