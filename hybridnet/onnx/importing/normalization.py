"""ONNX's normalizations."""

from __future__ import annotations

from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives


@arrives("BatchNormalization")
def _batch_norm(arrival: Arrival) -> Symbol:
    if arrival.num_outputs > 1 and arrival.attrs.get("training_mode"):
        arrival.fail("training_mode has no form", "export the model for inference")
    inputs = [arrival.symbol(index) for index in range(5)]
    return arrival.make(
        "BatchNorm",
        *inputs,
        eps=arrival.attrs.get("epsilon", 1e-5),
        momentum=arrival.attrs.get("momentum", 0.9),
        fix_gamma=False,
        use_global_stats=False,
    )


@arrives("InstanceNormalization")
def _instance_norm(arrival: Arrival) -> Symbol:
    inputs = [arrival.symbol(index) for index in range(3)]
    return arrival.make("InstanceNorm", *inputs, eps=arrival.attrs.get("epsilon", 1e-5))


@arrives("LayerNormalization")
def _layer_norm(arrival: Arrival) -> Symbol:
    rank, eps = arrival.rank(), arrival.attrs.get("epsilon", 1e-5)
    if arrival.axis(-1) == rank - 1:
        gamma = arrival.symbol(1)
        beta = arrival.symbol(2) if arrival.has(2) else arrival.make("zeros_like", gamma)
        return arrival.make("LayerNorm", arrival.symbol(0), gamma, beta, axis=-1, eps=eps)
    axes = tuple(range(arrival.axis(-1), rank))
    value = arrival.make("broadcast_mul", _standard(arrival, axes, eps), arrival.symbol(1, rank))
    if not arrival.has(2):
        return value
    return arrival.make("broadcast_add", value, arrival.symbol(2, rank))


def _standard(arrival: Arrival, axes: tuple[int, ...], eps: float) -> Symbol:
    """Returns the data less their mean, over the deviation."""
    data = arrival.symbol(0)
    mean = arrival.make("mean", data, axis=axes, keepdims=True)
    centered = arrival.make("broadcast_sub", data, mean)
    variance = arrival.make("mean", arrival.make("square", centered), axis=axes, keepdims=True)
    scale = arrival.make("rsqrt", arrival.make("_plus_scalar", variance, scalar=eps))
    return arrival.make("broadcast_mul", centered, scale)


@arrives("GroupNormalization")
def _group_norm(arrival: Arrival) -> Symbol:
    groups, eps = arrival.attrs["num_groups"], arrival.attrs.get("epsilon", 1e-5)
    data, rank = arrival.symbol(0), arrival.rank()
    split = arrival.make("Reshape", data, shape=(0, groups, -1))
    mean = arrival.make("mean", split, axis=(2,), keepdims=True)
    centered = arrival.make("broadcast_sub", split, mean)
    variance = arrival.make("mean", arrival.make("square", centered), axis=(2,), keepdims=True)
    scale = arrival.make("rsqrt", arrival.make("_plus_scalar", variance, scalar=eps))
    even = arrival.make("broadcast_mul", centered, scale)
    per_channel = arrival.opset >= 21
    made = arrival.make("reshape_like", even, data) if per_channel else even
    ndim = rank if per_channel else 3
    for op, index in (("broadcast_mul", 1), ("broadcast_add", 2)):
        vector = arrival.make("Reshape", arrival.symbol(index), shape=(1, -1, *[1] * (ndim - 2)))
        made = arrival.make(op, made, vector)
    return made if per_channel else arrival.make("reshape_like", made, data)


@arrives("RMSNormalization")
def _rms_norm(arrival: Arrival) -> Symbol:
    rank, eps, data = arrival.rank(), arrival.attrs.get("epsilon", 1e-5), arrival.symbol(0)
    axes = tuple(range(arrival.axis(-1), rank))
    square = arrival.make("mean", arrival.make("square", data), axis=axes, keepdims=True)
    scale = arrival.make("rsqrt", arrival.make("_plus_scalar", square, scalar=eps))
    even = arrival.make("broadcast_mul", data, scale)
    return arrival.make("broadcast_mul", even, arrival.symbol(1, rank))


@arrives("MeanVarianceNormalization")
def _mean_variance(arrival: Arrival) -> Symbol:
    return _standard(arrival, tuple(arrival.attrs.get("axes", (0, 2, 3))), 1e-9)


@arrives("LRN")
def _lrn(arrival: Arrival) -> Symbol:
    return arrival.make(
        "LRN",
        arrival.symbol(0),
        alpha=arrival.attrs.get("alpha", 1e-4),
        beta=arrival.attrs.get("beta", 0.75),
        knorm=arrival.attrs.get("bias", 1.0),
        nsize=arrival.attrs["size"],
    )


@arrives("LpNormalization")
def _lp_normalization(arrival: Arrival) -> Symbol:
    order, axis, data = arrival.attrs.get("p", 2), arrival.axis(-1), arrival.symbol(0)
    length = arrival.make("norm", data, ord=order, axis=axis, keepdims=True)
    length = arrival.make("_maximum_scalar", length, scalar=1e-30)  # what is 0 stays 0
    return arrival.make("broadcast_div", data, length)
