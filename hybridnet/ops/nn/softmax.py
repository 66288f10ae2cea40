"""Softmax in its forms, and the cross entropy of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from hybridnet.base.attrs import DType
from hybridnet.base.dtype import as_dtype, is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import has_host_form, jax, jnp, lax

from ..core.backward import vjp_gradient
from ..core.call import Backward, IndexBound
from ..core.checks import fill, require_floats, wide
from ..core.operator import describe
from ..core.registry import get, operator
from ..core.rules import one_axis, same_type


def _softmax_check(name: str) -> Callable[..., None]:
    def check(
        *types: TensorType, axis: int, dtype: str | None, use_length: bool = False, **_: Any
    ) -> None:
        data = types[0]
        require_floats(name, ("data",), types)
        axis = one_axis(name, axis, data)
        if dtype is not None and not is_float(as_dtype(dtype)):
            raise DTypeError(f"{name}: dtype must be floating point, got {dtype}")
        if not use_length or name == "log_softmax":
            return
        lengths = data.shape[:axis] + data.shape[axis + 1 :]
        if len(types) != 2 or types[1].shape != lengths:
            raise ShapeError(
                f"{name}: use_length=True requires length with shape {lengths}, that of data "
                f"without axis {axis}, got {describe(('data', 'length'), types)}"
            )

    return check


def _softmax_types(
    data: TensorType, *_: TensorType, dtype: str | None, **__: Any
) -> tuple[TensorType]:
    return (tensor_type(data.shape, as_dtype(dtype)) if dtype else data,)


def _softmax_inputs(*, use_length: bool, **_: Any) -> Sequence[str]:
    return ("data", "length") if use_length else ("data",)


def _logits(data: Any, dtype: str | None, temperature: float | None) -> tuple[Any, Any]:
    """Returns the data divided by the temperature, in the dtype to compute in, and the result's."""
    result = as_dtype(dtype) if dtype else data.dtype
    data = jnp.astype(data, wide(max(data.dtype, result, key=lambda kind: kind.itemsize)))
    return (data if temperature in (None, 1.0) else data / temperature), result


def masked_softmax(
    data: Any,
    length: Any = None,
    axis: int = -1,
    temperature: float | None = None,
    dtype: str | None = None,
    sign: int = 1,
) -> Any:
    """Computes softmax of ``sign * data / temperature``, of the first `length` elements alone.

    Args:
        data: any shape.
        length: the shape of `data` without `axis`, or None for all.
        axis: along which the result sums to 1.
        temperature: None for 1.
        dtype: of the result; None for that of `data`.
        sign: 1 or -1.
    """
    logits, result = _logits(data, dtype, temperature)
    logits = logits if sign == 1 else -logits
    if length is None:
        return jnp.astype(jax.nn.softmax(logits, axis=axis), result)
    axis %= data.ndim
    lengths = jnp.expand_dims(length.astype("int32"), axis)
    inside = lax.broadcasted_iota("int32", data.shape, axis) < lengths
    # Finite, so that a row of length 0 has no NaN in its gradient; it is zero altogether.
    masked = jnp.where(inside, logits, jnp.finfo(logits.dtype).min)
    return jnp.astype(jnp.where(inside, jax.nn.softmax(masked, axis=axis), 0), result)


_SOFTMAX_DOC = """Computes {formula} along an axis.

Args:
    data: any shape, floating point.
    length: how many elements from the front of each row along `axis` count, the others giving 0;
        the shape of `data` without that axis. Taken with use_length=True alone.
    axis: the axis along which the result sums to 1.
    temperature: what the data are divided by first; default 1.
    dtype: of the result; default that of `data`.
    use_length: whether `length` is given.

Returns:
    The shape of `data`. Narrow floats are computed in float32.
"""


def _softmax_gradient(row: str, sign: int = 1) -> Callable[[Backward], Sequence[Any]]:
    """Returns the rule of softmax, or its logarithm, of the data times 1 or -1.

    Args:
        row: the operator that computes the gradient from the output.
        sign: 1 or -1.
    """

    def rule(back: Backward) -> Sequence[Any]:
        (data,), attrs = back.inputs[:1], back.attrs
        dtype = data.inferred_dtype
        if dtype is None or dtype.itemsize < 4 or attrs["dtype"] or attrs["use_length"]:
            return vjp_gradient(back)
        scale = sign / (attrs["temperature"] or 1.0)
        call, _ = get(row).bind({"axis": attrs["axis"], "scale": scale})
        return back.apply(call, [back.grads[0], back.outputs[0]])

    return rule


@operator("_backward_softmax", infer=same_type)
def backward_softmax(grad: Any, output: Any, *, axis: int = -1, scale: float = 1.0) -> Any:
    """Gradient of softmax from its output; the shape and dtype of `grad`.

    Args:
        axis: the axis along which the output sums to 1.
        scale: what the data were multiplied by first.
    """
    return _scaled(_of_softmax(grad, output, axis), scale)


@has_host_form("softmax_gradient")
def _of_softmax(grad: Any, output: Any, axis: int) -> Any:
    weighted = grad * output
    return weighted - output * jnp.sum(weighted, axis=axis, keepdims=True)


@operator("_backward_log_softmax", infer=same_type)
def backward_log_softmax(grad: Any, output: Any, *, axis: int = -1, scale: float = 1.0) -> Any:
    """Gradient of log_softmax from its output; the shape and dtype of `grad`.

    Args:
        axis: the axis along which the exponentials of the output sum to 1.
        scale: what the data were multiplied by first.
    """
    return _scaled(_of_log_softmax(grad, output, axis), scale)


