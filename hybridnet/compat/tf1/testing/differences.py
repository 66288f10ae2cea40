"""Gradients by differences, to compare those of a graph with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Tensor, placeholder
from ..graph.gradients import gradients
from ..session.session import get_default_session

__all__ = ["compute_gradient", "compute_gradient_error"]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Returns how each element of a tensor changes with each of another, by two ways.

    Args:
        x: the tensor that is changed, or a list of them.
        x_shape: its shape, or a list of them.
        y: the tensor that is looked at.
        y_shape: its shape.
        x_init_value: where `x` is changed; default random numbers. With a list, a list.
        delta: by how much it is changed to both sides.
        init_targets: Operations that are run first.
        extra_feed_dict: what else is fed.

    Returns:
        By the graph's gradients and by differences, each (elements of x, elements of y); a list of
        such pairs for a list.

    Raises:
        ValueError: there is no default session.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: with tf.Session():")
    if init_targets is not None:
        session.run(init_targets)
    several = isinstance(x, (list, tuple))
    xs, shapes = (list(x), list(x_shape)) if several else ([x], [x_shape])
    values = [None] * len(xs) if x_init_value is None else x_init_value
    values = values if several or x_init_value is None else [x_init_value]
    begun = [
        np.asarray(np.random.random_sample(shape) if value is None else value)
        .astype(one.dtype.as_numpy_dtype)
        for one, shape, value in zip(xs, shapes, values, strict=True)
    ]  # fmt: skip
    feeds = {**(extra_feed_dict or {}), **dict(zip(xs, begun, strict=True))}
    pairs = [_pair(session, one, y, tuple(y_shape), feeds, delta) for one in xs]
    return pairs if several else pairs[0]


def _pair(
    session: Any, x: Tensor, y: Tensor, y_shape: tuple[int, ...], feeds: Any, delta: float
) -> tuple[Any, Any]:
    value = feeds[x]
    count = int(np.prod(y_shape))
    head = placeholder(y.dtype.base_dtype, y_shape)
    (slope,) = gradients(y, [x], [head])
    made = np.zeros((value.size, count), value.dtype)
    for column in range(count if slope is not None else 0):
        one = np.zeros(count, y.dtype.as_numpy_dtype)
        one[column] = 1
        made[:, column] = session.run(slope, {**feeds, head: one.reshape(y_shape)}).reshape(-1)
    found = np.zeros_like(made)
    for row in range(value.size):
        ends = []
        for step in (delta, -delta):
            moved = value.copy()
            moved.reshape(-1)[row] += step
            ends.append(session.run(y, {**feeds, x: moved}).reshape(-1))
        found[row] = (ends[0] - ends[1]) / (2 * delta)
    return made, found


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """Returns by how much the two ways of `compute_gradient` differ at most."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = found if isinstance(found, list) else [found]
    return max(float(np.abs(made - other).max(initial=0.0)) for made, other in pairs)
