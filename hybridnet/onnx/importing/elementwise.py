"""ONNX's functions of each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Final

import numpy as np

from hybridnet.base.dtype import as_dtype
from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import Translation, arrives

_UNARY: Final = {
    "Abs": "abs",
    "Acos": "arccos",
    "Acosh": "arccosh",
    "Asin": "arcsin",
    "Asinh": "arcsinh",
    "Atan": "arctan",
    "Atanh": "arctanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Identity": "_copy",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Reciprocal": "reciprocal",
    "Relu": "relu",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Softsign": "softsign",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
#: Operator -> ours on arrays that broadcast, on an array and a number, on a number and an array.
_BINARY: Final = {
    "Add": ("broadcast_add", "_plus_scalar", "_plus_scalar"),
    "Sub": ("broadcast_sub", "_minus_scalar", "_rminus_scalar"),
    "Mul": ("broadcast_mul", "_mul_scalar", "_mul_scalar"),
    "Div": ("broadcast_div", "_div_scalar", "_rdiv_scalar"),
    "Pow": ("broadcast_power", "_power_scalar", "_rpower_scalar"),
    "Equal": ("broadcast_equal", "_equal_scalar", "_equal_scalar"),
    "Greater": ("broadcast_greater", "_greater_scalar", "_lesser_scalar"),
    "GreaterOrEqual": ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "Less": ("broadcast_lesser", "_lesser_scalar", "_greater_scalar"),
    "LessOrEqual": ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "And": ("broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar"),
    "Or": ("broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar"),
    "Xor": ("broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"),
}
#: Of any number of arrays.
_VARIADIC: Final = {"Sum": "broadcast_add", "Max": "broadcast_maximum", "Min": "broadcast_minimum"}


def _unary(op: str) -> Translation:
    return lambda arrival: arrival.make(op, arrival.symbol(0))


def _binary(arrays: str, number_last: str, number_first: str) -> Translation:
    def translation(arrival: Arrival) -> Symbol:
        numbers = [arrival.number(index) for index in (0, 1)]
        if numbers[1] is not None and not arrival.is_constant(0):
            return arrival.make(number_last, arrival.symbol(0), scalar=numbers[1])
        if numbers[0] is not None and not arrival.is_constant(1):
            return arrival.make(number_first, arrival.symbol(1), scalar=numbers[0])
        return arrival.make(arrays, *_placed(arrival))

    return translation


def _placed(arrival: Arrival) -> list[Symbol]:
    """Returns two operands; the oldest models say where the second one's axes belong."""
    axis, ranks = arrival.attrs.get("axis"), (arrival.rank(0), arrival.rank(1))
    if arrival.opset >= 7 or axis is None or not arrival.attrs.get("broadcast"):
        return arrival.symbols()
    right = arrival.symbol(1)
    for _ in range(ranks[0] - ranks[1] - axis):
        right = arrival.make("expand_dims", right, axis=-1)
    for _ in range(axis):
        right = arrival.make("expand_dims", right, axis=0)
    return [arrival.symbol(0), right]


def _variadic(op: str) -> Translation:
    def join(arrival: Arrival) -> Callable[[Symbol, Symbol], Symbol]:
        return lambda left, right: arrival.make(op, left, right)

    return lambda arrival: reduce(join(arrival), arrival.symbols())


for _name, _op in _UNARY.items():
    arrives(_name)(_unary(_op))
for _name, _ops in _BINARY.items():
    arrives(_name)(_binary(*_ops))
for _name, _op in _VARIADIC.items():
    arrives(_name)(_variadic(_op))


@arrives("Mean")
def _mean(arrival: Arrival) -> Symbol:
    total = _variadic("broadcast_add")(arrival)
    assert isinstance(total, Symbol)
    return arrival.make("_div_scalar", total, scalar=float(len(arrival.inputs)))


@arrives("Cast")
def _cast(arrival: Arrival) -> Symbol:
    return arrival.make("Cast", arrival.symbol(0), dtype=_dtype_of_code(arrival.attrs["to"]))


#: Codes of element types.
_DTYPES: Final = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}


def _dtype_of_code(code: int) -> str:
    return as_dtype(_DTYPES[code]).name


@arrives("CastLike")
def _cast_like(arrival: Arrival) -> Symbol:
    return arrival.make("Cast", arrival.symbol(0), dtype=arrival.dtype(1).name)


@arrives("Mod")
def _mod(arrival: Arrival) -> Symbol:
    if arrival.attrs.get("fmod"):
        left, right = arrival.symbols()
        whole = arrival.make("trunc", arrival.make("broadcast_div", left, right))
        return arrival.make("broadcast_sub", left, arrival.make("broadcast_mul", whole, right))
    return arrival.make("broadcast_mod", *arrival.symbols())


@arrives("Round")
def _round(arrival: Arrival) -> Symbol:
    return arrival.make("_npi_around", arrival.symbol(0), decimals=0)


@arrives("IsNaN")
def _is_nan(arrival: Arrival) -> Symbol:
    return arrival.make("_npi_isnan", arrival.symbol(0))


@arrives("IsInf")
def _is_infinite(arrival: Arrival) -> Symbol:
    signs = arrival.attrs.get("detect_positive", 1), arrival.attrs.get("detect_negative", 1)
    op = {(1, 1): "_npi_isinf", (1, 0): "_npi_isposinf", (0, 1): "_npi_isneginf"}[signs]
    return arrival.make(op, arrival.symbol(0))