@has_host_form("log_softmax_gradient")
def _of_log_softmax(grad: Any, output: Any, axis: int) -> Any:
    return grad - jnp.exp(output) * jnp.sum(grad, axis=axis, keepdims=True)


def _scaled(grad: Any, scale: float) -> Any:
    return grad if scale == 1 else grad * np.asarray(scale, grad.dtype)


def _softmax(name: str, sign: int, formula: str, *aliases: str) -> None:
    """Registers softmax of the data, or of their negatives."""

    def lowering(
        data: Any,
        length: Any = None,
        *,
        axis: int = -1,
        temperature: float | None = None,
        dtype: DType | None = None,
        use_length: bool = False,
    ) -> Any:
        return masked_softmax(data, length, axis, temperature, dtype, sign)

    operator(
        name,
        aliases=aliases,
        takes=_softmax_inputs,
        check=_softmax_check(name),
        infer=_softmax_types,
        gradient=_softmax_gradient("_backward_softmax", sign),
        doc=_SOFTMAX_DOC.format(formula=formula),
    )(lowering)


_softmax("softmax", 1, "``exp(x) / sum(exp(x))``", "_npx_softmax")
_softmax("softmin", -1, "``exp(-x) / sum(exp(-x))``")


@operator(
    "log_softmax",
    aliases=("_npx_log_softmax",),
    check=_softmax_check("log_softmax"),
    infer=_softmax_types,
    gradient=_softmax_gradient("_backward_log_softmax"),
)
def log_softmax(
    data: Any,
    *,
    axis: int = -1,
    temperature: float | None = None,
    dtype: DType | None = None,
    use_length: bool = False,
) -> Any:
    """Computes ``x - log(sum(exp(x)))`` along an axis, without overflow.

    Args:
        data: any shape, floating point.
        axis: the axis along which the exponentials of the result sum to 1.
        temperature: what the data are divided by first; default 1.
        dtype: of the result; default that of `data`.
        use_length: without meaning, as in MXNet.

    Returns:
        The shape of `data`. Narrow floats are computed in float32.
    """
    logits, result = _logits(data, dtype, temperature)
    return jnp.astype(jax.nn.log_softmax(logits, axis=axis), result)


def _activation_check(data: TensorType, *, mode: str) -> None:
    require_floats("SoftmaxActivation", ("data",), (data,))
    if mode == "channel" and len(data.shape) < 2:
        raise ShapeError(
            f"SoftmaxActivation: data must have 2 dimensions or more for mode='channel', got {data}"
        )


@operator("SoftmaxActivation", check=_activation_check, infer=same_type)
def softmax_activation(data: Any, *, mode: Literal["channel", "instance"] = "instance") -> Any:
    """Computes softmax over the last axis, or with mode='channel' over axis 1.

    Args:
        data: (batch, ...).
        mode: see above.

    Returns:
        The shape and dtype of `data`.
    """
    return masked_softmax(data, axis=-1 if mode == "instance" else 1)


def _cross_entropy_check(data: TensorType, label: TensorType) -> None:
    require_floats("softmax_cross_entropy", ("data",), (data,))
    if len(data.shape) != 2 or label.shape != data.shape[:1]:
        raise ShapeError(
            "softmax_cross_entropy: data must have shape (batch, classes) and label (batch,), got "
            f"{describe(('data', 'label'), (data, label))}"
        )


@operator(
    "softmax_cross_entropy",
    bounds=lambda data, label: (IndexBound(1, "label", data.shape[1:], (1,)),),
    check=_cross_entropy_check,
    infer=lambda data, label: (tensor_type((1,), data.dtype),),
    complete=lambda shapes: [
        shapes[0],
        fill(shapes[1], shapes[0][:1]) if shapes[0] else shapes[1],
    ],
    gradient=lambda back: [
        *back.apply(
            get("_backward_softmax_cross_entropy").bind({})[0], [back.grads[0], *back.inputs]
        ),
        None,
    ],
)
def softmax_cross_entropy(data: Any, label: Any) -> Any:
    """Sums the cross entropy of softmax over a batch: ``-sum(log(softmax(data)[label]))``.

    Args:
        data: (batch, classes), floating point.
        label: (batch,), the index of the right class; the fraction of a float does not count.

    Returns:
        (1,), the dtype of `data`. As in MXNet no probability counts as less than 1e-8.
    """
    logits = jnp.astype(data, wide(data.dtype))
    picked = jnp.where(one_hot(label, logits, 1), jax.nn.softmax(logits, axis=1), 0).sum(1)
    return jnp.astype(-jnp.log(jnp.maximum(picked, 1e-8)).sum(keepdims=True), data.dtype)


@operator("_backward_softmax_cross_entropy", infer=lambda grad, data, label: (data,))
def backward_softmax_cross_entropy(grad: Any, data: Any, label: Any) -> Any:
    """Gradient of softmax_cross_entropy, ``softmax - onehot``: also where the limit 1e-8 holds."""
    logits = jnp.astype(data, wide(data.dtype))
    error = jax.nn.softmax(logits, axis=1) - one_hot(label, logits, 1)
    return jnp.astype(jnp.astype(grad, logits.dtype) * error, data.dtype)


def one_hot(label: Any, like: Any, axis: int) -> Any:
    """Whether a class is the label's, along a new axis; a label out of range has no such class."""
    classes = lax.broadcasted_iota("int32", like.shape, axis)
    return classes == jnp.expand_dims(label.astype("int32"), axis)
