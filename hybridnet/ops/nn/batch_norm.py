"""Normalization by the statistics of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from hybridnet.base.attrs import Train
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax, plus, times

from ..core.alternatives import PLAIN, Site, alternative, builtin_choice
from ..core.call import Averages, Backward
from ..core.checks import along, fill, others, require_floats, require_shape, wide
from ..core.operator import Shapes
from ..core.registry import get, operator
from ..core.rules import UNKNOWN, one_axis
from .conv.row_sums import row_sum, suits_channels_last

_INPUTS: Final = ("data", "gamma", "beta", "moving_mean", "moving_var")


def _check(*types: TensorType, axis: int, **_: Any) -> None:
    data = types[0]
    require_floats("BatchNorm", _INPUTS, types)
    channels = data.shape[one_axis("BatchNorm", axis, data)]
    for name, type_ in zip(_INPUTS[1:], types[1:], strict=True):
        require_shape("BatchNorm", name, type_, (channels,), f"axis {axis} of data {data}")


def _types(data: TensorType, *rest: TensorType, axis: int, **_: Any) -> Sequence[TensorType]:
    statistic = tensor_type((data.shape[axis],), wide(data.dtype))
    return (data, statistic, statistic, *rest[2:])


def _shapes(shapes: Shapes, *, axis: int, **_: Any) -> Shapes:
    data, *rest = shapes
    channels = data[axis] if data and -len(data) <= axis < len(data) else UNKNOWN
    return [data, *(fill(shape, (channels,)) for shape in rest)]


def _gradient(back: Backward) -> Sequence[Any]:
    data, gamma = back.inputs[:2]
    _, mean, inverse, *_rest = back.outputs
    grad, mean_grad, inverse_grad = back.grads[:3]
    grads: list[Any] = [None] * 5
    train = back.call.train
    # SyncBatchNorm has no axis.
    shared = {
        "axis": back.attrs.get("axis", 1),
        "use_global_stats": back.attrs["use_global_stats"],
    }
    if grad is not None:
        attrs = {**shared, "fix_gamma": back.attrs["fix_gamma"]}
        call, _ = get("_backward_BatchNorm").bind(attrs, train)
        grads[:3] = back.apply(call, [grad, data, gamma, mean, inverse])
    for which, given in (("mean", mean_grad), ("inverse", inverse_grad)):
        if given is None:
            continue
        attrs = {**shared, "which": which}
        call, _ = get("_backward_BatchNorm_statistic").bind(attrs, train)
        (more,) = back.apply(call, [given, data, mean, inverse])
        grads[0] = more if grads[0] is None else grads[0] + more
    return grads


def _averages(
    momentum: float, use_global_stats: bool, eps: float | None, **_: Any
) -> Averages | None:
    if use_global_stats:
        return None
    call, _scalars = get("_backward_BatchNorm_averages").bind({"momentum": momentum, "eps": eps})
    return Averages(call, (3, 4), (1, 2))


@operator(
    "BatchNorm",
    aliases=("BatchNorm_v1", "_npx_batch_norm"),
    outputs=5,
    visible=lambda *, output_mean_var, **_: 3 if output_mean_var else 1,
    mutates={"moving_mean": 3, "moving_var": 4},
    averages=_averages,
    check=_check,
    infer=_types,
    complete=_shapes,
    gradient=_gradient,
    cost=lambda data, *_, **__: 8.0 * data.size,
    output_names=("output", "mean", "var"),
)
def batch_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    axis: int = 1,
    cudnn_off: bool = False,
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
    train: Train,
) -> Any:
    """Normalizes each channel: ``gamma * (data - mean) / sqrt(var + eps) + beta``.

    Ioffe and Szegedy, "Batch normalization", 2015. In training the mean and the biased variance
    are those of the batch, and the moving ones become
    ``momentum * moving + (1 - momentum) * batch``; otherwise they are the moving ones.

    Args:
        data: any shape with channels on `axis`, floating point.
        gamma: (channels,), the scale; float32 where `data` is narrower, like all that follow.
        beta: (channels,), the offset.
        moving_mean: (channels,), moved in training by the backward pass.
        moving_var: (channels,), likewise.
        momentum: of the moving statistics.
        fix_gamma: take gamma as 1, without a gradient.
        use_global_stats: use the moving statistics in training too.
        output_mean_var: show the statistics as well.
        axis: the channels.
        cudnn_off: without meaning here, like the calibration ranges; read for MXNet's sake.
        min_calib_range: see `cudnn_off`.
        max_calib_range: see `cudnn_off`.

    Returns:
        The shape and dtype of `data`; with `output_mean_var` also the mean and, as in MXNet,
        ``1 / sqrt(var + eps)``, both (channels,).
    """
    return _normalize(
        _sum,
        (data, gamma, beta, moving_mean, moving_var),
        axis % data.ndim,
        eps=eps,
        momentum=momentum,
        fix_gamma=fix_gamma,
        by_batch=train and not use_global_stats,
    )


def _sum(term: Callable[..., Any], *arrays: Any, axis: int) -> Any:
    """Sums ``term(*arrays)`` over all axes but one."""
    return jnp.sum(term(*arrays), others(arrays[0].ndim, axis))


def _normalize(
    total: Callable[..., Any],
    inputs: Sequence[Any],
    axis: int,
    *,
    eps: float,
    momentum: float,
    fix_gamma: bool,
    by_batch: bool,
    shows_var: bool = False,
) -> Sequence[Any]:
    """The lowering; `total` sums as `_sum` does, `by_batch` says whose statistics are used.

    Its third result is ``1 / sqrt(var + eps)``, or with `shows_var` the variance itself.
    """
    data, gamma, beta, moving_mean, moving_var = inputs
    x = jnp.astype(data, wide(data.dtype))
    if by_batch:
        count = data.size // data.shape[axis]
        mean = total(lambda x: x, x, axis=axis) / count
        center = along(mean, data.ndim, axis) if axis != data.ndim - 1 else mean
        var = total(lambda x: jnp.square(x - center), x, axis=axis) / count
        new_mean = momentum * moving_mean + (1 - momentum) * jnp.astype(mean, moving_mean.dtype)
        new_var = momentum * moving_var + (1 - momentum) * jnp.astype(var, moving_var.dtype)
    else:
        mean, var = jnp.astype(moving_mean, x.dtype), jnp.astype(moving_var, x.dtype)
        new_mean, new_var = moving_mean, moving_var
    inverse = lax.rsqrt(var + eps)
    scale = inverse if fix_gamma else inverse * jnp.astype(gamma, x.dtype)
    output = x - along(mean, data.ndim, axis)
    output = times(output, along(scale, data.ndim, axis))
    output = plus(output, along(jnp.astype(beta, x.dtype), data.ndim, axis))
    return jnp.astype(output, data.dtype), mean, var if shows_var else inverse, new_mean, new_var


@operator(
    "_backward_BatchNorm",
    outputs=3,
    infer=lambda grad, data, gamma, *_, **__: (data, gamma, gamma),
)
def backward_batch_norm(
    grad: Any,
    data: Any,
    gamma: Any,
    mean: Any,
    inverse: Any,
    *,
    fix_gamma: bool,
    use_global_stats: bool,
    axis: int,
    train: Train,
) -> Any:
    """Gradient of BatchNorm's first output, from the statistics it used.

    Args:
        grad: the shape of `data`.
        data: as given to BatchNorm.
        gamma: (channels,), likewise.
        mean: (channels,), BatchNorm's second output.
        inverse: (channels,), its third.
        fix_gamma: BatchNorm's parameters, like the following.
        use_global_stats: whether the statistics are constants in training too.
        axis: the channels.

    Returns:
        The gradients of data, gamma and beta.
    """
    return _pull_back(
        _sum,
        (grad, data, gamma, mean, inverse),
        axis % data.ndim,
        fix_gamma=fix_gamma,
        by_batch=train and not use_global_stats,
    )


@operator(
    "_backward_BatchNorm_averages",
    outputs=2,
    infer=lambda moving_mean, moving_var, *_, **__: (moving_mean, moving_var),
)
def backward_batch_norm_averages(
    moving_mean: Any,
    moving_var: Any,
    mean: Any,
    spread: Any,
    *,
    momentum: float,
    eps: float | None = None,
) -> Any:
    """Moves BatchNorm's running averages: ``momentum * moving + (1 - momentum) * batch``.

    Args:
        moving_mean: (channels,).
        moving_var: (channels,).
        mean: (channels,), of the batch.
        spread: (channels,), the batch's ``1 / sqrt(var + eps)``, or the variance where `eps` is
            None.
        momentum: of the averages.
        eps: BatchNorm's.

    Returns:
        The new averages of mean and variance.
    """
    var = spread if eps is None else 1 / jnp.square(spread) - eps
    return tuple(
        momentum * moving + (1 - momentum) * jnp.astype(batch, moving.dtype)
        for moving, batch in ((moving_mean, mean), (moving_var, var))
    )


def _pull_back(
    total: Callable[..., Any], inputs: Sequence[Any], axis: int, *, fix_gamma: bool, by_batch: bool
) -> Sequence[Any]:
    """The lowering of the gradient; `total` and `by_batch` as in `_normalize`."""
    grad, data, gamma, mean, inverse = inputs
    dtype = wide(data.dtype)
    dy, x = jnp.astype(grad, dtype), jnp.astype(data, dtype)
    center = along(mean, data.ndim, axis) if axis != data.ndim - 1 else mean
    beta_grad = total(lambda dy: dy, dy, axis=axis)
    gamma_grad = total(lambda dy, x: dy * (x - center), dy, x, axis=axis) * inverse
    scale = inverse if fix_gamma else inverse * jnp.astype(gamma, dtype)
    if by_batch:
        # The batch's own mean and variance depend on every element.
        count = data.size // data.shape[axis]
        dy = dy - along(beta_grad / count, data.ndim, axis)
        centered = x - along(mean, data.ndim, axis)
        dy = dy - times(centered, along(gamma_grad * inverse / count, data.ndim, axis))
    if fix_gamma:
        gamma_grad = jnp.zeros_like(gamma_grad)
    return (
        jnp.astype(dy * along(scale, data.ndim, axis), data.dtype),
        jnp.astype(gamma_grad, gamma.dtype),
        jnp.astype(beta_grad, gamma.dtype),
    )


# On CPUs ----------------------------------------------------------------------------------------

_CHANNELS_LAST: Final = "turned"  # the name in what was measured, in files too


def _is_on_cpu(site: Site) -> bool:
    return site.platform == "cpu" and site.is_static


@alternative("BatchNorm", _CHANNELS_LAST, applies=_is_on_cpu, tolerance=1e-5)
def _normalize_channels_last(
    *inputs: Any,
    eps: float,
    momentum: float,
    fix_gamma: bool,
    use_global_stats: bool,
    axis: int,
    train: bool,
    **_: Any,
) -> Sequence[Any]:
    """Batch normalization with the channels transposed to the last axis."""
    output, *rest = _normalize(
        _last_sum,
        (jnp.moveaxis(inputs[0], axis, -1), *inputs[1:]),
        inputs[0].ndim - 1,
        eps=eps,
        momentum=momentum,
        fix_gamma=fix_gamma,
        by_batch=train and not use_global_stats,
    )
    return jnp.moveaxis(output, -1, axis), *rest


@alternative("_backward_BatchNorm", _CHANNELS_LAST, applies=_is_on_cpu, tolerance=1e-5)
def _pull_back_channels_last(
    *inputs: Any, fix_gamma: bool, use_global_stats: bool, axis: int, train: bool
) -> Sequence[Any]:
    """The gradient, likewise."""
    transposed = (jnp.moveaxis(array, axis, -1) for array in inputs[:2])
    data_grad, *rest = _pull_back(
        _last_sum,
        (*transposed, *inputs[2:]),
        inputs[0].ndim - 1,
        fix_gamma=fix_gamma,
        by_batch=train and not use_global_stats,
    )
    return jnp.moveaxis(data_grad, -1, axis), *rest


def _last_sum(term: Callable[..., Any], *arrays: Any, axis: int) -> Any:
    return row_sum(term, *arrays)


@builtin_choice("BatchNorm")
def _choose(site: Site) -> str:
    """Channels last where it sums, and where convolutions have the data in that order.

    CPU time of forward + backward between operators with the channels last, plain and these, of
    float32 (32, 64, 32, 32): jax 0.10.2 30 + 47 ms and 2.1 + 2.7, jax 0.12 30 + 40 and 1.7 + 2.6.
    """
    sums = site.call.train and not site.attrs["use_global_stats"]
    return _CHANNELS_LAST if sums and suits_channels_last(site.operands[1].shape[0]) else PLAIN


@builtin_choice("_backward_BatchNorm")
def _choose_backward(site: Site) -> str:
    return _CHANNELS_LAST if suits_channels_last(site.operands[3].shape[0]) else PLAIN


@operator("_backward_BatchNorm_statistic", infer=lambda grad, data, *_, **__: (data,))
def backward_batch_norm_statistic(
    grad: Any,
    data: Any,
    mean: Any,
    inverse: Any,
    *,
    which: Literal["inverse", "mean"],
    use_global_stats: bool,
    axis: int,
    train: Train,
) -> Any:
    """Gradient of BatchNorm's second or third output with respect to its data.

    Args:
        grad: (channels,), the gradient of the statistic.
        data: as given to BatchNorm.
        mean: (channels,), BatchNorm's second output.
        inverse: (channels,), its third.
        which: the statistic.
        use_global_stats: BatchNorm's parameters, like the following.
        axis: the channels.
    """
    if not train or use_global_stats:
        return jnp.zeros_like(data)
    axis %= data.ndim
    dtype = wide(data.dtype)
    share = grad.astype(dtype) / (data.size // data.shape[axis])
    if which == "mean":
        return jnp.broadcast_to(along(share, data.ndim, axis), data.shape).astype(data.dtype)
    centered = data.astype(dtype) - along(mean, data.ndim, axis)
    return (-along(share * inverse**3, data.ndim, axis) * centered).astype(data.dtype)


def _sync_gradient(back: Backward) -> Sequence[Any]:
    """Returns the gradient of BatchNorm, here with a third output that is made of the variance."""
    output, mean, var, *rest = back.outputs
    inverse = (var + back.attrs["eps"]) ** -0.5
    grad, mean_grad, var_grad, *others = back.grads
    if var_grad is not None:
        var_grad = var_grad * (-2 * inverse**-3)
    outputs, grads = (output, mean, inverse, *rest), (grad, mean_grad, var_grad, *others)
    return _gradient(replace(back, outputs=outputs, grads=grads))


@operator(
    "_contrib_SyncBatchNorm",
    outputs=5,
    visible=lambda *, output_mean_var, **_: 3 if output_mean_var else 1,
    mutates={"moving_mean": 3, "moving_var": 4},
    averages=lambda **attrs: _averages(**{**attrs, "eps": None}),
    check=lambda *types, **_: _check(*types, axis=1),
    infer=lambda *types, **_: _types(*types, axis=1),
    complete=lambda shapes, **_: _shapes(shapes, axis=1),
    gradient=_sync_gradient,
    cost=lambda data, *_, **__: 8.0 * data.size,
    output_names=("output", "mean", "var"),
)
def sync_batch_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    *,
    eps: float = 1e-3,
    momentum: float = 0.9,
    fix_gamma: bool = True,
    use_global_stats: bool = False,
    output_mean_var: bool = False,
    ndev: int = 1,
    key: str = "",
    train: Train,
) -> Any:
    """BatchNorm over axis 1 whose statistics are those of the program's whole batch.

    Args:
        data: (batch, channels, ...); see BatchNorm for this and what follows.
        gamma: (channels,).
        beta: (channels,).
        moving_mean: (channels,).
        moving_var: (channels,).
        momentum: of the moving statistics.
        fix_gamma: take gamma as 1.
        use_global_stats: use the moving statistics in training too.
        output_mean_var: show the mean and the variance as well.
        ndev: without meaning here, like `key`: a batch that is spread over devices by one program
            is normalized as one; read for MXNet's sake.
        key: see `ndev`.
    """
    return _normalize(
        _sum,
        (data, gamma, beta, moving_mean, moving_var),
        1,
        eps=eps,
        momentum=momentum,
        fix_gamma=fix_gamma,
        by_batch=train and not use_global_stats,
        shows_var=True,
    )
