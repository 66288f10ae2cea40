"""Candidates for a sampled softmax, for every front end: an expression in their common methods."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["log_uniform_candidates"]


def log_uniform_candidates(
    uniform: Callable[..., Any], true_classes: Any, num_sampled: int, range_max: int
) -> tuple[Any, Any, Any]:
    """Draws classes whose probability falls as Zipf's law says: ``log((k + 2) / (k + 1))``.

    Jean et al., "On using very large target vocabulary for neural machine translation", 2015.

    Args:
        uniform: draws uniform numbers: (low, high, shape=, dtype=).
        true_classes: the classes that are not drawn, an array or a symbol of any shape.
        num_sampled: how many are drawn.
        range_max: how many classes there are.

    Returns:
        The classes that were drawn, (num_sampled,) int64, with repetition; how often each of
        `true_classes` is expected among them, float64; and how often each of the drawn ones is.
    """
    span = math.log(range_max + 1)

    def expected(classes: Any) -> Any:
        return ((classes + 2) / (classes + 1)).log() * (num_sampled / span)

    drawn = uniform(0, span, shape=(num_sampled,), dtype="float64").exp() - 1
    # Rounding may bring the last one to `range_max` itself.
    sampled = drawn.astype("int64") % range_max
    return sampled, expected(true_classes.astype("float64")), expected(sampled.astype("float64"))
