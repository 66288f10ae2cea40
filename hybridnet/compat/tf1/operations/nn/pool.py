"""Pooling: ``tf.nn.max_pool``, ``tf.nn.avg_pool``, in NHWC and NCHW."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...graph.adding import Tensor, described, name_scope, op
from ...graph.arguments import as_floats, known_numbers, renamed, with_default
from .windows import check_rank, layout_of, numbers_of, padding_of

__all__ = ["avg_pool", "avg_pool2d", "max_pool", "max_pool2d", "pool"]


def _pooled(
    kind: str,
    pool_type: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    name: str | None,
    spatial: int = 2,
) -> Tensor:
    x = as_floats(kind, value, "value")
    check_rank(kind, "value", x, spatial + 2)
    layout = layout_of(kind, spatial, data_format)
    return op(
        kind,
        "_padded_pooling",
        [x],
        name=name,
        kernel=numbers_of(kind, "ksize", ksize, spatial, layout),
        strides=numbers_of(kind, "strides", strides, spatial, layout),
        pool_type=pool_type,
        layout=layout,
        **padding_of(kind, padding, spatial, layout),
    )


def _of_images(kind: str, how: str, doc: str) -> Callable[..., Tensor]:
    def function(
        value: Any,
        ksize: Any,
        strides: Any,
        padding: Any,
        data_format: str | None = "NHWC",
        name: str | None = None,
        input: Any = None,
    ) -> Tensor:
        with name_scope(name, kind, [value]) as scope:
            x = renamed("input", input, "value", value)
            return _pooled(kind, how, x, ksize, strides, padding, data_format, scope)

    doc = f"""Returns the {doc}.

        Args:
            value: (batch, height, width, channel), or (batch, channel, height, width).
            ksize: the window: one number, two, or one for each dimension.
            strides: the distance of two windows, likewise.
            padding: 'SAME', 'VALID', or a pair of numbers for each dimension.
            data_format: 'NHWC' or 'NCHW'.
            input: the newer name of `value`.
        """
    return described(function, f"{how}_pool", doc)


max_pool = _of_images("MaxPool", "max", "greatest element of each window of images")
avg_pool = _of_images("AvgPool", "avg", "mean of each window of images, without the padding")


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The newer name of `max_pool`, for images."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


avg_pool2d = avg_pool


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: Any,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Returns the maximum ('MAX') or mean ('AVG') of each window over 1, 2 or 3 spatial axes."""
    spatial = len(window_shape)
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pool: pooling_type must be MAX or AVG, got {pooling_type}")
    rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    if any(one != 1 for one in known_numbers(with_default(rate, [1] * spatial))):
        raise ValueError(f"pool: dilations must be 1, got {rate}")
    kind, ours = {"MAX": ("MaxPool", "max"), "AVG": ("AvgPool", "avg")}[pooling_type]
    with name_scope(name, f"{ours}_pool", [input]) as scope:
        step = with_default(strides, [1] * spatial)
        return _pooled(
            kind, ours, input, list(window_shape), step, padding, data_format, scope, spatial
        )
