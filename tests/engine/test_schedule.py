"""The state machine by itself: events in, tasks to act on out. No threads, no engine.

In the pictures `R` is a read of the Var in whose row it stands, `W` a write, `U` an update (both).
"""

from __future__ import annotations

import random

import pytest

from hybridnet.engine import EngineBug
from hybridnet.engine.schedule import ALLOWED, MAX_UNREPORTED, Schedule, is_written
from hybridnet.engine.task import IDLE_LANE, Task, Var


class Script:
    """A schedule driven by names: `push("a", "R:x W:y")`, `end("a")`. Validates at each step."""

    def __init__(self) -> None:
        self.schedule = Schedule()
        self.vars: dict[str, Var] = {}
        self.tasks: dict[str, Task] = {}

    def push(self, name: str, uses: str = "", lane: str = "compute") -> str:
        reads, writes = [], []
        for use in uses.split():
            kind, var = use.split(":")
            var = self.vars.setdefault(var, Var(var))
            if kind in "RU":
                reads.append(var)
            if kind in "WU":
                writes.append(var)
        task = Task(lambda: None, tuple(reads), tuple(writes), name=name, lane=lane)
        self.tasks[name] = task
        return self._start(self.schedule.push(task))

    def end(self, name: str, error: BaseException | None = None) -> str:
        return self._start(self.schedule.complete(self.tasks[name], error))

    def _start(self, tasks) -> str:
        """Start what is ready; answers the names, those skipped with an `!`."""
        self.schedule.validate()
        for task in tasks:
            if task.state == "ready":
                self.schedule.start(task)
        self.schedule.validate()
        return " ".join(t.name + ("!" if t.state == "failed" else "") for t in tasks)


@pytest.fixture
def script() -> Script:
    return Script()


def test_reads_between_two_writes_run_together(script: Script):
    """x: W1 -> (R2 R3) -> W4 -> R5"""
    assert script.push("w1", "W:x") == "w1"
    assert script.push("r2", "R:x") == ""
    assert script.push("r3", "R:x") == ""
    assert script.push("w4", "W:x") == ""
    assert script.push("r5", "R:x") == ""
    assert script.end("w1") == "r2 r3"
    assert script.end("r3") == ""
    assert script.end("r2") == "w4"
    assert script.end("w4") == "r5"
    assert script.end("r5") == ""
    assert script.schedule.pending == 0


def test_a_read_does_not_overtake_a_queued_write(script: Script):
    """x: R1 -> W2 -> R3. R3 could share with R1, but W2 was pushed before it."""
    assert script.push("r1", "R:x") == "r1"
    assert script.push("w2", "W:x") == ""
    assert script.push("r3", "R:x") == ""
    assert script.end("r1") == "w2"
    assert script.end("w2") == "r3"


def test_tasks_without_a_conflict_are_ready_at_once(script: Script):
    """x: W1 ...   y: W2 ...   z: W3: nothing in common."""
    assert [script.push(f"w{v}", f"W:{v}") for v in "xyz"] == ["wx", "wy", "wz"]


def test_a_diamond(script: Script):
    """
    x: W(a) -> R(b)
            -> R(c)
    y:         W(b) -> R(d)
    z:         W(c) -> R(d)
    """
    assert script.push("a", "W:x") == "a"
    assert script.push("b", "R:x W:y") == ""
    assert script.push("c", "R:x W:z") == ""
    assert script.push("d", "R:y R:z") == ""
    assert script.end("a") == "b c"
    assert script.end("c") == ""
    assert script.end("b") == "d"


def test_a_task_holds_what_it_has_while_it_waits_for_the_rest(script: Script):
    """
    x: W(a) ---------> W(c)
    y:        W(b) --> W(c) -> W(d)    d needs y only, but c came first
    """
    assert script.push("a", "W:x") == "a"
    assert script.push("b", "W:y") == "b"
    assert script.push("c", "W:x W:y") == ""
    assert script.push("d", "W:y") == ""
    assert script.end("b") == ""
    assert script.end("a") == "c"
    assert script.end("c") == "d"


def test_a_var_named_twice_is_granted_once(script: Script):
    assert script.push("a", "R:x R:x") == "a"
    assert script.push("b", "R:x W:x W:x") == ""
    assert script.end("a") == "b"
    assert script.end("b") == ""
    assert script.vars["x"].held == 0


def test_poison_follows_the_reads(script: Script):
    """
    x: W(a) fails -> R(b)!
    y:               W(b)! -> R(c)!
    z:                        W(c)! -> W(d) heals -> R(e)
    """
    script.push("a", "W:x")
    assert script.push("b", "R:x W:y") == ""
    assert script.push("c", "R:y W:z") == ""
    assert script.push("d", "W:z") == ""
    assert script.push("e", "R:z") == ""
    assert script.end("a", ValueError("boom")) == "b! c! d"
    assert script.vars["z"].failure is not None
    assert script.vars["z"].failure.task == "a"
    assert script.end("d") == "e"
    assert script.vars["z"].failure is None
    assert script.vars["x"].failure is script.vars["y"].failure
    assert (script.schedule.failed, script.schedule.skipped) == (1, 2)


