"""`HostCall`: Python code that runs when a graph runs, and not while it is traced.

Such calls happen in program order, also inside traced functions, loops and branches. To be ordered
there, and to happen though nothing reads what they return, they read and overwrite an array that
stands for the world outside, one for each context; the trace carries it through like any array
from outside that a function changes (or like the state of a random generator).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet import engine, tape
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import DTypeError, MXNetError, ShapeError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.locks import free_in_children
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import RLock
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import put
from hybridnet.ops.core import Arrays, Backward, HostOnlyCall, Operand, Scalars, Types
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.tasks import push_task
from hybridnet.runtime.traces import init_scope

_IN_PROGRAM: Final = (
    "{name}: runs Python code on the host, and is no part of a compiled program; take it out of "
    "the loop or branch it is in"
)

_worlds: Final[dict[Context, NDArray]] = {}
# What every ordered call writes, for the engine to run them in the order in which they come.
_order: list[engine.Var] = []
_lock: Final = free_in_children(RLock())


class _Thread(threading.local):
    """Whether this thread is running the code of an ordered call."""

    inside = False


_thread: Final = _Thread()


def world(ctx: Context) -> NDArray:
    """Returns the array that stands for the world outside."""
    found = _worlds.get(ctx)
    if found is None:
        with _lock, init_scope():
            made = NDArray.from_value(put(np.zeros(1, np.int32), ctx), ctx)
            found = _worlds.setdefault(ctx, made)
    return found


def finish_host_calls(storage: Any) -> None:
    """Waits until what a function does to the world outside is done.

    A function that failed leaves no order behind that others would wait for.

    Args:
        storage: of an array that the function has overwritten.

    Raises:
        OpError: an `assert` in it failed, or it came to a `raise`.
    """
    known = _worlds.get(storage.ctx)
    if known is None or known.storage is not storage:
        return
    value = storage.value
    if value.segment is None and value.array is None and value.var is not None:
        engine.wait_for_var(value.var)
    if value.error is not None:
        storage.write(put(np.zeros(1, np.int32), storage.ctx))
        if _is_for_caller(value.error):
            recorder.ready_array(value)


def _is_for_caller(error: BaseException | None) -> bool:
    """Whether an error is that of an `assert` or `raise`: raised by the call, read or not."""
    while error is not None:
        if vars(error).get("for_caller"):
            return True
        error = error.__cause__
    return False


def _order_var() -> engine.Var:
    with _lock:
        if not _order:
            _order.append(engine.new_variable())
        return _order[0]


@final
class HostCall(HostOnlyCall):
    """Python code from NumPy arrays to NumPy arrays.

    An ordered one has an input and an output more than users know of: the world outside.

    Args:
        name: for messages.
        function: the code; gets one array for each input, and returns a sequence of arrays.
        types: of the results.
        gradient: the same for the gradients of the inputs, from the inputs and the gradients of
            the results; None where there are none.
        ordered: whether it must run, and in program order.
        waits: whether it has happened when the call returns.
    """

    __slots__ = ("_function", "_gradient", "_ordered", "_waits", "mutates", "name", "types")
    refusal, fault = _IN_PROGRAM, MXNetError
    on_host = True
    one_dtype = False
    symbolic_rule = False
    name: str

    def __init__(
        self,
        name: str,
        function: Callable[..., Sequence[Any]],
        num_inputs: int,
        types: Types,
        gradient: Callable[..., Sequence[Any]] | None = None,
        *,
        ordered: bool = True,
        waits: bool = False,
    ) -> None:
        self.name = name
        self._function = function
        self._gradient = gradient
        self._ordered = ordered
        self._waits = waits
        self.types = types
        self.num_visible = len(types)
        self.num_outputs = len(types) + ordered
        self.num_scalars = 0
        self.takes_state = False
        self.mutates = {num_inputs: len(types)} if ordered else {}

    @property
    def in_order(self) -> bool:  # type: ignore[override]  # a class attribute of other calls
        """Whether it is an ordered one."""
        return self._ordered

    @property
    def no_gradient(self) -> str:
        """Whether one was given."""
        return "" if self._gradient else f"{self.name} was given no gradient"

    def infer(self, types: Types) -> Types:
        """The types it was made with."""
        return (*self.types, *types[-1:]) if self._ordered else self.types

    def run_on_host(
        self, ctx: Context, values: Arrays, scalars: Scalars, record: object
    ) -> list[Any]:
        """Runs the code as a task of the engine, after the calls before it."""

        def task(*arrays: DeviceArray) -> list[Any]:
            return [*self._run(ctx, arrays), None]

        given = list(values[:-1]) if self._ordered else list(values)
        if self._ordered and _thread.inside:
            # Called by the code of an ordered call, which is not over before this one is.
            arrays = self._run(ctx, [recorder.ready_array(value) for value in given])
            made = [Value(kind, array) for kind, array in zip(self.types, arrays, strict=True)]
            return [*made, values[-1]]
        # One more than it returns: the Value by which a failure is known where nothing is returned.
        ends = tensor_type((), np.dtype(np.int32))
        writes = (_order_var(),) if self._ordered else ()
        made = push_task(task, given, (*self.types, ends), writes=writes, name=self.name)
        if self._waits:
            engine.wait_for_var(made[-1].var)
            if made[-1].error is not None:
                recorder.ready_array(made[-1])
        return [*made[:-1], *values[-1:]] if self._ordered else made[:-1]

    def _run(self, ctx: Context, arrays: Sequence[object]) -> list[Any]:
        """Runs the code; returns its results on the device."""
        state = tape.state
        before = state.recording, state.training, _thread.inside
        state.recording, state.training = False, False
        _thread.inside = before[2] or self._ordered
        try:
            made = list(self._function(*(np.asarray(array) for array in arrays)))
        finally:
            state.recording, state.training, _thread.inside = before
        if len(made) != len(self.types):
            raise ShapeError(f"{self.name}: must return {len(self.types)} arrays, got {len(made)}")
        return [put(self._checked(value, number), ctx).array for number, value in enumerate(made)]

    def _checked(self, value: object, number: int) -> NumpyArray:
        """Returns a result as an array of the type that was announced."""
        wanted = self.types[number]
        host = value.asnumpy() if isinstance(value, NDArray) else np.asarray(value)
        if host.shape != wanted.shape:
            raise ShapeError(
                f"{self.name}: result {number} must have shape {wanted.shape}, got {host.shape}"
            )
        if not np.can_cast(host.dtype, wanted.dtype, "same_kind"):
            raise DTypeError(
                f"{self.name}: result {number} must have dtype {wanted.dtype}, got {host.dtype}"
            )
        return host.astype(wanted.dtype, copy=False)

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Calls the user's code for the gradient, which is not itself differentiated."""
        assert self._gradient is not None
        count = len(back.inputs) - self._ordered
        inputs = back.inputs[:count]
        pairs = zip(back.grads[: self.num_visible], back.outputs, strict=False)
        heads = [output.zeros_like() if grad is None else grad for grad, output in pairs]
        wanted = zip(inputs, back.wanted, strict=False)
        floats = [
            i for i, (x, is_wanted) in enumerate(wanted) if is_wanted and is_float(x.type.dtype)
        ]
        if not floats:
            return [None] * len(back.inputs)
        gradient, name = self._gradient, f"gradient of {self.name}"

        def run(*arrays: DeviceArray) -> list[Any]:
            found = list(gradient(*arrays))
            if len(found) != count:
                raise ShapeError(
                    f"{name}: must return {count} gradients, one for each input, got {len(found)}"
                )
            return [np.zeros_like(arrays[i]) if found[i] is None else found[i] for i in floats]

        types = tuple(inputs[number].type for number in floats)
        call = HostCall(name, run, count + len(heads), types, ordered=False)
        result: list[Any] = [None] * len(back.inputs)
        for number, grad in zip(floats, back.apply(call, [*inputs, *heads]), strict=True):
            result[number] = grad
        return result

    def __repr__(self) -> str:
        return self.name


def _after_fork_in_child() -> None:
    """Forgets what the parent has pushed."""
    _order.clear()
    _worlds.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
