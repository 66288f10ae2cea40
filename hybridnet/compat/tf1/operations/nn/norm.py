"""Normalization: ``tf.nn.moments``, ``tf.nn.batch_normalization``, ``tf.nn.lrn``."""

from __future__ import annotations

from typing import Any

from ...graph import compose, convert_to_tensor, require_same
from ...graph.adding import EdgeHandle, Tensor, fused, handle, name_scope
from ...graph.arguments import as_floats, axes_of, renamed, static_value

__all__ = [
    "batch_norm_with_global_normalization", "batch_normalization", "fused_batch_norm",
    "local_response_normalization", "lrn", "moments",
]  # fmt: skip


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
        return handle("_npi_mean", (x - center).square(), axis=along, keepdims=keep)

    with name_scope(name, "moments", [value]):
        kind, *names = ("Mean", "mean", "variance") if keep else ("Squeeze", "Squeeze", "Squeeze_1")
        return (
            fused(kind, mean, [value], name=names[0]),
            fused(kind, variance, [value], name=names[1]),
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
    """
    named = {"x": x, "mean": mean, "variance": variance, "offset": offset, "scale": scale}
    given = {key: one for key, one in named.items() if one is not None}
    with name_scope(name, "batchnorm", [x, mean, variance]):
        inputs = require_same("BatchNorm", list(given), list(given.values()))
        epsilon = float(static_value(variance_epsilon))

        def normal(*parts: EdgeHandle) -> EdgeHandle:
            by_name = dict(zip(given, parts, strict=True))
            factor = (by_name["variance"] + epsilon).rsqrt()
            if "scale" in by_name:
                factor = factor * by_name["scale"]
            moved = by_name["mean"] * factor
            rest = by_name["offset"] - moved if "offset" in by_name else -moved
            return by_name["x"] * factor + rest

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
        input, mean, variance: the newer names of `t`, `m` and `v`.
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

        center = handle("_npi_mean", x, axis=axes) if is_training else held[0]
        difference = x - channels(center)
        spread = handle("_npi_mean", difference.square(), axis=axes) if is_training else held[1]
        factor = channels((spread + float(epsilon)).rsqrt() * scale)
        made = difference * factor + channels(offset)
        if not is_training:
            return [made, handle("_copy", center), handle("_copy", spread)]
        found = _statistics(x, center, spread, value.dtype.numpy.name)
        if moving:  # a part of each new value, and the rest of the one before
            part, pairs = float(exponential_avg_factor), zip(held, found, strict=True)
            found = [old * (1 - part) + now * part for old, now in pairs]
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
    count, own = (handle("Cast", one.size_array(), dtype=dtype) for one in (x, center))
    size = count / own
    unbiased = spread * (size / handle("_maximum_scalar", size - 1.0, scalar=1.0))
    return [handle("BlockGrad", center), handle("BlockGrad", unbiased)]


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
        bias, alpha, beta: see above.
    """
    x = as_floats("LRN", input, "input")
    size = 2 * int(depth_radius) + 1
    params = {"knorm": float(bias), "beta": float(beta), "alpha": float(alpha) * size}

    def normal(x: EdgeHandle) -> EdgeHandle:
        made = handle("LRN", x.transpose(axes=(0, 3, 1, 2)), nsize=size, **params)
        return made.transpose(axes=(0, 2, 3, 1))

    return fused("LRN", normal, [x], name=name, shape=x.shape)


lrn = local_response_normalization
