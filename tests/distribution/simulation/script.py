"""What a worker's program does: configure, make keys, some steps of pushes and pulls, leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from distribution.simulation import data
from distribution.simulation.drawn import MORE, Schedule
from distribution.simulation.server_disk import Wrong

from hybridnet.kvstore.protocol import WorkerMachine
from hybridnet.kvstore.protocol.words import (
    Begin,
    CallBarrier,
    CallCommand,
    CallConfigure,
    CallInit,
    CallLeave,
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    Deliver,
    Done,
    PartId,
    Raise,
    StoreSettings,
)


@dataclass
class Reading:
    """What a call of a step is to read."""

    step: int
    key: int
    rows: tuple[int, ...] | None


@dataclass
class Outcome:
    """How a worker's program ended."""

    raised: str = ""
    at: float = 0.0
    steps: int = 0
    rounds: dict[Any, Any] = field(default_factory=dict)


class Script:
    """The program of one worker process; it makes calls when those before are complete.

    Args:
        schedule: what it does.
        reads: of all processes: (part, round) -> the value that somebody saw.
    """

    def __init__(self, schedule: Schedule, reads: dict[Any, Any]) -> None:
        self._schedule = schedule
        self._reads = reads
        self._call = 0
        self._open: set[int] = set()
        self._reading: dict[int, Reading] = {}
        self._fetching: dict[int, int] = {}
        #: by key and part: all of it, and how many updates there were.
        self._fetched: dict[int, dict[int, tuple[Any, int]]] = {}
        #: by step, what was read in it.
        self._seen: dict[int, dict[tuple[PartId, int], int]] = {}
        self._at_barrier: dict[int, set[int]] = {}
        self._commanding: dict[int, list[str]] = {}
        self._todo: list[Callable[[], list[Any]]] = []
        self._changing: dict[int, StoreSettings] = {}
        self._machine: WorkerMachine | None = None
        self.rank = -1
        self.first = 1
        self.leaves = self.finished = False
        #: whether it stays at its end until the others have come to theirs.
        self.waits = not schedule.barriers
        self.raised: tuple[str, str] | None = None

    def start(self) -> list[Any]:
        """The first calls, made before anybody has answered."""
        schedule = self._schedule
        # A store that is set up later is there, and takes sums until then.
        self._todo = [
            lambda number=number, late=store.late: self._configure(number, bare=late)
            for number, store in enumerate(schedule.stores)
        ]
        self._todo.append(
            lambda: [CallInit(self._new(), n, key, 0) for n, key in enumerate(schedule.keys)]
        )
        if schedule.barriers:
            self._todo.append(lambda: self._barrier("", "first"))
        self._todo.append(self._plan_steps)
        return self._next()

    def _settings(self, number: int, bare: bool, changed: int) -> StoreSettings:
        store = self._schedule.stores[number]
        times = store.times + MORE * changed
        text = f"{'add' if store.adds else 'set'} {times}"
        if bare or (text == "set 1"):
            text = ""
        return StoreSettings(0, store.kind, text, store.staleness, store=number)

    def _configure(self, number: int, *, bare: bool = False, changed: int = 0) -> list[Any]:
        call, settings = self._new(), self._settings(number, bare, changed)
        if changed:
            self._changing[call] = settings
        return [CallConfigure(call, settings, changed > 0)]

    def _change(self, number: int, after: int) -> list[Any]:
        """Changes the settings of a store after a step, if it has changes there."""
        changes = self._schedule.stores[number].changes
        is_last = after == self._schedule.steps  # no push follows
        changed = 1 + changes.index(after) if after in changes and not is_last else 0
        return self._configure(number, changed=changed) if changed else []

    def _change_again(self, number: int) -> list[Any]:
        """A process that was started again changes what its predecessor may not have changed."""
        changes = self._schedule.stores[number].changes
        changed = sum(after < self.first for after in changes)
        if not changed or self._in_force(number) == self._settings(number, False, changed):
            return []
        return self._configure(number, changed=changed)

    def _in_force(self, number: int) -> StoreSettings:
        assert self._machine is not None
        return replace(self._machine._requests.view.settings_of(number), number=0)

    def _check_settings(self, call: int) -> None:
        """What a worker asked for is in force, and it knows; others may be further in "async"."""
        settings = self._changing.pop(call, None)
        if settings is None or settings.consistency == "async":
            return
        if self._in_force(settings.store) != settings:
            raise Wrong(f"worker {self.rank} asked for {settings}, and has another one's")

    def _plan_steps(self) -> list[Any]:
        schedule = self._schedule
        if schedule.unnamed:
            for step in range(1, self.first):
                self._reads.setdefault(("barrier", "", f"{step}"), set()).add(self.rank)
        elif schedule.barriers and self.first > 1:
            # All pushes of the last step count, but its barrier may not have been come to.
            self._todo.append(lambda: self._barrier(f"step {self.first - 1}"))
        # A trainer begins with the values that it finds.
        self._todo.append(lambda: self._pulls(self.first - 1))
        numbers = range(len(schedule.stores))
        if 1 < self.first <= schedule.steps:
            for number in numbers:
                self._todo.append(lambda number=number: self._change_again(number))
        for step in range(self.first, schedule.steps + 1):
            if step == self.first and schedule.stores[-1].late:
                wants = schedule.style == "pushpull"
                self._todo += [
                    lambda step=step, wants=wants: self._pushes(step, wants, (0,)),
                    lambda: self._configure(1),
                    lambda step=step, wants=wants: self._pushes(step, wants, (1,)),
                ]
                if not wants:
                    self._todo.append(lambda step=step: self._pulls(step))
            elif schedule.style == "late pull":
                self._todo.append(lambda step=step: self._pushes(step, False))
                self._todo.append(lambda step=step: self._pulls(step))
            elif schedule.style == "pushpull":
                self._todo.append(lambda step=step: self._pushes(step, True))
            else:
                self._todo.append(
                    lambda step=step: [*self._pushes(step, False), *self._pulls(step)]
                )
            if step == schedule.restores and self.rank == 0:
                self._todo += [self._states, self._restore]
            if schedule.barriers and schedule.unnamed:
                self._todo.append(lambda step=step: self._barrier("", f"{step}"))
            elif schedule.barriers:
                self._todo.append(lambda step=step: self._barrier(f"step {step}"))
            for number in numbers:  # as a trainer does before its next push
                self._todo.append(lambda step=step, number=number: self._change(number, step))
        if schedule.commands:
            self._todo.append(self._command)
        if schedule.barriers:
            self._todo.append(self._last_barrier)
        self._todo.append(self._leave)
        return []

    def _last_barrier(self) -> list[Any]:
        steps = self._schedule.steps
        if self._schedule.unnamed and self.first > steps:
            # It has nothing to push, and cannot tell this from the barrier of the last step.
            self._reads.setdefault(("barrier", "", "last"), set()).add(self.rank)
            return self._barrier("", f"{steps}")
        return self._barrier("", "last")

    def _barrier(self, name: str, which: str = "") -> list[Any]:
        call = self._new()
        came = self._reads.setdefault(("barrier", name, which), set())
        came.add(self.rank)
        self._at_barrier[call] = came
        return [CallBarrier(call, name)]

    def _command(self) -> list[Any]:
        call = self._new()
        self._commanding[call] = []
        return [CallCommand(call, "do", f"{self.rank}")]

    def _states(self) -> list[Any]:
        calls = []
        for number in range(len(self._schedule.keys)):
            if self._schedule.store_of(number).kind == "async":
                continue  # others push it between this and what follows
            call = self._new()
            self._fetching[call] = number
            calls.append(CallStates(call, number))
        return calls

    def _restore(self) -> list[Any]:
        return [
            CallRestore(
                self._new(),
                number,
                {index: payload for index, (payload, _) in found.items()},
                max(updates for _, updates in found.values()),
                1,
            )
            for number, found in self._fetched.items()
        ]

    def _leave(self) -> list[Any]:
        self.leaves = True
        return [CallLeave(self._new(), self.waits)]

    def _pushes(self, step: int, wants_value: bool, stores: tuple[int, ...] = (0, 1)) -> list[Any]:
        calls: list[Any] = []
        gradient = data.gradient(self._seen[step - 1]) if self._schedule.learns else 0
        for number, spec in enumerate(self._schedule.keys):
            if spec.store not in stores:
                continue
            rows = data.rows_pushed(self.rank, step, spec) if spec.rows else None
            payload = data.pushed(self.rank, step) + gradient
            call = self._new()
            if wants_value:
                self._expect(call, step, number, rows)
            # In a backward pass the last keys come first, and the first are wanted first.
            priority = -number
            calls.insert(0, CallPush(call, number, payload, rows, priority, wants_value))
        return calls

    def _pulls(self, step: int) -> list[Any]:
        calls = []
        with_push = self._schedule.style == "pushpull"
        for number, spec in enumerate(self._schedule.keys):
            rows = data.rows_read(self.rank, step, spec, with_push) if spec.rows else None
            call = self._new()
            self._expect(call, step, number, rows)
            calls.append(CallPull(call, number, rows, -number))
        return calls

    def _expect(self, call: int, step: int, key: int, rows: tuple[int, ...] | None) -> None:
        self._reading[call] = Reading(step, key, rows)

    def _new(self) -> int:
        self._call += 1
        self._open.add(self._call)
        return self._call

    def _next(self) -> list[Any]:
        calls: list[Any] = []
        while self._todo and not self._open:
            calls += self._todo.pop(0)()
        return calls

    # -- what comes back -----------------------------------------------------------------------

    def handle(self, action: Any, machine: WorkerMachine) -> list[Any]:
        """Takes an action; returns the calls it leads to."""
        self._machine = machine
        match action:
            case Begin(rank=rank, resumes=resumes):
                self.rank, self.first = rank, resumes + 1
            case Deliver(call=call) if call in self._fetching and action.part is not None:
                found = self._fetched.setdefault(self._fetching[call], {})
                found[action.part[1]] = (action.payload, action.round)
            case Deliver(call=call) if call in self._commanding:
                self._commanding[call].append(action.payload)
            case Deliver():
                self._check(action, machine)
            case Done(call=call):
                if call not in self._open:
                    raise Wrong(f"call {call} is complete twice")
                self._open.discard(call)
                came = self._at_barrier.get(call)
                plan = self._schedule.plan
                if came is not None and plan.on_loss == "fail" and len(came) < plan.workers:
                    raise Wrong(f"worker {self.rank} passes a barrier where only {came} are")
                self._check_settings(call)
                answers = self._commanding.get(call)
                if answers is not None and len(set(answers)) != max(1, len(answers)):
                    raise Wrong(f"worker {self.rank} has {answers} of its command")
                if not self._open and not self._todo:
                    self.finished = True
                return self._next()
            case Raise(code=code, sentence=sentence):
                self.raised = self.raised or (code, sentence)
        return []

    def _check(self, action: Deliver, machine: WorkerMachine) -> None:
        reading, part = self._reading[action.call], machine.part(action.part or (0, 0))
        spec = self._schedule.keys[reading.key]
        if spec.rows:
            wanted = [row for row in reading.rows or () if part.first <= row < part.last]
            if sorted(action.payload) != wanted:
                raise Wrong(f"rows {wanted} were wanted, {sorted(action.payload)} came")
            seen = dict(action.payload)
        else:
            seen = dict(enumerate(action.payload))
        assert action.part is not None
        for cell, value in seen.items():
            self._seen.setdefault(reading.step, {})[action.part, cell] = value
            self._check_value(reading, spec.rows > 0, value)
            store = self._schedule.store_of(reading.key)
            if action.round >= 0 and store.kind == "sync":
                key = (action.part, cell, action.round)
                if self._reads.setdefault(key, value) != value:
                    raise Wrong(f"two workers read different values of {key}")

    def _check_value(self, reading: Reading, rows: bool, value: int) -> None:
        schedule, step = self._schedule, reading.step
        store = schedule.store_of(reading.key)
        workers = schedule.plan.workers
        value %= data.LEARNT
        if schedule.plan.on_loss == "shrink" or rows:
            return  # checked at the end
        if store.kind == "sync":
            if value != data.through(store, workers, step):
                raise Wrong(
                    f"worker {self.rank} read {data.describe(value, workers)} in step {step}"
                )
            return
        for one in range(1, step + 1):
            if data.digit(value, self.rank, one) not in {data.UNIT * n for n in store.worth(one)}:
                raise Wrong(
                    f"worker {self.rank} does not find its push {one} in step {step}: "
                    f"{data.describe(value, workers)}"
                )
        if store.staleness is not None:
            counts = [
                sum(data.digit(value, rank, one) > 0 for one in range(1, data.STEPS + 1))
                for rank in range(workers)
            ]
            # A predecessor may have been further than who begins with an older step.
            if min(step, counts[self.rank]) - min(counts) > store.staleness:
                raise Wrong(f"worker {self.rank} is too far ahead: {counts}")
