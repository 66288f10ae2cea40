"""Layers without a window: dense and dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.attrs import Platform, RandomState, Range, Shape, Train
from hybridnet.base.dtype import BOOL
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax, plus

from ..core.call import Backward
from ..core.checks import fill, require_floats, require_one_dtype, require_shape, wide
from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..core.rules import known_product, one_axis, same_type
from ..math.few_rows import apart
from ..random.state import keep_mask, next_key


def _dense_inputs(*, no_bias: bool, **_: Any) -> Sequence[str]:
    return ("data", "weight") if no_bias else ("data", "weight", "bias")


def _dense_features(data: TensorType, flatten: bool) -> int:
    return math.prod(data.shape[1:]) if flatten else data.shape[-1]


def _dense_check(
    *types: TensorType, num_hidden: int, no_bias: bool, flatten: bool, **_: Any
) -> None:
    names = _dense_inputs(no_bias=no_bias)
    if len(types) != len(names):
        raise ParameterError(
            f"FullyConnected: requires a bias unless no_bias=True, got {describe(names, types)}"
        )
    require_one_dtype("FullyConnected", names, types)
    if not types[0].shape:
        raise ShapeError("FullyConnected: data must have at least 1 dimension, got a scalar")
    features = _dense_features(types[0], flatten)
    because = f"num_hidden={num_hidden} and data {types[0]} with flatten={flatten}"
    require_shape("FullyConnected", "weight", types[1], (num_hidden, features), because)
    if not no_bias:
        require_shape("FullyConnected", "bias", types[2], (num_hidden,), f"num_hidden={num_hidden}")


def _dense_types(
    data: TensorType, *_: TensorType, num_hidden: int, flatten: bool, **__: Any
) -> tuple[TensorType, ...]:
    lead = data.shape[:1] if flatten else data.shape[:-1]
    return (tensor_type((*lead, num_hidden), data.dtype),)


def _dense_shapes(shapes: Shapes, *, num_hidden: int, flatten: bool, **_: Any) -> Shapes:
    data, weight, *bias = shapes
    if not data:
        return shapes
    features = known_product(data[1:]) if flatten else data[-1]
    return [data, fill(weight, (num_hidden, features)), *(fill(b, (num_hidden,)) for b in bias)]


@operator(
    "FullyConnected",
    aliases=("_npx_fully_connected", "_sparse_FullyConnected"),
    takes=_dense_inputs,
    check=_dense_check,
    infer=_dense_types,
    complete=_dense_shapes,
    cost=lambda data, *_, num_hidden, **__: 2.0 * data.size * num_hidden,
)
def fully_connected(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    num_hidden: Annotated[int, Range(1)],
    no_bias: bool = False,
    flatten: bool = True,
    platform: Platform,
) -> Any:
    """Applies a dense layer: ``data @ weight.T + bias``.

    Args:
        data: (batch, ...), all but the first axis taken as features; with flatten=False
            (..., features), of which the last axis alone is.
        weight: (num_hidden, features).
        bias: (num_hidden,); not taken with no_bias=True.
        num_hidden: how many outputs there are for each row.
        flatten: how `data` is read, see there.

    Returns:
        (batch, num_hidden), or (..., num_hidden) with flatten=False.
    """
    if flatten:
        data = data.reshape(data.shape[0], math.prod(data.shape[1:]))
    last = data.ndim - 1
    output = lax.dot_general(data, weight, (((last,), (1,)), ((), ())))
    if bias is not None:
        output = plus(output, bias)
    # (With the bias: all gradients then begin with one array.)
    return apart(output, platform)


def _mask_shape(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    shared = {axis % len(shape) for axis in axes}
    return tuple(1 if axis in shared else size for axis, size in enumerate(shape))


def _dropout_check(data: TensorType, *, axes: tuple[int, ...], **_: Any) -> None:
    require_floats("Dropout", ("data",), (data,))
    for axis in axes:
        one_axis("Dropout", axis, data)


def _dropout_types(data: TensorType, *, axes: tuple[int, ...], **_: Any) -> tuple[TensorType, ...]:
    return data, tensor_type(_mask_shape(data.shape, axes), BOOL)


def _dropout_gradient(back: Backward) -> Sequence[Any]:
    # Given the same train flag, so that both turn into the identity together.
    attrs = {"p": back.attrs["p"], "mode": back.attrs["mode"]}
    call, _ = get("_backward_Dropout").bind(attrs, back.call.train)
    return [*back.apply(call, [back.grads[0], back.outputs[1]]), None]


@operator(
    "Dropout",
    aliases=("_npx_dropout",),
    outputs=2,
    visible=1,
    check=_dropout_check,
    infer=_dropout_types,
    gradient=_dropout_gradient,
)
def dropout(
    data: Any,
    *,
    p: Annotated[float, Range(0, 1)] = 0.5,
    mode: Literal["always", "training"] = "training",
    axes: Shape = (),
    cudnn_off: bool | None = False,
    train: Train,
    state: RandomState,
) -> Any:
    """Sets a random part of the elements to zero, and scales up the others to keep the mean.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.

    Args:
        data: any shape.
        p: the probability that an element is dropped.
        mode: 'training' does nothing outside a training pass, 'always' drops there too.
        axes: axes along which one decision holds for all elements.

    Returns:
        The shape and dtype of `data`. Hidden: the mask, bool, 1 long on `axes`.
    """
    shape = _mask_shape(data.shape, axes)
    if not _drops(p, mode, train):
        return data, jnp.ones(shape, bool), state
    key, state = next_key(state)
    mask = keep_mask(key, shape, 1 - p)
    return _masked(data, mask, p), mask, state


@operator("_backward_Dropout", infer=same_type)
def backward_dropout(
    grad: Any,
    mask: Any,
    *,
    p: float,
    mode: Literal["always", "training"],
    train: Train,
) -> Any:
    """Gradient of Dropout from the mask it drew; the shape and dtype of `grad`."""
    return _masked(grad, mask, p) if _drops(p, mode, train) else grad


def _drops(p: float, mode: str, train: bool) -> bool:
    return p > 0 and (train or mode == "always")


def _masked(x: Any, mask: Any, p: float) -> Any:
    # With p = 1 nothing is kept, and there is no scale that would keep the mean.
    scale = 1 / (1 - p) if p < 1 else 0.0
    scaled = jnp.astype(jnp.astype(x, wide(x.dtype)) * scale, x.dtype)
    return jnp.where(mask, scaled, np.zeros((), x.dtype))
