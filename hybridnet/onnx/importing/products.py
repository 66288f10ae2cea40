"""ONNX's softmax, dropout, and products of matrices."""

from __future__ import annotations

from hybridnet.base.array_types import NumpyArray
from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives


@arrives("Softmax", "LogSoftmax")
def _softmax(arrival: Arrival) -> Symbol:
    op = "softmax" if arrival.op == "Softmax" else "log_softmax"
    if arrival.opset >= 13:
        return arrival.make(op, arrival.symbol(0), axis=arrival.axis(-1))
    axis, data = arrival.axis(1), arrival.symbol(0)
    if axis == arrival.rank() - 1:
        return arrival.make(op, data, axis=-1)
    # Older models mean all axes from this one on.
    rows = arrival.make("Reshape", data, shape=(*[0] * axis, -1))
    return arrival.make("reshape_like", arrival.make(op, rows, axis=-1), data)


@arrives("Hardmax")
def _hardmax(arrival: Arrival) -> Symbol:
    axis = arrival.axis(-1)
    if axis != arrival.rank() - 1:
        arrival.fail("the axis must be the last", "transpose the array")
    best = arrival.make("argmax", arrival.symbol(0), axis=axis)
    return arrival.make("one_hot", best, depth=arrival.size(axis), dtype=arrival.dtype().name)


@arrives("Dropout")
def _dropout(arrival: Arrival) -> Symbol:
    ratio = arrival.attrs.get("ratio", 0.5)
    if arrival.has(1):
        ratio = float(arrival.constant(1, "the ratio").reshape(()))
    always = arrival.has(2) and bool(arrival.constant(2, "training_mode").reshape(()))
    mode = "always" if always else "training"
    return arrival.make("Dropout", arrival.symbol(0), p=ratio, mode=mode)


@arrives("Gemm")
def _gemm(arrival: Arrival) -> Symbol:
    attrs = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0, **arrival.attrs}
    plain = attrs["alpha"] == 1 and not attrs["transA"] and arrival.is_constant(1)
    if plain and (not arrival.has(2) or (attrs["beta"] == 1 and arrival.is_constant(2))):
        weight = arrival.constant(1)
        width = weight.shape[0 if attrs["transB"] else 1]
        bias = arrival.constant(2) if arrival.has(2) else None
        if bias is None or bias.size == width:
            return _dense(arrival, weight, bool(attrs["transB"]), bias)
    product = arrival.make(
        "dot",
        arrival.symbol(0),
        arrival.symbol(1),
        transpose_a=bool(attrs["transA"]),
        transpose_b=bool(attrs["transB"]),
    )
    if attrs["alpha"] != 1:
        product = arrival.make("_mul_scalar", product, scalar=attrs["alpha"])
    if not arrival.has(2):
        return product
    addend = arrival.symbol(2, 2)
    if attrs["beta"] != 1:
        addend = arrival.make("_mul_scalar", addend, scalar=attrs["beta"])
    return arrival.make("broadcast_add", product, addend)


def _dense(
    arrival: Arrival,
    weight: NumpyArray,
    is_turned: bool,
    bias: NumpyArray | None,
) -> Symbol:
    """A dense layer of constant weights."""
    matrix = arrival.symbol(1) if is_turned else arrival.parameter(weight.T.copy(), "weight")
    operands = [arrival.symbol(0), matrix]
    if bias is not None:
        own = bias.ndim == 1
        operands.append(arrival.symbol(2) if own else arrival.parameter(bias.reshape(-1), "bias"))
    return arrival.make(
        "FullyConnected",
        *operands,
        num_hidden=weight.shape[0] if is_turned else weight.shape[1],
        no_bias=bias is None,
        flatten=False,
    )


@arrives("MatMul")
def _matmul(arrival: Arrival) -> Symbol:
    ranks = arrival.rank(0), arrival.rank(1)
    if arrival.is_constant(1) and ranks[1] == 2 and ranks[0] >= 2:
        return _dense(arrival, arrival.constant(1), False, None)
    left, right = arrival.symbol(0), arrival.symbol(1)
    if ranks == (2, 2):
        return arrival.make("dot", left, right)
    if ranks == (3, 3) and arrival.shape(0)[0] == arrival.shape(1)[0]:
        return arrival.make("batch_dot", left, right)
    return arrival.make("_npi_matmul", left, right)


@arrives("Einsum")
def _einsum(arrival: Arrival) -> Symbol:
    inputs = [arrival.symbol(index) for index in range(len(arrival.inputs))]
    equation = arrival.attrs["equation"].replace(" ", "")
    return arrival.make("_npi_einsum", *inputs, subscripts=equation, num_args=len(inputs))
