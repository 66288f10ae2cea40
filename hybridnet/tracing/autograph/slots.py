"""The values that go from turn to turn of a loop in the graph: their types, and their errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, final

from hybridnet.base.context import Context
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import cast_call, fill_call

from .number import Kind, Number, is_number, joined, number_dtype
from .state import Undefined, UndefinedReturnValue, described, same_plain

HOW: Final = (
    "what a loop that is part of the graph changes must be arrays that keep shape and dtype, or "
    "numbers"
)


class StagingError(MXNetError):
    """A loop cannot become part of the graph; where its length is known, Python can run it."""


class StagingShapeError(StagingError, ShapeError):
    """A variable changes its shape from turn to turn."""


class StagingDTypeError(StagingError, DTypeError):
    """A variable changes its dtype from turn to turn."""


class StagingKindError(StagingError, ParameterError):
    """A variable becomes something that is neither array nor number, or another structure."""


@final
@dataclass(frozen=True, eq=False)
class Slot:
    """A leaf of a variable.

    Attributes:
        name: of the variable.
        start: what it is before the loop.
        type: of the array that goes from turn to turn; None where the object itself is used.
        kind: the class of that array.
    """

    name: str
    start: Any
    type: TensorType | None = None
    kind: Kind = NDArray

    def array(self, ctx: Context) -> NDArray:
        """Returns the first value of the array."""
        assert self.type is not None
        start = self.start
        if isinstance(start, (Undefined, UndefinedReturnValue)):
            start = 0  # another variable says that it is not to be read
        if not isinstance(start, NDArray):
            (start,) = NDArray.apply_call(fill_call(self.type), (), (float(start),), ctx)
        elif start.type is not self.type:
            (start,) = NDArray.apply_call(cast_call(self.type), (start,))
        made: NDArray = start
        return made

    def after(self, leaf: Any, line: str) -> Slot:
        """Returns what it has to be taken for, given what it is after a turn.

        Raises:
            StagingError: it is nothing that can go from turn to turn.
        """
        if isinstance(leaf, (Undefined, UndefinedReturnValue)):
            return self
        if self.type is None:
            return self._after_object(leaf, line)
        number = isinstance(leaf, Number) or is_number(leaf)
        if not number and not isinstance(leaf, NDArray):
            raise self._error(leaf, line)
        if self.kind is not Number:
            if not number and leaf.type is not self.type:
                raise self._error(leaf, line)
            return self
        if not number:
            return replace(self, type=leaf.type, kind=type(leaf))
        dtype = leaf.type.dtype if isinstance(leaf, NDArray) else number_dtype(leaf)
        wide = tensor_type((), joined(self.type.dtype, dtype))
        return self if wide is self.type else replace(self, type=wide)

    def _after_object(self, leaf: object, line: str) -> Slot:
        start = self.start
        if same_plain(leaf, start) or isinstance(start, Undefined):
            return self
        if isinstance(start, UndefinedReturnValue):
            if leaf is None:
                return self
            if isinstance(leaf, NDArray):
                return replace(self, type=leaf.type, kind=type(leaf))
            if is_number(leaf):
                return replace(self, type=tensor_type((), number_dtype(leaf)), kind=Number)
        if isinstance(start, NDArray) and isinstance(leaf, NDArray):
            return replace(self, type=start.type, kind=type(start))
        raise self._error(leaf, line)

    def _error(self, leaf: object, line: str) -> StagingError:
        message = (
            f"{line}: variable {self.name!r} is {described(self.start)} before the loop, and "
            f"{described(leaf)} after a turn; {HOW}"
        )
        if not isinstance(leaf, NDArray) or self.type is None:
            return StagingKindError(message)
        other_shape = leaf.shape != self.type.shape
        return StagingShapeError(message) if other_shape else StagingDTypeError(message)


def slot_of(name: str, start: object, assigned: bool) -> Slot:
    """Returns what a leaf is taken for at first.

    Args:
        assigned: whether the loop assigns other objects to it, and not only ``x += y``.
    """
    if isinstance(start, Number):
        return Slot(name, start, start.type, Number)
    if isinstance(start, NDArray):
        return Slot(name, start, start.type if assigned else None, type(start))
    if is_number(start):
        return Slot(name, start, tensor_type((), number_dtype(start)), Number)
    return Slot(name, start)
