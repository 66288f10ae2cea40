"""Host tasks: work of the engine's threads on arrays, in order with what is recorded.

A host task reads Values and makes Values. They are pending until it has run, and recorded
operators that read them wait through the engine, not in the user's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

import numpy as np

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import Types

from ..observe import journal
from ..programs.host_program import in_host_memory
from ..segments.segment import Value
from . import recorder
from .failures import fail
from .waiting import ready_array, settled

__all__ = [
    "awaited",
    "awaited_ends",
    "failed",
    "push_async_task",
    "push_task",
]

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
    as_they_are: bool = False,
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
        as_they_are: `fn` gets and may return a `HostArray` where JAX has not begun, which is not
            begun for it then.

    Returns:
        The Values it will make. If it fails, they carry its error, which is raised where one of
        them is read, or by the next `wait_all`.

    Raises:
        MXNetError: inside a trace, which is one program and has no host tasks.
    """
    task = _HostTask(reads, types, name, engine.caller_origin(1))

    def run() -> None:
        arrays = task.arrays(settled if as_they_are else ready_array)
        if arrays is None:
            return
        try:
            task.settle(fn(*arrays))
        except BaseException as error:
            task.give_up(error)

    engine.push(
        run,
        reads=task.waits,
        writes=(task.var, *writes),
        priority=priority,
        lane=lane,
        name=name,
        origin=task.origin,
    )
    return task.made


def push_async_task(
    fn: Callable[..., None],
    reads: Sequence[Value],
    types: Types,
    *,
    writes: Sequence[engine.Var] = (),
    priority: int = 0,
    lane: str = "copy",
    name: str | None = None,
) -> list[Value]:
    """Pushes ``fn(done, *arrays)`` to the engine: work that goes on when `fn` has returned.

    It ends when ``done(result)`` is called, once and by whichever thread, with one array for each
    of `types`, or with the exception that it failed by. The arrays that `fn` gets are NumPy's,
    which it must not write; they stay as they are as long as it holds them. Everything else is as
    with `push_task`.
    """
    task = _HostTask(reads, types, name, engine.caller_origin(1))

    def run(complete: Callable[[], None]) -> None:
        def done(result: Sequence[Any] | BaseException) -> None:
            try:
                if isinstance(result, BaseException):
                    raise result
                task.settle(result)
            except Exception as error:
                task.give_up(error)
            complete()

        arrays = task.arrays(settled)
        if arrays is None:
            complete()
            return
        try:
            fn(done, *map(in_host_memory, arrays))
        except Exception as error:
            done(error)

    engine.push_async(
        run,
        reads=task.waits,
        writes=(task.var, *writes),
        priority=priority,
        lane=lane,
        name=name,
        origin=task.origin,
    )
    return task.made


@final
class _HostTask:
    """A host task: what it reads and makes, and how it fails.

    Args:
        reads: the Values it reads.
        types: of what it makes.
        name: for messages.
        origin: where it was asked for.
    """

    __slots__ = ("_ends", "_name", "_reads", "made", "origin", "var", "waits")

    def __init__(
        self, reads: Sequence[Value], types: Types, name: str | None, origin: engine.Origin | None
    ) -> None:
        if recorder.current_trace() is not None:
            raise MXNetError(f"{name or 'a host task'} cannot be part of a traced function")
        for value in reads:
            if value.segment is not None:
                recorder.launch(value.segment)
        self.origin = origin
        self.made = [Value(kind) for kind in types]
        self.var = engine.new_variable()
        self._ends = awaited_ends()
        for value in (*self.made, *self._ends):
            value.var = self.var
        self.waits = tuple({value.var for value in reads if value.var is not None})
        self._reads = reads
        self._name = name

    def arrays(self, of: Callable[[Value], Any] = ready_array) -> list[Any] | None:
        """Returns what it reads; None where something could not be made: the task fails, too."""
        # What could not be read is one failure, however many tasks it takes along. It is not
        # raised here, where nobody would be told.
        broken = next((value.error for value in self._reads if value.error is not None), None)
        if broken is None:
            try:
                return [of(value) for value in self._reads]
            except BaseException as error:
                self.give_up(error)
                return None
        fail([*self.made, *self._ends], broken)
        return None

    def settle(self, arrays: Sequence[DeviceArray]) -> None:
        """Takes what was made."""
        for value, array in zip(self.made, arrays, strict=True):
            value.array = array
        for value in self._ends:
            value.array = True

    def give_up(self, caught: BaseException) -> None:
        """Notes why nothing was made; raises what is no mere error."""
        error = caught
        where = journal.ranges([engine.raised_origin(caught)])
        raised = f"; raised at {where}" if where and where not in str(caught) else ""
        if not isinstance(error, MXNetError):
            where = journal.ranges([self.origin])
            pushed = f"; pushed at {where}" if where else ""
            error = OpError(f"{self._name or 'host task'} failed: {caught}{raised}{pushed}")
            error.__cause__ = caught
        elif raised and len(error.args) == 1:
            # Whoever waits raises it anew, by what it says: its traceback is not seen.
            error.args = (f"{error}{raised}",)
        fail([*self.made, *self._ends], error)
        if not isinstance(caught, Exception):
            raise caught
