"""The state of a run on one device: which tensors are there, and what each program waits for.

This is a state machine without threads: tensors are put in, and out comes what is to be done next
(`Todo`). `device_run` does it. The primitives of control flow (Switch, Merge, Enter, Exit,
NextIteration) only hand tensors on, so they are carried out here, at once, by a loop that does not
recurse (Yu et al., "Dynamic Control Flow in Large-Scale Machine Learning", EuroSys 2018, section
4.3).

A *frame* is one loop of the graph. Each iteration of a frame has its own counts and tensors. It has
ended when all its programs and primitives have had their turn, dead or alive, and everything that
is received has come; then its memory is freed. At most `Frame.parallel_iterations` iterations are
under way at a time: the next one waits until the oldest has ended. A loop in a branch that is not
taken has no iterations: the first dead Enter makes all its Exits dead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, final

from hybridnet.passes import EnterCall, ExitCall, Frame, MergeCall, NextIterationCall, SwitchCall

from .device_plan import DevicePlan, DeviceProgram, FlowStep, FramePlan, Step
from .rendezvous import Key, Received

_DEAD: Final = Received(dead=True)
#: Stands in `Iteration.inner` for a loop that is not run, as it is in a branch that is not taken.
_NOT_RUN: Final = None


@final
class Iteration:
    """One iteration of a loop on one device; or everything that is outside of loops.

    Attributes:
        loop: the loop that it is an iteration of.
        number: the number of the iteration, from 0.
        waits: for each program and primitive, how many slots it still waits for.
        uses: for each slot, how many programs and primitives have not taken its tensor yet.
        tensors: the tensors by slot; a tensor is dropped after its last use.
        truths: for each predicate whose value is known, by slot, whether it is true.
        inner: the loops inside it that have begun; None for one that is not run.
        left: how many programs, primitives and receives have not ended.
    """

    __slots__ = ("inner", "left", "loop", "number", "tensors", "truths", "uses", "waits")

    def __init__(self, loop: _LoopRun, number: int) -> None:
        plan = loop.plan
        self.loop = loop
        self.number = number
        self.waits = plan.waits.copy()
        self.uses = plan.uses.copy()
        self.tensors: dict[int, Received] = {}
        self.truths: dict[int, bool] = {}
        self.inner: dict[Frame, _LoopRun | None] = {}
        self.left = len(plan.waits) + len(plan.receives)

    @property
    def title(self) -> str:
        """Names the iteration in messages; '' outside of loops."""
        return f" in iteration {self.number} of loop {self.loop.path}" if self.loop.path else ""

    def key(self, outside: Key) -> Key:
        """Returns the key of a tensor in this iteration, from that outside of loops."""
        path = self.loop.path
        return outside._replace(frame=path, iteration=self.number) if path else outside


@final
class _LoopRun:
    """A loop that has begun.

    Attributes:
        plan: what is done in each iteration.
        parent: the iteration around it.
        path: its name, which is unique in the run.
        iterations: the iterations that are under way.
        begun: how many iterations have begun.
        deferred: primitives and tensors for the next iteration, which may not begin yet.
        constants: the tensors, by slot, that go into every iteration.
    """

    __slots__ = ("begun", "constants", "deferred", "iterations", "parent", "path", "plan")

    def __init__(self, plan: FramePlan, parent: Iteration | None) -> None:
        self.plan = plan
        self.parent = parent
        self.path = ""
        if plan.frame is not None and parent is not None:
            name = plan.frame.name
            if plan.frame.parent is not None:
                around = f"{parent.loop.path}[{parent.number}]"
                name = around + name.removeprefix(plan.frame.parent.name)
            self.path = name
        self.iterations: dict[int, Iteration] = {}
        self.begun = 0
        self.deferred: list[tuple[FlowStep, Received]] = []
        self.constants: dict[int, Received] = {}

    @property
    def is_full(self) -> bool:
        """Whether as many iterations are under way as are allowed."""
        frame = self.plan.frame
        return frame is not None and len(self.iterations) >= frame.parallel_iterations


@final
class Todo:
    """The work that is to be done next, in the order of the attributes.

    Attributes:
        change: how many more iterations are under way than before.
        begun: iterations that have begun and need tensors that are to be received.
        came: tensors that are to be sent, or are results: (iteration, slot, tensor).
        undecided: predicates: (iteration, slot, tensor). Their values have to be read and passed to
            `Dataflow.decided`.
        ready: programs to be run.
    """

    __slots__ = ("begun", "came", "change", "ready", "undecided")

    def __init__(self) -> None:
        self.change = 0
        self.begun: list[Iteration] = []
        self.came: list[tuple[Iteration, int, Received]] = []
        self.undecided: list[tuple[Iteration, int, Received]] = []
        self.ready: list[tuple[Iteration, DeviceProgram]] = []


@final
class Dataflow:
    """The state of one device in one run. Callers must hold a lock.

    Args:
        plan: what the device does.
    """

    def __init__(self, plan: DevicePlan) -> None:
        self._plan = plan
        self._todo = Todo()
        self._queue: deque[tuple[Iteration, int, Received]] = deque()
        self._outermost = _LoopRun(plan.frames[None], None)

    def start(self, feeds: Iterable[tuple[int, Received]]) -> Todo:
        """Begins the run. `feeds` are the inputs: pairs of a slot and a tensor."""
        iteration = self._begin(self._outermost)
        iteration.left += 1  # so that it cannot end while tensors are being put in
        for number in self._plan.frames[None].starts:
            self._run(iteration, number)
        return self.put(iteration, feeds, 1)

    def put(
        self, iteration: Iteration, tensors: Iterable[tuple[int, Received]], ended: int = 0
    ) -> Todo:
        """Puts tensors into their slots; `ended` says how many programs or receives have ended."""
        for slot, tensor in tensors:
            self._arrive(iteration, slot, tensor)
        self._drain()
        if ended:
            self._end(iteration, ended)
            self._drain()
        return self._done()

    def decided(self, iteration: Iteration, slot: int, tensor: Received, truth: bool) -> Todo:
        """Takes the value of a predicate, `truth`."""
        iteration.truths[slot] = truth
        self._hand_on(iteration, slot, tensor)
        self._drain()
        return self._done()

    def take(self, iteration: Iteration, step: Step) -> list[Received]:
        """Returns the tensors that a program or primitive reads, then those it only waited for.

        A tensor that nothing else reads is dropped.
        """
        taken = []
        tensors, uses = iteration.tensors, iteration.uses
        for slot in (*step.reads, *step.after):
            taken.append(tensors[slot])
            uses[slot] -= 1
            if not uses[slot]:
                del tensors[slot]
        return taken

    def _done(self) -> Todo:
        done, self._todo = self._todo, Todo()
        return done

    def _drain(self) -> None:
        """Hands tensors on until no primitive has anything left to hand on."""
        queue = self._queue
        while queue:
            self._arrive(*queue.popleft())

    def _arrive(self, iteration: Iteration, slot: int, tensor: Received) -> None:
        plan = self._plan
        if slot in plan.sends or slot in plan.results:
            self._todo.came.append((iteration, slot, tensor))
        if slot in plan.predicates and not tensor.dead and slot not in iteration.truths:
            self._todo.undecided.append((iteration, slot, tensor))
        else:
            self._hand_on(iteration, slot, tensor)

    def _hand_on(self, iteration: Iteration, slot: int, tensor: Received) -> None:
        """Puts a tensor into its slot, and counts down what waits for it."""
        if slot in iteration.uses:
            iteration.tensors[slot] = tensor
        waits, programs = iteration.waits, len(self._plan.programs)
        for number in self._plan.readers[slot]:
            if number >= programs:
                step = self._plan.steps[number - programs]
                if type(step.call) is MergeCall:
                    self._merge(iteration, step, tensor)
                    continue
            waits[number] -= 1
            if not waits[number]:
                self._run(iteration, number)

    def _run(self, iteration: Iteration, number: int) -> None:
        """Takes a program or primitive that waits no more: notes the one, carries out the other."""
        programs = self._plan.programs
        if number < len(programs):
            self._todo.ready.append((iteration, programs[number]))
        else:
            self._step(iteration, self._plan.steps[number - len(programs)])

    def _merge(self, iteration: Iteration, step: FlowStep, tensor: Received) -> None:
        """Gives a Merge one of its inputs. It hands on a live one, or a dead one if all are."""
        left = iteration.waits[step.number] = iteration.waits[step.number] - 1
        if left < 0 or (tensor.dead and left):  # it has had its turn, or others may be alive
            return
        self._fill(iteration, step, tensor)

    def _fill(self, iteration: Iteration, merge: FlowStep, tensor: Received) -> None:
        """Puts the value that a Merge hands on into its slots."""
        iteration.waits[merge.number] = 0
        self._finish(iteration, merge, [tensor])

    def _finish(self, iteration: Iteration, step: FlowStep, made: Sequence[Received]) -> None:
        """Hands on what a primitive makes, in its own iteration."""
        self._queue.extend((iteration, *pair) for pair in zip(step.makes, made, strict=True))
        ends = _DEAD if all(tensor.dead for tensor in made) else Received()
        self._queue.extend((iteration, slot, ends) for slot in step.ends)
        self._end(iteration, 1)

    def _step(self, iteration: Iteration, step: FlowStep) -> None:
        taken = self.take(iteration, step)
        dead = any(tensor.dead for tensor in taken)
        tensor = _DEAD if dead else taken[0]
        call = step.call
        if type(call) is SwitchCall:
            truth = not dead and iteration.truths[step.reads[1]]
            made = [_DEAD, tensor] if truth else [tensor, _DEAD]
            self._finish(iteration, step, made)
        elif type(call) is EnterCall:
            self._enter(iteration, step, call, tensor)
            self._end(iteration, 1)
        elif type(call) is ExitCall:
            around = iteration.loop.parent
            if not dead:
                assert around is not None
                slots = (*step.makes, *step.ends)
                self._queue.extend((around, slot, tensor) for slot in slots)
            self._end(iteration, 1)
        elif type(call) is NextIterationCall:
            if not dead:
                self._next(iteration, iteration.loop.plan.merges[call.number], tensor)
            self._end(iteration, 1)
        else:
            self._finish(iteration, step, [tensor])

    def _enter(
        self, iteration: Iteration, step: FlowStep, call: EnterCall, tensor: Received
    ) -> None:
        plan = self._plan.frames[call.frame]
        if call.frame not in iteration.inner:
            if tensor.dead:
                iteration.inner[call.frame] = _NOT_RUN
                self._queue.extend((iteration, slot, tensor) for slot in plan.exits)
            else:
                loop = iteration.inner[call.frame] = _LoopRun(plan, iteration)
                self._begin(loop)
        found = iteration.inner[call.frame]
        if found is None:
            return
        (slot,) = step.makes
        if call.is_constant:
            found.constants[slot] = tensor
            self._queue.extend((inner, slot, tensor) for inner in found.iterations.values())
        else:
            self._queue.append((found.iterations[0], slot, tensor))

    def _next(self, iteration: Iteration, merge: FlowStep, tensor: Received) -> None:
        """Hands a loop variable to the next iteration; the first one begins that iteration."""
        loop = iteration.loop
        target = loop.iterations.get(iteration.number + 1)
        if target is None:
            if loop.is_full:
                loop.deferred.append((merge, tensor))
                return
            target = self._begin(loop)
        self._fill(target, merge, tensor)

    def _begin(self, loop: _LoopRun) -> Iteration:
        made = Iteration(loop, loop.begun)
        loop.iterations[loop.begun] = made
        loop.begun += 1
        self._todo.change += 1
        if loop.plan.receives:
            self._todo.begun.append(made)
        self._queue.extend((made, *constant) for constant in loop.constants.items())
        return made

    def _end(self, iteration: Iteration, count: int) -> None:
        """Notes that `count` programs, primitives or receives of an iteration have ended."""
        iteration.left -= count
        if iteration.left:
            return
        loop = iteration.loop
        del loop.iterations[iteration.number]
        self._todo.change -= 1
        if loop.deferred:
            waiting, loop.deferred = loop.deferred, []
            target = self._begin(loop)
            for merge, tensor in waiting:
                self._fill(target, merge, tensor)
