"""Random programs on every engine give what a serial interpreter of the same program gives.

A program is data: steps that push tasks, wait, and replace Vars. `run_serially` interprets it with
a dict and no engine; `run_on` pushes it. Compared are the value of each Var at each wait and at the
end, or the task to blame for its lack, and the counts of failed and skipped tasks.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from helpers import thorough
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridnet.engine import LANES, Engine, ManualPool, NaiveEngine, TaskError, ThreadedEngine

SLOTS = 6  # few, so that tasks conflict
PROGRAMS = thorough(10_000, 3_000)


@dataclass
class Push:
    """One task. `children` are pushed by it, on Vars that only this family of tasks uses: tasks
    that two threads push have no order between them that a serial run could predict. `waits_for`
    is a Var of the family whose value the task waits for and uses, or None."""

    name: str
    reads: list[int]
    writes: list[int]
    fails: bool = False
    is_async: bool = False
    priority: int = 0
    lane: str = "compute"
    children: list[Push] = field(default_factory=list)
    waits_for: int | None = None


@dataclass
class Wait:
    slot: int


@dataclass
class Replace:
    """Delete the Var of a slot, and put a new one there."""

    slot: int


Program = list[Push | Wait | Replace]
Outcome = int | str  # a value, or the name of the task to blame


def mix(name: str, inputs: list[Outcome]) -> int:
    """A value that depends on the task and on each input in its place."""
    value = zlib.crc32(name.encode())
    for one in inputs:
        value = (value * 1_000_003 + int(one)) % (2**61 - 1)
    return value


def blame(outcomes: list[Outcome]) -> str | None:
    return next((outcome for outcome in outcomes if isinstance(outcome, str)), None)


class Serial:
    """The oracle: executes each push where it stands."""

    def __init__(self) -> None:
        self.families: dict[str, list[Outcome]] = {}
        self.failed: list[str] = []
        self.skipped = 0

    def run(self, program: Program) -> Iterator[Outcome]:
        state: list[Outcome] = [0] * SLOTS
        for step in program:
            if isinstance(step, Push):
                self.push(step, state)
            elif isinstance(step, Wait):
                yield state[step.slot]
            else:
                state[step.slot] = 0
        yield from state

    def push(self, task: Push, state: list[Outcome]) -> None:
        # The first poisoned input is to blame; those only read come before those also written.
        only_read = [state[slot] for slot in task.reads if slot not in task.writes]
        updated = [state[slot] for slot in task.reads if slot in task.writes]
        guilty = blame(only_read + updated)
        result: Outcome
        if guilty is not None:
            self.skipped += 1
            result = guilty
        else:
            inputs = [state[slot] for slot in task.reads]
            family = self.families[task.name] = [0] * SLOTS
            for child in task.children:
                self.push(child, family)
            if task.waits_for is not None:
                inputs.append(family[task.waits_for])
            if task.fails or blame(inputs) is not None:
                self.failed.append(task.name)
                result = task.name
            else:
                result = mix(task.name, inputs)
        for slot in task.writes:
            state[slot] = result


class Cell:
    """A Var and the value it guards, with an alarm for forbidden company."""

    def __init__(self, engine: Engine) -> None:
        self.var = engine.new_variable()
        self.value = 0
        self.writing = False


class OnEngine:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.families: dict[str, list[Cell]] = {}

    def run(self, program: Program) -> Iterator[Outcome]:
        state = [Cell(self.engine) for _ in range(SLOTS)]
        for step in program:
            if isinstance(step, Push):
                self.push(step, state)
            elif isinstance(step, Wait):
                yield self.outcome(state[step.slot])
            else:
                self.engine.delete_variable(state[step.slot].var)
                state[step.slot] = Cell(self.engine)
        for cell in state:
            yield self.outcome(cell)

    def outcome(self, cell: Cell) -> Outcome:
        try:
            self.engine.wait_for_var(cell.var)
        except TaskError as error:
            return error.task
        return cell.value

    def push(self, task: Push, state: list[Cell]) -> None:
        reads = [state[slot] for slot in task.reads]
        writes = [state[slot] for slot in task.writes]

        def body() -> None:
            for cell in writes:
                assert not cell.writing, "two writes at once"
            for cell in set(writes):
                cell.writing = True
            inputs: list[Outcome] = [cell.value for cell in reads]
            assert all(not cell.writing for cell in reads if cell not in writes), "read in a write"
            family = self.families[task.name] = [Cell(self.engine) for _ in range(SLOTS)]
            for child in task.children:
                self.push(child, family)
            if task.waits_for is not None:
                inputs.append(self.outcome(family[task.waits_for]))
            for cell in set(writes):
                cell.writing = False
            if task.fails or blame(inputs) is not None:
                raise ValueError(task.name)
            for cell in writes:
                cell.value = mix(task.name, inputs)

        def async_body(on_complete) -> None:
            try:
                body()
            except ValueError as error:
                on_complete(error)
            else:
                on_complete()

        push = self.engine.push_async if task.is_async else self.engine.push
        push(
            async_body if task.is_async else body,
            [cell.var for cell in reads],
            [cell.var for cell in writes],
            priority=task.priority,
            lane=task.lane,
            name=task.name,
        )


def generate_push(rng: random.Random, name: str, depth: int) -> Push:
    children = rng.choice((1, 2, 3)) if rng.random() < 0.08 and depth < 3 else 0
    return Push(
        name=name,
        reads=rng.choices(range(SLOTS), k=rng.choice((0, 1, 1, 2, 3))),
        writes=rng.choices(range(SLOTS), k=rng.choice((0, 1, 1, 1, 2))),
        fails=rng.random() < 0.06,
        is_async=rng.random() < 0.2,
        priority=rng.choice((0, 0, 0, -1, 5)),
        lane=rng.choice(LANES),
        children=[generate_push(rng, f"{name}.{i}", depth + 1) for i in range(children)],
        waits_for=rng.choice((None, rng.randrange(SLOTS))) if children else None,
    )


def generate(rng: random.Random) -> Program:
    program: Program = []
    for i in range(rng.randrange(1, 24)):
        kind = rng.random()
        if kind < 0.88:
            program.append(generate_push(rng, str(i), 0))
        elif kind < 0.95:
            program.append(Wait(rng.randrange(SLOTS)))
        else:
            program.append(Replace(rng.randrange(SLOTS)))
    return program


def check(engine: Engine, program: Program) -> None:
    serial, tested = Serial(), OnEngine(engine)
    expected = list(serial.run(program))
    before = engine.statistics()
    assert list(tested.run(program)) == expected
    try:
        engine.wait_for_all()
    except TaskError as error:
        assert error.task in serial.failed
    families = tested.families.items()
    assert {k: [tested.outcome(cell) for cell in v] for k, v in families} == serial.families
    after = engine.statistics()
    assert after.pending == 0
    assert after.failed - before.failed == len(serial.failed)
    assert after.skipped - before.skipped == serial.skipped


@pytest.fixture
def frequent_switches():
    """Let threads take turns every 20 µs rather than every 5 ms."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(2e-5)
    yield
    sys.setswitchinterval(interval)


