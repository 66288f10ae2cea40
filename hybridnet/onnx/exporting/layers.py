"""Translations of normalization, activations, softmax, outputs and dropout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from .place import Place
from .table import translates

#: Operators whose second input is a label, which counts in training only.
LABELS: Final = frozenset(
    {
        "SoftmaxOutput",
        "LinearRegressionOutput",
        "LogisticRegressionOutput",
        "MAERegressionOutput",
        "SVMOutput",
    }
)

_ACTIVATIONS: Final = {
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softrelu": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
}


@translates("Activation")
def _activation(place: Place) -> str:
    return place.add(_ACTIVATIONS[place.attrs["act_type"]], place.inputs[0])


@translates("LeakyReLU")
def _leaky_relu(place: Place) -> str:
    data, attrs = place.inputs[0], place.attrs
    kind = attrs["act_type"]
    if kind == "prelu":
        slopes, rank = place.inputs[1], place.rank()
        if place.rank(1) == 1 and rank > 1:
            slopes = place.along(slopes, 0, rank - 1)
        return place.add("PRelu", data, slopes)
    if kind == "elu":
        return place.add("Elu", data, alpha=attrs["slope"])
    if kind == "selu":
        return place.add("Selu", data)
    if kind == "gelu":
        return place.add("Gelu", data)
    slope = attrs["slope"]
    if kind == "rrelu":
        slope = (attrs["lower_bound"] + attrs["upper_bound"]) / 2
    return place.add("LeakyRelu", data, alpha=slope)


def _require_no_statistics(place: Place) -> None:
    if place.attrs["output_mean_var"]:
        place.fail("mean and variance are no outputs", "leave output_mean_var out")


@translates("BatchNorm", "_contrib_SyncBatchNorm")
def _batch_norm(place: Place) -> str:
    _require_no_statistics(place)
    data, gamma, beta, mean, var = place.inputs
    attrs, rank = place.attrs, place.rank()
    dtype = place.types[1].dtype
    if attrs["fix_gamma"]:
        gamma = place.constant(np.ones(place.types[1].shape), dtype)
    axis = place.axis(attrs.get("axis", 1))
    if axis == 1 or rank == 1:
        return place.add("BatchNormalization", data, gamma, beta, mean, var, epsilon=attrs["eps"])
    deviation = place.add("Sqrt", place.add("Add", var, place.number(attrs["eps"], dtype)))
    scale = place.add("Div", gamma, deviation)
    centered = place.add("Sub", data, place.along(mean, axis, rank))
    scaled = place.add("Mul", centered, place.along(scale, axis, rank))
    return place.add("Add", scaled, place.along(beta, axis, rank))


def _normalized(place: Place, data: str, axes: Sequence[int], eps: float) -> str:
    """Returns ``(data - mean) / sqrt(variance + eps)`` over axes."""
    centered = place.add("Sub", data, place.reduce("ReduceMean", data, axes))
    square = place.add("Mul", centered, centered)
    variance = place.add("Add", place.reduce("ReduceMean", square, axes), place.number(eps))
    return place.add("Div", centered, place.add("Sqrt", variance))


def _affine(place: Place, data: str, gamma: str, beta: str) -> str:
    return place.add("Add", place.add("Mul", data, gamma), beta)


@translates("LayerNorm")
def _layer_norm(place: Place) -> str:
    _require_no_statistics(place)
    data, gamma, beta = place.inputs
    axis, rank, eps = place.axis(place.attrs["axis"]), place.rank(), place.attrs["eps"]
    if axis == rank - 1:
        return place.add("LayerNormalization", data, gamma, beta, axis=-1, epsilon=eps)
    gamma, beta = (place.along(one, axis, rank) for one in (gamma, beta))
    return _affine(place, _normalized(place, data, [axis], eps), gamma, beta)


@translates("InstanceNorm")
def _instance_norm(place: Place) -> str:
    return place.add("InstanceNormalization", *place.inputs, epsilon=place.attrs["eps"])


@translates("GroupNorm")
def _group_norm(place: Place) -> str:
    _require_no_statistics(place)
    data, gamma, beta = place.inputs
    groups = place.attrs["num_groups"]
    split = place.reshape(data, [0, groups, -1])
    even = _normalized(place, split, [2], place.attrs["eps"])
    scaled = _affine(place, even, place.along(gamma, 1, 3), place.along(beta, 1, 3))
    return place.add("Reshape", scaled, place.shape_vector(data, place.sizes[0]))


@translates("L2Normalization")
def _l2_normalization(place: Place) -> str:
    first = 2 if place.attrs["mode"] == "spatial" else 1
    axes = [1] if place.attrs["mode"] == "channel" else range(first, place.rank())
    (data,) = place.operands()
    squares = place.reduce("ReduceSumSquare", data, list(axes))
    length = place.add("Sqrt", place.add("Add", squares, place.number(place.attrs["eps"])))
    return place.add("Div", data, length)


@translates("LRN")
def _lrn(place: Place) -> str:
    alpha, beta, bias, size = (place.attrs[name] for name in ("alpha", "beta", "knorm", "nsize"))
    reach = (size - 1) // 2
    odd = 2 * reach + 1  # an even size sums as the odd one below, and divides by itself
    alpha *= odd / size
    return place.add("LRN", place.inputs[0], alpha=alpha, beta=beta, bias=bias, size=odd)


def _softmax_input(place: Place) -> str:
    data = place.cast(place.inputs[0], place.types[0].dtype, place.results[0].dtype)
    temperature = place.attrs.get("temperature")
    if temperature not in (None, 1.0):
        data = place.add("Div", data, place.number(temperature))
    return place.add("Neg", data) if place.call.name == "softmin" else data


@translates("softmax", "softmin")
def _softmax(place: Place) -> str:
    axis, data = place.axis(place.attrs["axis"]), _softmax_input(place)
    if not place.attrs["use_length"]:
        return place.add("Softmax", data, axis=axis)
    count = place.squeeze(place.size(place.inputs[0], place.sizes[0], axis), 0)
    ends = [place.constant(0, np.int64), count, place.constant(1, np.int64)]
    steps = place.along(place.add("Range", *ends), axis, place.rank())
    inside = place.add("Less", steps, place.unsqueeze(place.positions(1), axis))
    least = place.number(np.finfo(place.results[0].dtype).min)
    masked = place.add("Where", inside, data, least)
    return place.add("Where", inside, place.add("Softmax", masked, axis=axis), place.number(0))


@translates("log_softmax")
def _log_softmax(place: Place) -> str:
    return place.add("LogSoftmax", _softmax_input(place), axis=place.axis(place.attrs["axis"]))


@translates("SoftmaxActivation")
def _softmax_activation(place: Place) -> str:
    if place.attrs["mode"] == "channel":
        return place.add("Softmax", place.inputs[0], axis=1)
    return _softmax_of_rows(place)


def _softmax_of_rows(place: Place) -> str:
    """Softmax of all that belongs to an example."""
    if place.rank() == 2:
        return place.add("Softmax", place.inputs[0], axis=1)
    rows = place.add("Softmax", place.add("Flatten", place.inputs[0], axis=1), axis=1)
    return place.add("Reshape", rows, place.shape_vector(place.inputs[0], place.sizes[0]))


@translates("SoftmaxOutput")
def _softmax_output(place: Place) -> str:
    if place.attrs["multi_output"]:
        return place.add("Softmax", place.inputs[0], axis=1)
    if place.attrs["preserve_shape"]:
        return place.add("Softmax", place.inputs[0], axis=-1)
    return _softmax_of_rows(place)


@translates("LogisticRegressionOutput")
def _logistic_output(place: Place) -> str:
    return place.add("Sigmoid", place.inputs[0])


@translates("LinearRegressionOutput", "MAERegressionOutput", "SVMOutput")
def _plain_output(place: Place) -> str:
    return place.inputs[0]


@translates("Dropout")
def _dropout(place: Place) -> str:
    if place.attrs["mode"] == "training":
        return place.inputs[0]
    if place.attrs["axes"]:
        place.fail("axes have no form", "multiply with a mask")
    ratio, always = place.number(place.attrs["p"], np.float32), place.constant(True, bool)
    return place.add("Dropout", place.inputs[0], ratio, always)


@translates("_random_uniform", "_random_normal", "_random_uniform_like", "_random_normal_like")
def _random(place: Place) -> str:
    names = {"low": "low", "high": "high", "loc": "mean", "scale": "scale"}
    numbers = {names[key]: float(value) for key, value in place.attrs.items() if key in names}
    op = "RandomUniform" if "uniform" in place.call.name else "RandomNormal"
    dtype = place.results[0].dtype
    if place.inputs:
        return place.add(f"{op}Like", place.inputs[0], **numbers, dtype=dtype)
    shape = list(place.fixed(place.result_sizes[0], "the sizes of its result"))
    return place.add(op, **numbers, shape=shape, dtype=dtype)


@translates("_sample_multinomial")
def _multinomial(place: Place) -> str:
    if place.attrs["get_prob"]:
        place.fail("gives no probabilities", "pick them from the data")
    known = place.fixed(place.result_sizes[0], "the sizes of its result")
    rows = place.reshape(place.inputs[0], [-1, place.types[0].shape[-1]])
    count = math.prod(known) // math.prod(place.types[0].shape[:-1])
    drawn = place.add("Multinomial", place.add("Log", rows), sample_size=count, dtype=_INT64)
    shaped = place.reshape(drawn, known)
    return place.cast(shaped, np.int64, place.results[0].dtype)


_INT64: Final = np.dtype(np.int64)
