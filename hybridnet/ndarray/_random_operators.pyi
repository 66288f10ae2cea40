# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, overload

from hybridnet.base.array_types import Dims, DTypeLike, Real
from hybridnet.base.context import Context
from hybridnet.ndarray.ndarray import NDArray

def exponential_like(
    data: NDArray, lam: Real = 1.0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Draws from the exponential distribution with rate `lam`, whose mean is 1 / lam.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def gamma_like(
    data: NDArray,
    alpha: Real = 1.0,
    beta: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def gamma_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def generalized_negative_binomial_like(
    data: NDArray,
    mu: Real = 1.0,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def generalized_negative_binomial_like(
    data: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def negative_binomial_like(
    data: NDArray,
    k: Real = 1.0,
    p: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def negative_binomial_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def normal_like(
    data: NDArray,
    loc: Real = 0.0,
    scale: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the normal distribution of the given mean and standard deviation.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def normal_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def poisson_like(
    data: NDArray, lam: Real = 1.0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Draws from the Poisson distribution with rate `lam`; the counts are floats.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def uniform_like(
    data: NDArray,
    low: Real = 0.0,
    high: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Draws from the uniform distribution on [low, high).

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def uniform_like(data: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def exponential(
    scale: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws from the exponential distribution with mean `scale`.

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """

def gamma(
    alpha: float | NDArray | Any = 1,
    beta: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """

def generalized_negative_binomial(
    mu: float | NDArray | Any = 1,
    alpha: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """

def negative_binomial(
    k: float | NDArray | Any = 1,
    p: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """

def normal(
    loc: float | NDArray | Any = 0,
    scale: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`.

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """

def poisson(
    lam: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws counts, as floats, from the Poisson distribution with mean `lam`.

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """

def uniform(
    low: float | NDArray | Any = 0,
    high: float | NDArray | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> NDArray:
    """Draws from the uniform distribution on [low, high).

    Args:
        low, high, loc, ...: numbers, or arrays of one shape: then `shape` numbers are drawn for
            each set of parameters.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """
