"""Activations, biases, dropout: ``tf.nn.relu``, ``tf.nn.bias_add``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...graph import convert_to_tensor, renamed, require_same, with_default
from ...graph.adding import EdgeHandle, Tensor, described, fused, handle, is_zero, name_scope, op
from ...graph.arguments import as_floats, axes_of, axis_of, is_number, require_kind, static_value
from .. import random_uniform, shape_of
from ..elementwise import sigmoid as sigmoid
from ..elementwise import tanh as tanh

__all__ = [
    "bias_add", "crelu", "dropout", "elu", "l2_loss", "l2_normalize", "leaky_relu", "log_softmax",
    "relu", "relu6", "relu_layer", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign",
    "swish", "tanh", "xw_plus_b", "zero_fraction",
]  # fmt: skip


# The slope of `selu` above 0.
_SELU: Final = 1.0507009873554805

# Activations --------------------------------------------------------------------------------------


def _activation(kind: str, doc: str, operator: str, **params: Any) -> Callable[..., Tensor]:
    def function(features: Any, name: str | None = None) -> Tensor:
        return op(kind, operator, [as_floats(kind, features, "features")], name=name, **params)

    return described(function, kind.lower(), f"Returns {doc}.")


elu = _activation(
    "Elu", "x, or exp(x) - 1 where x is negative", "LeakyReLU", act_type="elu", slope=1.0
)
softplus = _activation("Softplus", "log(1 + exp(x))", "Activation", act_type="softrelu")
softsign = _activation("Softsign", "x / (1 + |x|)", "softsign")


def relu(features: Any, name: str | None = None) -> Tensor:
    """Returns max(x, 0)."""
    x = require_kind("Relu", "features", convert_to_tensor(features, name="features"), is_number)
    return op("Relu", "relu", [x], name=name)


def relu6(features: Any, name: str | None = None) -> Tensor:
    """Returns min(max(x, 0), 6), whose gradient at 0 and at 6 is 0."""
    x = require_kind("Relu6", "features", convert_to_tensor(features), is_number)

    def limited(x: EdgeHandle) -> EdgeHandle:
        # The gradient of clip is 1 at its bounds, that of relu is 0 at 0.
        above = handle("_greater_equal_scalar", x, scalar=6.0)
        limit = handle("BlockGrad", handle("clip", x, a_min=0.0, a_max=6.0))
        return handle("where", above, limit, x.relu())

    return fused("Relu6", limited, [x], name=name, shape=x.shape)


def selu(features: Any, name: str | None = None) -> Tensor:
    """Returns the scaled form of `elu` (Klambauer et al., 2017)."""
    x = as_floats("Selu", features, "features")

    def scaled(x: EdgeHandle) -> EdgeHandle:
        # At 0 the slope is that of the right side; LeakyReLU has that of the left.
        left = handle("LeakyReLU", x, act_type="selu")
        return handle("where", handle("_greater_equal_scalar", x, scalar=0.0), x * _SELU, left)

    return fused("Selu", scaled, [x], name=name, shape=x.shape)


def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """Returns max(x, 0) and max(-x, 0), joined along an axis."""
    x = convert_to_tensor(features, name="features")

    with name_scope(name, "CRelu", [x]):
        return fused("Relu", lambda x: handle("Concat", x, -x, dim=axis).relu(), [x])


def leaky_relu(features: Any, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """Returns x, or alpha * x where x is negative."""
    with name_scope(name, "LeakyRelu", [features]) as scope:
        slope = float(static_value(alpha))
        x = as_floats("LeakyRelu", features, "features")
        return op("LeakyRelu", "LeakyReLU", [x], name=scope, act_type="leaky", slope=slope)


def swish(features: Any, beta: Any = 1.0) -> Tensor:
    """Returns x * sigmoid(beta * x)."""
    x = as_floats("Swish", features, "features")
    factor = convert_to_tensor(beta, x.dtype.base_dtype, name="beta")
    return fused("IdentityN", lambda x, by: x * (x * by).sigmoid(), [x, factor], shape=x.shape)


silu = swish


def _softmax(kind: str, operator: str, logits: Any, axis: Any, name: str | None) -> Tensor:
    x = as_floats(kind, logits, "logits")
    rank = x.shape.ndims
    number = axis_of(kind, with_default(axis, -1), rank)
    if number == -1 or (rank is not None and number % rank == rank - 1):
        return op(kind, operator, [x], name=name, axis=-1)
    # TensorFlow swaps axes, and names the last of the two transpositions it needs.
    x.graph.unique_name("transpose")
    named = name or "transpose"
    return fused("Transpose", lambda x: handle(operator, x, axis=number), [x], name=named)


def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Returns exp(x) / sum(exp(x)) along an axis; default the last; `dim` is its older name."""
    return _softmax("Softmax", "softmax", logits, renamed("axis", axis, "dim", dim), name)


def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Returns the logarithm of `softmax`; arguments as there."""
    return _softmax("LogSoftmax", "log_softmax", logits, renamed("axis", axis, "dim", dim), name)


# Layers -------------------------------------------------------------------------------------------


def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Returns a tensor with a vector added along its channels.

    Args:
        value: (..., channel), or (batch, channel, ...) by `data_format`.
        bias: (channel,).
        data_format: 'NHWC' (the default; 'N...C') or 'NCHW' ('NC...').

    Raises:
        ValueError: the sizes differ, or `data_format` is something else.
    """
    if data_format not in (None, "NHWC", "NCHW", "N...C", "NC..."):
        raise ValueError(f"`data_format` must be of the form `N...C` or `NC...`, got {data_format}")
    first = data_format is not None and data_format.startswith("NC")
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        x, b = require_same("BiasAdd", ("value", "bias"), (value, bias))
        rank, dims = x.shape.ndims, x.shape._dims
        b.shape.assert_has_rank(1)
        if dims is not None:
            own, wanted = b.shape._dims, dims[1 if first else -1]
            if wanted is not None and own and own[0] not in (None, wanted):
                raise ValueError(
                    "BiasAdd: bias must have as many elements as value has channels, got "
                    f"{x.shape} and {b.shape}"
                )

        def added(x: EdgeHandle, b: EdgeHandle) -> EdgeHandle:
            if first:
                b = handle("_np_reshape", b, newshape=(-1, *[1] * (with_default(rank, 4) - 2)))
            return x + b

        return fused("BiasAdd", added, [x, b], name=scope, shape=x.shape)


def _affine(x: EdgeHandle, w: EdgeHandle, b: EdgeHandle) -> EdgeHandle:
    return handle("dot", x, w) + b


def _layer(
    called: str, kind: str, function: Callable[..., EdgeHandle], doc: str
) -> Callable[..., Tensor]:
    def layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
        with name_scope(name, called, [x]) as scope:
            inputs = require_same("MatMul", ("x", "weights", "biases"), (x, weights, biases))
            return fused(kind, function, inputs, name=scope)

    return described(layer, called, f"Returns {doc}.")


xw_plus_b = _layer("xw_plus_b", "BiasAdd", _affine, "matmul(x, weights) + biases")
relu_layer = _layer(
    "relu_layer", "Relu", lambda *of: _affine(*of).relu(), "relu(matmul(x, weights) + biases)"
)


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Returns sum(x^2) / 2."""
    x = as_floats("L2Loss", t, "t")
    return fused("L2Loss", lambda x: handle("_np_sum", x.square()) * 0.5, [x], name=name, shape=())


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """Returns x / sqrt(max(sum(x^2), epsilon)), the sum along axes; `dim` is their older name."""
    value = as_floats("L2Normalize", x)
    axes = axes_of("L2Normalize", renamed("axis", axis, "dim", dim), value.shape.ndims)

    def normal(x: EdgeHandle) -> EdgeHandle:
        total = handle("_np_sum", x.square(), axis=axes, keepdims=True)
        return x * handle("_maximum_scalar", total, scalar=float(epsilon)).rsqrt()

    with name_scope(name, "l2_normalize", [value]) as scope:
        return fused("Mul", normal, [value], name=scope)


def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Returns the part of the elements that are 0, float32."""
    x = convert_to_tensor(value)

    def part(x: EdgeHandle) -> EdgeHandle:
        return handle("_npi_mean", handle("Cast", is_zero(x), dtype="float32"))

    with name_scope(name, "zero_fraction", [x]):
        return fused("Identity", part, [x], name="fraction", shape=())


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Returns a tensor with elements set to 0 at random, and the others scaled up.

    Args:
        x: floating point.
        keep_prob: the part that is kept on average, a number or a tensor.
        noise_shape: the shape of what is drawn, which broadcasts to that of `x`; default its own.
        seed: without meaning here; see `tf.set_random_seed`.
        rate: the part that is not kept: instead of `keep_prob`.

    Raises:
        ValueError: both or none of the parts are given, or one is not between 0 and 1.
    """
    if (keep_prob is None) == (rate is None):
        raise ValueError("one of keep_prob and rate must be given, and not both")
    if rate is None:
        rate = 1 - keep_prob
    value = as_floats("Dropout", x)
    number = static_value(rate) if not isinstance(rate, Tensor) else None
    if number is not None and not 0 <= number < 1:
        raise ValueError(
            f"`rate` must be a scalar tensor or a float in the range [0, 1), got {rate}"
        )
    with name_scope(name, "dropout", [value]):
        if number == 0:
            return value
        part = convert_to_tensor(rate, value.dtype.base_dtype, name="rate")
        drawn = noise_shape
        if drawn is None:
            drawn = value.shape if value.shape.is_fully_defined() else shape_of(value)
        noise = random_uniform(drawn, dtype=value.dtype)

        def kept(x: EdgeHandle, noise: EdgeHandle, part: EdgeHandle) -> EdgeHandle:
            mask, scaled = handle("_npi_greater_equal", noise, part), x / (1.0 - part)
            return handle("_npi_where", mask, scaled, scaled.zeros_like())

        return fused("SelectV2", kept, [value, noise, part], name="SelectV2", shape=value.shape)
