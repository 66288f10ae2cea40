"""`Storage`: the identity of one device buffer, and who may read and write it now.

An NDArray is a view of a Storage; changing an array in place points its Storage at another Value.
Every read and write goes through here, because inside a trace both must be the trace's affair:
reading an array from outside makes it an input of the traced function, and writing it makes it
one that the function changes.

A change in place reads the old value and writes the new one; `in_place` is held between the two,
so that two threads that change one array (or two views of one Storage) both take effect.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final

from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType

from ..segments.segment import Value
from .recorder import thread

__all__ = ["Storage", "in_place"]

#: Held from the read to the write of a change in place. Recording takes microseconds, so that one
#: lock serves all arrays; it is re-entrant because finalizers may run anywhere.
in_place: Final = threading.RLock()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=in_place._at_fork_reinit)  # type: ignore[attr-defined]


class Storage:
    """One device buffer's identity.

    Attributes:
        type: its shape and dtype; every Value it holds has this type.
        ctx: where it is, and what is computed from it.
        label: what its user calls that place, if it is not `ctx`; see `Context.computes_on`.
        value: its current Value. Use `read` and `write`, which a trace can see.
        owner: the trace it was made in, or None.
    """

    # No __slots__: one is made for each recorded operator, and most keep the defaults.
    owner: Any = None
    label: Context | None = None

    def __init__(self, value: Value, ctx: Context) -> None:
        self.type: TensorType = value.type
        self.ctx = ctx
        self.value = value
        if thread.trace is not None:
            self.owner = thread.trace

    def read(self, handle: Any = None) -> Value:
        """Returns the current Value, as this thread's trace (if any) sees it.

        Args:
            handle: the array through which it is read.
        """
        trace = thread.trace
        if trace is None or self.owner is trace:
            return self.value
        seen: Value = trace.read(self, handle)
        return seen

    def write(self, value: Value, handle: Any = None) -> None:
        """Makes this its Value.

        Args:
            value: of its type.
            handle: the array through which it is written, where that is the whole of it.
        """
        trace = thread.trace
        if trace is None or self.owner is trace:
            old, home = self.value, value.segment
            if old.array is None:
                if old.segment is home:
                    value.over = old.over
                if old.spare is not None:
                    value.spare, old.spare = old.spare, None
            elif home is not None and home.ctx == self.ctx:
                # Only what the segment holds keeps its id: a freed array's is soon another's.
                if old.type.mebibytes and old.shared is None:
                    value.over, value.spare = id(old.array), old.array
                elif home.has_input(old.array):  # to keep a small one costs more than it saves
                    value.over = id(old.array)
            self.value = value
        else:
            trace.write(self, value, handle)
