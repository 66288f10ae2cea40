"""Python's operators that overwrite an array: ``+=`` and the like."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

from hybridnet.base.errors import MXNetError
from hybridnet.ops.core import Operand
from hybridnet.runtime.recording import in_place, recorder

from ._gradients import UNTRACKED, GradientMethods
from .applying import check_result


class InPlaceMethods(GradientMethods):
    """An array that can be overwritten with the result of an operation on it."""

    __slots__ = ()

    @abstractmethod
    def assign(self, source: Self) -> None:
        """Overwrites this array with another that broadcasts to its shape, casting it."""

    def _update(self, operation: Callable[[Any, Any], Any], other: object, what: str) -> Self:
        self.refuse_recorded(what)
        if recorder.several:
            recorder.launch_others((self, other))
        with in_place:
            result = operation(self, other)
            check_result(self.shape, other, result, what)
            if result.carries_gradient:
                raise MXNetError(UNTRACKED.format(what=what))
            self.assign(result)
        return self

    def __iadd__(self, other: Any) -> Self:
        return self._update(Operand.__add__, other, "+=")

    def __isub__(self, other: Any) -> Self:
        return self._update(Operand.__sub__, other, "-=")

    def __imul__(self, other: Any) -> Self:
        return self._update(Operand.__mul__, other, "*=")

    def __itruediv__(self, other: Any) -> Self:
        return self._update(Operand.__truediv__, other, "/=")

    def __imod__(self, other: Any) -> Self:
        return self._update(Operand.__mod__, other, "%=")

    def __ipow__(self, other: Any) -> Self:
        return self._update(Operand.__pow__, other, "**=")
