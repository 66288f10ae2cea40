"""Activation functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import RandomState, Train
from hybridnet.base.dtype import is_integer
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jax, jnp, lax

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.checks import fill, require_floats, require_one_dtype
from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..core.rules import same_type
from ..math.elementwise import by_output, softsign_gradient
from ..random.state import next_key, uniforms


def _activation_check(data: TensorType, *, act_type: str) -> None:
    # Integers have a rectifier, though none of the others.
    if act_type != "relu" or not is_integer(data.dtype):
        require_floats("Activation", ("data",), (data,))


def _activation_gradient(back: Backward) -> Sequence[Any]:
    act_type = back.attrs["act_type"]
    if act_type == "softsign":
        return softsign_gradient(back)
    if act_type != "softrelu":
        return by_output(act_type)(back)
    (slope,) = back.apply(get("sigmoid").bind({})[0], back.inputs)
    return [back.grads[0] * slope]


@operator(
    "Activation",
    aliases=("_npx_activation",),
    check=_activation_check,
    infer=same_type,
    gradient=_activation_gradient,
)
def activation(
    data: Any, *, act_type: Literal["relu", "sigmoid", "softrelu", "softsign", "tanh"]
) -> Any:
    """Applies an activation function to each element.

    Args:
        data: any shape.
        act_type: 'relu' ``max(x, 0)``, 'sigmoid' ``1 / (1 + exp(-x))``, 'tanh',
            'softrelu' ``log(1 + exp(x))``, or 'softsign' ``x / (1 + |x|)``.

    Returns:
        The shape and dtype of `data`.
    """
    if act_type == "relu":
        return jax.nn.relu(data)
    if act_type == "sigmoid":
        return lax.logistic(data)
    if act_type == "tanh":
        return jnp.tanh(data)
    if act_type == "softrelu":
        return _softplus(data)
    return jax.nn.soft_sign(data)


@operator("_backward_Activation", infer=same_type)
def backward_activation(
    grad: Any, output: Any, *, act_type: Literal["relu", "sigmoid", "tanh"]
) -> Any:
    """Gradient of an activation from its output; the shape and dtype of `grad`."""
    if act_type == "relu":
        return jnp.where(output > 0, grad, output)  # 0, or NaN, which is passed on
    if act_type == "sigmoid":
        return grad * (output * (1 - output))
    return (grad + grad * output) * (1 - output)


# (atanh(s) / s - 1) / s**2 as a polynomial in s**2, lowest power first: Chebyshev interpolation of
# degree 4 of atanh(s) / s over 0 <= s <= 1/3, off by 4.1e-9 at most.
_ATANH: Final = (0.3333316082, 0.2001229761, 0.1398257888, 0.1407888916)


def _softplus(x: Any) -> Any:
    """Returns ``log(1 + exp(x))``, to 2 units in the last place for float32.

    This is ``max(x, 0) + log1p(t)`` with ``t = exp(-|x|)``. XLA's log1p takes four fifths of the
    time on a CPU. But 0 <= t <= 1, where ``log1p(t) = 2 atanh(s)`` with ``s = t / (2 + t)`` is a
    short polynomial; and ``2 s = t - t s``, so that t itself, the largest part, stays exact.
    """
    if x.dtype == np.float64:
        return jax.nn.softplus(x)
    wide = x.astype(np.float32)
    t = jnp.exp(-jnp.abs(wide))
    s = t / (2 + t)
    square = s * s
    rest = jnp.full_like(square, _ATANH[-1])
    for coefficient in _ATANH[-2::-1]:
        rest = rest * square + coefficient
    return (jnp.maximum(wide, 0) + (t - s * (t - 2 * square * rest))).astype(x.dtype)


def _leaky_inputs(*, act_type: str, **_: Any) -> Sequence[str]:
    return ("data", "gamma") if act_type == "prelu" else ("data",)


def _leaky_outputs(*, act_type: str, **_: Any) -> int:
    return 2 if act_type == "rrelu" else 1


def _leaky_check(*types: TensorType, act_type: str, **_: Any) -> None:
    names = _leaky_inputs(act_type=act_type)
    require_floats("LeakyReLU", names, types)
    if act_type != "prelu":
        return
    if len(types) != 2:
        raise ParameterError("LeakyReLU: requires gamma for act_type='prelu', got data alone")
    require_one_dtype("LeakyReLU", names, types)
    data, gamma = types
    channels = data.shape[1] if len(data.shape) > 1 else 1
    # What has more axes than one belongs to the first axes of data.
    leading = len(gamma.shape) > 1 and gamma.shape == data.shape[: len(gamma.shape)]
    if not leading and gamma.shape not in ((1,), (channels,), data.shape):
        raise ShapeError(
            f"LeakyReLU: gamma must have shape (1,) or ({channels},), one for each channel of "
            f"axis 1, or that of data or of its first axes, got {describe(names, types)}"
        )


def _leaky_shapes(shapes: Shapes, **_: Any) -> Shapes:
    data, *gamma = shapes
    channels = data[1] if data and len(data) > 1 else 1
    return [data, *(fill(shape, (channels,)) for shape in gamma)]


def _leaky_gradient(back: Backward) -> Sequence[Any]:
    if back.attrs["act_type"] != "rrelu":
        return vjp_gradient(back)
    call, _ = get("_backward_rrelu").bind({})
    slopes = back.outputs[1]
    return [*back.apply(call, [back.grads[0], back.inputs[0], slopes]), None]


@operator(
    "LeakyReLU",
    aliases=("_npx_leaky_relu",),
    takes=_leaky_inputs,
    outputs=_leaky_outputs,
    visible=1,
    check=_leaky_check,
    infer=lambda data, *_, act_type, **__: (data,) * _leaky_outputs(act_type=act_type),
    complete=_leaky_shapes,
    gradient=_leaky_gradient,
    takes_state=lambda *, act_type, **_: act_type == "rrelu",
)
def leaky_relu(
    data: Any,
    gamma: Any = None,
    *,
    act_type: Literal["elu", "gelu", "gelu_tanh", "leaky", "prelu", "rrelu", "selu"] = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
    train: Train = False,
    state: RandomState = None,
) -> Any:
    """Applies a rectifier that lets some of the negative part through.

    Args:
        data: any shape; channels on axis 1.
        gamma: (channels,), (1,), or the shape of `data` or of two or more of its first axes, the
            slopes that 'prelu' learns; taken by it alone.
        act_type: what becomes of x < 0: 'leaky' ``slope * x``, 'prelu' ``gamma * x``,
            'rrelu' a random slope for each element in training and the mean one otherwise,
            'elu' ``slope * (exp(x) - 1)``, 'selu' (Klambauer et al., 2017, which scales x > 0
            too). 'gelu' is ``x * Phi(x)`` for every x, Phi the normal distribution function, and
            'gelu_tanh' an approximation of it by tanh, which GPT-2 has.
        slope: see `act_type`.
        lower_bound: the least slope of 'rrelu'.
        upper_bound: its greatest slope.

    Returns:
        The shape and dtype of `data`. (MXNet shows the slopes of 'rrelu' too, as a second output.)
    """
    if act_type == "rrelu":
        return _random_rectifier(data, lower_bound, upper_bound, train, state)
    if act_type in ("gelu", "gelu_tanh"):
        return jax.nn.gelu(data, approximate=act_type == "gelu_tanh")
    if act_type == "selu":
        return jax.nn.selu(data)
    if act_type == "elu":
        return jax.nn.elu(data, slope)
    if act_type == "prelu":
        if data.ndim > 1 and gamma.ndim == 1:
            gamma = gamma.reshape(1, -1)
        gamma = gamma.reshape(*gamma.shape, *(1,) * (data.ndim - gamma.ndim))
        return jnp.where(data > 0, data, gamma * data)
    return jnp.where(data > 0, data, slope * data)


def _random_rectifier(data: Any, lower: float, upper: float, train: bool, state: Any) -> Any:
    """Returns the output, the slopes that made it, and the new random state."""
    if train:
        key, state = next_key(state)
        slopes = lower + (upper - lower) * uniforms(key, data.shape, data.dtype)
    else:
        slopes = jnp.full(data.shape, (lower + upper) / 2, data.dtype)
    return jnp.where(data > 0, data, slopes * data), slopes, state


@operator("_backward_rrelu", infer=same_type)
def backward_rrelu(grad: Any, data: Any, slopes: Any) -> Any:
    """Gradient of LeakyReLU's 'rrelu' from the slopes it drew; all three of one shape."""
    return jnp.where(data > 0, grad, slopes * grad)
