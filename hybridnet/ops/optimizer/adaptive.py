"""Updates whose step adapts to each element's past gradients. See `updates` for the rules."""

from __future__ import annotations

from typing import Any

from hybridnet.base.attrs import Scalar
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp

from ..core.checks import require_floats, require_one_dtype
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import check_same_shape, same_type
from .updates import UPDATE, clipped, require_one_number, update


def _moments(mean: Any, var: Any, step: Any, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    """Returns Adam's running means of a gradient and of its square, with the next gradient."""
    return beta1 * mean + (1 - beta1) * step, beta2 * var + (1 - beta2) * jnp.square(step)


@update("adam_update", ("weight", "grad", "mean", "var"), ("_sparse_adam_update",))
def adam_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    *,
    lr: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Adam (Kingma and Ba, 2014) without its bias correction, which the caller puts into `lr`.

    With ``g = clip(grad + wd * weight)``: ``mean = beta1 * mean + (1 - beta1) * g``,
    ``var = beta2 * var + (1 - beta2) * g**2``, ``weight - lr * mean / (sqrt(var) + epsilon)``.
    """
    step = clipped(rescale_grad * grad + wd * weight, clip_gradient)
    mean, var = _moments(mean, var, step, beta1, beta2)
    return weight - lr * mean / (jnp.sqrt(var) + epsilon), mean, var


@update("_decoupled_adam_update", ("weight", "grad", "mean", "var"))
def decoupled_adam_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    *,
    lr: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), without bias correction.

    With ``g = clip(rescale_grad * grad)`` and Adam's moments:
    ``weight - lr * (mean / (sqrt(var) + epsilon) + wd * weight)``.
    """
    step = clipped(rescale_grad * grad, clip_gradient)
    mean, var = _moments(mean, var, step, beta1, beta2)
    return weight - lr * (mean / (jnp.sqrt(var) + epsilon) + wd * weight), mean, var


@update("_lion_update", ("weight", "grad", "mean"))
def lion_update(
    weight: Any,
    grad: Any,
    mean: Any,
    *,
    lr: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.99,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """Steps of one size, by the sign of a momentum (Chen et al., 2023).

    With ``g = clip(rescale_grad * grad)``:
    ``weight - lr * (sign(beta1 * mean + (1 - beta1) * g) + wd * weight)``, and
    ``mean = beta2 * mean + (1 - beta2) * g``.
    """
    step = clipped(rescale_grad * grad, clip_gradient)
    direction = jnp.sign(beta1 * mean + (1 - beta1) * step)
    return weight - lr * (direction + wd * weight), beta2 * mean + (1 - beta2) * step


@update("rmsprop_update", ("weight", "grad", "n"))
def rmsprop_update(
    weight: Any,
    grad: Any,
    n: Any,
    *,
    lr: Scalar,
    gamma1: Scalar = 0.95,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> Any:
    """RMSProp (Tieleman and Hinton, 2012).

    With ``g = clip(grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * g**2``, then
    ``weight - lr * g / sqrt(n + epsilon)``, limited to ``[-clip_weights, clip_weights]`` where
    that is not negative.
    """
    step = clipped(rescale_grad * grad + wd * weight, clip_gradient)
    n = gamma1 * n + (1 - gamma1) * jnp.square(step)
    return clipped(weight - lr * step / jnp.sqrt(n + epsilon), clip_weights), n


@update("rmspropalex_update", ("weight", "grad", "n", "g", "delta"))
def rmspropalex_update(
    weight: Any,
    grad: Any,
    n: Any,
    g: Any,
    delta: Any,
    *,
    lr: Scalar,
    gamma1: Scalar = 0.95,
    gamma2: Scalar = 0.9,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    clip_weights: float = -1.0,
) -> Any:
    """RMSProp by the centered second moment, with momentum (Graves, 2013, equations 38 to 45).

    With ``s = clip(grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * s**2``,
    ``g = gamma1 * g + (1 - gamma1) * s``,
    ``delta = gamma2 * delta - lr * s / sqrt(n - g**2 + epsilon)``, then ``weight + delta``.
    """
    step = clipped(rescale_grad * grad + wd * weight, clip_gradient)
    n = gamma1 * n + (1 - gamma1) * jnp.square(step)
    g = gamma1 * g + (1 - gamma1) * step
    delta = gamma2 * delta - lr * step / jnp.sqrt(n - jnp.square(g) + epsilon)
    return clipped(weight + delta, clip_weights), n, g, delta


@update("ftrl_update", ("weight", "grad", "z", "n"), ("_sparse_ftrl_update",))
def ftrl_update(
    weight: Any,
    grad: Any,
    z: Any,
    n: Any,
    *,
    lr: Scalar,
    lamda1: Scalar = 0.01,
    beta: Scalar = 1.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """Follow the regularized leader (McMahan et al., "Ad click prediction", 2013, algorithm 1).

    With ``g = clip(grad)``: ``z += g - (sqrt(n + g**2) - sqrt(n)) * weight / lr``, ``n += g**2``,
    then ``(sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, else 0.
    """
    step = clipped(rescale_grad * grad, clip_gradient)
    new_n = n + jnp.square(step)
    z = z + step - (jnp.sqrt(new_n) - jnp.sqrt(n)) * weight / lr
    weight = (jnp.sign(z) * lamda1 - z) / ((beta + jnp.sqrt(new_n)) / lr + wd)
    return jnp.where(jnp.abs(z) > lamda1, weight, jnp.zeros_like(weight)), z, new_n


@update("ftml_update", ("weight", "grad", "d", "v", "z"))
def ftml_update(
    weight: Any,
    grad: Any,
    d: Any,
    v: Any,
    z: Any,
    *,
    lr: Scalar,
    beta1: Scalar = 0.6,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    t: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_grad: float = -1.0,
) -> Any:
    """Follow the moving leader (Zheng and Kwok, 2017, algorithm 1), step number `t` from 1."""
    step = clipped(rescale_grad * grad + wd * weight, clip_grad)
    v = beta2 * v + (1 - beta2) * jnp.square(step)
    new_d = (1 - beta1**t) / lr * (jnp.sqrt(v / (1 - beta2**t)) + epsilon)
    z = beta1 * z + (1 - beta1) * step - (new_d - beta1 * d) * weight
    return -z / new_d, new_d, v, z


@update("_sparse_adagrad_update", ("weight", "grad", "history"))
def adagrad_update(
    weight: Any,
    grad: Any,
    history: Any,
    *,
    lr: Scalar,
    epsilon: Scalar = 1e-7,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """AdaGrad (Duchi, Hazan and Singer, 2011).

    With ``g = clip(grad)``: ``history += g**2``, then
    ``weight - lr * (g / sqrt(history + epsilon) + wd * weight)``.
    """
    step = clipped(rescale_grad * grad, clip_gradient)
    history = history + jnp.square(step)
    return weight - lr * (step / jnp.sqrt(history + epsilon) + wd * weight), history


def _group_check(*types: TensorType, **_: Any) -> None:
    names = ("weight", "grad", "history")
    require_floats("_contrib_group_adagrad_update", names, types)
    require_one_dtype("_contrib_group_adagrad_update", names, types)
    weight, grad, history = types
    rows = (*weight.shape[:1], *(1,) * (len(weight.shape) - 1))
    if grad.shape != weight.shape or history.shape != rows:
        raise ShapeError(
            "_contrib_group_adagrad_update: grad must have the shape of weight and history "
            f"{rows}, got {describe(names, types)}"
        )


@operator(
    "_contrib_group_adagrad_update",
    outputs=2,
    visible=1,
    mutates={"history": 1},
    check=_group_check,
    infer=lambda weight, grad, history, **_: (weight, history),
    no_gradient=UPDATE,
)
def group_adagrad_update(
    weight: Any,
    grad: Any,
    history: Any,
    *,
    lr: Scalar,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    epsilon: Scalar = 1e-5,
) -> Any:
    """AdaGrad with one history for each row, to which the row's mean square is added."""
    step = clipped(rescale_grad * grad, clip_gradient)
    axes = tuple(range(1, step.ndim))
    history = history + jnp.square(step).mean(axes, keepdims=True)
    return weight - lr * step / jnp.sqrt(history + epsilon), history


def _decoupled_check(*types: TensorType, **_: Any) -> None:
    names = ("weight", "grad", "mean", "var")
    require_floats("_adamw_update", names, types)
    require_one_dtype("_adamw_update", names, types[:4])
    check_same_shape("_adamw_update", names, types[:4])
    require_one_number("_adamw_update", "rescale_grad", types[4])


@operator(
    "_adamw_update",
    outputs=3,
    visible=1,
    mutates={"mean": 1, "var": 2},
    check=_decoupled_check,
    infer=lambda weight, grad, mean, var, rescale_grad, **_: (weight, mean, var),
    no_gradient=UPDATE,
)
def adamw_update(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    rescale_grad: Any,
    *,
    lr: Scalar,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-8,
    wd: Scalar = 0.0,
    eta: Scalar,
    clip_gradient: float = -1.0,
) -> Any:
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019), without bias correction.

    With ``g = clip(rescale_grad * grad)`` and Adam's moments:
    ``weight - eta * (lr * mean / (sqrt(var) + epsilon) + wd * weight)``.

    Args:
        rescale_grad: (1,); where it is 0 or not finite (a loss scale that overflowed), nothing is
            changed.
        eta: a factor of the whole step.
    """
    scale = rescale_grad.reshape(()).astype(weight.dtype)
    step = clipped(scale * grad, clip_gradient)
    new_mean, new_var = _moments(mean, var, step, beta1, beta2)
    new = weight - eta * (lr * new_mean / (jnp.sqrt(new_var) + epsilon) + wd * weight)
    usable = jnp.isfinite(scale) & (scale != 0)
    pairs = ((new, weight), (new_mean, mean), (new_var, var))
    return tuple(jnp.where(usable, updated, kept) for updated, kept in pairs)


@update("lamb_update_phase1", ("weight", "grad", "mean", "var"))
def lamb_update_phase1(
    weight: Any,
    grad: Any,
    mean: Any,
    var: Any,
    *,
    beta1: Scalar = 0.9,
    beta2: Scalar = 0.999,
    epsilon: Scalar = 1e-6,
    t: Scalar,
    bias_correction: bool = True,
    wd: Scalar,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """First half of LAMB (You et al., 2019): Adam's direction plus ``wd * weight``.

    Returns it; the second half scales it by the weight's norm over its own.
    """
    step = clipped(rescale_grad * grad, clip_gradient)
    mean, var = _moments(mean, var, step, beta1, beta2)
    first, second = mean, var
    if bias_correction:
        first, second = mean / (1 - beta1**t), var / (1 - beta2**t)
    return first / (jnp.sqrt(second) + epsilon) + wd * weight, mean, var


def _phase2_check(*types: TensorType, **_: Any) -> None:
    names = ("weight", "g", "r1", "r2")
    require_floats("lamb_update_phase2", names, types)
    require_one_dtype("lamb_update_phase2", names[:2], types[:2])
    check_same_shape("lamb_update_phase2", names[:2], types[:2])
    if types[2].size != 1 or types[3].size != 1:
        raise ShapeError(
            f"lamb_update_phase2: r1 and r2 must be one number each, got {describe(names, types)}"
        )


@operator("lamb_update_phase2", check=_phase2_check, infer=same_type, no_gradient=UPDATE)
def lamb_update_phase2(
    weight: Any,
    g: Any,
    r1: Any,
    r2: Any,
    *,
    lr: Scalar,
    lower_bound: float = -1.0,
    upper_bound: float = -1.0,
) -> Any:
    """Second half of LAMB: ``weight - lr * (r1 / r2) * g``.

    Args:
        weight: any shape.
        g: the first half's result.
        r1: (1,), the norm of `weight`, limited to the bounds that are not negative.
        r2: (1,), the norm of `g`. Where either norm is 0 their ratio counts as 1.
        lower_bound, upper_bound: see `r1`.
    """
    r1, r2 = (norm.reshape(()).astype(weight.dtype) for norm in (r1, r2))
    if lower_bound >= 0:
        r1 = jnp.maximum(r1, lower_bound)
    if upper_bound >= 0:
        r1 = jnp.minimum(r1, upper_bound)
    none = (r1 == 0) | (r2 == 0)
    ratio = jnp.where(none, 1, r1 / jnp.where(none, 1, r2))
    return weight - lr * ratio * g
