"""Percentiles of NumPy's kind: what is at a place among the elements in order."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from hybridnet.base.attrs import Axis
from hybridnet.base.dtype import FLOAT64, INT64
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import wide
from ..core.registry import operator
from ..core.rules import reduced_axes
from ..math.reduce import type_of
from .elementwise import quotient_dtype


@operator("_npi_percentile", takes=lambda *, q_scalar, **_: ("a", "q")[: 1 + (q_scalar is None)])
def _percentile(
    a: Any,
    q: Any = None,
    *,
    axis: Axis = None,
    interpolation: Literal["linear", "lower", "higher", "midpoint", "nearest"] = "linear",
    keepdims: bool = False,
    q_scalar: float | None = None,
) -> Any:
    """Values below which given parts of the elements are.

    Args:
        q: the parts in percent, where `q_scalar` is None; they come first in the result's shape.
        axis: an axis or several; None for all.
        interpolation: what is taken between two elements.
        q_scalar: one part.
    """
    kind = wide(quotient_dtype(np.dtype(a.dtype)))
    axes = () if axis == () else reduced_axes("_npi_percentile", type_of(a), axis)
    others = [i for i in range(a.ndim) if i not in axes]
    rows = jnp.transpose(a.astype(kind), [*others, *axes])
    shape = tuple(a.shape[i] for i in others)
    count = math.prod(a.shape[i] for i in axes)
    ordered = jnp.sort(rows.reshape(*shape, count), -1)
    if not count:
        ordered = jnp.full((*shape, 1), jnp.nan, kind)
    part = jnp.asarray(q_scalar if q is None else q).astype(FLOAT64) / 100
    made = _between(ordered, part * (max(count, 1) - 1), interpolation)
    # NaN is the last in order: a row with one has no percentile.
    last = ordered[..., -1].reshape(shape + (1,) * part.ndim)
    made = jnp.where(jnp.isnan(last), last, made)
    first = range(len(shape), len(shape) + part.ndim)
    made = jnp.transpose(made, [*first, *range(len(shape))])
    if keepdims:
        kept = [1 if i in axes else size for i, size in enumerate(a.shape)]
        made = made.reshape(*part.shape, *kept)
    return made


def _between(ordered: Any, place: Any, interpolation: str) -> Any:
    """Returns what is at places, which may be between two elements, along the last axis."""
    below = lax.stop_gradient(jnp.clip(jnp.floor(place), 0, ordered.shape[-1] - 1))
    above = lax.stop_gradient(jnp.clip(jnp.ceil(place), 0, ordered.shape[-1] - 1))

    def at_place(where: Any) -> Any:
        return jnp.take(ordered, where.astype(INT64), -1)

    if interpolation == "lower":
        return at_place(below)
    if interpolation == "higher":
        return at_place(above)
    if interpolation == "nearest":
        return at_place(lax.stop_gradient(jnp.clip(jnp.round(place), 0, ordered.shape[-1] - 1)))
    low, high = at_place(below), at_place(above)
    if interpolation == "midpoint":
        return (low + high) / 2
    return low + (high - low) * (place - below).astype(ordered.dtype)
