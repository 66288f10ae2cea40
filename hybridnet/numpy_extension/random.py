"""`npx.random`: seeding, and draws that NumPy does not have."""

from __future__ import annotations

from typing import Any

import numpy as onp

from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.numpy.calls import apply, dimensions, dtype_name, operand
from hybridnet.numpy.limits import check_number, watched
from hybridnet.numpy.multiarray import ndarray
from hybridnet.numpy.random import normal, uniform
from hybridnet.ops.core import registry
from hybridnet.random import seed as _restart

__all__ = ["bernoulli", "normal_n", "seed", "uniform_n"]


def seed(seed: int, ctx: str | Context = "all") -> None:
    """Restarts the random generators, so that the same numbers follow again.

    Args:
        seed: any whole number.
        ctx: one context, or 'all'.
    """
    _restart(seed, ctx)


def _common(first: Any, second: Any) -> tuple[int, ...]:
    shapes = [value.shape if isinstance(value, NDArray) else () for value in (first, second)]
    return onp.broadcast_shapes(*shapes)


def bernoulli(
    prob: Any = None,
    logit: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
    out: Any = None,
) -> Any:
    """Draws 1 with a probability, and else 0.

    Args:
        prob: the probability: a number or an array.
        logit: instead of it, the logarithm of the odds.
        size: the shape; default that of the parameter.
        dtype: float32 by default.
        ctx: where; default the current context.
        out: an array for the result.

    Raises:
        ParameterError: neither or both of `prob` and `logit` are given, or `prob` is not from 0
            to 1; of an array that is told where what was drawn is read.
    """
    if (prob is None) == (logit is None):
        raise ParameterError("npx.random.bernoulli: needs either prob or logit")
    chance = logit if prob is None else prob
    attrs: dict[str, Any] = {"is_logit": prob is None, "dtype": dtype_name(dtype)}
    attrs["size"] = dimensions(size, None)
    if isinstance(chance, (int, float)):
        if prob is not None:
            check_number("bernoulli", "prob", prob)
        op = registry.get("_npi_bernoulli")
        attrs |= {"prob": float(chance)}
        return ndarray.apply_operator(op, (), attrs, out=out, ctx=ctx)
    chance = operand(chance)
    drawn = apply("_npi_bernoulli", chance, array=True, **attrs)
    drawn = watched("bernoulli", {} if prob is None else {"prob": chance}, drawn)
    return drawn if out is None else apply("_np_copy", drawn, out=out)


def normal_n(
    loc: Any = 0.0,
    scale: Any = 1.0,
    batch_shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
) -> Any:
    """Draws `batch_shape` samples from a normal distribution for each pair of parameters."""
    return normal(loc, scale, dimensions(batch_shape) + _common(loc, scale), dtype, ctx)


def uniform_n(
    low: Any = 0.0,
    high: Any = 1.0,
    batch_shape: Any = None,
    dtype: Any = None,
    ctx: Context | None = None,
) -> Any:
    """Draws `batch_shape` samples from a uniform distribution for each pair of parameters."""
    return uniform(low, high, dimensions(batch_shape) + _common(low, high), dtype, ctx)
