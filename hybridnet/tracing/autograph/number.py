"""`Number`: a Python number that is known only when a traced function runs.

A loop in a graph that counts has a counter, which Python code adds to, compares, and multiplies
arrays with. It is an array without dimensions, of int64, float64 or bool, so that it holds what
Python's number would hold, and it does what a Python number does: with another number it makes a
number, by Python's rules, and to an array it is a number, which takes the array's dtype. It is
never changed in place: ``i += 1`` makes another number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from hybridnet.base.array_types import DType, DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import cast_call, fill_call
from hybridnet.ops.core import with_names
from hybridnet.ops.core.registry import get

#: A class of arrays.
Kind = type[NDArray]

_BOOL: Final = np.dtype(np.bool_)
_INT: Final = np.dtype(np.int64)
_FLOAT: Final = np.dtype(np.float64)
# Each holds what those before it hold.
_RANKS: Final = {_BOOL: 0, _INT: 1, _FLOAT: 2}

_UNKNOWN: Final = (
    "a number that is known only when the traced function runs cannot be used here, as {what}: "
    "what Python needs while tracing (a shape, an index of a list, a condition in a comprehension) "
    "must not depend on arrays, nor on a loop that became part of the graph; index an array "
    "instead of a list, or compute it outside the loop"
)


class NumberError(MXNetError):
    """Python asked for the value of a number that is known only when the function runs."""


def is_number(value: object) -> bool:
    """Whether a value is a Python number (or one of NumPy's) that can become a `Number`."""
    return isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating))


def number_dtype(value: object) -> DType:
    """Returns the dtype in which a Python number is held."""
    if isinstance(value, (bool, np.bool_)):
        return _BOOL
    return _INT if isinstance(value, (int, np.integer)) else _FLOAT


def joined(value: DType, other: DType) -> DType:
    """Returns the dtype that holds the numbers of both."""
    return value if _RANKS[value] >= _RANKS[other] else other


def number(value: Any, ctx: Context) -> Number:
    """Returns a Python number as a `Number`."""
    type = tensor_type((), number_dtype(value))
    made: NDArray = NDArray.apply_call(fill_call(type), (), (float(value),), ctx)[0]
    return _as_number(made)


def _as_number(array: NDArray) -> Number:
    made = array.as_kind(Number)
    assert isinstance(made, Number)
    return made


def to_number(array: NDArray, dtype: DTypeLike) -> Number:
    """Returns the element of an array of one as a `Number`; no gradient flows through it."""
    return _as_number(_cast(array, tensor_type((), np.dtype(dtype))).detach())


def _cast(array: NDArray, type: TensorType) -> NDArray:
    plain = array.as_kind(NDArray) if isinstance(array, Number) else array
    if array.type is type:
        return plain
    if not type.shape and array.shape:
        plain = plain.reshape((1,)).view(0, ())
        if plain.type is type:
            return plain
    made: NDArray = NDArray.apply_call(cast_call(type), (plain,))[0]
    return made


def _computed(
    operator: str, value: Number, other: object, *, swap: bool = False, floats: bool = False
) -> Any:
    """Applies an operator of Python's to a number and what stands on its other side.

    Args:
        operator: for two arrays.
        swap: whether the number is the right side.
        floats: whether the result is a float though both are whole.
    """
    if is_number(other):
        other = _like(value, other)
    elif not isinstance(other, NDArray):
        return NotImplemented
    elif not isinstance(other, Number):
        return _pair(operator, in_array(value, other), other, swap)
    dtype = joined(joined(value.type.dtype, other.type.dtype), _FLOAT if floats else _INT)
    scalar = tensor_type((), dtype)
    return _as_number(_pair(operator, _cast(value, scalar), _cast(other, scalar), swap))


def _compared(operator: str, value: Number, other: object) -> Any:
    made = _computed(operator, value, other)
    return _as_number(_cast(made, tensor_type((), _BOOL))) if isinstance(made, Number) else made


def _logical(operator: str, value: Number, other: object) -> Any:
    if isinstance(other, (bool, np.bool_)):
        other = _like(value, other)
    if not isinstance(other, Number) or not value.type.dtype == other.type.dtype == _BOOL:
        return NotImplemented
    made = _pair(operator, value.as_python(), other.as_python(), False)
    return _as_number(_cast(made, value.type))


def _of(rule: Callable[..., object], operator: str, **options: bool) -> Callable[[Any, Any], Any]:
    """Returns a method for one of Python's operators, computed by a rule for such."""

    def arithmetic(self: Number, other: object) -> Any:
        return rule(operator, self, other, **options)

    return arithmetic