def run_many(engine_for, first: int, last: int) -> None:
    for seed in range(first, last):
        try:
            check(engine_for(seed), generate(random.Random(seed)))
        except BaseException as error:
            error.add_note(f"program of seed {seed}")
            raise


def test_naive_engine_equals_serial():
    engine = NaiveEngine()
    run_many(lambda seed: engine, 0, PROGRAMS)


def test_manual_pool_equals_serial():
    run_many(lambda seed: ThreadedEngine(pool=ManualPool(seed=seed)), 0, PROGRAMS)


@pytest.mark.slow
def test_threaded_engine_equals_serial(frequent_switches):
    engine = ThreadedEngine(workers={"compute": 3})
    run_many(lambda seed: engine, 0, PROGRAMS)
    engine.close()


slots = st.lists(st.integers(0, SLOTS - 1), max_size=3)


def pushes(depth: int) -> st.SearchStrategy[Push]:
    children = st.lists(pushes(depth - 1), max_size=2) if depth else st.just([])
    return st.builds(
        Push,
        name=st.just(""),
        reads=slots,
        writes=slots,
        fails=st.booleans(),
        is_async=st.booleans(),
        priority=st.integers(-2, 2),
        lane=st.sampled_from(LANES),
        children=children,
        waits_for=st.none() | st.integers(0, SLOTS - 1),
    )


def number(steps: Program, prefix: str = "") -> None:
    """Give every task of a drawn program a name of its own."""
    for i, step in enumerate(steps):
        if isinstance(step, Push):
            step.name = f"{prefix}{i}"
            number([*step.children], f"{step.name}.")


waits = st.builds(Wait, st.integers(0, SLOTS - 1))
replaces = st.builds(Replace, st.integers(0, SLOTS - 1))
programs = st.lists(st.one_of(pushes(2), waits, replaces), max_size=12)


@settings(max_examples=150, deadline=None)
@given(programs, st.integers(0, 1000))
def test_any_program_in_any_allowed_order_equals_serial(program, seed):
    number(program)
    check(ThreadedEngine(pool=ManualPool(seed=seed)), program)
    check(NaiveEngine(), program)
