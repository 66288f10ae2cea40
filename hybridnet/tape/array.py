"""The interface that an array must offer so that it can be on the tape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType
from hybridnet.runtime.recording import Value

from .nodes import Edge

__all__ = ["TapeArray"]


@runtime_checkable
class TapeArray(Protocol):
    """An array that can be on the tape, such as `NDArray`.

    Gradient rules use more than these: all operators, as methods and as Python's arithmetic.
    """

    @classmethod
    def from_value(cls, value: Value, ctx: Context, edge: Edge | None = None) -> Any:
        """Returns a new array that holds a Value, and whose place on the tape is `edge`."""

    @classmethod
    def assign_values(cls, arrays: Any, values: Sequence[Value], ctx: Context) -> list[int]:
        """Overwrites dense arrays with Values of one context; returns which it did not."""

    @property
    def context(self) -> Context:
        """The context that the array is on."""

    @property
    def edge(self) -> Edge | None:
        """The place on the tape of what computed this array; None if that was not recorded."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions."""

    @property
    def stype(self) -> str:
        """The storage type, 'default' for a dense one."""

    @property
    def type(self) -> TensorType:
        """Shape and dtype as one object."""

    def read(self) -> Value:
        """Returns the Value this array shows now."""

    def write(self, value: Value) -> None:
        """Overwrites the array with a Value of its type."""

    def as_kind(self, kind: object) -> Any:
        """Returns an array of another class on the same memory."""

    def as_nd_ndarray(self) -> Any:
        """Returns the array as one of `nd`: gradient rules are written for its operators."""
