"""Means and variances in parts, and with weights: ``tf.nn.weighted_moments``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...graph import Tensor, axes_of, constant, convert_to_tensor, name_scope, renamed, require_same
from .. import reduce_sum, squeeze, where
from .. import size as size_of
from ..creation import ones_like, zeros_like
from ..elementwise import (
    add,
    cast,
    divide,
    exp,
    greater,
    less_equal,
    log,
    logical_and,
    multiply,
    square,
    squared_difference,
    subtract,
)

__all__ = ["log_poisson_loss", "normalize_moments", "sufficient_statistics", "weighted_moments"]


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns mean and variance along axes of elements that do not count all the same.

    Args:
        x: a tensor.
        axes: along which.
        frequency_weights: what each element counts; broadcasts with `x`.
        keep_dims: whether the axes stay, with size 1.
        keepdims: another name of that.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights]):
        values, weights = require_same("weighted_moments", ("x", "weights"), (x, frequency_weights))
        every = multiply(ones_like(values), weights)
        total = reduce_sum(every, axes, keepdims=True)
        mean = divide(reduce_sum(multiply(values, every), axes, keepdims=True), total)
        spread = multiply(squared_difference(values, mean), every)
        variance = divide(reduce_sum(spread, axes, keepdims=True), total)
        if keep:
            return mean, variance
        gone = axes_of("weighted_moments", axes, values.shape.ndims)
        return squeeze(mean, gone), squeeze(variance, gone)


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Returns of what mean and variance follow: count, sum, sum of squares, and the shift.

    Args:
        x: a tensor.
        axes: along which.
        shift: what is taken from each element first, which makes the sums more accurate; or None.
        keep_dims: whether the axes stay, with size 1.
        keepdims: another name of that.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        values = convert_to_tensor(x, name="x")
        gone = axes_of("sufficient_statistics", axes, values.shape.ndims)
        dims = values.shape._dims
        if dims is not None and gone is not None and all(dims[axis] is not None for axis in gone):
            number = math.prod(dims[axis] or 0 for axis in gone)
            count = constant(number, values.dtype, name="count")
        else:
            kept = reduce_sum(zeros_like(values), axes)
            count = divide(cast(size_of(values), values.dtype), cast(size_of(kept), values.dtype))
        moved = values if shift is None else subtract(values, shift)
        total = reduce_sum(moved, axes, keepdims=keep, name="mean_ss")
        squares = reduce_sum(square(moved), axes, keepdims=keep, name="var_ss")
        return count, total, squares, None if shift is None else convert_to_tensor(shift)


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Returns mean and variance of what `sufficient_statistics` gives."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss]):
        off = divide(mean_ss, counts)
        mean = off if shift is None else add(off, shift, name="mean")
        variance = subtract(divide(variance_ss, counts), square(off), name="variance")
        return mean, variance


def log_poisson_loss(
    targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None
) -> Tensor:
    """Returns how unlikely counts are where their means are exp(log_input).

    Args:
        targets: the counts.
        log_input: the logarithms of the means, of the same shape.
        compute_full_loss: whether Stirling's approximation of the logarithm of the counts'
            factorials is added, for those greater than 1.
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]):
        x, counts = require_same("log_poisson_loss", ("log_input", "targets"), (log_input, targets))
        x.shape.assert_is_compatible_with(counts.shape)
        made = subtract(exp(x), multiply(x, counts))
        if not compute_full_loss:
            return made
        stirling = add(
            subtract(multiply(counts, log(counts)), counts),
            multiply(0.5, log(multiply(2.0 * np.pi, counts))),
        )
        small = logical_and(greater(counts, -1e-30), less_equal(counts, 1.0))
        return add(made, where(small, zeros_like(counts), stirling))
