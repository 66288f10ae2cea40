"""Facts and functions for the conditions and expressions of rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import DType
from hybridnet.base.dtype import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    as_dtype,
    is_float,
    is_integer,
)
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Node
from hybridnet.ops.core import OpCall

from .rewrite import Rewriter


@final
class Value:
    """The value of a variable of a rule, as its condition sees it.

    Attributes:
        edge: the value in the graph.
        type: its shape and dtype.
    """

    __slots__ = ("_rewriter", "edge", "type")

    def __init__(self, edge: Edge, rewriter: Rewriter) -> None:
        self.edge = edge
        self.type: TensorType = rewriter.type(edge)
        self._rewriter = rewriter

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""
        return self.type.shape

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.type.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.type.size

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def floating(self) -> bool:
        """Whether elements are floating-point numbers."""
        return is_float(self.type.dtype)

    @property
    def integer(self) -> bool:
        """Whether elements are whole numbers; bool is none."""
        return is_integer(self.type.dtype)

    @property
    def constant(self) -> bool:
        """Whether it depends on nothing."""
        return self.edge.node in self._rewriter.constants

    @property
    def fill(self) -> float | None:
        """The value of all its elements, if it is known and the same."""
        return fill_of(self.edge.node)

    @property
    def single(self) -> bool:
        """Whether nothing else uses it."""
        return self._rewriter.uses(self.edge) == 1


def fill_of(node: Node) -> float | None:
    """Returns the value that fills an array which a node makes of nothing; None for others."""
    call = node.call
    if type(call) is not OpCall:
        return None
    name = call.operator.name
    if name in ("_zeros", "_npi_zeros"):
        return 0.0
    if name in ("_ones", "_npi_ones"):
        return 1.0
    if name in ("_full", "_npi_full", "_literal"):
        value = call.attrs["value"]
        return None if isinstance(value, str) and " " in value else float(value)
    return None


def _number(fill: float | None, x: Value) -> bool:
    """Whether a value that fills an array can be given as a number beside x."""
    if fill is None or math.isnan(fill):
        return False
    return x.floating or (x.integer and abs(fill) < 2**53)


def _positive_zero(value: float | None) -> bool:
    return value == 0 and math.copysign(1.0, value) > 0


def _whole(*numbers: float) -> bool:
    """Whether numbers, and their sum and product, are whole and exact as float64 and int64."""
    return all(number.is_integer() for number in numbers) and (
        abs(math.prod(numbers)) < 2**53 and sum(map(abs, numbers)) < 2**53
    )


#: How many bits of a whole number each floating dtype holds, the sign left out.
_MANTISSA: Final = {FLOAT16: 11, BFLOAT16: 8, FLOAT32: 24, FLOAT64: 53}


def _power_of_two(number: float, dtype: DType) -> bool:
    """Whether multiplying by a number only changes the exponent: +-2**n, normal in this dtype."""
    if number == 0 or not math.isfinite(number):
        return False
    fraction, exponent = math.frexp(abs(number))
    low, high = (-13, 15) if dtype == FLOAT16 else (-125, 127)
    return fraction == 0.5 and low <= exponent <= high


def _holds(wide: Any, narrow: DType) -> bool:
    """Whether every value of a dtype is one of another, so that converting to it loses nothing."""
    wide = as_dtype(wide)
    if wide == narrow or narrow == BOOL:
        return True
    if is_float(narrow):
        return wide in (FLOAT32, FLOAT64) and wide.itemsize > narrow.itemsize
    if is_float(wide):
        return narrow.itemsize * 8 <= _MANTISSA[wide]
    return bool(np.can_cast(narrow, wide, "safe"))


def _composed(first: Sequence[int], second: Sequence[int], rank: int) -> tuple[int, ...]:
    """The axes of one transpose that does what two do, one after the other."""
    inner, outer = _order(first, rank), _order(second, rank)
    return tuple(inner[axis] for axis in outer)


def _order(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """The axes of a transpose, from the front; none given mean reversed."""
    return tuple(axis % rank for axis in axes) if axes else tuple(range(rank))[::-1]


def _keeps_order(axes: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether a transpose leaves the elements where they are in memory: only sizes 1 move."""
    moved = [axis for axis in _order(axes, len(shape)) if shape[axis] != 1]
    return moved == sorted(moved)


def _swaps_last(order: Sequence[int]) -> bool:
    """Whether a transpose swaps the last two axes and leaves the others."""
    rank = len(order)
    return tuple(order) == (*range(rank - 2), rank - 1, rank - 2) and rank > 1


#: By the name that rules use.
FUNCTIONS: Final[dict[str, Any]] = {
    "__builtins__": {},
    "abs": abs,
    "all": all,
    "composed": _composed,
    "holds": _holds,
    "keeps_order": _keeps_order,
    "max": max,
    "min": min,
    "number": _number,
    "order": _order,
    "positive_zero": _positive_zero,
    "power_of_two": _power_of_two,
    "range": range,
    "swaps_last": _swaps_last,
    "tuple": tuple,
    "whole": _whole,
    "zeros": lambda count: (0,) * count,
}
