"""Functions of one array, element by element: rounding, powers, exponentials, trigonometry.

Results have the dtype of the input. Integers are computed in float64 and truncated, as in MXNet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import DType, Scalar
from hybridnet.base.dtype import FLOAT64, INT64, as_dtype, is_float
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp, lax

from ..core.backward import CASTS, vjp_gradient
from ..core.call import Backward
from ..core.families import ELEMENTWISE, STEP, convert, unary
from ..core.registry import get, operator
from ..core.rules import refuse_bool, same_type, unify

#: gamma(1), gamma(2), ... as far as float64 has them.
_FACTORIALS: Final = np.array([math.gamma(n) for n in range(1, 172)])


def _abs_gradient(back: Backward) -> Sequence[Any]:
    """0 at 0, as in MXNet; that of jnp.abs is 1 there."""
    sign = back.apply(get("sign").bind({})[0], [back.inputs[0]])
    return [back.grads[0] * sign[0]]


def _arccosh_gradient(back: Backward) -> Sequence[Any]:
    """1 / sqrt(x^2 - 1), below -1 too, as in MXNet; JAX has NaN there, or 0 for large x."""
    (size,) = back.apply(get("abs").bind({})[0], [back.inputs[0]])
    rsqrt = get("rsqrt").bind({})[0]
    (low,), (high,) = back.apply(rsqrt, [size - 1.0]), back.apply(rsqrt, [size + 1.0])
    return [back.grads[0] * low * high]


def _cbrt_gradient(back: Backward) -> Sequence[Any]:
    """By the root, so that it is infinite at 0, as in MXNet; that of JAX is NaN there."""
    root = back.outputs[0]
    return [back.grads[0] / (root * root * 3.0)]


def _rcbrt_gradient(back: Backward) -> Sequence[Any]:
    """As that of cbrt: minus infinity at 0."""
    square = back.outputs[0] * back.outputs[0]
    return [back.grads[0] * square * square * (-1.0 / 3.0)]


def _round_half_away(x: Any) -> Any:
    whole = jnp.trunc(x)
    return whole + jnp.sign(x) * (jnp.abs(x - whole) >= 0.5)


def _round_half_down(x: Any) -> Any:
    # Not ceil(x - 0.5), which is wrong from 2**23 on, where float32 holds no halves.
    whole = jnp.floor(x)
    return whole + (x - whole > 0.5)


def _gamma(x: Any) -> Any:
    """Of whole numbers, which are truncated, XLA's would be too small: 1.99... of 3."""
    dtype = np.dtype(x.dtype)
    if is_float(dtype):
        return jax.scipy.special.gamma(x)
    places = jnp.clip(x.astype(INT64), 1, len(_FACTORIALS)) - 1
    other = jax.scipy.special.gamma(x.astype(FLOAT64))
    return convert(jnp.where(x == places + 1, jnp.take(_FACTORIALS, places), other), dtype)


def by_output(act_type: str) -> Callable[[Backward], Sequence[Any]]:
    """Returns the gradient rule of an activation that is told by its output.

    The input need not be kept for the backward pass, and may be overwritten.
    """

    def gradient(back: Backward) -> Sequence[Any]:
        call, _ = get("_backward_Activation").bind({"act_type": act_type})
        return back.apply(call, [back.grads[0], back.outputs[0]])

    return gradient


def softsign_gradient(back: Backward) -> Sequence[Any]:
    """1 / (1 + |x|)**2, which is 0 at infinity: the quotient rule has NaN there."""
    (size,) = back.apply(get("abs").bind({})[0], back.inputs)
    return [back.grads[0] / ((1 + size) * (1 + size))]


def _loss(x: Any, gradient: Callable[[Any], Any]) -> Any:
    """The identity, with the given gradient instead of the one that arrives."""
    identity = jax.custom_vjp(lambda x: x)
    identity.defvjp(lambda x: (x, x), lambda x, _: (gradient(x),))
    return identity(x)


def _rounding(name: str, function: Callable[[Any], Any], doc: str) -> None:
    """Registers a way of rounding, which leaves integers as they are."""

    def kept(x: Any) -> Any:
        return function(x) if is_float(np.dtype(x.dtype)) else x

    unary(name, kept, doc, integers=True, no_gradient=STEP)


# fmt: off
unary("abs", lambda x: jnp.abs(x), "Absolute value.", integers=True, gradient=_abs_gradient)
unary("sign", lambda x: jnp.where(x == 0, 0, jnp.sign(x)),
      "-1, 0 or 1, as the element is negative, zero (of either sign) or positive.",
      integers=True, no_gradient=STEP)
_rounding("rint", _round_half_down, "Nearest whole number; halves go to the lower one.")
_rounding("ceil", lambda x: jnp.ceil(x), "Smallest whole number not below the element.")
_rounding("floor", lambda x: jnp.floor(x), "Largest whole number not above the element.")
_rounding("trunc", lambda x: jnp.trunc(x), "The element without its fraction.")
_rounding("fix", lambda x: jnp.trunc(x), "Nearest whole number towards zero.")
_rounding("round", _round_half_away, "Nearest whole number; halves go away from zero.")
unary("negative", lambda x: -x, "The element with its sign changed.", integers=True,
      gradient=lambda back: [-back.grads[0]])
