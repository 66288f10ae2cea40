"""The end of a process, whatever its threads are doing: at once, with Python's status, quietly."""

from __future__ import annotations

import _imp
import builtins
import importlib
import itertools
import sys
import threading
import time

import pytest
from endings import ENDS, WORK, run_to_the_end
from helpers import thorough

from hybridnet.runtime.platform import background

TRIES = thorough(100, 1)
ALL = list(itertools.product(WORK, ENDS))


@pytest.mark.parametrize(("work", "end"), ALL[:: thorough(1, 3)])
def test_a_process_ends(work, end):
    status = ENDS[end][1]
    for turn in range(TRIES):
        done = run_to_the_end(work, end, 0.2 + 0.013 * turn)
        assert done.returncode == status, (turn, done.stderr)
        assert float(done.stdout) <= time.time()
        noise = done.stderr.splitlines()
        told = [line for line in noise if line.startswith(("Value", "Keyboard"))]
        if status in (1, -2):
            assert told == noise[-1:], done.stderr
        else:
            assert not noise, done.stderr


def test_a_new_thread_is_not_ended_for_an_old_one_that_had_its_number(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    go, ended = threading.Event(), []
    old = threading.Thread(target=int)
    old.start()
    old.join()

    def run():
        while not go.wait(0.01):
            pass
        ended.append(threading.get_ident())

    new = [threading.Thread(target=run) for _ in range(3)]
    for thread in new:
        thread.start()
    if old.ident not in {thread.ident for thread in new}:
        pytest.skip("no thread has the number of the one that has ended")
    background._stop([old])
    go.set()
    for thread in new:
        thread.join()
    assert sorted(ended) == sorted(thread.ident for thread in new)


def test_a_thread_that_starts_another_is_ended_when_that_runs(monkeypatch):
    """Until then both have one number, and Python raises in the newer of the two."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    begun, go = threading.Event(), threading.Event()

    class Late(threading.Thread):
        def _bootstrap(self):  # as if the system had given it no processor yet
            begun.set()
            go.wait()
            super()._bootstrap()

    outcome, second = [], Late(target=int)

    def start():
        try:
            second.start()
            outcome.append("started")
            while True:
                begun.wait(0.01)
        except background._Left:
            outcome.append("ended")

    first = threading.Thread(target=start, daemon=True)
    first.start()
    begun.wait()
    opener = threading.Timer(0.1, go.set)
    opener.start()
    background._stop([first])
    for thread in (opener, first, second):
        thread.join()
    assert outcome == ["started", "ended"]


def test_threads_that_wait_for_an_import_that_is_held_up_are_not_waited_for(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(builtins, "begun_and_go", (threading.Event(), threading.Event()), False)
    begun, go = builtins.begun_and_go
    (tmp_path / "imported_late.py").write_text("")
    (tmp_path / "imported_slowly.py").write_text(
        "begun, go = begun_and_go\nbegun.set()\ngo.wait()\nimport imported_late\n"
    )
    threads = [
        threading.Thread(target=importlib.import_module, args=("imported_slowly",))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    begun.wait()

    def waits(thread):  # for the other one's import
        return sys._current_frames()[thread.ident].f_code.co_name == "acquire"

    while not any(map(waits, threads)):
        threads[0].join(0.01)
    _imp.acquire_lock()
    try:
        go.set()
        left = background._stop(threads, imports_end=True)
    finally:
        _imp.release_lock()
    for thread in threads:
        thread.join()
    assert not left and "imported_late" in sys.modules
