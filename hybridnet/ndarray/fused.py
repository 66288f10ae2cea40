"""`nd.contrib`'s steps of AdamW and LAMB, for one weight and for several by one operator.

They overwrite the moments (and the copies in float32), and with ``out=`` the weights. MXNet's
module of Python functions is like this one: around operators whose last input is an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _internal
from .create import full
from .ndarray import NDArray

__all__ = [
    "adamw_update",
    "mp_adamw_update",
    "multi_adamw_update",
    "multi_lamb_update",
    "multi_mp_adamw_update",
    "multi_mp_lamb_update",
]

_Arrays = Sequence[NDArray]


def adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> Any:
    """A step of AdamW (Loshchilov and Hutter, 2019), without bias correction.

    With ``g = clip(rescale_grad * grad)`` and Adam's moments of it:
    ``weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``.

    Args:
        weight: any shape.
        grad, mean, var: arrays of its shape and dtype; the moments are overwritten.
        rescale_grad: a number, or an array of one, such as the inverse of a loss scale: where it
            is 0 or not finite, nothing is changed.
        lr: the learning rate.
        eta: a factor of the whole step.
        beta1, beta2: the decays of the moments.
        epsilon: keeps the division from zero.
        wd: the weight decay.
        clip_gradient: limits each element of the rescaled gradient; negative for no limit.
        out: the array to write the new weight into; usually `weight`.
        name: has no meaning for arrays.
        kwargs: nothing that arrays need.

    Returns:
        The new weight.
    """
    scale = _scale(rescale_grad, weight)
    numbers = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    limits = {"wd": wd, "clip_gradient": clip_gradient}
    return _internal._adamw_update(
        weight, grad, mean, var, scale, **numbers, **limits, out=out, name=name, **kwargs
    )


def mp_adamw_update(
    weight: NDArray,
    grad: NDArray,
    mean: NDArray,
    var: NDArray,
    weight32: NDArray,
    rescale_grad: NDArray | float,
    lr: float,
    eta: float,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-08,
    wd: float = 0,
    clip_gradient: float = -1,
    out: NDArray | None = None,
    name: str | None = None,
    **kwargs: object,
) -> Any:
    """A step of AdamW in mixed precision: it is taken on `weight32`, and `weight` rounded from it.

    Args:
        weight32: the copy of the weight in float32; it is overwritten, as `mean` and `var` are,
            which are float32, too.

    For all others see `adamw_update`.
    """
    scale = _scale(rescale_grad, weight)
    numbers = {"lr": lr, "eta": eta, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
    limits = {"wd": wd, "clip_gradient": clip_gradient}
    return _internal._mp_adamw_update(
        weight, grad, mean, var, weight32, scale, **numbers, **limits, out=out, name=name, **kwargs
    )


def multi_adamw_update(
    weights: _Arrays,
    grads: _Arrays,
    mean: _Arrays,
    var: _Arrays,
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: _Arrays | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: object,
) -> Any:
    """A step of AdamW for several weights.

    Args:
        weights, grads, mean, var: an array for each weight; see `adamw_update`.
        rescale_grad: for all of them.
        lrs, wds, etas: a number for each weight.
        out: the arrays to write the new weights into; usually `weights`.
        name: has no meaning for arrays.
        size: how many weights there are; 0 for all that are given.
        kwargs: beta1, beta2, epsilon and clip_gradient of `adamw_update`.

    Returns:
        The new weights.
    """
    arrays = [*_by_weight(weights, grads, mean, var), _scale(rescale_grad, weights[0])]
    each = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights)}
    return _internal._multi_adamw_update(*arrays, out=out, name=name, **each, **kwargs)


def multi_mp_adamw_update(
    weights: _Arrays,
    grads: _Arrays,
    mean: _Arrays,
    var: _Arrays,
    weights32: _Arrays,
    rescale_grad: NDArray | float,
    lrs: Sequence[float],
    wds: Sequence[float],
    etas: Sequence[float],
    out: _Arrays | None = None,
    name: str | None = None,
    size: int = 0,
    **kwargs: object,
) -> Any:
    """A step of AdamW in mixed precision for several weights.

    Args:
        weights32: the copies in float32; see `mp_adamw_update`.

    For all others see `multi_adamw_update`.
    """
    arrays = _by_weight(weights, grads, mean, var, weights32)
    each = {"lrs": lrs, "wds": wds, "etas": etas, "num_weights": size or len(weights)}
    scale = _scale(rescale_grad, weights[0])
    return _internal._multi_mp_adamw_update(*arrays, scale, out=out, name=name, **each, **kwargs)


def multi_lamb_update(
    weights: _Arrays,
    grads: _Arrays,
    mean: _Arrays,
    var: _Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: _Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Any:
    """A step of LAMB (You et al., 2019) for several weights.

    Args:
        weights, grads, mean, var: an array for each weight; the moments are overwritten.
        step_count: how many steps each weight has taken, this one included.
        lrs, wds: the learning rate and the weight decay of each weight.
        out: the arrays to write the new weights into; usually `weights`.
        num_tensors: how many weights there are; 0 for all that are given.
        kwargs: beta1, beta2, epsilon, rescale_grad, clip_gradient, bias_correction, and
            lower_bound and upper_bound of the weights' norms.

    Returns:
        The new weights.
    """
    arrays = _by_weight(weights, grads, mean, var)
    each = {"learning_rates": lrs, "wds": wds, "step_count": step_count}
    return _internal._multi_lamb_update(
        *arrays, out=out, num_tensors=num_tensors or len(weights), **each, **kwargs
    )


def multi_mp_lamb_update(
    weights: _Arrays,
    grads: _Arrays,
    mean: _Arrays,
    var: _Arrays,
    weights32: _Arrays,
    step_count: Sequence[int],
    lrs: Sequence[float],
    wds: Sequence[float],
    out: _Arrays | None = None,
    num_tensors: int = 0,
    **kwargs: object,
) -> Any:
    """A step of LAMB in mixed precision for several weights.

    Args:
        weights32: the copies in float32, on which the steps are taken; they are overwritten.

    For all others see `multi_lamb_update`.
    """
    arrays = _by_weight(weights, grads, mean, var, weights32)
    each = {"learning_rates": lrs, "wds": wds, "step_count": step_count}
    return _internal._multi_mp_lamb_update(
        *arrays, out=out, num_tensors=num_tensors or len(weights), **each, **kwargs
    )


def _by_weight(*kinds: _Arrays) -> list[NDArray]:
    """Returns weight, gradient and states of the first weight, then of the second, and so on."""
    return [array for group in zip(*kinds, strict=False) for array in group]


def _scale(rescale_grad: NDArray | float, weight: NDArray) -> NDArray:
    """Returns a factor of the gradients as an array where the weight is."""
    if isinstance(rescale_grad, NDArray):
        return rescale_grad.as_in_context(weight.context)
    return full((1,), rescale_grad, ctx=weight.context)
