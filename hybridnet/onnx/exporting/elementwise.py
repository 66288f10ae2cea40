"""Translations of functions of each element: of one array, of two, of an array and a number."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from hybridnet.base.dtype import is_float
from hybridnet.ops.core import promote_types

from .place import Place
from .table import Translation, translates

#: Operators that ONNX has too.
_UNARY: Final = {
    "abs": "Abs",
    "arccos": "Acos",
    "arccosh": "Acosh",
    "arcsin": "Asin",
    "arcsinh": "Asinh",
    "arctan": "Atan",
    "arctanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "negative": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
#: Operators that compute in training only, or say only how gradients go.
_IDENTITIES: Final = (
    "_copy",
    "BlockGrad",
    "make_loss",
    "MakeLoss",
    "_identity_with_attr_like_rhs",
    "_contrib_gradientmultiplier",
    "IdentityAttachKLSparseReg",
)
_BINARY: Final = {
    "elemwise_add": "Add",
    "_grad_add": "Add",
    "broadcast_add": "Add",
    "elemwise_sub": "Sub",
    "broadcast_sub": "Sub",
    "elemwise_mul": "Mul",
    "broadcast_mul": "Mul",
    "elemwise_div": "Div",
    "broadcast_div": "Div",
    "_npi_true_divide": "Div",
    "_power": "Pow",
    "broadcast_power": "Pow",
    "_maximum": "Max",
    "broadcast_maximum": "Max",
    "_minimum": "Min",
    "broadcast_minimum": "Min",
}
#: Operator -> ONNX's, and whether the number stands first.
_SCALAR: Final = {
    "_plus_scalar": ("Add", False),
    "_minus_scalar": ("Sub", False),
    "_rminus_scalar": ("Sub", True),
    "_mul_scalar": ("Mul", False),
    "_div_scalar": ("Div", False),
    "_rdiv_scalar": ("Div", True),
    "_npi_true_divide_scalar": ("Div", False),
    "_npi_rtrue_divide_scalar": ("Div", True),
    "_power_scalar": ("Pow", False),
    "_rpower_scalar": ("Pow", True),
    "_maximum_scalar": ("Max", False),
    "_minimum_scalar": ("Min", False),
}
#: What a comparison is called by us -> by ONNX, and whether its result is turned over.
_COMPARISONS: Final = {
    "equal": ("Equal", False),
    "not_equal": ("Equal", True),
    "greater": ("Greater", False),
    "greater_equal": ("GreaterOrEqual", False),
    "lesser": ("Less", False),
    "lesser_equal": ("LessOrEqual", False),
    "less": ("Less", False),
    "less_equal": ("LessOrEqual", False),
}
_LOGIC: Final = {"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"}
#: Operator -> what the logarithm, or the element, is multiplied by.
_LOGARITHMS: Final = {"log2": 1 / math.log(2), "log10": 1 / math.log(10)}
_ANGLES: Final = {"degrees": 180 / math.pi, "radians": math.pi / 180}


def _unary(op: str) -> Translation:
    return lambda place: place.add(op, *place.operands())


def _binary(op: str) -> Translation:
    return lambda place: place.add(op, *place.operands())


def _scalar(op: str, first: bool) -> Translation:
    def translation(place: Place) -> str:
        (data,) = place.operands()
        number = place.number(place.attrs["scalar"])
        return place.add(op, *((number, data) if first else (data, number)))

    return translation


def _truth(place: Place, value: str) -> str:
    """Returns a truth value in the dtype of the result, which is that of the operands in MXNet."""
    return place.cast(value, bool, place.results[0].dtype)


def _compared(place: Place, op: str, turned: bool, left: str, right: str) -> str:
    value = place.add(op, left, right)
    return _truth(place, place.add("Not", value) if turned else value)


def _comparison(op: str, turned: bool) -> Translation:
    return lambda place: _compared(place, op, turned, *place.operands(promote_types(place.types)))


def _scalar_comparison(op: str, turned: bool) -> Translation:
    def translation(place: Place) -> str:
        dtype, number = place.types[0].dtype, place.attrs["scalar"]
        if not is_float(dtype) and number != int(number):
            dtype = np.dtype(np.float64)
        (data,) = place.operands(dtype)
        return _compared(place, op, turned, data, place.number(number, dtype))

    return translation


def _is_true(place: Place, value: str, dtype: np.dtype[np.generic]) -> str:
    """Whether elements are not zero."""
    return place.cast(value, dtype, bool)


def _logic(op: str) -> Translation:
    return lambda place: _truth(place, place.add(op, *place.operands(bool)))


def _scalar_logic(op: str) -> Translation:
    def translation(place: Place) -> str:
        (data,) = place.operands(bool)
        return _truth(place, place.add(op, data, place.number(bool(place.attrs["scalar"]), bool)))

    return translation


def _times(factor: float, op: str | None) -> Translation:
    """A function and a product with a number, or the product alone."""

    def translation(place: Place) -> str:
        (data,) = place.operands()
        return place.add("Mul", place.add(op, data) if op else data, place.number(factor))

    return translation


for _name, _op in _UNARY.items():
    translates(_name)(_unary(_op))
for _name, _op in _BINARY.items():
    translates(_name)(_binary(_op))
for _name, (_op, _first) in _SCALAR.items():
    translates(_name)(_scalar(_op, _first))
for _name, (_op, _turned) in _COMPARISONS.items():
    if "less" in _name and "lesser" not in _name:  # NumPy's spelling
        _names, _scalar_names = [f"_npi_{_name}"], [f"_npi_{_name}_scalar"]
    else:
        _names, _scalar_names = [f"_{_name}", f"broadcast_{_name}"], [f"_{_name}_scalar"]
        if "lesser" not in _name:
            _names.append(f"_npi_{_name}")
            _scalar_names.append(f"_npi_{_name}_scalar")
    translates(*_names)(_comparison(_op, _turned))
    translates(*_scalar_names)(_scalar_comparison(_op, _turned))
for _name, _op in _LOGIC.items():
    translates(f"_{_name}", f"broadcast_{_name}")(_logic(_op))
    translates(f"_{_name}_scalar")(_scalar_logic(_op))
for _name, _factor in _LOGARITHMS.items():
    translates(_name)(_times(_factor, "Log"))
for _name, _factor in _ANGLES.items():
    translates(_name)(_times(_factor, None))


@translates(*_IDENTITIES)
def _identity(place: Place) -> str:
    return place.inputs[0]


@translates("Cast", "amp_cast")
def _cast(place: Place) -> str:
    return place.cast(place.inputs[0], place.types[0].dtype, place.results[0].dtype)


@translates("amp_multicast")
def _cast_all(place: Place) -> list[str]:
    return [
        place.cast(value, type_.dtype, result.dtype)
        for value, type_, result in zip(place.inputs, place.types, place.results, strict=True)
    ]


@translates("square")
def _square(place: Place) -> str:
    (data,) = place.operands()
    return place.add("Mul", data, data)


@translates("rsqrt")
def _inverse_root(place: Place) -> str:
    return place.add("Reciprocal", place.add("Sqrt", *place.operands()))


@translates("cbrt", "rcbrt")
def _cube_root(place: Place) -> str:
    (data,) = place.operands()
    size = place.add("Pow", place.add("Abs", data), place.number(1 / 3))
    root = place.add("Mul", place.add("Sign", data), size)
    return place.add("Reciprocal", root) if place.call.name == "rcbrt" else root


@translates("log1p")
def _log_of_more(place: Place) -> str:
    (data,) = place.operands()
    return place.add("Log", place.add("Add", data, place.number(1)))


@translates("expm1")
def _exp_less_one(place: Place) -> str:
    return place.add("Sub", place.add("Exp", *place.operands()), place.number(1))


@translates("rint")
def _half_down(place: Place) -> str:
    (data,) = place.operands()
    return place.add("Ceil", place.add("Sub", data, place.number(0.5)))


@translates("round", "fix", "trunc")
def _toward_zero(place: Place) -> str:
    (data,) = place.operands()
    size = place.add("Abs", data)
    if place.call.name == "round":
        size = place.add("Add", size, place.number(0.5))
    return place.add("Mul", place.add("Sign", data), place.add("Floor", size))


@translates("_npi_around")
def _round(place: Place) -> str:
    if place.attrs["decimals"]:
        place.fail("decimals must be 0", "multiply, round and divide")
    return place.add("Round", *place.operands())


@translates("logical_not", "_npi_logical_not")
def _not(place: Place) -> str:
    (data,) = place.operands(bool)
    return _truth(place, place.add("Not", data))


@translates("_npi_isnan")
def _is_nan(place: Place) -> str:
    return place.add("IsNaN", place.inputs[0])


@translates("_npi_isinf", "_npi_isposinf", "_npi_isneginf")
def _is_infinite(place: Place) -> str:
    name = place.call.name
    return place.add(
        "IsInf",
        place.inputs[0],
        detect_positive=int("neg" not in name),
        detect_negative=int("pos" not in name),
    )


def _remainder(place: Place, left: str, right: str) -> str:
    """The remainder with the sign of the divisor; 0 where that is 0."""
    by_zero = place.add("Equal", right, place.number(0))
    divisor = place.add("Where", by_zero, place.number(1), right)
    if is_float(place.results[0].dtype):
        rest = place.add("Mod", left, divisor, fmod=1)
        rest = place.add("Mod", place.add("Add", rest, divisor), divisor, fmod=1)
    else:
        rest = place.add("Mod", left, divisor)
    return place.add("Where", by_zero, place.number(0), rest)


@translates("_mod", "broadcast_mod")
def _mod(place: Place) -> str:
    return _remainder(place, *place.operands())


@translates("_mod_scalar", "_rmod_scalar")
def _mod_scalar(place: Place) -> str:
    (data,) = place.operands()
    number = place.number(place.attrs["scalar"])
    pair = (number, data) if place.call.name == "_rmod_scalar" else (data, number)
    return _remainder(place, *pair)


@translates("_hypot", "broadcast_hypot")
def _hypotenuse(place: Place) -> str:
    squares = [place.add("Mul", side, side) for side in place.operands()]
    return place.add("Sqrt", place.add("Add", *squares))


@translates("add_n")
def _sum(place: Place) -> str:
    return place.add("Sum", *place.operands())


@translates("clip")
def _clip(place: Place) -> str:
    low, high = (place.number(place.attrs[name]) for name in ("a_min", "a_max"))
    return place.add("Clip", *place.operands(), low, high)


@translates("smooth_l1")
def _smooth_l1(place: Place) -> str:
    (data,) = place.operands()
    square = place.attrs["scalar"] ** 2
    size = place.add("Abs", data)
    near = place.add("Mul", place.add("Mul", data, data), place.number(0.5 * square))
    far = place.add("Sub", size, place.number(0.5 / square))
    return place.add("Where", place.add("Less", size, place.number(1 / square)), near, far)


@translates("hard_sigmoid")
def _hard_sigmoid(place: Place) -> str:
    alpha, beta = place.attrs["alpha"], place.attrs["beta"]
    return place.add("HardSigmoid", *place.operands(), alpha=float(alpha), beta=float(beta))


@translates("_contrib_quadratic")
def _quadratic(place: Place) -> str:
    (data,) = place.operands()
    a, b, c = (place.number(place.attrs[name]) for name in "abc")
    inner = place.add("Add", place.add("Mul", data, a), b)
    return place.add("Add", place.add("Mul", inner, data), c)


@translates("where", "_npi_where")
def _where(place: Place) -> str:
    condition = _is_true(place, place.inputs[0], place.types[0].dtype)
    missing = place.rank(1) - place.rank(0) if place.call.name == "where" else 0
    condition = place.unsqueeze(condition, *range(place.rank(0), place.rank(0) + missing))
    dtype = place.results[0].dtype
    sides = [place.cast(place.inputs[i], place.types[i].dtype, dtype) for i in (1, 2)]
    return place.add("Where", condition, *sides)