@arrives("Clip")
def _clip(arrival: Arrival) -> Symbol:
    bounds: list[float] = []
    for index, name, default in ((1, "min", -math.inf), (2, "max", math.inf)):
        given = arrival.attrs.get(name)
        if given is None and arrival.has(index):
            given = arrival.constant(index, name).reshape(())
        bounds.append(default if given is None else float(given))
    if arrival.dtype().kind in "iu":
        limits = np.iinfo(arrival.dtype())
        bounds = [max(bounds[0], limits.min), min(bounds[1], limits.max)]
    return arrival.make("clip", arrival.symbol(0), a_min=bounds[0], a_max=bounds[1])


@arrives("Where")
def _where(arrival: Arrival) -> Symbol:
    symbols = arrival.symbols()
    return arrival.make("_npi_where", *symbols)


@arrives("Softplus")
def _softplus(arrival: Arrival) -> Symbol:
    return arrival.make("Activation", arrival.symbol(0), act_type="softrelu")


@arrives("LeakyRelu")
def _leaky_relu(arrival: Arrival) -> Symbol:
    slope = arrival.attrs.get("alpha", 0.01)
    return arrival.make("LeakyReLU", arrival.symbol(0), act_type="leaky", slope=slope)


@arrives("Elu")
def _elu(arrival: Arrival) -> Symbol:
    slope = arrival.attrs.get("alpha", 1.0)
    return arrival.make("LeakyReLU", arrival.symbol(0), act_type="elu", slope=slope)


@arrives("Celu")
def _celu(arrival: Arrival) -> Symbol:
    alpha = arrival.attrs.get("alpha", 1.0)
    scaled = arrival.make("_div_scalar", arrival.symbol(0), scalar=alpha)
    bent = arrival.make("LeakyReLU", scaled, act_type="elu", slope=1.0)
    return arrival.make("_mul_scalar", bent, scalar=alpha)


@arrives("Selu")
def _selu(arrival: Arrival) -> Symbol:
    usual = {"alpha": 1.67326, "gamma": 1.0507}
    if any(abs(arrival.attrs.get(name, value) - value) > 1e-3 for name, value in usual.items()):
        arrival.fail("alpha and gamma must be the usual ones", "write it with Elu and Mul")
    return arrival.make("LeakyReLU", arrival.symbol(0), act_type="selu")


@arrives("Gelu")
def _gelu(arrival: Arrival) -> Symbol:
    data = arrival.symbol(0)
    if arrival.attrs.get("approximate", "none") == "none":
        return arrival.make("LeakyReLU", data, act_type="gelu")
    cube = arrival.make(
        "_mul_scalar", arrival.make("_power_scalar", data, scalar=3), scalar=0.044715
    )
    inner = arrival.make("elemwise_add", data, cube)
    bent = arrival.make("tanh", arrival.make("_mul_scalar", inner, scalar=math.sqrt(2 / math.pi)))
    half = arrival.make("_mul_scalar", data, scalar=0.5)
    return arrival.make("elemwise_mul", half, arrival.make("_plus_scalar", bent, scalar=1))


@arrives("PRelu")
def _prelu(arrival: Arrival) -> Symbol:
    slopes, data = arrival.constant(1, "the slopes"), arrival.symbol(0)
    channels = arrival.shape()[1] if arrival.rank() > 1 else 1
    if slopes.size not in (1, channels):
        bent = arrival.make(
            "broadcast_mul", arrival.symbol(1, arrival.rank()), _below(arrival, data)
        )
        return arrival.make("broadcast_add", arrival.make("relu", data), bent)
    gamma = arrival.parameter(slopes.reshape(-1), "gamma")
    return arrival.make("LeakyReLU", data, gamma, act_type="prelu")


def _below(arrival: Arrival, data: Symbol) -> Symbol:
    return arrival.make("_minimum_scalar", data, scalar=0)


@arrives("HardSigmoid")
def _hard_sigmoid(arrival: Arrival) -> Symbol:
    numbers = {"alpha": 0.2, "beta": 0.5, **arrival.attrs}
    return arrival.make("hard_sigmoid", arrival.symbol(0), **numbers)


@arrives("HardSwish")
def _hard_swish(arrival: Arrival) -> Symbol:
    data = arrival.symbol(0)
    gate = arrival.make("hard_sigmoid", data, alpha=1 / 6, beta=0.5)
    return arrival.make("elemwise_mul", data, gate)


@arrives("Swish")
def _swish(arrival: Arrival) -> Symbol:
    data = arrival.symbol(0)
    scaled = arrival.make("_mul_scalar", data, scalar=arrival.attrs.get("alpha", 1.0))
    return arrival.make("elemwise_mul", data, arrival.make("sigmoid", scaled))


@arrives("Mish")
def _mish(arrival: Arrival) -> Symbol:
    data = arrival.symbol(0)
    gate = arrival.make("tanh", arrival.make("Activation", data, act_type="softrelu"))
    return arrival.make("elemwise_mul", data, gate)


@arrives("ThresholdedRelu")
def _thresholded(arrival: Arrival) -> Symbol:
    data = arrival.symbol(0)
    above = arrival.make("_greater_scalar", data, scalar=arrival.attrs.get("alpha", 1.0))
    return arrival.make("elemwise_mul", data, above)
