"""`RLock`: a lock that no exception of a signal's handler leaves locked."""

from __future__ import annotations

import os
import threading
from weakref import ref

import pytest
from interrupted_loops import Struck
from strikes import striking, struck_at

from hybridnet.engine import RLock

_HERE = (os.path.dirname(__file__),)


def is_free(lock) -> bool:
    """Whether another thread can take a lock."""
    found = []

    def take():
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return found[0]


def once(lock):
    with lock:
        pass


def twice(lock):
    with lock, lock:
        assert lock._is_owned()


def in_a_loop(lock):
    for _ in range(3):
        with lock:
            pass


def with_an_exception(lock):
    try:
        with lock:
            raise KeyError
    except KeyError:
        pass


def with_a_return(lock):
    with lock:
        return len(str(lock))


@pytest.mark.parametrize("work", [once, twice, in_a_loop, with_an_exception, with_a_return])
def test_the_exception_of_a_handler_leaves_it_free(work):
    """Wherever it comes: before the lock is taken, while it is, and as it is given back."""
    lock, struck = RLock(), 0
    count = struck_at(lambda: work(lock), 0, _HERE)
    with striking():
        for at in range(1, count + 1):
            try:
                struck_at(lambda: work(lock), at, _HERE)
            except Struck:
                struck += 1
            assert is_free(lock), f"instruction {at}"
    assert struck > count / 2


def test_it_is_a_lock_of_pythons():
    lock = RLock()
    assert ref(lock)() is lock
    with lock:
        assert lock._is_owned()
        assert not is_free(lock)
        with lock:
            assert not is_free(lock)
        assert not is_free(lock)
    assert is_free(lock)
    with pytest.raises(RuntimeError):
        lock.release()


def test_a_condition_waits_with_it():
    lock = RLock()
    changed, seen = threading.Condition(lock), []

    def waits():
        with lock:
            while not seen:
                changed.wait(60)
            seen.append("went on")

    thread = threading.Thread(target=waits)
    thread.start()
    with lock:
        seen.append("said")
        changed.notify_all()
    thread.join()
    assert seen == ["said", "went on"]
