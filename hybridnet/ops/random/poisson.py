"""Counts of Poisson's distribution, of any rate."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hybridnet.base.attrs import Shape
from hybridnet.ops.host.namespace import jnp, lax

from .rejection import drawn_until_it_fits
from .state import children, uniforms

__all__ = ["poisson_samples"]

# Rates up to which counts are found by adding up their probabilities: that of 0 is a normal number
# in float32.
_SMALL_RATE: Final = 80


def poisson_samples(key: Any, shape: Shape, dtype: Any, rate: Any) -> Any:
    """Draws counts, as floats of the rate's dtype.

    Args:
        key: a random key.
        shape: of the result.
        dtype: of the result, which is wider where the rate's is.
        rate: broadcasts to `shape`. Infinity has itself for a count; what is no rate has NaN.
    """
    first, second = children(key, 2)
    small = rate < _SMALL_RATE
    counts = _by_inversion(first, shape, jnp.where(small & (rate >= 0), rate, 0))
    large = jnp.broadcast_to(~small & (rate < jnp.inf), shape)
    counts = jnp.where(large, _by_rejection(second, rate, large), counts)
    known = (rate >= 0) & (rate < jnp.inf)
    return jnp.where(known, counts, jnp.where(rate > 0, rate, jnp.nan)).astype(rate.dtype)


def _by_inversion(key: Any, shape: Shape, rate: Any) -> Any:
    """Counts whose probabilities add up to a uniform number; the sums have the shape of the rates.

    For each count one goes over all elements, with a comparison and two sums.
    """
    u = uniforms(key, shape, rate.dtype)

    def is_below(state: Any) -> Any:
        _, number, chance, total = state
        # Rounding may keep the sum from 1; what is left then has no probability.
        return ((u >= total) & ((chance > 0) | (number < rate))).any()

    def add(state: Any) -> Any:
        count, number, chance, total = state
        count = count + (u >= total).astype(u.dtype)
        number = number + 1
        chance = chance * (rate / number)
        return count, number, chance, total + chance

    none = jnp.exp(-rate)
    zero = jnp.zeros((), rate.dtype)
    counts, *_ = lax.while_loop(is_below, add, (jnp.zeros(shape, u.dtype), zero, none, none))
    return counts


def _by_rejection(key: Any, rate: Any, wanted: Any) -> Any:
    """Hoermann, "The transformed rejection method for generating Poisson random variables", 1993.

    Args:
        key: a random key.
        rate: 10 or more where it is wanted; broadcasts to `wanted`.
        wanted: for which elements; the others are 0.
    """

    def propose(key: Any, shape: Shape, rate: Any) -> Any:
        b = 0.931 + 2.53 * jnp.sqrt(rate)
        a = -0.059 + 0.02483 * b
        first, second = children(key, 2)
        u = uniforms(first, shape, np.float64) - 0.5
        v = 1 - uniforms(second, shape, np.float64)
        inner = 0.5 - jnp.abs(u)
        count = jnp.floor((2 * a / inner + b) * u + rate + 0.43)
        outside = ~(count >= 0) | ((inner < 0.013) & (v > inner)) | (inner <= 0)
        count = jnp.where(outside, 0, count)
        density = count * jnp.log(rate) - rate - lax.lgamma(count + 1)
        scale = jnp.log(1.1239 + 1.1328 / (b - 3.4)) - jnp.log(a / (inner * inner) + b)
        sure = (inner >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
        return count, sure | (~outside & (jnp.log(v) + scale <= density))

    rate = jnp.where(rate >= 10, rate, 10).astype(np.float64)
    start = jnp.zeros(wanted.shape, np.float64)
    return drawn_until_it_fits(key, wanted.shape, propose, (rate,), start, ~wanted)