unary("square", lambda x: x * x, "The element times itself.", integers=True)
unary("relu", lambda x: jnp.maximum(x, 0), "The larger of the element and 0.", integers=True,
      gradient=by_output("relu"))

unary("sqrt", lambda x: jnp.sqrt(x), "Square root.")
unary("rsqrt", lambda x: lax.rsqrt(x), "1 over the square root.")
unary("cbrt", lambda x: jnp.cbrt(x), "Cube root, of negative numbers too.",
      gradient=_cbrt_gradient)
unary("rcbrt", lambda x: 1 / jnp.cbrt(x), "1 over the cube root.", gradient=_rcbrt_gradient)
unary("reciprocal", lambda x: 1 / x, "1 over the element.")
unary("exp", lambda x: jnp.exp(x), "e to the power of the element.")
unary("expm1", lambda x: jnp.expm1(x), "exp(x) - 1, exact for small x.")
unary("log", lambda x: jnp.log(x), "Natural logarithm.")
unary("log10", lambda x: jnp.log10(x), "Logarithm to base 10.")
unary("log2", lambda x: jnp.log2(x), "Logarithm to base 2.")
unary("log1p", lambda x: jnp.log1p(x), "log(1 + x), exact for small x.")

unary("sin", lambda x: jnp.sin(x), "Sine, of radians.")
unary("cos", lambda x: jnp.cos(x), "Cosine, of radians.")
unary("tan", lambda x: jnp.tan(x), "Tangent, of radians.")
unary("arcsin", lambda x: jnp.arcsin(x), "Inverse sine, from -pi/2 to pi/2.")
unary("arccos", lambda x: jnp.arccos(x), "Inverse cosine, from 0 to pi.")
unary("arctan", lambda x: jnp.arctan(x), "Inverse tangent, from -pi/2 to pi/2.")
unary("sinh", lambda x: jnp.sinh(x), "Hyperbolic sine.")
unary("cosh", lambda x: jnp.cosh(x), "Hyperbolic cosine.")
unary("tanh", lambda x: jnp.tanh(x), "Hyperbolic tangent.", gradient=by_output("tanh"))
unary("arcsinh", lambda x: jnp.arcsinh(x), "Inverse hyperbolic sine.")
unary("arccosh", lambda x: jnp.arccosh(x), "Inverse hyperbolic cosine, of numbers from 1 on.",
      gradient=_arccosh_gradient)
unary("arctanh", lambda x: jnp.arctanh(x), "Inverse hyperbolic tangent, of numbers from -1 to 1.")
unary("degrees", lambda x: jnp.rad2deg(x), "Radians to degrees.")
unary("radians", lambda x: jnp.deg2rad(x), "Degrees to radians.")

unary("erf", lambda x: lax.erf(x), "Error function.")
unary("_erfc", lambda x: lax.erfc(x), "1 - erf(x), exact where that is small.")
unary("erfinv", lambda x: lax.erf_inv(x), "Inverse of the error function, of numbers from -1 to 1.")
unary("gamma", _gamma, "Gamma function.", integers=True)
unary("gammaln", lambda x: jax.scipy.special.gammaln(x), "log |gamma(x)|.")
unary("_digamma", lambda x: lax.digamma(x), "The derivative of log |gamma(x)|.")
unary("sigmoid", lambda x: lax.logistic(x), "1 / (1 + exp(-x)).", gradient=by_output("sigmoid"))
unary("softsign", lambda x: x / (1 + jnp.abs(x)), "x / (1 + |x|).", gradient=softsign_gradient)

unary("logical_not", lambda x: (x == 0).astype(x.dtype),
      "1 where the element is zero, otherwise 0.", integers=True, booleans=True,
      no_gradient="its result is a truth value")
unary("_copy", lambda x: x, "The array itself: copies.", aliases=("identity",),
      integers=True, booleans=True, gradient=lambda back: [back.grads[0]])
unary("BlockGrad", lambda x: lax.stop_gradient(x),
      "The array itself, through which no gradient flows back.",
      aliases=("stop_gradient",), integers=True, booleans=True,
      no_gradient="stopping the gradient is what it is for")
unary("make_loss", lambda x: _loss(x, lambda x: jnp.ones_like(x)),
      "The array itself as a loss: its gradient is 1, whatever is above it.", integers=True,
      own_gradient=lambda **_: True, output_names=("loss",))
# fmt: on


def _filled_like(name: str, function: Callable[[Any], Any], doc: str) -> None:
    """Registers what makes an array like another one; the rest MXNet's programs give it."""

    def lowering(data: Any, *, ctx: str = "", dtype: DType | None = None) -> Any:
        return function(data)

    ELEMENTWISE.add(name)
    operator(
        name,
        infer=same_type,
        no_gradient="its result does not depend on the elements",
        doc=f"{doc}\n\nArgs:\n    ctx: without meaning, as in MXNet; use as_in_context.\n"
        "    dtype: without meaning, too; use astype.\n",
    )(lowering)


