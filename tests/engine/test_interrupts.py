"""Ctrl-C before any line of the coordinator and the schedule: nothing is lost or runs twice."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from interrupted_loops import Struck, lines_of
from strikes import striking, struck_at

from hybridnet.engine import Flag, ManualPool, ThreadedEngine
from hybridnet.engine.task import LANES, Task, Var

STRUCK = ("hybridnet.engine.coordinator", "hybridnet.engine.schedule")


class Loop:
    """An engine with a task that a worker has run, and whose end nobody has noted yet."""

    def __init__(self) -> None:
        self.pool = ManualPool(None)
        self.engine = ThreadedEngine(pool=self.pool)
        self.var: Var = self.engine.new_variable("x")
        self.ran: list[str] = []
        self.push("first")
        self.engine.core.hold(10)
        self.work()  # the worker finds the lock taken, and leaves the end to its holder
        self.engine.core._lock.release()
        assert self.ran == ["first"] and self.engine.core.inbox

    def push(self, name: str) -> None:
        self.engine.push(lambda: self.ran.append(name), writes=[self.var], name=name)

    def work(self) -> None:
        """Runs what is ready in another thread: Ctrl-C strikes none of these."""
        worker = threading.Thread(target=self.pool.run_all)
        worker.start()
        worker.join()

    def wait(self) -> None:
        self.engine.wait_for_var(self.var)

    def push_and_wait(self) -> None:
        self.push("second")
        self.work()
        self.wait()

    def wait_for_all(self) -> None:
        self.engine.wait_for_all()


def strike(act: Callable[[], Any], at: int) -> bool:
    """Does something, with Ctrl-C before a line of the engine; whether there are so many lines."""
    struck: list[FrameType] = []

    def press(frame: FrameType) -> None:
        struck.append(frame)
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt):
        lines_of(act, press, at, within=STRUCK)
    return bool(struck)


@pytest.mark.parametrize("name", ["wait", "push_and_wait", "wait_for_all"])
def test_ctrl_c_before_any_line_loses_nothing(name: str):
    at, more = 0, True
    while more:
        at += 1
        loop = Loop()
        more = strike(getattr(loop, name), at)
        loop.push("last")
        loop.work()
        counts = loop.engine.statistics()
        loop.engine.core.schedule.validate()
        assert counts.pending == 0 and loop.engine.core.schedule.pending == 0, at
        assert loop.ran in (["first", "last"], ["first", "second", "last"]), at
        loop.wait()
    assert at > 20


def test_the_exception_of_a_handler_kills_no_worker():
    """A lane's only worker is started, and a handler raises: the lane goes on all the same."""

    def begin() -> ThreadedEngine:
        return ThreadedEngine(workers=dict.fromkeys(LANES, 1))

    def push(engine: ThreadedEngine) -> None:
        engine.push(lambda: None)

    count = min(struck_at(partial(push, begin()), 0) for _ in range(2))
    with striking():
        for at in range(1, count + 1):
            engine, ended = begin(), Flag()
            with contextlib.suppress(Struck):
                struck_at(partial(push, engine), at)
            engine.push(ended.set)
            assert ended.wait(200), at
            assert engine.close(30), at


def test_a_task_that_is_handed_out_twice_runs_once():
    """As after Ctrl-C: two workers come to run it, both before either has begun."""
    ran: list[int] = []
    for _ in range(200):
        engine = ThreadedEngine(pool=ManualPool(None))
        var = engine.new_variable()
        engine.push(lambda: ran.append(1), writes=[var])
        task: Task = next(iter(engine.core.schedule._pending))
        barrier = threading.Barrier(4)

        def come(engine=engine, task=task, barrier=barrier):
            barrier.wait()
            if engine.execute(task):
                engine.finish(task)

        workers = [threading.Thread(target=come) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        engine.core.schedule.validate()
        assert engine.core.schedule.pending == 0
    assert len(ran) == 200
