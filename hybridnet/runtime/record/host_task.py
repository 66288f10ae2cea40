"""Host tasks: work of the engine's threads on arrays, in order with what is recorded.

A host task reads Values and makes Values. They are pending until it has run, and recorded
operators that read them wait through the engine, not in the user's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core.call import Types

from ..observe import journal
from ..segments.segment import Value
from . import recorder
from .failures import fail

__all__ = ["awaited", "awaited_ends", "failed", "push_task"]

#: The type of what stands for a task's having run.
_NOTHING: Final = tensor_type((0,), np.dtype(np.bool_))


class _Awaited(threading.local):
    """Values for the ends of this thread's tasks; None where nobody waits for them."""

    pushed: list[Value] | None = None


_thread: Final = _Awaited()


@contextmanager
def awaited() -> Iterator[None]:
    """A block at whose end the tasks that were pushed in it have run, also those without results.

    Raises:
        OpError: one failed; the first one's error.
    """
    pushed: list[Value] = []
    around = _thread.pushed
    _thread.pushed = pushed
    try:
        yield
    finally:
        _thread.pushed = around
    for value in pushed:
        recorder.ready_array(value)


def awaited_ends() -> list[Value]:
    """Returns a Value that stands for the end of what has effects; empty outside of `awaited`.

    Who asks for it gives it its task's Var, and then an array or an error.
    """
    if _thread.pushed is None:
        return []
    _thread.pushed.append(Value(_NOTHING))
    return _thread.pushed[-1:]


def failed(types: Sequence[TensorType], why: str) -> list[Value]:
    """Returns Values that could not be made, as those of a task that has failed.

    Args:
        types: theirs.
        why: the message; the line that asked for them is added.
    """
    where = journal.ranges([engine.caller_origin(1)])
    made = [Value(kind) for kind in types]
    fail(made, OpError(f"{why}; called at {where}" if where else why))
    return made


def push_task(
    fn: Callable[..., Sequence[Any]],
    reads: Sequence[Value],
    types: Types,
    *,
    writes: Sequence[engine.Var] = (),
    priority: int = 0,
    lane: str = "copy",
    name: str | None = None,
) -> list[Value]:
    """Pushes ``fn(*arrays) -> arrays`` to the engine.

    Args:
        fn: gets the JAX arrays of `reads` and returns one JAX array for each of `types`.
        reads: the Values it reads; what is recorded and not launched yet is launched now.
        types: of the arrays it returns.
        writes: what else it changes, such as files: it runs after the tasks pushed before that
            change the same.
        priority: higher first among the tasks that are ready.
        lane: the engine's pool that runs it.
        name: for traces and messages.

    Returns:
        The Values it will make. If it fails, they carry its error, which is raised where one of
        them is read, or by the next `wait_all`.

    Raises:
        MXNetError: inside a trace, which is one program and has no host tasks.
    """
    if recorder.current_trace() is not None:
        raise MXNetError(f"{name or 'a host task'} cannot be part of a traced function")
    for value in reads:
        if value.segment is not None:
            recorder.launch(value.segment)
    origin = engine.caller_origin(1)
    made = [Value(kind) for kind in types]
    var = engine.new_variable()
    ends = awaited_ends()
    for value in (*made, *ends):
        value.var = var
    waits = tuple({value.var for value in reads if value.var is not None})

    def run() -> None:
        # What could not be read is one failure, however many tasks it takes along. It is not
        # raised here, where nobody would be told.
        broken = next((value.error for value in reads if value.error is not None), None)
        if broken is not None:
            fail([*made, *ends], broken)
            return
        try:
            arrays = fn(*(recorder.ready_array(value) for value in reads))
            for value, array in zip(made, arrays, strict=True):
                value.array = array
            for value in ends:
                value.array = True
        except BaseException as caught:
            error = caught
            if not isinstance(error, MXNetError):
                where = journal.ranges([origin])
                pushed = f"; pushed at {where}" if where else ""
                error = OpError(f"{name or 'host task'} failed: {caught}{pushed}")
                error.__cause__ = caught
            fail([*made, *ends], error)
            if not isinstance(caught, Exception):
                raise

    engine.push(
        run,
        reads=waits,
        writes=(var, *writes),
        priority=priority,
        lane=lane,
        name=name,
        origin=origin,
    )
    return made
