"""`Storage`: what the NDArrays that share memory have in common: the Value they hold now.

An NDArray is a view of a Storage. To change an array in place is to give its Storage another Value,
which all its views then show. Every read and write goes through `read` and `write`, since a trace
has to know of both: an array from outside that is read becomes an input of the traced function, and
one that is written becomes an array that the function changes.

A change in place reads the old Value and writes a new one. The lock `in_place` is held from the one
to the other, so that of two threads that change one array, or two views of it, neither undoes what
the other did.
"""

from __future__ import annotations

from collections.abc import Iterable

from hybridnet.base.context import Context
from hybridnet.base.mesh import Mesh
from hybridnet.base.tensor_type import TensorType

from ..segments.segment import Value
from .recorder import in_place, thread

__all__ = ["Storage", "in_place", "write_all"]


class Storage:
    """The memory of an array and of all its views, whichever Value it holds at the time.

    Attributes:
        type: its shape and dtype; every Value it holds has this type.
        ctx: the context on which it is, and on which what reads it is computed.
        label: the context that the user named, if that is another; see `Context.computes_on`.
        value: the Value it holds now. Use `read` and `write`, so that a trace knows of it.
        owner: the trace in which it was made, or None.
    """

    # No __slots__: one is made for each recorded operator, and most keep the defaults.
    owner: object = None
    label: Context | None = None

    def __init__(self, value: Value, ctx: Context) -> None:
        self.type: TensorType = value.type
        self.ctx = ctx
        self.value = value
        if thread.trace is not None:
            self.owner = thread.trace

    def read(self, handle: object = None) -> Value:
        """Returns the current Value, as this thread's trace (if any) sees it.

        Args:
            handle: the array through which it is read.
        """
        trace = thread.trace
        if trace is None or self.owner is trace:
            return self.value
        seen: Value = trace.read(self, handle)
        return seen

    def write(self, value: Value, handle: object = None) -> None:
        """Gives the Storage another Value.

        Args:
            value: the new Value, of the Storage's type.
            handle: the array through which it is written, if that is the whole of the Storage.
        """
        trace = thread.trace
        if trace is None or self.owner is trace:
            write_all((self,), (value,))
        else:
            trace.write(self, value, handle)


def write_all(storages: Iterable[Storage], values: Iterable[Value]) -> None:
    """Gives each Storage another Value of its type, outside a trace or in that of its owner."""
    for storage, value in zip(storages, values, strict=True):
        old, home = storage.value, value.segment
        if home is None:
            pass  # it has its memory
        elif old.array is None:
            if old.segment is home:
                value.over = old.over
            if old.spare is not None:
                value.spare, old.spare = old.spare, None
        elif home.ctx == storage.ctx:
            # `over` is an id, which is worth something only while the array lives (another may get
            # a dead one's). So the array is kept, or must be an input, which is kept.
            large = old.type.mebibytes or type(home.ctx) is Mesh  # there it says how the new lies
            if large and old.shared is None:
                value.over, value.spare = id(old.array), old.array
            elif id(old.array) in home.slots:  # a small array is not worth being kept
                value.over = id(old.array)
        storage.value = value
