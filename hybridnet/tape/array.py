"""The demands of the walk back over the tape on arrays."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType
from hybridnet.runtime.segments.segment import Value

from .nodes import Edge

__all__ = ["TapeArray"]


@runtime_checkable
class TapeArray(Protocol):
    """An array that can be on the tape, and whose operators record; `NDArray` is one.

    Gradient rules use more of it: the operators, as methods and as Python's arithmetic.
    """

    @classmethod
    def from_value(cls, value: Value, ctx: Context, edge: Edge | None = None) -> Any:
        """Returns an array of its own holding a Value that came from a place on the tape."""

    @property
    def context(self) -> Context:
        """Where the array is."""

    @property
    def edge(self) -> Edge | None:
        """Where the value came from, on the tape; None when nothing was recorded."""

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

    def as_kind(self, kind: Any) -> Any:
        """Returns the array as one of a class."""

    def as_nd_ndarray(self) -> Any:
        """Returns the array with the semantics of `nd`, in which gradient rules are written."""
