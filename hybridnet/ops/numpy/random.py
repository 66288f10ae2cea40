"""NumPy's random numbers: parameters are numbers, or arrays that broadcast.

Distributions that are a function of a parameter and of a draw without one have a gradient with
respect to arrays of parameters (Kingma and Welling, "Auto-encoding variational Bayes", 2014).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import DType, RandomState, Range, Scalar, Shape
from hybridnet.base.dtype import FLOAT32, FLOAT64, INT64, as_dtype, is_float, promote
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp

from ..core.checks import wide
from ..core.families import signed
from ..core.registry import operator
from ..core.rules import broadcast_shape
from ..math.reduce import type_of
from ..random.distributions import DRAWN, check_float_dtype, gamma_samples
from ..random.state import children, integers, next_key, normals, uniforms
from .elementwise import quotient_dtype

__all__: list[str] = []

#: Which parameters are arrays: none, the first, the second, both.
_Given = Literal["", "1", "2", "12"]
_BOTH: Final = ("input1", "input2")

# Draws samples: (key, shape, dtype to compute in, *parameters of that dtype).
Draw = Callable[..., Any]


# Distributions ------------------------------------------------------------------------------------


def _open(key: Any, shape: Shape, dtype: Any) -> Any:
    """Uniform on (0, 1): the middles of the intervals that `uniforms` gives the starts of."""
    half = 2.0 ** (-54 if dtype == FLOAT64 else -25)
    return uniforms(key, shape, dtype) + np.asarray(half, dtype)


def _standard_exponential(key: Any, shape: Shape, dtype: Any) -> Any:
    return -jnp.log1p(-uniforms(key, shape, dtype))


def _beta(key: Any, shape: Shape, dtype: Any, a: Any, b: Any) -> Any:
    first, second = children(key, 2)
    one = jnp.ones((), dtype)
    x = gamma_samples(first, shape, dtype, a, one)
    return x / (x + gamma_samples(second, shape, dtype, b, one))


def _logistic(key: Any, shape: Shape, dtype: Any, loc: Any, scale: Any) -> Any:
    u = _open(key, shape, dtype)
    return loc + scale * (jnp.log(u) - jnp.log1p(-u))


_DISTRIBUTIONS: Final[Mapping[str, tuple[Draw, dict[str, float], str]]] = {
    "uniform": (
        lambda key, shape, dtype, low, high: low + (high - low) * uniforms(key, shape, dtype),
        {"low": 0.0, "high": 1.0},
        "uniform distribution on [low, high)",
    ),
    "normal": (
        lambda key, shape, dtype, loc, scale: loc + scale * normals(key, shape, dtype),
        {"loc": 0.0, "scale": 1.0},
        "normal distribution of a mean and a standard deviation",
    ),
    "lognormal": (
        lambda key, shape, dtype, mean, sigma: jnp.exp(mean + sigma * normals(key, shape, dtype)),
        {"mean": 0.0, "sigma": 1.0},
        "distribution whose logarithm is normal",
    ),
    "logistic": (_logistic, {"loc": 0.0, "scale": 1.0}, "logistic distribution"),
    "gumbel": (
        lambda key, shape, dtype, loc, scale: (
            loc - scale * jnp.log(-jnp.log(_open(key, shape, dtype)))
        ),
        {"loc": 0.0, "scale": 1.0},
        "Gumbel distribution",
    ),
    "exponential": (
        lambda key, shape, dtype, scale: scale * _standard_exponential(key, shape, dtype),
        {"scale": 1.0},
        "exponential distribution of a mean",
    ),
    "rayleigh": (
        lambda key, shape, dtype, scale: (
            scale * jnp.sqrt(2 * _standard_exponential(key, shape, dtype))
        ),
        {"scale": 1.0},
        "Rayleigh distribution",
    ),
    "weibull": (
        lambda key, shape, dtype, a: _standard_exponential(key, shape, dtype) ** (1 / a),
        {"a": 1.0},
        "Weibull distribution of scale 1",
    ),
    "pareto": (
        lambda key, shape, dtype, a: jnp.expm1(_standard_exponential(key, shape, dtype) / a),
        {"a": 1.0},
        "Pareto distribution less 1 (Lomax)",
    ),
    "powerd": (
        lambda key, shape, dtype, a: (
            -jnp.expm1(-_standard_exponential(key, shape, dtype))
        ) ** (1 / a),
        {"a": 1.0},
        "power distribution on [0, 1]",
    ),
    "gamma": (
        gamma_samples,
        {"shape": 1.0, "scale": 1.0},
        "gamma distribution of a shape and a scale",
    ),
    "beta": (_beta, {"a": 1.0, "b": 1.0}, "beta distribution"),
    "chisquare": (
        lambda key, shape, dtype, df: gamma_samples(
            key, shape, dtype, df / 2, jnp.full((), 2, dtype)
        ),
        {"df": 1.0},
        "chi-square distribution",
    ),
}  # fmt: skip
# Drawn by rejection: not functions of a parameter and of a draw without one.
_REJECTED: Final = frozenset({"beta", "chisquare", "gamma"})


# The rows -----------------------------------------------------------------------------------------


def _size(name: str, types: Sequence[TensorType], size: Shape | None) -> Shape:
    """Returns the shape that is drawn, which the parameters broadcast to."""
    common = broadcast_shape(name, _BOTH, types) if types else ()
    if size is None:
        return common
    fits = len(common) <= len(size) and all(
        a in (1, b) for a, b in zip(common[::-1], size[::-1], strict=False)
    )
    if not fits:
        raise ShapeError(
            f"{name}: the parameters, of shape {common}, must broadcast to size {size}"
        )
    return size


def _drawn(operands: Sequence[Any], given: str, numbers: Sequence[Any], dtype: Any) -> list[Any]:
    """Returns the parameters: arrays where they are given, else numbers."""
    values = list(numbers)
    for position, array in zip(given, operands, strict=True):
        values[int(position) - 1] = array
    return [value.astype(dtype) for value in values]


def _distribution(name: str) -> None:
    draw, numbers, doc = _DISTRIBUTIONS[name]
    row = f"_npi_{name}"
    # The inputs' shapes decide `size`, so parameters called "shape" have another name in the row.
    spelled = {key: "alpha" if key == "shape" else key for key in numbers}

    def lowering(
        *operands: Any, given: str, size: Any, ctx: str, dtype: Any, state: Any, **params: Any
    ) -> Any:
        kind = as_dtype(dtype) if dtype else FLOAT32
        key, state = next_key(state)
        values = _drawn(operands, given, [params[key] for key in spelled.values()], wide(kind))
        types = [tensor_type(tuple(operand.shape), FLOAT32) for operand in operands]
        return draw(key, _size(row, types, size), wide(kind), *values).astype(kind), state

    def infer(*types: TensorType, size: Any, dtype: Any, **_: Any) -> tuple[TensorType]:
        return (tensor_type(_size(row, types, size), as_dtype(dtype) if dtype else FLOAT32),)

    keywords: dict[str, tuple[Any, Any]] = {
        spelled[key]: (Scalar, default) for key, default in numbers.items()
    }
    keywords |= {
        "given": (_Given, ""),
        "size": (Shape | None, None),
        "ctx": (str, ""),
        "dtype": (DType | None, None),
        "state": (RandomState, inspect.Parameter.empty),
    }
    operator(
        row,
        check=check_float_dtype(row),
        infer=infer,
        takes=lambda *, given, **_: [_BOTH[int(position) - 1] for position in given],
        no_gradient=DRAWN if name in _REJECTED else "",
        doc=f"Draws from the {doc}.\n\nArgs:\n"
        + "".join(f"    {name}: an array of a parameter.\n" for name in _BOTH)
        + "    given: which parameters are arrays.\n"
        "    size: the shape; None for that of the parameters.\n",
    )(_with_optional_inputs(lowering, keywords))


def _with_optional_inputs(
    lowering: Callable[..., Any], keywords: dict[str, tuple[Any, Any]]
) -> Callable[..., Any]:
    """Gives a lowering two inputs that need not be there."""
    signed(lowering, (), keywords)
    optional = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)
        for name in _BOTH
    ]
    rest = inspect.signature(lowering).parameters.values()
    lowering.__signature__ = inspect.Signature([*optional, *rest])  # type: ignore[attr-defined]
    return lowering


for _name in _DISTRIBUTIONS:
    _distribution(_name)


def _randint_type(*, size: Shape, dtype: str | None, **_: Any) -> tuple[TensorType]:
    return (tensor_type(size, as_dtype(dtype or "int64")),)


def _check_limits(*, low: int, high: int, dtype: str | None, **_: Any) -> None:
    if low >= high:
        raise ParameterError(f"_npi_random_randint: low must be less than high, got {low}, {high}")
    if dtype is not None and is_float(as_dtype(dtype)):
        raise DTypeError(f"_npi_random_randint: dtype must be an integer, got {dtype}")


@operator("_npi_random_randint", check=_check_limits, infer=_randint_type, no_gradient=DRAWN)
def _randint(
    *,
    low: int,
    high: int,
    size: Shape = (),
    ctx: str = "",
    dtype: DType | None = "int64",
    state: RandomState,
) -> Any:
    """Draws whole numbers from [low, high), each as likely."""
    kind = as_dtype(dtype or "int64")
    key, state = next_key(state)
    limits = np.asarray(low, INT64), np.asarray(high, INT64)
    return integers(key, size, *limits).astype(kind), state


@operator(
    "_npi_bernoulli",
    takes=lambda *, array, **_: ("input1",) if array else (),
    infer=lambda *types, size, dtype, **_: (
        tensor_type(_size("_npi_bernoulli", types, size), as_dtype(dtype or "float32")),
    ),
    no_gradient=DRAWN,
)
def _bernoulli(
    input1: Any = None,
    *,
    prob: Scalar = 0.5,
    array: bool = False,
    is_logit: bool = False,
    size: Shape | None = None,
    ctx: str = "",
    dtype: DType | None = None,
    state: RandomState,
) -> Any:
    """Draws 1 with a probability, and else 0.

    Args:
        input1: probabilities, or logits.
        prob: one of them, where `array` is False.
        array: whether there is an array of them.
        is_logit: whether they are logits: the logarithms of the odds.
        size: the shape; None for that of the probabilities.
        dtype: of the samples.
    """
    key, state = next_key(state)
    chance = jnp.asarray(input1 if array else prob).astype(FLOAT32)
    chance = jax.nn.sigmoid(chance) if is_logit else chance
    types = [tensor_type(tuple(input1.shape), FLOAT32)] if array else []
    shape = _size("_npi_bernoulli", types, size)
    return (uniforms(key, shape, FLOAT32) < chance).astype(dtype or "float32"), state


@operator(
    "_npi_choice",
    takes=lambda *, weighted, **_: ("weights",) if weighted else (),
    no_gradient=DRAWN,
)
def _choice(
    weights: Any = None,
    *,
    a: Annotated[int, Range(1)],
    size: Shape = (),
    replace: bool = True,
    weighted: bool = False,
    ctx: str = "",
    state: RandomState,
) -> Any:
    """Chooses positions below a number.

    Args:
        weights: the probability of each.
        a: the number.
        size: the shape of the result.
        replace: whether one can be chosen again.
        weighted: whether there are probabilities.
    """
    key, state = next_key(state)
    count = int(np.prod(size, dtype=int))
    if not replace:
        # The largest of keys that favor what is likely (Efraimidis and Spirakis, 2006).
        keys = -_standard_exponential(key, (a,), FLOAT32)
        if weights is not None:
            keys = jnp.where(weights > 0, keys / jnp.where(weights > 0, weights, 1), -jnp.inf)
        return jnp.argsort(-keys)[:count].reshape(size).astype(INT64), state
    u = uniforms(key, (count,), FLOAT64)
    if weights is None:
        chosen = jnp.floor(u * a)
    else:
        bounds = jnp.cumsum(weights.astype(FLOAT64))
        chosen = jnp.searchsorted(bounds, u * bounds[-1], side="right")
    return jnp.minimum(chosen.astype(INT64), a - 1).reshape(size), state


@operator("_npi_multinomial", no_gradient=DRAWN)
def _multinomial(
    pvals: Any, *, n: Annotated[int, Range(0)], size: Shape = (), state: RandomState
) -> Any:
    """Draws how often each of some categories comes in n trials.

    Args:
        pvals: the probabilities of the categories.
        n: the number of trials.
        size: how many such draws.
    """
    key, state = next_key(state)
    count = int(np.prod(size, dtype=int))
    bounds = jnp.cumsum(pvals.astype(FLOAT64))
    u = uniforms(key, (count, n), FLOAT64) * jnp.maximum(bounds[-1], 1)
    # NumPy's rule: what the probabilities lack to 1 belongs to the last category.
    category = jnp.minimum(jnp.searchsorted(bounds, u, side="right"), pvals.shape[0] - 1)
    counts = jax.vmap(lambda row: jnp.bincount(row, length=pvals.shape[0]))(category)
    return counts.astype(INT64).reshape(*size, pvals.shape[0]), state


def _multivariate_dtype(mean: TensorType, cov: TensorType) -> np.dtype[Any]:
    return quotient_dtype(promote(mean.dtype, cov.dtype))


def _multivariate_type(mean: TensorType, cov: TensorType, *, size: Shape) -> tuple[TensorType]:
    name = "_npi_multivariate_normal"
    wanted = (*mean.shape[-1:], *mean.shape[-1:])
    if not mean.shape or cov.shape[-2:] != wanted:
        raise ShapeError(f"{name}: cov must end in the shape {wanted}, got mean {mean}, cov {cov}")
    heads = [tensor_type(mean.shape[:-1], FLOAT32), tensor_type(cov.shape[:-2], FLOAT32)]
    batch = broadcast_shape(name, ("mean", "cov"), heads)
    return (tensor_type((*size, *batch, mean.shape[-1]), _multivariate_dtype(mean, cov)),)


@operator("_npi_multivariate_normal", infer=_multivariate_type)
def _multivariate_normal(mean: Any, cov: Any, *, size: Shape = (), state: RandomState) -> Any:
    """Draws vectors from a normal distribution of a mean and a covariance matrix.

    Args:
        mean: (..., n).
        cov: (..., n, n), positive definite.
        size: how many draws for each.
    """
    (made,) = _multivariate_type(type_of(mean), type_of(cov), size=size)
    key, state = next_key(state)
    kind = wide(made.dtype)
    factor = jnp.linalg.cholesky(cov.astype(kind))
    noise = normals(key, made.shape, kind)
    drawn = mean.astype(kind) + jnp.einsum("...ij,...j->...i", factor, noise)
    return drawn.astype(made.dtype), state
