"""Another's order of a device's programs: each is asked for when the device is free, and a wrong
answer is told. (tests/passes/test_partition.py runs random graphs in another order.)"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from simulated import Simulated, simulated

import hybridnet as hn
from hybridnet import nd, sym
from hybridnet.base.errors import ParameterError
from hybridnet.runtime import ReadyProgram, ReadyQueue, ReadyQueueError, set_ready_queue

TOYS = ("/device:toy:0", "/device:toy:1")


class Right(ReadyQueue):
    """By the definition: of what is ready, the most urgent."""

    asked = None  # what it was asked, in all runs

    def __init__(self, programs):
        self.programs, self.waiting, self.came = programs, list(programs), set()

    def put(self, slots):
        assert len(set(slots)) == len(slots)
        assert not self.came & set(slots)
        self.came.update(slots)

    def next(self):
        ready = [one for one in self.waiting if self.came.issuperset(one.reads)]
        found = max(ready, key=lambda one: one.urgency, default=None)
        if found is not None:
            self.waiting.remove(found)
        if self.asked is not None:
            self.asked.append(found)
        return found


def forth_and_back():
    """x -> exp on 0 -> sqrt on 1 -> + 1 on 0: two programs on device 0, one on device 1."""
    with hn.device(TOYS[0]):
        there = sym.exp(sym.var("x"), name="there")
    with hn.device(TOYS[1]):
        turned = sym.sqrt(there, name="turned")
    with hn.device(TOYS[0]):
        return turned + 1


def ran(make, symbol=None):
    """Runs a graph in the order of a queue; returns its value for 2."""
    set_ready_queue(make)
    try:
        with simulated(Simulated(0), Simulated(1)):
            executor = (forth_and_back() if symbol is None else symbol()).simple_bind(
                hn.cpu(0), x=(1,)
            )
            return executor.forward(x=nd.array([2.0]))[0].asscalar()
    finally:
        set_ready_queue(None)


def test_a_queue_is_asked_for_every_program_and_once_more_at_the_end():
    class Asked(Right):
        asked: ClassVar = []

    assert ran(Asked) == pytest.approx(np.exp(1) + 1, rel=1e-6)
    found = [one for one in Asked.asked if one is not None]
    assert len(found) == 3
    assert all(isinstance(one, ReadyProgram) for one in found)
    assert [str(one.title).partition(": ")[0] for one in found] == ["toy(0)", "toy(1)", "toy(0)"]
    assert "there" in repr(found[0])


class Early(Right):
    def next(self):
        return self.waiting.pop() if self.waiting else None


class Again(Right):
    def next(self):
        first = self.programs[0]
        return super().next() or (first if self.came.issuperset(first.reads) else None)


class Never(Right):
    def next(self):
        return None


class Foreign(Right):
    def next(self):
        return ReadyProgram(0, "foreign", (), 0)


class Raising(Right):
    def put(self, slots):
        raise KeyError("slot")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Early, r"Early returned <program 1: .*> too early: nothing has come yet in slot"),
        (Again, r"Again returned <program 0: .*> a second time"),
        (Never, r"Never has no next program, though all that <program 0: .*> reads has come"),
        (Foreign, r"must return one of the programs .* got <program 0: foreign>"),
        (Raising, r"the ready queue Raising raised KeyError: 'slot'"),
    ],
)
def test_a_wrong_answer_ends_the_run(make, said):
    with pytest.raises(ReadyQueueError, match=said):
        ran(make)
    assert ran(Right) == pytest.approx(np.exp(1) + 1, rel=1e-6)  # the next run is not hurt


def test_what_makes_no_queue_is_refused():
    with pytest.raises(ParameterError, match="needs a ReadyQueue class or None, got 3"):
        set_ready_queue(3)
    with pytest.raises(ParameterError, match="needs what makes a ReadyQueue, but it made 7"):
        ran(lambda programs: 7)


def test_devices_with_loops_keep_the_executors_own_order():
    def loop():
        def body(value):
            with hn.device(TOYS[1]):
                return value + 1

        return sym.while_loop(lambda value: value < 5, body, [sym.var("x")])[0]

    assert ran(Never, loop) == 5
