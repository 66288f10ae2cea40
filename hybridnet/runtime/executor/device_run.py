"""The executor: one run of a partitioned graph, device by device.

For each of its programs a device counts the inputs that are still missing; when none is, the
program is ready (`dataflow` keeps this account, also for branches and loops). If a ready program
only has to be handed to XLA, or is light, the thread that found it ready starts it at once; such
programs go through a queue of the thread, so that long chains do not recurse. Any other program
(one that must be compiled first, Python code, a user's device) becomes a task of the engine, the
most urgent first.

Devices exchange tensors only through the rendezvous. This is the executor of TensorFlow (Abadi et
al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems", 2015, sections
3.1 and 3.2.2), but with programs of many nodes where TensorFlow has single nodes.

A *dead* tensor stands for a value in a branch that is not taken. A program that reads one does not
run, and its results are dead, too. The first failure ends the run: it aborts the rendezvous, and
programs that have not begun do nothing.

Whether a loop goes on depends on the value of its predicate, for which a thread has to wait. A
thread of the engine does so only when it has nothing else to start; a user's thread leaves the
waiting to a task.

The executor dispatches programs and does not wait for them: XLA runs those of one device one after
another, and those of several devices in parallel. Only while a profiler listens, each program is a
task that waits for its end, so that a span in the trace shows how long the device was busy.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import GraphError, InternalError, MXNetError, OpError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.engine import RLock

from ..record import waiting
from .dataflow import Iteration, Todo
from .device_plan import DevicePlan, DeviceProgram
from .program_run import error_of, run_program
from .ready_queue import ReadyQueueError, accounts
from .rendezvous import Received, Rendezvous, Sent, died

#: Seconds in which threads see that a run has ended: longer than any step between programs.
_MOMENT_SECONDS: Final = 0.2


class _Inline(threading.local):
    """The queue of ready work of each thread.

    A thread starts what is in its queue when it has finished what it is doing. So a long chain of
    small programs neither recurses nor has to wait for other threads.

    Attributes:
        queue: the work to be started next; None while the thread is not working off a queue.
        may_wait: whether the thread may wait for values: it is one of the engine's, not a user's.
    """

    queue: deque[Callable[[], None]] | None = None
    may_wait = False


_thread: Final = _Inline()


def _start_soon(work: Callable[[], None]) -> None:
    """Puts work into this thread's queue; starts it now if the thread is doing nothing else."""
    if _thread.queue is not None:
        _thread.queue.append(work)
        return
    queue = _thread.queue = deque([work])
    try:
        _work_off(queue)
    finally:
        _thread.queue = None


def _work_off(queue: deque[Callable[[], None]]) -> None:
    while queue:
        queue.popleft()()


def _as_task(work: Callable[[], None]) -> Callable[[], None]:
    """Returns a function that does some work as a task of the engine."""

    def task() -> None:
        was, _thread.may_wait = _thread.may_wait, True
        try:
            _start_soon(work)
        finally:
            _thread.may_wait = was

    return task


