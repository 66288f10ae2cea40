"""`sym.random`: symbols of random numbers, drawn anew at each forward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.ops.core import registry

from .functions import operator_functions as _operator_functions
from .symbol import Symbol

# The forms of a distribution that take an array's shape and dtype: ``normal_like``.
_like = {
    name: function
    for name, function in _operator_functions("_random_").items()
    if name.endswith("_like")
}
globals().update(_like)

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
    *_like,
]


def _draw(
    name: str,
    params: Mapping[str, Any],
    shape: Any,
    dtype: Any,
    kwargs: Mapping[str, Any],
) -> Symbol:
    """Draws from a distribution whose parameters are numbers, or all symbols of them."""
    attrs: dict[str, Any] = {}
    if shape is not None:
        attrs["shape"] = shape
    if dtype is not None:
        attrs["dtype"] = as_dtype(dtype).name
    symbols = [isinstance(param, Symbol) for param in params.values()]
    if all(symbols):
        inputs: tuple[Any, ...] = tuple(params.values())
        return Symbol.apply_operator(registry.get(f"_sample_{name}"), inputs, attrs, **kwargs)
    if any(symbols):
        raise ParameterError(
            f"random.{name}: {' and '.join(params)} must all be numbers or all be symbols"
        )
    return Symbol.apply_operator(registry.get(f"_random_{name}"), (), {**params, **attrs}, **kwargs)


def uniform(
    low: Any = 0, high: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws from the uniform distribution on [low, high).

    Args:
        low: a number, or a symbol: then `shape` numbers are drawn for each of its elements.
        high: likewise, of the same kind.
        shape: of the result; default (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node.
    """
    params = {"low": low, "high": high}
    return _draw("uniform", params, shape, dtype, kwargs)


def normal(
    loc: Any = 0, scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`.

    The arguments are as for `uniform`.
    """
    params = {"loc": loc, "scale": scale}
    return _draw("normal", params, shape, dtype, kwargs)


def exponential(scale: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draws from the exponential distribution with mean `scale`.

    The other arguments are as for `uniform`; parameters may be symbols.
    """
    return _draw("exponential", {"lam": 1.0 / scale}, shape, dtype, kwargs)


def gamma(
    alpha: Any = 1, beta: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    The other arguments are as for `uniform`; parameters may be symbols.
    """
    return _draw("gamma", {"alpha": alpha, "beta": beta}, shape, dtype, kwargs)


def poisson(lam: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draws counts, as floats, from the Poisson distribution with mean `lam`.

    The other arguments are as for `uniform`; parameters may be symbols.
    """
    return _draw("poisson", {"lam": lam}, shape, dtype, kwargs)


def negative_binomial(
    k: Any = 1, p: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    The other arguments are as for `uniform`; parameters may be symbols.
    """
    return _draw("negative_binomial", {"k": k, "p": p}, shape, dtype, kwargs)


def generalized_negative_binomial(
    mu: Any = 1, alpha: Any = 1, shape: Any = None, dtype: Any = None, **kwargs: Any
) -> Symbol:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    The other arguments are as for `uniform`; parameters may be symbols.
    """
    return _draw("generalized_negative_binomial", {"mu": mu, "alpha": alpha}, shape, dtype, kwargs)


def multinomial(
    data: Symbol, shape: Any = None, get_prob: bool = True, dtype: Any = "int32", **kwargs: Any
) -> Symbol:
    """Draws categories by their probabilities.

    Args:
        data: (..., categories), probabilities.
        shape: how many are drawn from each distribution; default one, without an axis for it.
        get_prob: return the logarithms of their probabilities too, which have a gradient; here
            that is the default, in ``nd.random`` it is not.
        dtype: of the categories.
        kwargs: ``name`` and ``attr`` of the node.
    """
    attrs: dict[str, Any] = {"get_prob": get_prob, "dtype": as_dtype(dtype).name}
    if shape is not None:
        attrs["shape"] = shape
    return Symbol.apply_operator(registry.get("_sample_multinomial"), (data,), attrs, **kwargs)


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, **kwargs: Any) -> Symbol:
    """Draws an array of the given dimensions from the normal distribution."""
    return normal(loc, scale, shape or None, dtype, **kwargs)


def randint(low: int, high: int, shape: Any = None, dtype: Any = "int32", **kwargs: Any) -> Symbol:
    """Draws whole numbers from [low, high), each as likely."""
    attrs = {"low": low, "high": high, "dtype": as_dtype(dtype or "int32").name}
    if shape is not None:
        attrs["shape"] = shape
    return Symbol.apply_operator(registry.get("_random_randint"), (), attrs, **kwargs)


def shuffle(data: Symbol, **kwargs: Any) -> Symbol:
    """Returns the rows (first axis) in random order."""
    return Symbol.apply_operator(registry.get("_shuffle"), (data,), {}, **kwargs)
