"""Operators that NumPy computes to the same bits as XLA, for folding constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import BOOL, INT64, is_float
from hybridnet.base.tensor_type import TensorType

#: From operands, parameters, numbers and the type of the result to the result; None: not exactly.
Compute = Callable[
    [list[NumpyArray], Mapping[str, Any], Sequence[Any], TensorType], NumpyArray | None
]


@final
@dataclass(frozen=True, slots=True)
class NumpyRule:
    """The computation of an operator by NumPy.

    Attributes:
        compute: see `Compute`.
        elementwise: whether each element depends on one element of each operand, so that equal
            elements give equal elements.
    """

    compute: Compute
    elementwise: bool = True


def _of_two(
    function: Callable[[NumpyArray, NumpyArray], Any], floats_only: bool = False
) -> NumpyRule:
    """A function of two arrays, in the dtype that they are combined in: that of the result."""

    def compute(
        operands: list[NumpyArray],
        attrs: Mapping[str, object],
        numbers: Sequence[object],
        wanted: TensorType,
    ) -> NumpyArray | None:
        if wanted.dtype == BOOL or (floats_only and not is_float(wanted.dtype)):
            return None
        left, right = (operand.astype(wanted.dtype) for operand in operands)
        return np.asarray(function(left, right)).astype(wanted.dtype)

    return NumpyRule(compute)


def _with_number(
    function: Callable[[NumpyArray, NumpyArray], Any], floats_only: bool = False
) -> NumpyRule:
    """A function of an array and a number, both in the dtype of the result."""

    def compute(
        operands: list[NumpyArray],
        attrs: Mapping[str, object],
        numbers: Sequence[Any],
        wanted: TensorType,
    ) -> NumpyArray | None:
        floating = is_float(wanted.dtype)
        if floats_only and not floating:
            return None
        if not floating and not abs(numbers[0]) < 2**53:
            return None
        number = np.asarray(numbers[0], np.float64)
        if not floating:
            number = number.astype(INT64)
        left, right = operands[0].astype(wanted.dtype), number.astype(wanted.dtype)
        return np.asarray(function(left, right)).astype(wanted.dtype)

    return NumpyRule(compute)


def _of_one(function: Callable[[NumpyArray], Any]) -> NumpyRule:
    return NumpyRule(lambda operands, *_: np.asarray(function(operands[0])))


def _moving(
    function: Callable[[NumpyArray, Mapping[str, Any], TensorType], NumpyArray],
) -> NumpyRule:
    """An operator that moves the elements of one array."""
    return NumpyRule(
        lambda operands, attrs, _, wanted: function(operands[0], attrs, wanted), elementwise=False
    )


def _filled(value: int) -> NumpyRule:
    return NumpyRule(
        lambda _, __, ___, wanted: np.broadcast_to(np.asarray(value, wanted.dtype), wanted.shape)
    )


def _full(
    _: list[NumpyArray], attrs: Mapping[str, Any], __: Sequence[Any], wanted: TensorType
) -> NumpyArray | None:
    value = attrs["value"]
    if not is_float(wanted.dtype) and not abs(value) < 2**53:
        return None
    return np.broadcast_to(np.asarray(value).astype(wanted.dtype), wanted.shape)


def _literal(
    _: list[NumpyArray], attrs: Mapping[str, Any], __: Sequence[object], wanted: TensorType
) -> NumpyArray:
    if is_float(wanted.dtype):
        elements = np.array([float(number) for number in attrs["value"].split()]).astype(
            wanted.dtype
        )
    else:
        whole = [int(number) for number in attrs["value"].split()]
        elements = np.array(whole, INT64).astype(wanted.dtype)
    if len(elements) == 1:
        return np.broadcast_to(elements.reshape(()), wanted.shape)
    return elements.reshape(wanted.shape)


def _arange(
    _: list[NumpyArray], attrs: Mapping[str, Any], __: Sequence[Any], wanted: TensorType
) -> NumpyArray | None:
    start, step, repeat = attrs["start"], attrs["step"], attrs["repeat"]
    start = 0.0 if attrs["stop"] is None else start
    if not (float(start).is_integer() and float(step).is_integer()) or wanted.size > 1 << 16:
        return None
    numbers = int(start) + np.arange(wanted.size // repeat, dtype=INT64) * int(step)
    return np.repeat(numbers, repeat).astype(wanted.dtype)


def _cast(
    operands: list[NumpyArray], _: Mapping[str, object], __: Sequence[object], wanted: TensorType
) -> NumpyArray | None:
    (data,) = operands
    if is_float(data.dtype) and not is_float(wanted.dtype) and wanted.dtype != BOOL:
        wide = data.astype(np.float64)
        if not np.all(np.abs(wide) < 2**31):  # what lies outside, or is NaN, is not C's to say
            return None
        data = wide.astype(INT64)
    return data.astype(wanted.dtype)


def _joined(join: Callable[..., NumpyArray], axis: str) -> NumpyRule:
    def compute(
        operands: list[NumpyArray],
        attrs: Mapping[str, object],
        numbers: Sequence[object],
        wanted: TensorType,
    ) -> NumpyArray:
        return join([operand.astype(wanted.dtype) for operand in operands], axis=attrs[axis])

    return NumpyRule(compute, elementwise=False)


def _part_of_axis(data: NumpyArray, attrs: Mapping[str, Any], _: TensorType) -> NumpyArray:
    index = [slice(None)] * data.ndim
    index[attrs["axis"]] = slice(attrs["begin"], attrs["end"])
    return data[tuple(index)]


_RESHAPED: Final = _moving(lambda data, _, wanted: data.reshape(wanted.shape))
_ADD, _SUBTRACT = _of_two(np.add), _of_two(np.subtract)
_MULTIPLY, _DIVIDE = _of_two(np.multiply), _of_two(np.divide, floats_only=True)

_COMPARISONS: Final = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
}

#: By the name of the operator.
NUMPY: Final[Mapping[str, NumpyRule]] = {
    "_zeros": _filled(0),
    "_npi_zeros": _filled(0),
    "_ones": _filled(1),
    "_npi_ones": _filled(1),
    "_full": NumpyRule(_full),
    "_npi_full": NumpyRule(_full),
    "_literal": NumpyRule(_literal),
    "_arange": NumpyRule(_arange),
    "Cast": NumpyRule(_cast),
    "negative": _of_one(np.negative),
    "abs": _of_one(np.abs),
    **dict.fromkeys(("elemwise_add", "broadcast_add", "_grad_add", "_npi_add"), _ADD),
    **dict.fromkeys(("elemwise_sub", "broadcast_sub", "_npi_subtract"), _SUBTRACT),
    **dict.fromkeys(("elemwise_mul", "broadcast_mul", "_npi_multiply"), _MULTIPLY),
    **dict.fromkeys(("elemwise_div", "broadcast_div"), _DIVIDE),
    "_plus_scalar": _with_number(np.add),
    "_minus_scalar": _with_number(np.subtract),
    "_rminus_scalar": _with_number(lambda x, s: s - x),
    "_mul_scalar": _with_number(np.multiply),
    "_rdiv_scalar": _with_number(lambda x, s: s / x, floats_only=True),
    **{f"_{name}": _of_two(function) for name, function in _COMPARISONS.items()},
    **{f"broadcast_{name}": _of_two(function) for name, function in _COMPARISONS.items()},
    **{f"_{name}_scalar": _with_number(function) for name, function in _COMPARISONS.items()},
    **dict.fromkeys(("Reshape", "Flatten", "expand_dims", "squeeze"), _RESHAPED),
    "transpose": _moving(lambda data, attrs, _: np.transpose(data, attrs["axes"] or None)),
    "SwapAxis": _moving(lambda data, attrs, _: np.swapaxes(data, attrs["dim1"], attrs["dim2"])),
    "reverse": _moving(lambda data, attrs, _: np.flip(data, attrs["axis"])),
    "broadcast_to": _moving(lambda data, _, wanted: np.broadcast_to(data, wanted.shape)),
    "tile": _moving(lambda data, attrs, _: np.tile(data, attrs["reps"])),
    "slice_axis": _moving(_part_of_axis),
    "Concat": _joined(np.concatenate, "dim"),
    "stack": _joined(np.stack, "axis"),
}
