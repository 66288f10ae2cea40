"""Random numbers. Every operator here takes a generator's state and returns the next one.

A distribution comes in three forms under MXNet's names: with numbers as its parameters and a shape
(``_random_normal``); the same with the shape and dtype of an array (``_random_normal_like``); and
with arrays as its parameters, for each element of which samples are drawn (``_sample_normal``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import DType, RandomState, Scalar, Shape
from hybridnet.base.dtype import FLOAT32, as_dtype, is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import require_floats, wide
from ..core.families import signed
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import same_type
from .poisson import poisson_samples
from .rejection import drawn_until_it_fits
from .state import children, next_key, normals, uniforms

__all__ = ["DRAWN", "check_float_dtype", "gamma_samples"]

#: Why samples have no gradient.
DRAWN: Final = "samples are drawn, not computed from inputs"

# Draws samples: (key, shape, dtype, *parameters), where the parameters broadcast to the shape and
# have the dtype to compute in; the result's dtype may be wider than the one asked for.
Draw = Callable[..., Any]
# Name -> annotation and default, for `signed`.
Keywords = Mapping[str, tuple[Any, Any]]


# Distributions ----------------------------------------------------------------------------------


def _uniform(key: Any, shape: Shape, dtype: Any, low: Any, high: Any) -> Any:
    return low + (high - low) * jnp.astype(uniforms(key, shape, dtype), low.dtype)


def _normal(key: Any, shape: Shape, dtype: Any, mean: Any, deviation: Any) -> Any:
    return mean + deviation * normals(key, shape, wide(dtype))


def _exponential(key: Any, shape: Shape, dtype: Any, rate: Any) -> Any:
    # The distribution function's inverse at 1 - u, which is never 0.
    return -jnp.log1p(-uniforms(key, shape, wide(dtype))) / rate


def gamma_samples(key: Any, shape: Shape, dtype: Any, alpha: Any, beta: Any) -> Any:
    """Rejection after Marsaglia and Tsang, "A simple method for generating gamma variables", 2000.

    All elements are tried together: on a CPU that takes a fraction of the time of
    `jax.random.gamma`, which loops for each element.
    """
    kind = wide(dtype)
    # Below 1 the method does not apply: a sample for alpha + 1 times a power of a uniform does.
    small = alpha < 1
    d = jnp.where(small, alpha + 1, alpha) - 1 / 3

    def propose(key: Any, shape: Shape, d: Any) -> Any:
        first, second = children(key, 2)
        x = normals(first, shape, kind)
        cube = (1 + lax.rsqrt(9 * d) * x) ** 3
        bound = 0.5 * x * x + d - d * cube + d * jnp.log(jnp.where(cube > 0, cube, 1))
        fits = (cube > 0) & (jnp.log1p(-uniforms(second, shape, kind)) < bound)
        return d * cube, fits

    # NaN and infinite parameters fit nothing; they are accepted from the start, as NaN and inf.
    unusable = jnp.broadcast_to(~(d > 0) | (d == jnp.inf), shape)
    key, last = children(key, 2)
    start = jnp.broadcast_to(jnp.where(d == jnp.inf, d, jnp.nan), shape).astype(kind)
    samples = drawn_until_it_fits(key, shape, propose, (d,), start, unusable)
    power = (1 - uniforms(last, shape, kind)) ** (1 / jnp.where(small, alpha, 1))
    return beta * jnp.where(small, samples * power, samples)


def _negative_binomial(key: Any, shape: Shape, dtype: Any, k: Any, p: Any) -> Any:
    # A Poisson distribution whose rate has a gamma distribution.
    first, second = children(key, 2)
    return poisson_samples(second, shape, dtype, gamma_samples(first, shape, dtype, k, (1 - p) / p))


def _generalized_negative_binomial(key: Any, shape: Shape, dtype: Any, mu: Any, alpha: Any) -> Any:
    # As above, by mean and dispersion; without dispersion it is a Poisson distribution.
    first, second = children(key, 2)
    spread = jnp.where(alpha > 0, alpha, 1)
    rate = jnp.where(alpha > 0, gamma_samples(first, shape, dtype, 1 / spread, spread * mu), mu)
    return poisson_samples(second, shape, dtype, rate)


# The three forms --------------------------------------------------------------------------------


def _family(
    name: str,
    draw: Draw,
    numbers: Mapping[str, float],
    doc: str,
    arrays: Sequence[str] = (),
    aliases: Sequence[str] = (),
    *,
    refuse: Callable[..., str],
) -> None:
    """Registers a distribution's three forms.

    Args:
        name: the part of MXNet's names after ``_random_`` and ``_sample_``.
        draw: see `Draw`.
        numbers: names and defaults of the parameters of the first two forms.
        doc: what is drawn.
        arrays: names of the parameters of the third form; default those of `numbers`.
        aliases: more names of the first form.
        refuse: why numbers are none of the distribution's, of the first two forms.
    """
    params = {number: (Scalar, default) for number, default in numbers.items()}
    _of_shape(f"_random_{name}", draw, params, doc, (f"random_{name}", *aliases), refuse)
    _of_like(f"_random_{name}_like", draw, params, doc, refuse)
    _of_arrays(f"_sample_{name}", draw, tuple(arrays or numbers), doc)


_STATE: Final = {"state": (RandomState, inspect.Parameter.empty)}
_DTYPE: Final = {"dtype": (DType | None, None)}


def check_float_dtype(name: str) -> Callable[..., None]:
    """Returns the check that the dtype asked of an operator is floating point."""

    def check(*_: TensorType, dtype: str | None, **__: Any) -> None:
        if dtype is not None and not is_float(as_dtype(dtype)):
            raise DTypeError(f"{name}: dtype must be floating point, got {dtype}")

    return check


def _shape_type(*, shape: tuple[int, ...], dtype: str | None, **_: Any) -> Sequence[TensorType]:
    # There are no 0-d results, as in MXNet: without a shape one sample is drawn.
    return (tensor_type(shape or (1,), as_dtype(dtype) if dtype else FLOAT32),)


def _least(where: Mapping[str, tuple[int, float, bool]]) -> Callable[..., str]:
    """Returns what refuses numbers below a bound.

    Args:
        where: name -> the number's place, the bound, and whether that itself is refused.
    """

    def refuse(*numbers: float) -> str:
        for name, (place, bound, strict) in where.items():
            number = numbers[place]
            if not (number > bound if strict else number >= bound):  # NaN is refused, too
                return f"{name} must be {'>' if strict else '>='} {bound:g}, got {number:g}"
        return ""

    return refuse


def _ordered(low: float, high: float) -> str:
    return "" if low <= high else f"low must be <= high, got {low:g} and {high:g}"


def _of_shape(
    name: str,
    draw: Draw,
    numbers: Keywords,
    doc: str,
    aliases: Sequence[str],
    refuse: Callable[..., str],
) -> None:
    def lowering(*, shape: Shape, ctx: str, dtype: str | None, state: Any, **given: Any) -> Any:
        (like,) = _shape_type(shape=shape, dtype=dtype)
        key, state = next_key(state)
        values = [jnp.astype(given[number], wide(like.dtype)) for number in numbers]
        return jnp.astype(draw(key, like.shape, like.dtype, *values), like.dtype), state

    keywords: Keywords = {"shape": (Shape, ()), "ctx": (str, ""), **_DTYPE, **_STATE}
    operator(
        name,
        aliases=aliases,
        check=check_float_dtype(name),
        infer=_shape_type,
        no_gradient=DRAWN,
        refuse=refuse,
        doc=f"{doc}\n\nReturns:\n    An array of `shape` and `dtype`; default (1,) and float32.",
    )(signed(lowering, (), {**numbers, **keywords}))


def _of_like(
    name: str, draw: Draw, numbers: Keywords, doc: str, refuse: Callable[..., str]
) -> None:
    def lowering(data: Any, *, state: Any, **given: Any) -> Any:
        key, state = next_key(state)
        values = (given[number].astype(wide(data.dtype)) for number in numbers)
        return draw(key, data.shape, data.dtype, *values).astype(data.dtype), state

    def check(data: TensorType, **_: Any) -> None:
        require_floats(name, ("data",), (data,))

    operator(
        name,
        check=check,
        infer=same_type,
        no_gradient=DRAWN,
        refuse=refuse,
        doc=f"{doc}\n\nReturns:\n    An array of the shape and dtype of `data`.",
    )(signed(lowering, ("data",), {**numbers, **_STATE}))


def _of_arrays(name: str, draw: Draw, arrays: tuple[str, ...], doc: str) -> None:
    def infer(
        *types: TensorType, shape: tuple[int, ...], dtype: str | None, **_: Any
    ) -> Sequence[TensorType]:
        return (tensor_type(types[0].shape + shape, as_dtype(dtype) if dtype else FLOAT32),)

    def check(*types: TensorType, dtype: str | None, **_: Any) -> None:
        check_float_dtype(name)(dtype=dtype)
        if any(param.shape != types[0].shape for param in types):
            raise ShapeError(
                f"{name}: {' and '.join(arrays)} must have equal shapes, got "
                f"{describe(arrays, types)}"
            )

    def lowering(*values: Any, shape: Shape, dtype: str | None, state: Any) -> Any:
        result = as_dtype(dtype) if dtype else FLOAT32
        key, state = next_key(state)
        apart = (*values[0].shape, *(1,) * len(shape))
        parameters = (value.astype(wide(result)).reshape(apart) for value in values)
        samples = draw(key, values[0].shape + shape, result, *parameters)
        return samples.astype(result), state

    operator(
        name,
        aliases=(name[1:],),
        check=check,
        infer=infer,
        no_gradient=DRAWN,
        doc=f"{doc}\n\nFor each element of {' and '.join(arrays)}, which have one shape, "
        "samples of `shape` are drawn.\n\nReturns:\n"
        "    An array of both shapes, one after the other, and `dtype`, by default float32.",
    )(signed(lowering, arrays, {"shape": (Shape, ()), **_DTYPE, **_STATE}))


_family(
    "uniform",
    _uniform,
    {"low": 0.0, "high": 1.0},
    "Draws from the uniform distribution on [low, high).",
    aliases=("uniform",),
    refuse=_ordered,
)
_family(
    "normal",
    _normal,
    {"loc": 0.0, "scale": 1.0},
    "Draws from the normal distribution of the given mean and standard deviation.",
    arrays=("mu", "sigma"),
    aliases=("normal",),
    refuse=_least({"scale": (1, 0, False)}),
)
_family(
    "exponential",
    _exponential,
    {"lam": 1.0},
    "Draws from the exponential distribution with rate `lam`, whose mean is 1 / lam.",
    refuse=_least({"lam": (0, 0, True)}),
)
_family(
    "gamma",
    gamma_samples,
    {"alpha": 1.0, "beta": 1.0},
    "Draws from the gamma distribution with shape `alpha` and scale `beta`.",
    refuse=_least({"alpha": (0, 0, True), "beta": (1, 0, False)}),
)
_family(
    "poisson",
    poisson_samples,
    {"lam": 1.0},
    "Draws from the Poisson distribution with rate `lam`; the counts are floats.",
    refuse=_least({"lam": (0, 0, False)}),
)
_family(
    "negative_binomial",
    _negative_binomial,
    {"k": 1.0, "p": 1.0},
    "Draws the number of failures before `k` successes, each of probability `p`, as floats.",
    refuse=_least({"k": (0, 0, False), "p": (1, 0, False)}),
)
_family(
    "generalized_negative_binomial",
    _generalized_negative_binomial,
    {"mu": 1.0, "alpha": 1.0},
    "Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.",
    refuse=_least({"mu": (0, 0, False), "alpha": (1, 0, False)}),
)


# Without parameters, for the graphs of other systems ---------------------------------------------

#: The truncated normal distribution's bound, in standard deviations.
_BOUND_DEVIATIONS: Final = 2.0


@operator(
    "_standard_samples",
    check=check_float_dtype("_standard_samples"),
    infer=lambda *, shape, dtype, **_: (tensor_type(shape, as_dtype(dtype)),),
    no_gradient=DRAWN,
)
def standard_samples(
    *,
    shape: Shape = (),
    dtype: DType = "float32",
    distribution: Literal["normal", "truncated_normal", "uniform"] = "normal",
    state: RandomState,
) -> Any:
    """Independent samples of a distribution without parameters.

    Args:
        shape: of the result; () for a single number.
        dtype: of the result, floating point.
        distribution: 'normal' with mean 0 and deviation 1; 'truncated_normal', the same without
            what lies beyond 2; 'uniform' from 0 to, not including, 1.
    """
    kind = as_dtype(dtype)
    key, state = next_key(state)
    if distribution == "uniform":
        return uniforms(key, shape, kind), state
    if distribution == "normal":
        return normals(key, shape, wide(kind)).astype(kind), state
    # The inverse of the distribution function, of a uniform number between its values at the ends.
    end = lax.erf(jnp.asarray(_BOUND_DEVIATIONS / np.sqrt(2.0), wide(kind)))
    u = uniforms(key, shape, wide(kind)) * 2 - 1
    found = np.sqrt(2.0).astype(wide(kind)) * lax.erf_inv(u * end)
    return jnp.clip(found, -_BOUND_DEVIATIONS, _BOUND_DEVIATIONS).astype(kind), state
