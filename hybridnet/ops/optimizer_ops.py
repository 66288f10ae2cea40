"""Updates of weights. Each returns the new weight, and overwrites the optimizer's state.

``sgd_update(weight, grad, out=weight, lr=0.1)`` updates in place. Learning rates and the like are
inputs of the compiled program, so that changing them compiles nothing anew.

In all of them ``grad`` is first multiplied by `rescale_grad` and then, where `clip_gradient` is not
negative, each element is limited to ``[-clip_gradient, clip_gradient]``; whether weight decay is
added before or after that differs, and follows MXNet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.base.attrs import Scalar
from hybridnet.base.errors import ShapeError
from hybridnet.base.lazy import jnp
from hybridnet.base.tensor_type import TensorType

from .operator import describe
from .registry import operator
from .rules import unify

__all__: list[str] = []

_UPDATE = "an optimizer's step is not differentiated"


def _update(name: str, inputs: Sequence[str], aliases: Sequence[str] = ()) -> Callable[..., Any]:
    """Returns the decorator of an update whose outputs are the new weight and states.

    Args:
        name: MXNet's name.
        inputs: the names of the inputs: the weight, the gradient, and the states in the order in
            which the lowering returns them.
        aliases: other names.
    """
    states = inputs[2:]

    def check(*types: TensorType, **_: Any) -> None:
        if any(one.shape != types[0].shape for one in types):
            raise ShapeError(
                f"{name}: {', '.join(inputs)} must have equal shapes, got {describe(inputs, types)}"
            )

    def infer(*types: TensorType, **_: Any) -> Sequence[TensorType]:
        return (types[0], *types[2:])

    return operator(
        name,
        aliases=aliases,
        outputs=1 + len(states),
        visible=1,
        mutates={state: 1 + i for i, state in enumerate(states)},
        check=check,
        infer=infer,
        complete=unify,
        no_gradient=_UPDATE,
    )


def _clipped(grad: Any, clip: float) -> Any:
    return jnp.clip(grad, -clip, clip) if clip >= 0 else grad


@_update("sgd_update", ("weight", "grad"), ("_sparse_sgd_update",))
def sgd_update(
    weight: Any,
    grad: Any,
    *,
    lr: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Gradient descent: ``weight - lr * (clip(grad) + wd * weight)``."""
    return weight - lr * (_clipped(rescale_grad * grad, clip_gradient) + wd * weight)


@_update("sgd_mom_update", ("weight", "grad", "mom"), ("_sparse_sgd_mom_update",))
def sgd_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: Scalar,
    momentum: Scalar = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    lazy_update: bool = True,
) -> Any:
    """Gradient descent with momentum.

    ``mom = momentum * mom - lr * (clip(grad) + wd * weight)``, then ``weight + mom``.
    """
    step = _clipped(rescale_grad * grad, clip_gradient) + wd * weight
    mom = momentum * mom - lr * step
    return weight + mom, mom


@_update("adam_update", ("weight", "grad", "mean", "var"), ("_sparse_adam_update",))
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
    step = _clipped(rescale_grad * grad + wd * weight, clip_gradient)
    mean = beta1 * mean + (1 - beta1) * step
    var = beta2 * var + (1 - beta2) * jnp.square(step)
    return weight - lr * mean / (jnp.sqrt(var) + epsilon), mean, var
