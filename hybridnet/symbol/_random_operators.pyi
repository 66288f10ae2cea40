# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, overload

from hybridnet.base.array_types import Dims, DTypeLike, Real
from hybridnet.symbol.symbol import Symbol

def exponential_like(
    data: Symbol | None = None,
    lam: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws from the exponential distribution with rate `lam`, whose mean is 1 / lam.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def gamma_like(
    data: Symbol | None = None,
    alpha: Real = 1.0,
    beta: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def gamma_like(data: Symbol | None = None, *, _unpacked: object, **options: object) -> Symbol: ...
@overload
def generalized_negative_binomial_like(
    data: Symbol | None = None,
    mu: Real = 1.0,
    alpha: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def generalized_negative_binomial_like(
    data: Symbol | None = None, *, _unpacked: object, **options: object
) -> Symbol: ...
@overload
def negative_binomial_like(
    data: Symbol | None = None,
    k: Real = 1.0,
    p: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def negative_binomial_like(
    data: Symbol | None = None, *, _unpacked: object, **options: object
) -> Symbol: ...
@overload
def normal_like(
    data: Symbol | None = None,
    loc: Real = 0.0,
    scale: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws from the normal distribution of the given mean and standard deviation.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def normal_like(data: Symbol | None = None, *, _unpacked: object, **options: object) -> Symbol: ...
def poisson_like(
    data: Symbol | None = None,
    lam: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws from the Poisson distribution with rate `lam`; the counts are floats.

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def uniform_like(
    data: Symbol | None = None,
    low: Real = 0.0,
    high: Real = 1.0,
    *,
    out: Symbol | Any = None,
    name: str | Any = None,
    attr: dict[str, str] | Any = None,
) -> Symbol:
    """Draws from the uniform distribution on [low, high).

    Args:
        data: an array of any shape.

    Returns:
        An array of the shape and dtype of `data`.
    """

@overload
def uniform_like(data: Symbol | None = None, *, _unpacked: object, **options: object) -> Symbol: ...
def exponential(
    scale: float | Symbol | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws from the exponential distribution with mean `scale`.

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """

def gamma(
    alpha: float | Symbol | Any = 1,
    beta: float | Symbol | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws from the gamma distribution with shape `alpha` and scale `beta`.

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """

def generalized_negative_binomial(
    mu: float | Symbol | Any = 1,
    alpha: float | Symbol | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats.

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """

def negative_binomial(
    k: float | Symbol | Any = 1,
    p: float | Symbol | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws the number of failures before `k` successes, each of probability `p`, as floats.

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """

def normal(
    loc: float | Symbol | Any = 0,
    scale: float | Symbol | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`.

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """

def poisson(
    lam: float | Symbol | Any = 1, shape: Dims | None = None, dtype: DTypeLike = None, **kwargs: Any
) -> Symbol:
    """Draws counts, as floats, from the Poisson distribution with mean `lam`.

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """

def uniform(
    low: float | Symbol | Any = 0,
    high: float | Symbol | Any = 1,
    shape: Dims | None = None,
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> Symbol:
    """Draws from the uniform distribution on [low, high).

    Args:
        low, high, loc, ...: numbers, or all symbols: then `shape` numbers are drawn for each set of
            their elements.
        shape: of the result; default the one that the rest of the graph wants, or (1,).
        dtype: float32 by default.
        kwargs: ``name`` and ``attr`` of the node; `ctx`, which saved symbols hold.
    """
