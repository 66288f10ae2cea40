"""Updates of weights. Each returns the new weight, and overwrites the optimizer's state.

``sgd_update(weight, grad, out=weight, lr=0.1)`` updates in place. Learning rates and the like are
inputs of the compiled program, so that changing them compiles nothing anew.

In all of them ``grad`` is first multiplied by `rescale_grad` and then, where `clip_gradient` is not
negative, each element is limited to ``[-clip_gradient, clip_gradient]``; whether weight decay is
added before or after that differs, and follows MXNet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridnet.base.attrs import Scalar
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import elementwise, jnp

from ..core.checks import require_floats, require_one_dtype
from ..core.registry import operator
from ..core.rules import check_same_shape, unify

#: Why updates have no gradient.
UPDATE: Final = "an optimizer's step is not differentiated"


def check_update(name: str, inputs: Sequence[str], types: Sequence[TensorType]) -> None:
    """Raises unless weight, gradient and states are alike; see `update` for the arguments."""
    require_floats(name, inputs, types)
    check_same_shape(name, inputs, types)
    if "weight32" not in inputs:
        require_one_dtype(name, inputs, types)


def require_one_number(op: str, name: str, given: TensorType) -> None:
    """Raises unless an input of an operator is an array of one element."""
    if given.size != 1:
        raise ShapeError(f"{op}: {name} must be one number, got {given}")


def update(
    name: str, inputs: Sequence[str], aliases: Sequence[str] = (), doc: str = ""
) -> Callable[..., Any]:
    """Returns the decorator of an update whose outputs are the new weight and states.

    Args:
        name: MXNet's name.
        inputs: the names of the inputs: the weight, the gradient, and the states in the order in
            which the lowering returns them. Each element's update is by itself.
        aliases: other names.
        doc: the documentation, where the lowering's own docstring is not it.
    """
    states = inputs[2:]

    def check(*types: TensorType, **_: Any) -> None:
        check_update(name, inputs, types)

    def infer(*types: TensorType, **_: Any) -> Sequence[TensorType]:
        return (types[0], *types[2:])

    registered = operator(
        name,
        aliases=aliases,
        outputs=1 + len(states),
        visible=1,
        mutates={state: 1 + i for i, state in enumerate(states)},
        check=check,
        infer=infer,
        complete=unify,
        no_gradient=UPDATE,
        doc=doc,
    )
    return lambda lowering: registered(elementwise(lowering))


def clipped(grad: Any, clip: float) -> Any:
    """Limits each element to [-clip, clip]; a negative `clip` means no limit."""
    return jnp.clip(grad, -clip, clip) if clip >= 0 else grad


@update("sgd_update", ("weight", "grad"), ("_sparse_sgd_update",))
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
    return weight - lr * (clipped(rescale_grad * grad, clip_gradient) + wd * weight)


@update("sgd_mom_update", ("weight", "grad", "mom"), ("_sparse_sgd_mom_update",))
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
    step = clipped(rescale_grad * grad, clip_gradient) + wd * weight
    mom = momentum * mom - lr * step
    return weight + mom, mom


@update("nag_mom_update", ("weight", "grad", "mom"))
def nag_mom_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: Scalar,
    momentum: Scalar = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """Nesterov's accelerated gradient.

    With ``g = clip(grad) + wd * weight``: ``mom = momentum * mom - lr * g``, then
    ``weight + momentum * mom - lr * g``.
    """
    step = lr * (clipped(rescale_grad * grad, clip_gradient) + wd * weight)
    mom = momentum * mom - step
    return weight + momentum * mom - step, mom


@update("signsgd_update", ("weight", "grad"))
def signsgd_update(
    weight: Any,
    grad: Any,
    *,
    lr: Scalar,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
) -> Any:
    """Descent by the gradient's sign: ``(1 - lr * wd) * weight - lr * sign(grad)``.

    Clipping changes no sign, so `clip_gradient` is without meaning.
    """
    return (1 - lr * wd) * weight - lr * jnp.sign(rescale_grad * grad)


@update("signum_update", ("weight", "grad", "mom"))
def signum_update(
    weight: Any,
    grad: Any,
    mom: Any,
    *,
    lr: Scalar,
    momentum: Scalar = 0.0,
    wd: Scalar = 0.0,
    rescale_grad: Scalar = 1.0,
    clip_gradient: float = -1.0,
    wd_lh: Scalar = 0.0,
) -> Any:
    """Descent by the momentum's sign (Bernstein et al., "signSGD", 2018).

    ``mom = momentum * mom - (1 - momentum) * (clip(grad) + wd * weight)``, then
    ``(1 - lr * wd_lh) * weight + lr * sign(mom)``.
    """
    step = clipped(rescale_grad * grad, clip_gradient) + wd * weight
    mom = momentum * mom - (1 - momentum) * step
    return (1 - lr * wd_lh) * weight + lr * jnp.sign(mom), mom
