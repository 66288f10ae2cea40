"""The executor: one run of a partitioned graph, device by device.

Each device counts, for each of its programs, the inputs that are still missing; what has none left
is ready. A program that only has to be handed to XLA, or is light, is started at once by the thread
that found it ready, from a queue of that thread so that long chains do not nest; any other (one to
be compiled, Python code, a user's device) is a task of the engine, the most urgent first. What
waits for what, with branches and loops, is the affair of `dataflow`.
Devices know of each other only what comes through the rendezvous. This is the executor of
TensorFlow (Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed
Systems", 2015, sections 3.1 and 3.2.2), with programs of many nodes in the place of single ones.

A dead tensor comes from a branch that is not taken: what reads it does not run, and its results are
dead. The first failure ends a run: it aborts the rendezvous, and what has not begun does nothing.

Where a loop goes on is known when the value of its predicate is. Whoever waits for that value has
nothing else to start; and a user's thread, which has other things to do, leaves it to a task.

Programs are dispatched, not waited for: XLA runs them one after another on their device, and those
of several devices at once. Only while a profiler listens, programs are tasks which wait for their
end, so that a span in the trace is the time that the device is busy.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

import numpy as np

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import GraphError, InternalError, MXNetError, OpError

from ..record import waiting
from .dataflow import Dataflow, Iteration, Todo
from .device_plan import DevicePlan, DeviceProgram
from .program_run import error_of, run_program
from .rendezvous import Key, Received, Rendezvous, Sent, died

__all__ = ["GraphRun"]

#: Seconds in which threads see that a run has ended: longer than any step between programs.
_MOMENT: Final = 0.2


class _Inline(threading.local):
    """This thread's queue of work that is ready, started when it is done with what it does now.

    So long chains of small programs neither nest nor wait for other threads.

    Attributes:
        queue: what it has found ready and will start next; None outside of that.
        may_wait: whether it is a thread of the engine, and no user's.
    """

    queue: deque[Callable[[], None]] | None = None
    may_wait = False


_thread: Final = _Inline()


def _start_soon(work: Callable[[], None]) -> None:
    """Has this thread do something when it is done with what it does now."""
    if _thread.queue is not None:
        _thread.queue.append(work)
        return
    queue = _thread.queue = deque([work])
    try:
        while queue:
            queue.popleft()()
    finally:
        _thread.queue = None


def _as_task(work: Callable[[], None]) -> Callable[[], None]:
    """Returns a task of the engine that does something."""

    def task() -> None:
        was, _thread.may_wait = _thread.may_wait, True
        try:
            _start_soon(work)
        finally:
            _thread.may_wait = was

    return task


@contextmanager
def _at_once() -> Iterator[None]:
    """A block in which this thread starts at once what it finds ready.

    An operator of the user's may run a graph in it, and wait for that.
    """
    queue, _thread.queue = _thread.queue, None
    try:
        yield
    finally:
        _thread.queue = queue


@final
class GraphRun:
    """One run of all devices of this process.

    Args:
        plans: what each of them does.
        rendezvous: where they meet; of this run alone.
        numbers: the values of the `HostScalar`s.
        num_outputs: of the whole graph.
        origin: the user's line, for traces.
        refresh: may replace what a program is about to read; it is in a list.

    Attributes:
        outputs: JAX arrays, complete when it is finished without an error; those that a device of
            another process has stay None.
        error: why it failed.
        interrupted: whether that is Ctrl-C, which its user knows of.
        ended: whether all is done, or the first failure is there.
    """

    def __init__(
        self,
        plans: Sequence[DevicePlan],
        rendezvous: Rendezvous,
        numbers: Mapping[HostScalar, float],
        num_outputs: int,
        origin: engine.Origin | None,
        refresh: Callable[[DeviceProgram, list[Any]], None] | None = None,
    ) -> None:
        self.rendezvous = rendezvous
        self.refresh = refresh
        self.numbers = numbers
        self.origin = origin
        self.outputs: list[Any] = [None] * num_outputs
        self.error: MXNetError | InternalError | None = None
        self.interrupted = False
        self.ended = False
        self._finish: Callable[[], None] | None = None
        self._lock = threading.RLock()
        self._devices = [_DeviceRun(plan, self) for plan in plans]
        # Iterations that have not ended, outputs that are missing, and the start itself.
        self._left = sum(len(numbers) for plan in plans for numbers in plan.results.values()) + 1
        self._thread = threading.get_ident()
        self._loops = any(len(plan.frames) > 1 for plan in plans)

    def when_ended(self, finish: Callable[[], None]) -> None:
        """Has a function called when it has ended: now, if that is so."""
        with self._lock:
            if not self.ended:
                self._finish = finish
                return
        finish()

    def start(self, feeds: Sequence[Any]) -> None:
        """Begins, with a JAX array for each input of the whole graph."""
        if self._loops:
            waiting.loops[id(self)] = self
        _start_soon(lambda: self._start(feeds))

    def _start(self, feeds: Sequence[Any]) -> None:
        for device in self._devices:
            device.start(feeds)
        self.count(-1)

    def add(self, change: int) -> bool:
        """Notes that iterations began or ended, or outputs came; returns whether that was all."""
        with self._lock:
            self._left += change
            if self._left or self.ended:
                return False
            self.ended = True
            return True

    def count(self, change: int) -> None:
        """Does what `add` does, and finishes the run if that was all."""
        if self.add(change):
            self.finish()

    def finish(self) -> None:
        """Tells who waits for the end that it is there."""
        if self._loops:
            waiting.loops.pop(id(self), None)
        if self._finish is not None:
            self._finish()

    def fail(self, error: MXNetError | InternalError, cause: BaseException | None = None) -> None:
        """Ends the run, unless it has ended."""
        if cause is not None:
            error.__cause__ = cause
        with self._lock:
            if self.ended:
                return
            self.error, self.ended = error, True
        self.rendezvous.abort(error)
        self.finish()

    def interrupt(self, thread: int | None) -> None:
        """Ends the run, if this thread began it: it was to wait for it, and is not any more.

        Args:
            thread: which; None ends it whoever began it, since the process ends.
        """
        if thread in (self._thread, None) and not self.ended:
            self.interrupted = True
            what = "the end of the process" if thread is None else "KeyboardInterrupt"
            self.fail(OpError(f"the run did not end: {what} came first"))

    def give(self, number: int, value: Received, node: str) -> None:
        """Takes an output."""
        if value.dead:
            self.fail(
                GraphError(
                    f"output {number} ({node}) has no value: it is dead, since the branch that it "
                    "belongs to was not taken; merge it with the other branch first"
                )
            )
            return
        self.outputs[number] = value.value
        self.count(-1)


@final
class _DeviceRun:
    """One run of one device: does what its `Dataflow` says is to be done."""

    def __init__(self, plan: DevicePlan, run: GraphRun) -> None:
        self.plan = plan
        self.run = run
        self._lock = threading.RLock()
        self._flow = Dataflow(plan)

    def start(self, feeds: Sequence[Any]) -> None:
        given = [(slot, Received(feeds[number])) for number, slot in self.plan.feeds]
        self._do(self._flow.start, given)

    def _do(self, change: Callable[..., Todo], *args: Any) -> None:
        """Changes what is known, and does what that makes ready."""
        run = self.run
        try:
            with self._lock:
                if run.ended:
                    return
                todo = change(*args)
                is_last = run.add(todo.change) if todo.change else False
            for iteration, slot, transfer in todo.receives:
                loop = iteration.loop.path
                self._expect(iteration, slot, Key(*transfer, loop, iteration.number))
            if todo.came:
                self._hand_out(todo.came)
            for iteration, slot, tensor in todo.undecided:
                self._decide(iteration, slot, tensor)
            for iteration, program in todo.ready:
                self._schedule(iteration, program)
        except BaseException as caught:  # of ours, or Ctrl-C: nobody else would end the run
            context = self.plan.device.context
            run.fail(InternalError(f"the run failed on {context}: {caught!r}"), caught)
            raise
        if is_last:
            run.finish()

    def _expect(self, iteration: Iteration, slot: int, key: Key) -> None:
        def take(tensor: Received) -> None:
            if tensor.error is not None:
                self.run.fail(died(key, tensor.error))
                return
            try:
                if tensor.value is not None:
                    tensor = Received(self.plan.device.receive(tensor.value))
            except Exception as caught:
                self.run.fail(OpError(f"receive: {key} cannot be copied: {caught}"), caught)
                return
            self._do(self._flow.put, iteration, ((slot, tensor),), 1)

        self.run.rendezvous.receive_async(key, take)

    def _hand_out(self, came: Sequence[tuple[Iteration, int, Received]]) -> None:
        """Gives tensors to the user, and to other devices; these get together what was made so."""
        plan, run = self.plan, self.run
        away: list[Sent] = []
        for iteration, slot, tensor in came:
            for number in plan.results.get(slot, ()):
                run.give(number, tensor, f"on {plan.device.context}")
            for transfer in plan.sends.get(slot, ()):
                key = Key(*transfer, iteration.loop.path, iteration.number)
                away.append(Sent(key, tensor.value, tensor.dead))
        if away:  # what this makes ready on other devices must not keep this one waiting
            _start_soon(lambda: run.rendezvous.send_all(away))

    def _decide(self, iteration: Iteration, slot: int, tensor: Received) -> None:
        """Has the value of a predicate told, once it is known."""

        def tell() -> None:
            if self.run.ended:
                return
            try:
                truth = bool(np.asarray(tensor.value).reshape(()) != 0)
            except Exception as caught:
                self.run.fail(OpError(f"the condition{iteration.title} failed: {caught}"), caught)
                return
            self._do(self._flow.decided, iteration, slot, tensor, truth)

        if _thread.may_wait or tensor.value.is_ready():
            _start_soon(tell)
        else:
            name = f"{self.plan.device.context}: condition"
            engine.push(_as_task(tell), name=name, origin=self.run.origin)

    def _schedule(self, iteration: Iteration, program: DeviceProgram) -> None:
        def work() -> None:
            self._execute(iteration, program)

        if self.plan.is_quick(program):
            _start_soon(work)
        else:
            engine.push(
                _as_task(work),
                priority=program.urgency,
                name=program.title,
                origin=self.run.origin,
            )

    def _execute(self, iteration: Iteration, program: DeviceProgram) -> None:
        """Runs a program that is ready, and hands its results on."""
        with self._lock:
            taken = self._flow.take(iteration, program)
        run = self.run
        if run.ended:
            return
        if any(tensor.dead for tensor in taken):
            made = [Received(dead=True)] * len(program.makes)
        else:
            try:
                with _at_once():
                    values = [tensor.value for tensor in taken[: len(program.reads)]]
                    if run.refresh is not None:
                        run.refresh(program, values)
                    taken.clear()  # so that the program may be the last to hold them
                    arrays = run_program(self.plan, program, values, run.numbers, run.origin)
            except BaseException as caught:
                run.fail(error_of(self.plan, program, caught, iteration.title))
                if not isinstance(caught, Exception):
                    raise
                return
            made = [Received(array) for array in arrays]
        self.plan.warm.add(program.number)
        tensors = list(zip(program.makes, made, strict=True))
        if program.ends:
            dead = any(tensor.dead for tensor in taken)
            tensors += [(slot, Received(dead=dead)) for slot in program.ends]
        self._do(self._flow.put, iteration, tensors, 1)


def _end_loops() -> None:
    """Ends what still runs when the process does, and has not ended while the engine waited."""
    running = list(waiting.loops.values())
    for run in running:
        run.interrupt(None)
    if running:
        # A thread that is in XLA when Python goes would take the process down with a message.
        time.sleep(_MOMENT)


atexit.register(_end_loops)
