"""Densities of distributions, or their logarithms, with gradients for samples and parameters.

Samples are not checked to be possible: as in MXNet, the formula is applied whatever they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import require_floats, require_one_dtype, wide
from ..core.families import signed
from ..core.operator import describe
from ..core.registry import operator

__all__: list[str] = []

# The logarithm of the density: of the samples, and of parameters that broadcast with them.
LogDensity = Callable[..., Any]


def _uniform(x: Any, low: Any, high: Any) -> Any:
    return -jnp.log(high - low) + jnp.zeros_like(x)


def _normal(x: Any, mu: Any, sigma: Any) -> Any:
    scaled = (x - mu) / sigma
    return -0.5 * scaled * scaled - jnp.log(sigma) - 0.5 * math.log(2 * math.pi)


def _gamma(x: Any, alpha: Any, beta: Any) -> Any:
    return alpha * jnp.log(beta) + (alpha - 1) * jnp.log(x) - beta * x - lax.lgamma(alpha)


def _exponential(x: Any, lam: Any) -> Any:
    return jnp.log(lam) - lam * x


def _poisson(x: Any, lam: Any) -> Any:
    x = lax.stop_gradient(x)  # counts
    return x * jnp.log(lam) - lam - lax.lgamma(x + 1)


def _negative_binomial(x: Any, k: Any, p: Any) -> Any:
    x = lax.stop_gradient(x)  # counts
    ways = lax.lgamma(x + k) - lax.lgamma(x + 1) - lax.lgamma(k)
    return ways + k * jnp.log(p) + x * jnp.log1p(-p)


def _generalized_negative_binomial(x: Any, mu: Any, alpha: Any) -> Any:
    return _negative_binomial(x, 1 / alpha, 1 / (mu * alpha + 1))


def _dirichlet(x: Any, alpha: Any) -> Any:
    scale = lax.lgamma(jnp.sum(alpha, -1)) - jnp.sum(lax.lgamma(alpha), -1)
    return jnp.sum((alpha - 1) * jnp.log(x), -1) + scale


def _density(name: str, log_density: LogDensity, params: Sequence[str], doc: str,
             vectors: bool = False) -> None:  # fmt: skip
    """Registers a density.

    Args:
        name: the part of MXNet's name after ``_random_pdf_``.
        log_density: see `LogDensity`.
        params: the names of the parameters.
        doc: the first sentence of the documentation.
        vectors: whether a sample is a vector, the last axis, and so are the parameters.
    """
    op = f"_random_pdf_{name}"
    names = ("sample", *params)

    def fits(sample: TensorType, param: TensorType) -> bool:
        rank = len(param.shape) - vectors
        same = not vectors or sample.shape[-1:] == param.shape[-1:]
        return (
            0 <= rank <= len(sample.shape) - vectors
            and same
            and (sample.shape[:rank] == param.shape[:rank])
        )

    def check(*types: TensorType, **_: Any) -> None:
        require_floats(op, names, types)
        require_one_dtype(op, names, types)
        sample, first, *others = types
        if any(param.shape != first.shape for param in others) or not fits(sample, first):
            form = (
                "(..., *samples, n) for parameters (..., n)"
                if vectors
                else ("(..., *samples) for parameters of the same shape (...)")
            )
            raise ShapeError(f"{op}: sample must be {form}, got {describe(names, types)}")

    def infer(sample: TensorType, *_: TensorType, **__: Any) -> tuple[TensorType]:
        shape = sample.shape[:-1] if vectors else sample.shape
        return (tensor_type(shape, sample.dtype),)

    def lowering(sample: Any, *values: Any, is_log: bool = False) -> Any:
        kind = wide(sample.dtype)
        apart = (1,) * (sample.ndim - values[0].ndim)
        last = values[0].ndim - vectors
        shaped = [
            value.astype(kind).reshape(value.shape[:last] + apart + value.shape[last:])
            for value in values
        ]
        logarithm = log_density(sample.astype(kind), *shaped)
        return (logarithm if is_log else jnp.exp(logarithm)).astype(sample.dtype)

    operator(
        op,
        aliases=(op[1:],),
        check=check,
        infer=infer,
        doc=f"{doc}\n\nArgs:\n"
        "    sample: the shape of the parameters, and then any number of axes of samples.\n"
        + "".join(f"    {name}: parameters, one for each distribution.\n" for name in params)
        + "    is_log: return the logarithm.\n",
    )(signed(lowering, names, {"is_log": (bool, False)}))


_density("uniform", _uniform, ("low", "high"), "Density of the uniform distribution.")
_density("normal", _normal, ("mu", "sigma"), "Density of the normal distribution.")
_density("gamma", _gamma, ("alpha", "beta"),
         "Density of the gamma distribution with shape alpha and rate beta.")  # fmt: skip
_density("exponential", _exponential, ("lam",), "Density of the exponential distribution.")
_density("poisson", _poisson, ("lam",), "Probability of counts under the Poisson distribution.")
_density(
    "negative_binomial",
    _negative_binomial,
    ("k", "p"),
    "Probability of counts of failures before k successes, each of probability p.",
)
_density(
    "generalized_negative_binomial",
    _generalized_negative_binomial,
    ("mu", "alpha"),
    "Probability of counts of mean mu and variance ``mu + alpha * mu**2``.",
)
_density(
    "dirichlet",
    _dirichlet,
    ("alpha",),
    "Density of the Dirichlet distribution, of vectors along the last axis.",
    vectors=True,
)