@with_names
class Number(NDArray):
    """A Python number that is known only when the function runs; see the module."""

    __slots__ = ("denies",)

    #: Of the result of ``not x`` that x; see `hybridnet.tracing.autograph.conditions`.
    denies: object

    def as_python(self) -> NDArray:
        """Returns the number as the plain array that users see."""
        return self.as_kind(NDArray)

    def _unknown(self, what: str) -> NumberError:
        return NumberError(_UNKNOWN.format(what=what))

    def __bool__(self) -> bool:
        raise self._unknown("a condition")

    def __int__(self) -> int:
        raise self._unknown("a whole number")

    def __index__(self) -> int:
        raise self._unknown("an index or a size")

    def __float__(self) -> float:
        raise self._unknown("a float")

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise self._unknown("a NumPy array")

    def asnumpy(self) -> NoReturn:
        """Raises: the number is not known yet."""
        raise self._unknown("a NumPy array")

    def __len__(self) -> int:
        raise TypeError("a number has no len()")

    def __repr__(self) -> str:
        return f"<number {self.inferred_dtype}, being traced>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    __hash__ = NDArray.__hash__

    __add__ = _of(_computed, "broadcast_add")
    __radd__ = _of(_computed, "broadcast_add", swap=True)
    __sub__ = _of(_computed, "broadcast_sub")
    __rsub__ = _of(_computed, "broadcast_sub", swap=True)
    __mul__ = _of(_computed, "broadcast_mul")
    __rmul__ = _of(_computed, "broadcast_mul", swap=True)
    __truediv__ = _of(_computed, "broadcast_div", floats=True)
    __rtruediv__ = _of(_computed, "broadcast_div", swap=True, floats=True)
    __mod__ = _of(_computed, "broadcast_mod")
    __rmod__ = _of(_computed, "broadcast_mod", swap=True)

    def __pow__(self, other: Any) -> Any:
        floats = is_number(other) and not isinstance(other, (bool, np.bool_)) and other < 0
        return _computed("broadcast_power", self, other, floats=floats)

    __rpow__ = _of(_computed, "broadcast_power", swap=True)

    def __floordiv__(self, other: object) -> Any:
        return _floor_divided(self, other)

    def __rfloordiv__(self, other: object) -> Any:
        return _floor_divided(_like(self, other), self) if is_number(other) else NotImplemented

    def __divmod__(self, other: object) -> tuple[Any, Any]:
        return self // other, self % other

    # Numbers do not change in place.
    __iadd__ = __add__
    __isub__ = __sub__
    __imul__ = __mul__
    __itruediv__ = __truediv__
    __imod__ = __mod__
    __ipow__ = __pow__

    def __neg__(self) -> Any:
        return 0 - self

    def __pos__(self) -> Any:
        return self + 0

    def __abs__(self) -> Any:
        plain = (self + 0).as_python()
        return _as_number(NDArray.apply_operator(get("abs"), (plain,), {}))

    __eq__ = _of(_compared, "broadcast_equal")
    __ne__ = _of(_compared, "broadcast_not_equal")
    __lt__ = _of(_compared, "broadcast_lesser")
    __le__ = _of(_compared, "broadcast_lesser_equal")
    __gt__ = _of(_compared, "broadcast_greater")
    __ge__ = _of(_compared, "broadcast_greater_equal")

    __and__ = _of(_logical, "broadcast_logical_and")
    __or__ = _of(_logical, "broadcast_logical_or")
    __xor__ = _of(_logical, "broadcast_logical_xor")

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__


def _like(known: Number, value: object) -> Number:
    return number(value, known.context)


def in_array(value: Number, array: NDArray) -> NDArray:
    """Returns a number as an array takes it: of one element and of its dtype."""
    return _cast(value, tensor_type((1,), array.type.dtype)).as_kind(type(array))


def _pair(operator: str, lhs: NDArray, rhs: NDArray, swap: bool) -> Any:
    pair = (rhs, lhs) if swap else (lhs, rhs)
    return type(lhs).apply_operator(get(operator), pair, {})


def _floor_divided(value: Number, other: object) -> Any:
    if is_number(other):
        other = _like(value, other)
    if not isinstance(other, Number):
        return NotImplemented
    rest = value % other
    whole = rest.type.dtype == _INT
    made = (value - rest).as_python() / (other + 0 if whole else other + 0.0).as_python()
    if not whole:
        made = NDArray.apply_operator(get("floor"), (made + 0.5,), {})
    return _as_number(made)
