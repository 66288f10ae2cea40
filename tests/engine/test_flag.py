"""Flags: what happens once, and is waited for."""

from __future__ import annotations

import contextlib
import threading

import pytest
from interrupted_loops import Struck
from strikes import striking, struck_at

from hybridnet.engine import Flag
from hybridnet.kvstore.drivers.completion import Completion


def test_a_flag_is_waited_for_by_several_threads():
    flag, seen = Flag(), []
    threads = [threading.Thread(target=lambda: seen.append(flag.wait())) for _ in range(3)]
    for one in threads:
        one.start()
    assert not flag.wait(0) and not flag.wait(0.001) and not flag.is_set
    flag.set()
    flag.set()
    for one in threads:
        one.join()
    assert seen == [True] * 3 and flag.wait() and flag.wait(0)


def through(wait) -> bool:
    """Whether another thread comes through a wait."""
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(200)
    return not thread.is_alive()


def happened(flag):
    flag.set()
    flag.wait()


def completed(completion):
    completion(None)
    completion.wait()


@pytest.mark.parametrize(
    "make, work, again", [(Flag, happened, Flag.set), (Completion, completed, Completion.wait)]
)
def test_the_exception_of_a_handler_leaves_nobody_waiting(make, work, again):
    count = struck_at(lambda: work(make()), 0)
    struck = 0
    with striking():
        for at in range(1, count + 1):
            one = make()
            try:
                struck_at(lambda one=one: work(one), at)
            except Struck:
                struck += 1
            if isinstance(one, Flag):
                one.set()
            elif not one._flag.is_set:  # it came before that was done
                one(None)
            again(one)
            assert through(one.wait)
    assert struck > count / 2


def test_a_wait_for_what_does_not_happen_is_ended_by_an_exception():
    flag = Flag()
    count = struck_at(lambda: flag.wait(0.001), 0)
    with striking():
        for at in range(1, count):
            with contextlib.suppress(Struck):
                struck_at(lambda: flag.wait(0.001), at)
    flag.set()
    assert through(flag.wait)
