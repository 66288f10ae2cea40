"""Random numbers. Every operator here takes a generator's state and returns the next one.

A drawing operator names its distribution's parameters either as numbers (``_random_normal``, with
a shape; ``_random_normal_like``, with the shape and dtype of an array) or as arrays, with samples
for each of their elements (``_sample_normal``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.attrs import DType, RandomState, Scalar, Shape
from hybridnet.base.dtype import FLOAT32, as_dtype, is_float
from hybridnet.base.errors import DTypeError
from hybridnet.base.tensor_type import TensorType, tensor_type

from ._random_state import next_key, normals, uniforms
from .registry import operator

__all__: list[str] = []

_DRAWN = "samples are drawn, not computed from inputs"


def _sampled_type(*, shape: tuple[int, ...], dtype: str | None, **_: Any) -> Sequence[TensorType]:
    # MXNet's legacy arrays have no empty shape: without one, there is one sample.
    return (tensor_type(shape or (1,), as_dtype(dtype) if dtype else FLOAT32),)


def _check_sampled(name: str) -> Any:
    def check(*, dtype: str | None, **_: Any) -> None:
        if dtype is not None and not is_float(as_dtype(dtype)):
            raise DTypeError(f"{name}: dtype must be floating point, got {dtype}")

    return check


@operator(
    "_random_uniform",
    aliases=("random_uniform", "uniform"),
    check=_check_sampled("_random_uniform"),
    infer=_sampled_type,
    no_gradient=_DRAWN,
)
def random_uniform(
    *,
    low: Scalar = 0.0,
    high: Scalar = 1.0,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    state: RandomState,
) -> Any:
    """Draws from the uniform distribution on [low, high)."""
    (like,) = _sampled_type(shape=shape, dtype=dtype)
    key, state = next_key(state)
    samples = uniforms(key, like.shape, like.dtype)
    return _scaled(samples, high - low, low), state


@operator(
    "_random_normal",
    aliases=("random_normal", "normal"),
    check=_check_sampled("_random_normal"),
    infer=_sampled_type,
    no_gradient=_DRAWN,
)
def random_normal(
    *,
    loc: Scalar = 0.0,
    scale: Scalar = 1.0,
    shape: Shape = (),
    ctx: str = "",
    dtype: DType | None = None,
    state: RandomState,
) -> Any:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`."""
    (like,) = _sampled_type(shape=shape, dtype=dtype)
    key, state = next_key(state)
    return _scaled(normals(key, like.shape, like.dtype), scale, loc), state


def _scaled(samples: Any, scale: Any, offset: Any) -> Any:
    return samples * scale.astype(samples.dtype) + offset.astype(samples.dtype)