_filled_like("zeros_like", lambda x: jnp.zeros_like(x), "Zeros of the same shape and dtype.")
_filled_like("ones_like", lambda x: jnp.ones_like(x), "Ones of the same shape and dtype.")


@operator("_identity_with_attr_like_rhs", infer=same_type, complete=unify)
def _identity_like(lhs: Any, rhs: Any) -> Any:
    """The first array itself. Saved graphs hold it, to say that it is like the second.

    Args:
        rhs: another, which is not read.
    """
    return lhs


def _cast_type(data: TensorType, *, dtype: str) -> tuple[TensorType]:
    return (tensor_type(data.shape, as_dtype(dtype)),)


def _cast_gradient(back: Backward) -> Sequence[Any]:
    """Converts back: as in MXNet, also through integers, as if nothing had been rounded."""
    dtype = back.inputs[0].inferred_dtype
    if dtype is None:
        return vjp_gradient(back)
    call, _ = get("Cast").bind({"dtype": dtype})
    return back.apply(call, [back.grads[0]])


@operator("Cast", aliases=("cast",), infer=_cast_type, gradient=_cast_gradient)
def _cast(data: Any, *, dtype: DType) -> Any:
    """Converts the elements to another dtype, as C does: floats are truncated, integers wrap."""
    return convert(data, as_dtype(dtype))


CASTS.append(lambda dtype: get("Cast").bind({"dtype": dtype})[0])


@operator("amp_cast", infer=_cast_type, gradient=_cast_gradient)
def _amp_cast(data: Any, *, dtype: DType) -> Any:
    """Converts floating elements for mixed-precision training; the gradient is converted back."""
    return convert(data, as_dtype(dtype))


@operator("clip", infer=same_type, check=refuse_bool("clip"))
def _clip(data: Any, *, a_min: Scalar, a_max: Scalar) -> Any:
    """Limits each element to the range from `a_min` to `a_max`.

    The gradient is 1 inside the range, both ends included, and 0 outside.
    """
    low, high = convert(a_min, data.dtype), convert(a_max, data.dtype)
    # Selections, and not minimum and maximum: those halve the gradient at the ends.
    return jnp.where(data > high, high, jnp.where(data < low, low, data))


@operator("smooth_l1", infer=same_type, check=refuse_bool("smooth_l1"))
def _smooth_l1(data: Any, *, scalar: Scalar = 1.0) -> Any:
    """Huber's loss of each element: (s x)**2 / 2 where |x| < 1 / s**2, else |x| - 1 / (2 s**2).

    Here s is `scalar`.
    """
    x = data if is_float(np.dtype(data.dtype)) else data.astype(np.float64)
    squared = scalar.astype(x.dtype) ** 2  # type: ignore[attr-defined]
    near = jnp.abs(x) < 1 / squared
    inner = jnp.where(near, x, 0)  # or the square's gradient at infinity would be NaN
    return convert(
        jnp.where(near, inner * inner * squared / 2, jnp.abs(x) - 0.5 / squared), data.dtype
    )


@operator("hard_sigmoid", infer=same_type, check=refuse_bool("hard_sigmoid"))
def _hard_sigmoid(data: Any, *, alpha: Scalar = 0.2, beta: Scalar = 0.5) -> Any:
    """min(max(alpha x + beta, 0), 1): a piecewise linear approximation of the sigmoid."""
    x = data if is_float(np.dtype(data.dtype)) else data.astype(np.float64)
    line = alpha * x + beta
    # Selections, and not jnp.clip: that halves the gradient at the ends, where MXNet has 0.
    bound = jnp.where(line >= 1, 1, 0).astype(line.dtype)
    return convert(jnp.where((line <= 0) | (line >= 1), bound, line), data.dtype)


@operator(
    "MakeLoss",
    infer=same_type,
    check=refuse_bool("MakeLoss"),
    own_gradient=lambda **_: True,
)
def _make_loss(
    data: Any,
    *,
    grad_scale: float = 1.0,
    valid_thresh: float = 0.0,
    normalization: Literal["batch", "null", "valid"] = "null",
) -> Any:
    """The array itself as a loss, whose gradient is `grad_scale`, whatever is above it.

    Args:
        data: the loss of each example.
        grad_scale: the gradient of each element.
        valid_thresh: an element counts as valid if it is above this.
        normalization: divide the gradient by nothing ("null"), by the number of rows ("batch"),
            or by the number of valid elements, at least 1 ("valid").
    """

    def gradient(x: Any) -> Any:
        scale: Any = grad_scale
        if normalization == "batch":
            scale = grad_scale / max(x.size / max(x.shape[-1], 1), 1)
        elif normalization == "valid":
            scale = grad_scale / jnp.maximum((x > valid_thresh).sum(), 1)
        return jnp.full_like(x, scale)

    return _loss(data, gradient)
