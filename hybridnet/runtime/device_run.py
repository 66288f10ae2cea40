"""The executor: one run of a partitioned graph, device by device.

Each device counts, for each of its programs, the inputs that are still missing; what has none left
is ready. A program that only has to be handed to XLA, or is light, is started at once by the thread
that found it ready, from a queue of that thread so that long chains do not nest; any other (one to
be compiled, Python code, a user's device) is a task of the engine, the most urgent first.
Devices know of each other only what comes through the rendezvous. This is the executor of
TensorFlow (Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed
Systems", 2015, sections 3.1 and 3.2.2), with programs of many nodes in the place of single ones.

A dead tensor comes from a branch that is not taken: what reads it does not run, and its results are
dead. The first failure ends a run: it aborts the rendezvous, and what has not begun does nothing.

Programs are dispatched, not waited for: XLA runs them one after another on their device, and those
of several devices at once. Only while a profiler listens, programs are tasks which wait for their
end, so that a span in the trace is the time that the device is busy.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import GraphError, MXNetError, OpError
from hybridnet.graph.node import Node
from hybridnet.ops.call import Types
from hybridnet.passes.partition import Transfer

from . import journal, launch, observe, recorder
from .device_plan import DevicePlan, Program
from .rendezvous import Key, Received, Rendezvous, died
from .segment import Code, Value

__all__ = ["GraphRun"]


class _Thread(threading.local):
    """The programs that this thread has found ready and will start next; None outside of that."""

    queue: deque[Callable[[], None]] | None = None


_thread: Final = _Thread()


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


@contextmanager
def _apart() -> Iterator[None]:
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
    """One run of all devices.

    Args:
        plans: what each device does.
        rendezvous: where they meet; of this run alone.
        numbers: the values of the `HostScalar`s.
        num_outputs: of the whole graph.
        origin: the user's line, for traces.

    Attributes:
        outputs: JAX arrays, complete when it is finished without an error.
        error: why it failed.
        ended: whether all is done, or the first failure is there.
    """

    def __init__(
        self,
        plans: Sequence[DevicePlan],
        rendezvous: Rendezvous,
        numbers: Mapping[HostScalar, float],
        num_outputs: int,
        origin: engine.Origin | None,
    ) -> None:
        self.rendezvous = rendezvous
        self.numbers = numbers
        self.origin = origin
        self.outputs: list[Any] = [None] * num_outputs
        self.error: MXNetError | None = None
        self.ended = False
        self._finish: Callable[[], None] | None = None
        self._lock = threading.RLock()
        self._devices = [_DeviceRun(plan, self) for plan in plans]
        # Programs that have not ended, and outputs that are missing.
        self._left = num_outputs + sum(len(plan.programs) for plan in plans)

    def when_ended(self, finish: Callable[[], None]) -> None:
        """Has a function called when it has ended: now, if that is so."""
        with self._lock:
            if not self.ended:
                self._finish = finish
                return
        finish()

    def start(self, feeds: Sequence[Any]) -> None:
        """Begins, with a JAX array for each input of the whole graph."""
        _start_soon(lambda: self._start(feeds))

    def _start(self, feeds: Sequence[Any]) -> None:
        for one in self._devices:
            one.start(feeds)
        self.count_down(0)

    def count_down(self, count: int = 1) -> None:
        """Notes that a program ended or outputs came; the last one finishes the run."""
        with self._lock:
            self._left -= count
            if self._left or self.ended:
                return
            self.ended = True
        if self._finish is not None:
            self._finish()

    def fail(self, error: MXNetError) -> None:
        """Ends the run, unless it has ended."""
        with self._lock:
            if self.ended:
                return
            self.error, self.ended = error, True
        self.rendezvous.abort(error)
        if self._finish is not None:
            self._finish()

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
        self.count_down()


@final
class _DeviceRun:
    """One run of one device: what its programs still wait for, and the tensors there are."""

    def __init__(self, plan: DevicePlan, run: GraphRun) -> None:
        self.plan = plan
        self.run = run
        self._lock = threading.RLock()
        self._pending = [len(program.reads) for program in plan.programs]
        self._tensors: dict[int, Received] = {}
        # How many programs have not taken a slot's tensor yet: with the last it is let go.
        self._uses = [len(readers) for readers in plan.readers]

    def start(self, feeds: Sequence[Any]) -> None:
        for slot, transfer in self.plan.receives:
            self._expect(slot, Key(*transfer))
        ready = [one for one in self.plan.programs if not one.reads]
        for number, slot in self.plan.feeds:
            ready += self._fill(slot, Received(feeds[number]))
        self._schedule(ready)

    def _expect(self, slot: int, key: Key) -> None:
        def take(one: Received) -> None:
            if one.error is not None:
                self.run.fail(died(key, one.error))
                return
            try:
                if not one.dead:
                    one = Received(self.plan.device.receive(one.value))
            except Exception as caught:
                error = OpError(f"receive: {key} cannot be copied: {caught}")
                error.__cause__ = caught
                self.run.fail(error)
                return
            self._schedule(self._fill(slot, one))

        self.run.rendezvous.receive_async(key, take)

    def _fill(self, slot: int, tensor: Received) -> list[Program]:
        """Puts a tensor in its slot and where else it is wanted; returns what is ready by that."""
        plan, ready = self.plan, []
        with self._lock:
            if self._uses[slot]:
                self._tensors[slot] = tensor
            for number in plan.readers[slot]:
                self._pending[number] -= 1
                if not self._pending[number]:
                    ready.append(plan.programs[number])
        for number in plan.results.get(slot, ()):
            self.run.give(number, tensor, f"on {plan.device.context}")
        for transfer in plan.sends.get(slot, ()):
            self._send(transfer, tensor)
        return ready

    def _send(self, transfer: Transfer, tensor: Received) -> None:
        # What this makes ready on the other device must not keep this one waiting.
        _start_soon(lambda: self.run.rendezvous.send(Key(*transfer), tensor.value, tensor.dead))

    def _schedule(self, ready: Sequence[Program]) -> None:
        for program in ready:
            if self.plan.is_quick(program):
                _start_soon(lambda program=program: self._execute(program))  # type: ignore[misc]
            else:
                engine.push(
                    lambda program=program: _start_soon(  # type: ignore[misc]
                        lambda: self._execute(program)
                    ),
                    priority=program.urgency,
                    name=program.title,
                    origin=self.run.origin,
                )

    def _execute(self, program: Program) -> None:
        """Runs a program that is ready, and hands its results on."""
        inputs = self._take(program)
        if self.run.ended:
            return
        if any(one.dead for one in inputs):
            made = [Received(dead=True)] * len(program.makes)
        else:
            try:
                with _apart():
                    values = [one.value for one in inputs]
                    arrays = _run_program(self.plan, program, values, self.run)
            except BaseException as caught:
                self.run.fail(_error_of(self.plan, program, caught))
                if not isinstance(caught, Exception):
                    raise
                return
            made = [Received(array) for array in arrays]
        self.plan.warm.add(program.number)
        ready: list[Program] = []
        for slot, tensor in zip(program.makes, made, strict=True):
            ready += self._fill(slot, tensor)
        self._schedule(ready)
        self.run.count_down()

    def _take(self, program: Program) -> list[Received]:
        taken = []
        with self._lock:
            for slot in program.reads:
                taken.append(self._tensors[slot])
                self._uses[slot] -= 1
                if not self._uses[slot]:
                    del self._tensors[slot]
        return taken


class _Failed(Exception):
    """A node's failure, with the node."""

    def __init__(self, node: Node, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.node = node
        self.cause = cause


def _error_of(plan: DevicePlan, program: Program, caught: BaseException) -> MXNetError:
    if isinstance(caught, _Failed):
        nodes, cause = [caught.node], caught.cause
    else:
        nodes, cause = list(program.nodes), caught
    titles = ", ".join(node.title for node in nodes[:3])
    rest = f" or one of {len(nodes) - 3} more" if len(nodes) > 3 else ""
    what = "node" if len(nodes) == 1 else "one of the nodes"
    error = OpError(f"{what} {titles}{rest} on {plan.device.context} failed: {cause}")
    error.__cause__ = cause
    return error


def _numbers(scalars: Sequence[Any], run: GraphRun) -> list[Any]:
    return [run.numbers[one] if type(one) is HostScalar else one for one in scalars]


def _run_program(
    plan: DevicePlan, program: Program, arrays: list[Any], run: GraphRun
) -> Sequence[Any]:
    """Runs a program on its device; returns its outputs.

    Raises:
        Exception: whatever the device has against it; the node is named where that can be told.
    """
    scalars = _numbers(program.scalars, run)
    if program.call.on_host:
        return _run_apart(program, arrays, scalars)
    note = journal.Launch(program.code, list(scalars))
    journal.launches.append(note)
    if journal.is_listening():
        note.lines, note.origin, note.how = {0: run.origin}, run.origin, "as part of a graph"
    try:
        outputs = plan.device.run(program.code, list(arrays), scalars)
    except Exception:
        if len(program.nodes) == 1:
            raise
        return _run_nodes(plan, program, arrays, run)
    if outputs:
        launch.note_dispatched(program.code.ctx, outputs[0])
    if observe.observer is not None:
        for array in outputs:
            array.block_until_ready()
    return outputs


def _run_apart(program: Program, arrays: list[Any], scalars: Sequence[Any]) -> Sequence[Any]:
    """Runs a program with Python code in it, node by node, in this thread."""
    ctx = program.code.ctx
    values = [
        Value(kind, array) for kind, array in zip(program.code.input_types, arrays, strict=True)
    ]
    made = program.call.run_apart(ctx, values, tuple(scalars), recorder.record)
    return [recorder.ready_array(value) for value in made]


def _run_nodes(
    plan: DevicePlan, program: Program, arrays: list[Any], run: GraphRun
) -> Sequence[Any]:
    """Runs the nodes of a program that failed one by one: so the one that fails is known."""
    graph = program.graph
    made: dict[Node, Sequence[Any]] = {
        node: (array,) for node, array in zip(graph.inputs, arrays, strict=True)
    }
    types: dict[Node, Types] = {
        node: (kind,) for node, kind in zip(graph.inputs, program.call.input_types, strict=True)
    }
    for node in program.nodes:
        assert node.call is not None
        inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
        operands = tuple(range(-1, ~len(inputs), -1))
        count = node.call.num_outputs
        code = Code(plan.device.context, ((node.call, operands),), inputs, tuple(range(count)), ())
        given = [made[edge.node][edge.index] for edge in node.inputs]
        try:
            types[node] = node.call.infer(inputs)
            made[node] = plan.device.run(code, given, _numbers(node.scalars, run))
        except Exception as caught:
            raise _Failed(node, caught) from caught
    return [made[edge.node][edge.index] for edge in graph.outputs]
