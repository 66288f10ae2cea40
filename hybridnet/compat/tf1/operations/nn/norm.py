"""Normalization: ``tf.nn.moments``, ``tf.nn.batch_normalization``, ``tf.nn.lrn``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.graph.gradient import EdgeHandle

from ...graph.arguments import as_floats, axes_of, fused, renamed, static_value
from ...graph.building import compose
from ...graph.control import name_scope
from ...graph.operators import handle
from ...graph.tensor import Tensor
from ...graph.values import convert_to_tensor, require_same

__all__ = [
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "fused_batch_norm",
    "local_response_normalization",
    "lrn",
    "moments",
]


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
    keepdims: Any = None,
) -> tuple[Tensor, Tensor]:
    """Returns mean and variance along axes.

    Args:
        x: floating point.
        axes: along which.
        shift: without meaning here.
        name: of the scope.
        keep_dims: the older name of `keepdims`.
        keepdims: whether the axes stay, with size 1.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    value = as_floats("Moments", x)
    along = axes_of("Moments", axes, value.shape.ndims)

    def mean(x: EdgeHandle) -> EdgeHandle:
        return handle("_npi_mean", x, axis=along, keepdims=keep)

    def variance(x: EdgeHandle) -> EdgeHandle:
        center = handle("BlockGrad", handle("_npi_mean", x, axis=along, keepdims=True))
        squares = handle("square", handle("broadcast_sub", x, center))
        return handle("_npi_mean", squares, axis=along, keepdims=keep)

    with name_scope(name, "moments", [value]):
        if keep:
            return fused("Mean", mean, [value], name="mean"), fused(
                "Mean", variance, [value], name="variance"
            )
        return fused("Squeeze", mean, [value], name="Squeeze"), fused(
            "Squeeze", variance, [value], name="Squeeze_1"
        )


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """Returns scale * (x - mean) / sqrt(variance + epsilon) + offset, all of which broadcast.

    Args:
        x: floating point.
        mean: of it.
        variance: of it.
        offset: what is added, or None.
        scale: what it is multiplied by, or None.
        variance_epsilon: a small number.
        name: of the scope.
    """
    named = {"x": x, "mean": mean, "variance": variance, "offset": offset, "scale": scale}
    given = {key: one for key, one in named.items() if one is not None}
    with name_scope(name, "batchnorm", [x, mean, variance]):
        inputs = require_same("BatchNorm", list(given), list(given.values()))
        epsilon = float(static_value(variance_epsilon))

        def normal(*parts: EdgeHandle) -> EdgeHandle:
            by_name = dict(zip(given, parts, strict=True))
            spread = handle("_plus_scalar", by_name["variance"], scalar=epsilon)
            factor = handle("rsqrt", spread)
            if "scale" in by_name:
                factor = handle("broadcast_mul", factor, by_name["scale"])
            moved = handle("broadcast_mul", by_name["mean"], factor)
            rest = handle("negative", moved)
            if "offset" in by_name:
                rest = handle("broadcast_sub", by_name["offset"], moved)
            return handle("broadcast_add", handle("broadcast_mul", by_name["x"], factor), rest)

        return fused("AddV2", normal, inputs, name="add_1")


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """An older form of `batch_normalization`.

    Args:
        t: what is normalized.
        m: its mean.
        v: its variance.
        beta: what is added.
        gamma: what it is multiplied by,
        variance_epsilon: a small number.
        scale_after_normalization: if that is to be done.
        name: of the scope.
        input: the newer name of `t`.
        mean: the newer name of `m`.
        variance: the newer name of `v`.
    """
    x = renamed("input", input, "t", t)
    center, spread = renamed("mean", mean, "m", m), renamed("variance", variance, "v", v)
    scale = gamma if scale_after_normalization else None
    return batch_normalization(x, center, spread, beta, scale, variance_epsilon, name)


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalizes images channel by channel: to mean 0 and variance 1, then by scale and offset.

    Args:
        x: the images: (batch, height, width, channel), or (batch, channel, height, width) if
            `data_format` says so.
        scale: (channel,) the result is multiplied by this.
        offset: (channel,) this is added to the result.
        mean: (channel,) the mean to normalize with, if not `is_training`; in training the moving
            average so far.
        variance: (channel,) likewise.
        epsilon: a small number that is added to the variance.
        data_format: 'NHWC' or 'NCHW'.
        is_training: whether to normalize with the mean and variance of `x` itself.
        name: the name of the Operation.
        exponential_avg_factor: in training, the weight of the new mean and variance in the moving
            averages that are returned; 1 returns the new ones alone.

    Returns:
        The result; the mean; and the variance (in training the unbiased one).

    Raises:
        ValueError: not `is_training`, and mean or variance is missing.
    """
    last = data_format == "NHWC"
    if not is_training and (mean is None or variance is None):
        raise ValueError("Both `mean` and `variance` must be tensors when `is_training` is `False`")
    value = as_floats("FusedBatchNormV3", x)
    moving = exponential_avg_factor != 1.0 and mean is not None and variance is not None
    names, given = ["scale", "offset"], [scale, offset]
    if not is_training or moving:
        names, given = [*names, "mean", "variance"], [*given, mean, variance]
    inputs = [
        convert_to_tensor(one, value.dtype.base_dtype, name=n)
        for one, n in zip(given, names, strict=True)
    ]
    axes = (0, 1, 2) if last else (0, 2, 3)

    def normal(x: EdgeHandle, scale: EdgeHandle, offset: EdgeHandle, *held: EdgeHandle) -> Any:
        def channels(vector: EdgeHandle) -> EdgeHandle:
            return vector if last else handle("_np_reshape", vector, newshape=(-1, 1, 1))

        if is_training:
            center = handle("_npi_mean", x, axis=axes)
            difference = handle("broadcast_sub", x, channels(center))
            spread = handle("_npi_mean", handle("square", difference), axis=axes)
        else:
            center, spread = held
            difference = handle("broadcast_sub", x, channels(center))
        factor = handle("rsqrt", handle("_plus_scalar", spread, scalar=float(epsilon)))
        factor = channels(handle("broadcast_mul", factor, scale))
        made = handle(
            "broadcast_add", handle("broadcast_mul", difference, factor), channels(offset)
        )
        if not is_training:
            return [made, handle("_copy", center), handle("_copy", spread)]
        found = _statistics(x, center, spread, value.dtype.numpy.name)
        if moving:
            found = _moved(held, found, float(exponential_avg_factor))
        return [made, *found]

    made: tuple[Tensor, Tensor, Tensor] = compose(
        "FusedBatchNormV3", normal, [value, *inputs], name=name
    )
    return made


def _statistics(
    x: EdgeHandle, center: EdgeHandle, spread: EdgeHandle, dtype: str
) -> list[EdgeHandle]:
    """Returns the mean of images by channel, and the unbiased variance, both without a gradient.

    Args:
        x: the images.
        center: (channel,) their mean.
        spread: (channel,) their variance, over n elements; the unbiased one is over n - 1.
        dtype: the dtype of all.
    """
    count = handle("Cast", handle("size_array", x), dtype=dtype)
    own = handle("Cast", handle("size_array", center), dtype=dtype)
    size = handle("broadcast_div", count, own)
    less = handle("_maximum_scalar", handle("_minus_scalar", size, scalar=1.0), scalar=1.0)
    unbiased = handle("broadcast_mul", spread, handle("broadcast_div", size, less))
    return [handle("BlockGrad", center), handle("BlockGrad", unbiased)]


def _moved(
    before: Sequence[EdgeHandle], new: Sequence[EdgeHandle], part: float
) -> list[EdgeHandle]:
    """Returns moving averages: `part` of each new value, and the rest of the one before."""
    return [
        handle(
            "broadcast_add",
            handle("_mul_scalar", old, scalar=1 - part),
            handle("_mul_scalar", now, scalar=part),
        )
        for old, now in zip(before, new, strict=True)
    ]


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """Returns x / (bias + alpha * s)^beta, s the sum of squares over neighboring channels.

    Args:
        input: (batch, height, width, channel).
        depth_radius: how many channels on each side.
        bias: see above.
        alpha: see above.
        beta: see above.
        name: of the Operation.
    """
    x = as_floats("LRN", input, "input")
    size = 2 * int(depth_radius) + 1
    params = {
        "nsize": size,
        "knorm": float(bias),
        "beta": float(beta),
        "alpha": float(alpha) * size,
    }

    def normal(x: EdgeHandle) -> EdgeHandle:
        first = handle("transpose", x, axes=(0, 3, 1, 2))
        return handle("transpose", handle("LRN", first, **params), axes=(0, 2, 3, 1))

    return fused("LRN", normal, [x], name=name, shape=x.shape)


lrn = local_response_normalization
