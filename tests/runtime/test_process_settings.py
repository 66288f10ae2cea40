"""A setting that is changed for a time is set back, whenever Ctrl-C comes and whoever forks."""

from __future__ import annotations

import gc
import os
import sys
import threading
from types import FrameType
from typing import Any

import pytest

from hybridnet.runtime.platform import process_settings
from hybridnet.runtime.platform.process_settings import TemporarySetting


class Counted:
    """A number that is 0, and 1 while the setting is changed."""

    def __init__(self) -> None:
        self.now = 0
        self.setting = TemporarySetting(lambda: self.now, lambda: self.put(1), self.put)

    def put(self, value: int) -> None:
        self.now = value


def interrupted_at(number: int, work: Any) -> bool:
    """Raises KeyboardInterrupt at the n-th instruction of that file; returns whether it did."""
    left = [number]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != process_settings.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left[0] -= 1
            if left[0] == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return left[0] <= 0  # in a finalizer, of which nobody hears


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_it_is_set_back_wherever_a_block_is_interrupted() -> None:
    counted = Counted()

    def work() -> None:
        with counted.setting.changed():
            assert counted.now == 1

    number = 1
    while interrupted_at(number, work):
        with counted.setting.changed():
            assert counted.now == 1
        assert counted.now == 0, number
        number += 1
    assert number > 50  # instructions that a block takes


def test_it_stays_changed_while_one_of_two_threads_wants_it() -> None:
    counted = Counted()
    inside, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with counted.setting.changed():
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=other)
    with counted.setting.changed(), counted.setting.changed():
        thread.start()
        inside.wait()
    assert counted.now == 1
    go_on.set()
    thread.join()
    assert counted.now == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_does_not_have() -> None:
    counted = Counted()
    inside, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with counted.setting.changed():
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        os._exit(counted.now)
    _, status = os.waitpid(child, 0)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert gc.isenabled()
