"""`nd.random`: arrays of random numbers, drawn in program order from the context's generator."""

from __future__ import annotations

from typing import Any

from hybridnet.base.context import Context
from hybridnet.base.dtype import FLOAT32, as_dtype
from hybridnet.ops import registry

from .ndarray import NDArray

__all__ = ["normal", "randint", "randn", "shuffle", "uniform"]


def _draw(
    name: str,
    sampled: str,
    first: tuple[str, Any],
    second: tuple[str, Any],
    shape: Any,
    dtype: Any,
    ctx: Context | None,
    out: NDArray | None,
) -> Any:
    """Draws from a distribution with two parameters: numbers, or arrays of them."""
    if isinstance(first[1], NDArray) or isinstance(second[1], NDArray):
        low, high = _both_arrays(first[1], second[1])
        attrs = {"shape": () if shape is None else shape, "dtype": as_dtype(dtype or FLOAT32).name}
        return NDArray.apply_operator(registry.get(sampled), (low, high), attrs, out=out)
    if out is not None:
        shape, ctx, dtype = out.shape, out.context, dtype or out.dtype
    attrs = {
        first[0]: first[1],
        second[0]: second[1],
        "shape": (1,) if shape is None else shape,
        "dtype": as_dtype(dtype or FLOAT32).name,
    }
    return NDArray.apply_operator(registry.get(name), (), attrs, out=out, ctx=ctx)


def _both_arrays(low: Any, high: Any) -> tuple[NDArray, NDArray]:
    if not isinstance(low, NDArray):
        low = high.ones_like() * low
    if not isinstance(high, NDArray):
        high = low.ones_like() * high
    return low, high


def uniform(
    low: Any = 0,
    high: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> Any:
    """Draws from the uniform distribution on [low, high).

    Args:
        low, high: numbers, or arrays of one shape: then `shape` numbers are drawn for each pair.
        shape: of the result; default (1,).
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array to fill instead.
    """
    return _draw(
        "_random_uniform",
        "_sample_uniform",
        ("low", low),
        ("high", high),
        shape,
        dtype,
        ctx,
        out,
    )


def normal(
    loc: Any = 0,
    scale: Any = 1,
    shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> Any:
    """Draws from the normal distribution with mean `loc` and standard deviation `scale`.

    The arguments are as for `uniform`.
    """
    return _draw(
        "_random_normal",
        "_sample_normal",
        ("loc", loc),
        ("scale", scale),
        shape,
        dtype,
        ctx,
        out,
    )


def randn(*shape: int, loc: Any = 0, scale: Any = 1, dtype: Any = None, ctx: Any = None) -> Any:
    """Draws an array of the given dimensions from the normal distribution."""
    return normal(loc, scale, shape or None, dtype, ctx)


def randint(
    low: int,
    high: int,
    shape: Any = None,
    dtype: Any = "int32",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> Any:
    """Draws whole numbers from [low, high), each as likely."""
    if out is not None:
        shape, ctx, dtype = out.shape, out.context, out.dtype
    attrs = {
        "low": low,
        "high": high,
        "shape": (1,) if shape is None else shape,
        "dtype": as_dtype(dtype or "int32").name,
    }
    return NDArray.apply_operator(registry.get("_random_randint"), (), attrs, out=out, ctx=ctx)


def shuffle(data: NDArray, out: NDArray | None = None) -> Any:
    """Returns the array with its rows (first axis) in random order."""
    return NDArray.apply_operator(registry.get("_shuffle"), (data,), {}, out=out)
