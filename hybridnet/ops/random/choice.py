"""Random choices: whole numbers, categories, permutations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.attrs import DType, RandomState, Scalar, Shape
from hybridnet.base.dtype import FLOAT64, INT32, INT64, as_dtype
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jax, jnp

from ..core.call import Backward
from ..core.checks import require_floats
from ..core.registry import get, operator
from ..core.rules import same_type
from .state import integers, next_key, uniforms

__all__: list[str] = []


def _integers_check(*, dtype: str | None, **_: Any) -> None:
    if dtype is not None and as_dtype(dtype) not in (INT32, INT64):
        raise DTypeError(f"_random_randint: dtype must be int32 or int64, got {dtype}")


def _integers_type(*, shape: tuple[int, ...], dtype: str | None, **_: Any) -> Sequence[TensorType]:
    return (tensor_type(shape or (1,), as_dtype(dtype) if dtype else INT32),)


@operator(
    "_random_randint",
    aliases=("random_randint",),
    check=_integers_check,
    infer=_integers_type,
    no_gradient="whole numbers are drawn",
)
def random_randint(
    *,
    low: Scalar,
    high: Scalar,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    state: RandomState,
) -> Any:
    """Draws whole numbers from [low, high), each as likely.

    Args:
        low: the least number.
        high: one more than the greatest.
        shape: of the result; default (1,).
        dtype: int32 (the default) or int64.
    """
    (like,) = _integers_type(shape=shape, dtype=dtype)
    key, state = next_key(state)
    limits = jnp.asarray(low).astype(INT64), jnp.asarray(high).astype(INT64)
    return integers(key, like.shape, *limits).astype(like.dtype), state


def _categories_check(data: TensorType, **_: Any) -> None:
    require_floats("_sample_multinomial", ("data",), (data,))
    if not data.shape or not data.shape[-1]:
        raise ShapeError(
            f"_sample_multinomial: data must have shape (..., categories), got data {data}"
        )


def _categories_types(
    data: TensorType, *, shape: tuple[int, ...], get_prob: bool, dtype: str
) -> Sequence[TensorType]:
    drawn = data.shape[:-1] + shape or (1,)
    samples = tensor_type(drawn, as_dtype(dtype))
    return (samples, tensor_type(drawn, data.dtype)) if get_prob else (samples,)


def _categories_gradient(back: Backward) -> Sequence[Any]:
    if not back.attrs["get_prob"] or back.grads[1] is None:
        return [None, None]
    call, _ = get("_backward_sample_multinomial").bind({})
    return [*back.apply(call, [back.grads[1], back.inputs[0], back.outputs[0]]), None]


@operator(
    "_sample_multinomial",
    aliases=("sample_multinomial",),
    outputs=lambda *, get_prob, **_: 1 + get_prob,
    check=_categories_check,
    infer=_categories_types,
    gradient=_categories_gradient,
)
def sample_multinomial(
    data: Any,
    *,
    shape: Shape = (),
    get_prob: bool = False,
    dtype: DType = "int32",
    state: RandomState,
) -> Any:
    """Draws categories by their probabilities.

    Args:
        data: (..., categories), probabilities, which are divided by their sum.
        shape: how many samples are drawn from each distribution.
        get_prob: return the logarithms of the samples' probabilities too; they have a gradient
            (Williams, "Simple statistical gradient-following algorithms", 1992).
        dtype: of the samples.

    Returns:
        The samples, (..., *shape), and with `get_prob` the logarithms, likewise, of data's dtype.
    """
    samples_type = _categories_types(data, shape=shape, get_prob=False, dtype=dtype)[0]
    key, state = next_key(state)
    table = data.reshape(-1, data.shape[-1])
    count = samples_type.size // max(table.shape[0], 1)
    # In float64, where a number below 1 times the sum stays below the sum.
    bounds = jnp.cumsum(table.astype(FLOAT64), axis=1)
    drawn = uniforms(key, (table.shape[0], count), np.float32) * bounds[:, -1:]
    found = jax.vmap(lambda a, v: jnp.searchsorted(a, v, side="right"))(bounds, drawn)
    samples = found.reshape(samples_type.shape).astype(samples_type.dtype)
    if not get_prob:
        return samples, state
    logarithms = jnp.log(jnp.take_along_axis(table, found, axis=1))
    return samples, logarithms.reshape(samples_type.shape), state


@operator("_backward_sample_multinomial", infer=lambda grad, data, samples: (data,))
def backward_sample_multinomial(grad: Any, data: Any, samples: Any) -> Any:
    """Gradient of the logarithms that _sample_multinomial returns, with respect to its data.

    Args:
        grad: the gradient of the logarithms.
        data: (..., categories), as given to it.
        samples: what it drew, in the shape of `grad`.
    """
    table = data.reshape(-1, data.shape[-1])
    index = samples.astype("int32").reshape(table.shape[0], -1)
    shares = grad.reshape(index.shape) / jnp.take_along_axis(table, index, axis=1)
    rows = jnp.arange(table.shape[0])[:, None]
    return at(jnp.zeros_like(table))[rows, index].add(shares).reshape(data.shape)


@operator("_shuffle", aliases=("shuffle", "_npi_shuffle"), infer=same_type)
def shuffle(data: Any, *, state: RandomState) -> Any:
    """Puts the rows (the first axis) in random order; every order is as likely.

    Args:
        data: (rows, ...), any dtype.
    """
    key, state = next_key(state)
    with jax.threefry_partitionable(True):
        order = jax.random.permutation(key, data.shape[0])
    return data[order], state
