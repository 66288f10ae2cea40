"""Another's order of tasks: a right one gives what a serial run gives, a wrong one is told."""

from __future__ import annotations

import random
from collections import deque
from functools import partial

import pytest

from hybridnet import engine
from hybridnet.engine import ManualPool, NaiveEngine, ThreadedEngine


class Serial(engine.Scheduler):
    """Lets one task run after the other."""

    def __init__(self):
        self.waiting = deque()

    def push(self, task):
        self.waiting.append(task)
        return len(self.waiting) == 1

    def complete(self, task):
        assert self.waiting.popleft() is task
        return list(self.waiting)[:1]


class Queues(engine.Scheduler):
    """The contract, written plainly: a task may run when no earlier pending one is in its way."""

    def __init__(self):
        self.pending, self.ready = [], set()

    def push(self, task):
        self.pending.append(task)
        return self._is_free(task)

    def complete(self, task):
        self.pending.remove(task)
        self.ready.discard(task)
        return [one for one in self.pending if one not in self.ready and self._is_free(one)]

    def _is_free(self, task):
        for other in self.pending:
            if other is task:
                self.ready.add(task)
                return True
            mine, its = {*task.reads, *task.writes}, {*other.reads, *other.writes}
            if mine & set(other.writes) or its & set(task.writes):
                return False
        raise AssertionError


def run_random(made, seed):
    """Runs random tasks on an engine and one by one; returns what both leave."""
    chance = random.Random(seed)
    variables = [made.new_variable(f"v{number}") for number in range(5)]
    found, wanted = [0] * 5, [0] * 5

    def task(values, reads, writes, number):
        total = number + sum(values[one] for one in reads)
        for one in writes:
            values[one] = (values[one] * 3 + total) % 1_000_003

    for number in range(60):
        reads = chance.sample(range(5), chance.randrange(4))
        writes = chance.sample(range(5), chance.randrange(3))
        made.push(
            lambda r=reads, w=writes, n=number: task(found, r, w, n),
            [variables[one] for one in reads],
            [variables[one] for one in writes],
        )
        task(wanted, reads, writes, number)
        if chance.random() < 0.1:
            made.wait_for_var(chance.choice(variables))
    made.wait_for_all()
    return found, wanted


@pytest.mark.parametrize("make", [Serial, Queues])
@pytest.mark.parametrize("seed", range(5))
def test_a_right_order_gives_what_a_serial_run_gives(make, seed):
    threads, chosen = ThreadedEngine(workers={"compute": 4}), ThreadedEngine(ManualPool(seed))
    for kind in (NaiveEngine(), threads, chosen):
        kind.set_scheduler(make)
        found, wanted = run_random(kind, seed)
        assert found == wanted
        kind.set_scheduler(None)
        found, wanted = run_random(kind, seed + 100)
        assert found == wanted
        kind.close()


def test_it_decides_what_is_ready():
    pool = ManualPool(None)
    made = ThreadedEngine(pool)
    made.set_scheduler(Serial)
    for name in "ab":
        made.push(lambda: None, name=name)
    assert pool.ready == ["a"]
    assert pool.run_next() == "a"
    assert pool.ready == ["b"]
    pool.run_all()
    made.set_scheduler(None)
    for name in "ab":
        made.push(lambda: None, name=name)
    assert pool.ready == ["a", "b"]
    pool.run_all()
    assert made.statistics().completed == 4


class Always(Queues):
    def push(self, task):
        return True


class Never(Queues):
    def push(self, task):
        super().push(task)
        return False


class Forgetful(Queues):
    def complete(self, task):
        super().complete(task)
        return []


class Twice(Queues):
    def complete(self, task):
        return super().complete(task) * 2


class Breaks(Queues):
    def complete(self, task):
        raise KeyError("x")


class Talks(Queues):
    def push(self, task):
        return "yes" if super().push(task) else ""


WRONG = [
    (Always, "task .* must wait for .* but was said to be ready"),
    (Never, "none of 1 pending tasks was said to be ready"),
    (Forgetful, "none of [0-9]+ pending tasks was said to be ready, though nothing is in the way"),
    (Twice, "complete must return tasks that wait"),
    (Breaks, "KeyError: 'x'"),
    (Talks, "push must return True or False, got 'yes'"),
]


@pytest.mark.parametrize(("make", "message"), WRONG, ids=lambda one: getattr(one, "__name__", ""))
def test_a_wrong_order_is_told_and_the_engine_goes_on_in_its_own(make, message):
    for seed in range(5):
        made = ThreadedEngine(ManualPool(seed))
        made.set_scheduler(make)
        found = wanted = None
        with pytest.raises(engine.TaskError, match=f"{make.__name__} is asked no more: {message}"):
            run_random(made, seed)
        found, wanted = run_random(made, seed)
        assert found == wanted
        made.core.schedule.validate()


def test_what_was_pushed_before_the_fault_ends_right():
    for seed in range(20):
        made = ThreadedEngine(ManualPool(seed))
        made.set_scheduler(Forgetful)
        variable, order = made.new_variable(), []
        for number in range(5):
            made.push(partial(order.append, number), writes=[variable])
        with pytest.raises(engine.TaskError, match="asked no more"):
            made.wait_for_all()
        assert order == [0, 1, 2, 3, 4]


def test_failures_and_deleted_variables_are_as_ever():
    made = NaiveEngine()
    made.set_scheduler(Queues)
    variable = made.new_variable("v")
    made.push(lambda: 1 / 0, writes=[variable], name="bad")
    made.push(lambda: None, reads=[variable], name="skipped")
    with pytest.raises(engine.TaskError, match="'bad'.*ZeroDivisionError"):
        made.wait_for_var(variable)
    assert made.statistics().skipped == 1
    made.delete_variable(variable)
    with pytest.raises(engine.VarError, match="deleted"):
        made.push(lambda: None, [variable])


def test_not_while_tasks_are_pending():
    made = ThreadedEngine(ManualPool())
    made.push(lambda: None)
    made.set_scheduler(Serial)  # which waits for it
    made.push(partial(made.set_scheduler, None), name="inside")
    with pytest.raises(engine.TaskError, match=r"'inside'.*DeadlockError"):
        made.wait_for_all()
    assert made.statistics().completed == 2