@final
class GraphRun:
    """One run of a partitioned graph on all devices of this process.

    Args:
        plans: the plan of each device.
        rendezvous: the rendezvous of this run.
        numbers: the values of the `HostScalar`s in this run.
        num_outputs: the number of outputs of the whole graph.
        origin: the user's line, for traces.
        refresh: a function that may replace the arrays that a program is about to read; it gets
            them in a list.
        awaited: whether its results are waited for at once.

    Attributes:
        outputs: the outputs as JAX arrays or `HostArray`, complete when the run has ended without
            an error. Those that a device of another process has stay None.
        error: the error by which the run failed, or None.
        interrupted: whether that error is Ctrl-C, so that the user need not be told of it.
        ended: whether everything is done, or something has failed.
    """

    def __init__(
        self,
        plans: Sequence[DevicePlan],
        rendezvous: Rendezvous,
        numbers: Mapping[HostScalar, float],
        num_outputs: int,
        origin: engine.Origin | None,
        refresh: Callable[[DeviceProgram, list[Any]], None] | None = None,
        awaited: bool = False,
    ) -> None:
        self.rendezvous = rendezvous
        self.refresh = refresh
        self.awaited = awaited
        self.numbers = numbers
        self.origin = origin
        self.outputs: list[Any] = [None] * num_outputs
        self.error: MXNetError | InternalError | None = None
        self.interrupted = False
        self.ended = False
        self._finish: Callable[[], None] | None = None
        self._lock = RLock()
        self._devices = [_DeviceRun(plan, self) for plan in plans]
        # Iterations that have not ended, outputs that are missing, and the start itself.
        self._left = sum(len(numbers) for plan in plans for numbers in plan.results.values()) + 1
        self._thread = threading.get_ident()
        self._loops = any(len(plan.frames) > 1 for plan in plans)

    def when_ended(self, finish: Callable[[], None]) -> None:
        """Sets the function to be called when the run has ended: now, if it has."""
        with self._lock:
            if not self.ended:
                self._finish = finish
                return
        finish()

    def start(self, feeds: Sequence[DeviceArray]) -> None:
        """Begins, with a JAX array for each input of the whole graph."""
        if self._loops:
            waiting.loops[id(self)] = self
        _start_soon(lambda: self._start(feeds))

    def _start(self, feeds: Sequence[DeviceArray]) -> None:
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
        # Both refer to it: with them its tensors would stay until cycles are looked for.
        finish, self._finish, self._devices = self._finish, None, []
        if finish is not None:
            finish()

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
        self._lock = RLock()
        self._flow = accounts.make(plan)

    def start(self, feeds: Sequence[DeviceArray]) -> None:
        given = [(slot, Received(feeds[number])) for number, slot in self.plan.feeds]
        self._do(self._flow.start, given)

    def _do(self, change: Callable[..., Todo], *args: object) -> None:
        """Changes what is known, and does what that makes ready."""
        run = self.run
        try:
            with self._lock:
                if run.ended:
                    return
                todo = change(*args)
                is_last = run.add(todo.change) if todo.change else False
            for iteration in todo.begun:
                self._expect(iteration)
            if todo.came:
                self._hand_out(todo.came)
            for iteration, slot, tensor in todo.undecided:
                self._decide(iteration, slot, tensor)
            for iteration, program in todo.ready:
                self._schedule(iteration, program)
        except ReadyQueueError as caught:
            run.fail(caught)
            return
        except BaseException as caught:  # of ours, or Ctrl-C: nobody else would end the run
            context = self.plan.device.context
            run.fail(InternalError(f"the run failed on {context}: {caught!r}"), caught)
            raise
        if is_last:
            run.finish()

    def _expect(self, iteration: Iteration) -> None:
        """Receives the tensors that an iteration needs, as they come."""
        wanted = [(iteration.key(key), (slot, key)) for slot, key in iteration.loop.plan.receives]

        def take(came: list[tuple[Any, Received]]) -> None:
            tensors = []
            for (slot, key), tensor in came:
                if tensor.error is not None:
                    self.run.fail(died(iteration.key(key), tensor.error))
                    return
                try:
                    if tensor.value is not None:
                        tensor = Received(self.plan.device.receive(tensor.value))
                except Exception as caught:
                    what = f"receive: {iteration.key(key)} cannot be copied: {caught}"
                    self.run.fail(OpError(what), caught)
                    if is_from_signal(caught):
                        raise
                    return
                tensors.append((slot, tensor))
            self._do(self._flow.put, iteration, tensors, len(tensors))

        self.run.rendezvous.receive_all(wanted, take)

    def _hand_out(self, came: Sequence[tuple[Iteration, int, Received]]) -> None:
        """Gives tensors to the user, and to other devices; these get together what was made so."""
        plan, run = self.plan, self.run
        away: list[Sent] = []
        for iteration, slot, tensor in came:
            for number in plan.results.get(slot, ()):
                run.give(number, tensor, f"on {plan.device.context}")
            for key in plan.sends.get(slot, ()):
                away.append(Sent(iteration.key(key), tensor.value, tensor.dead))
        if away:  # what this makes ready on other devices must not keep this one waiting
            _start_soon(lambda: run.rendezvous.send_all(away))

    def _decide(self, iteration: Iteration, slot: int, tensor: Received) -> None:
        """Tells the dataflow the value of a predicate, once it is known."""

        def tell() -> None:
            if self.run.ended:
                return
            try:
                truth = bool(np.asarray(tensor.value).reshape(()) != 0)
            except Exception as caught:
                self.run.fail(OpError(f"the condition{iteration.title} failed: {caught}"), caught)
                if is_from_signal(caught):
                    raise
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
            # A user's operator may itself run a graph and wait for it, which would never end if
            # that graph's work stood in this thread's queue behind the operator.
            queue, _thread.queue = _thread.queue, None
            try:
                values = [tensor.value for tensor in taken[: len(program.reads)]]
                if run.refresh is not None:
                    run.refresh(program, values)
                taken.clear()  # so that the program may be the last to hold them
                numbers, origin = run.numbers, run.origin
                arrays = run_program(self.plan, program, values, numbers, origin, run.awaited)
            except BaseException as caught:
                run.fail(error_of(self.plan, program, caught, iteration.title))
                if not isinstance(caught, Exception) or is_from_signal(caught):
                    raise
                return
            finally:
                _thread.queue = queue
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
        time.sleep(_MOMENT_SECONDS)


atexit.register(_end_loops)