def test_an_update_of_a_poisoned_var_is_skipped(script: Script):
    """x: W(a) fails -> U(b)! -> W(c) heals -> U(d)"""
    script.push("a", "W:x")
    script.end("a", ValueError())
    assert script.push("b", "U:x") == "b!"
    assert script.push("c", "W:x") == "c"
    assert script.push("d", "U:x") == ""
    assert script.end("c") == "d"


def test_a_failed_read_leaves_the_var_alone(script: Script):
    script.push("a", "R:x")
    assert script.push("b", "W:x") == ""
    assert script.end("a", ValueError()) == "b"
    assert script.vars["x"].failure is None


def test_a_long_chain_of_skipped_tasks_does_not_recurse(script: Script):
    script.push("first", "W:0")
    for i in range(3000):
        task = Task(lambda: None, (Var(),), (), name=str(i))
        task.reads = (script.vars[str(i)],)
        task.writes = (script.vars.setdefault(str(i + 1), Var()),)
        assert script.schedule.push(task) == ()
    skipped = script.schedule.complete(script.tasks["first"], ValueError())
    assert [task.name for task in skipped] == [str(i) for i in range(3000)]


def test_a_wait_for_idle_comes_last(script: Script):
    """a -> b on x; the wait is let through after both, a later task does not hold it up twice."""
    script.push("a", "W:x")
    script.push("b", "R:x")
    assert script.push("idle", lane=IDLE_LANE) == ""
    assert script.end("a") == "b"
    assert script.end("b") == "idle"
    assert script.push("idle2", lane=IDLE_LANE) == "idle2"


def test_a_draining_var_is_deleted_by_its_last_task(script: Script):
    script.push("a", "W:x")
    script.push("b", "R:x")
    x = script.vars["x"]
    script.schedule.close(x)
    script.end("a", ValueError())  # poisons x, and so skips b, the last
    assert x.state == "deleted"
    assert x.failure is None


def test_a_free_var_is_deleted_at_once():
    var = Var()
    Schedule().close(var)
    assert var.state == "deleted"


def test_written_means_no_pending_write(script: Script):
    """x: R(a) -> W(b) -> R(c)"""
    script.push("a", "R:x")
    x = script.vars["x"]
    assert is_written(x)
    script.push("b", "W:x")
    assert not is_written(x)
    script.push("c", "R:x")
    script.end("a")
    assert not is_written(x)
    script.end("b")
    assert is_written(x)


def test_dropping_frees_the_vars_and_poisons_the_writes(script: Script):
    """x: W(a) running -> R(b) waiting;  y: W(b);  z: R(c) running"""
    script.push("a", "W:x")
    script.push("b", "R:x W:y")
    script.push("c", "R:z")
    dropped = script.schedule.drop_all([], "a test")
    assert {task.state for task in dropped} == {"dropped"}
    failures = {name: var.failure for name, var in script.vars.items()}
    assert failures["z"] is None
    assert "was dropped: a test" in str(failures["x"] and failures["x"].error)
    assert failures["y"] is not None and failures["y"].task == "b"
    assert script.push("d", "W:x W:y W:z") == "d"


def test_failures_are_kept_up_to_a_bound(script: Script):
    for i in range(MAX_UNREPORTED + 5):
        script.push(str(i))
        script.end(str(i), ValueError())
    assert len(script.schedule.take_failures()) == MAX_UNREPORTED
    assert script.schedule.take_lost() == 5
    assert script.schedule.take_failures() == []


def test_forbidden_transitions_are_bugs(script: Script):
    schedule = script.schedule
    script.push("a")
    task = script.tasks["a"]
    with pytest.raises(EngineBug, match="push requires a new task, got <Task a #1 running>"):
        schedule.push(task)
    assert not schedule.start(task)
    script.end("a")
    with pytest.raises(EngineBug, match="complete requires a running task"):
        schedule.complete(task)
    assert ("done", "running") not in ALLOWED


def test_validate_finds_broken_states(script: Script):
    script.push("a", "R:x")
    script.push("b", "W:x")
    x = script.vars["x"]
    x.held = 2
    with pytest.raises(EngineBug, match="is held 2, should be 1"):
        script.schedule.validate()
    x.held = 1
    x.queue = None
    with pytest.raises(EngineBug, match="wrong queue"):
        script.schedule.validate()


@pytest.mark.parametrize("seed", range(100))
def test_random_events_keep_the_invariants(script: Script, seed: int):
    """`Script` validates after each event; here tasks end in any order, or fail."""
    rng = random.Random(seed)
    running: list[str] = []
    for i in range(60):
        uses = " ".join(f"{rng.choice('RRWU')}:{rng.randrange(5)}" for _ in range(rng.randrange(4)))
        started = script.push(str(i), uses).split()
        running += [name for name in started if not name.endswith("!")]
        while running and rng.random() < 0.5:
            name = running.pop(rng.randrange(len(running)))
            error = ValueError() if rng.random() < 0.2 else None
            running += [n for n in script.end(name, error).split() if not n.endswith("!")]
    while running:
        running += [n for n in script.end(running.pop()).split() if not n.endswith("!")]
    assert script.schedule.pending == 0
    assert all(var.held == 0 and not var.queue for var in script.vars.values())
