"""The engine and its process: choice of kind, fork, exit, Ctrl-C, and memory over a long run."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import tracemalloc
import weakref
from functools import partial

import pytest
from helpers import thorough

from hybridnet.engine import NaiveEngine, TaskError, ThreadedEngine

CALM = {"HYBRIDNET_ENGINE_TYPE": "ThreadedEngine"}


def python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a new interpreter; fails the test if it does not end in a minute."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        env={**os.environ, **CALM, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_import_starts_no_thread_and_needs_the_standard_library_only():
    result = python(
        """
        import sys, threading
        import hybridnet.engine
        print(threading.active_count(), "jax" in sys.modules)
        hybridnet.engine.get()
        print(threading.active_count())
        """
    )
    assert (result.stdout.split(), result.stderr) == (["1", "False", "1"], "")


def test_the_environment_chooses_the_kind():
    script = "from hybridnet import engine; print(engine.get().kind)"
    for kind in ("NaiveEngine", "ThreadedEngine"):
        assert python(script, HYBRIDNET_ENGINE_TYPE=kind).stdout.split() == [kind]
    for kind, found in (
        ("NaiveEngine", "NaiveEngine"),
        ("ThreadedEnginePerDevice", "ThreadedEngine"),
        ("ThreadedEnginePooled", "ThreadedEngine"),
    ):
        mxnets = {"HYBRIDNET_ENGINE_TYPE": "", "MXNET_ENGINE_TYPE": kind}
        assert python(script, **mxnets).stdout.split() == [found]
    result = python(script, HYBRIDNET_ENGINE_TYPE="FastEngine")
    known = "HYBRIDNET_ENGINE_TYPE requires one of NaiveEngine, ThreadedEngine, got 'FastEngine'"
    assert known in result.stderr


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEngine"])
def test_exit_finishes_the_pending_tasks(kind: str):
    result = python(
        """
        import threading
        from hybridnet import engine
        var, gate = engine.new_variable(), threading.Event()
        def parent():
            engine.push(lambda: print("child", flush=True), writes=[var], lane="io")
        def begin(on_complete):
            threading.Thread(target=lambda: (gate.wait(), on_complete())).start()
        engine.push_async(begin, writes=[var])
        engine.push(parent, reads=[var])
        print("end of script", flush=True)
        gate.set()
        """,
        HYBRIDNET_ENGINE_TYPE=kind,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["end of script", "child"]


def test_exit_drops_what_never_ends():
    result = python(
        """
        import threading
        from hybridnet import engine
        from hybridnet.engine import process
        process.EXIT_TIMEOUT = 0.1
        var = engine.new_variable()
        engine.push(threading.Event().wait, writes=[var])
        engine.push(lambda: print("never"), reads=[var])
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_exit_tells_of_failures_that_nobody_waited_for():
    result = python(
        """
        from hybridnet import engine
        engine.push(lambda: 1 / 0, name="divide", origin=("train.py", 3))
        """
    )
    assert result.returncode == 0
    assert result.stderr == (
        "hybridnet.engine: at exit, unreported: task 'divide', pushed at train.py:3, "
        "failed: ZeroDivisionError: division by zero\n"
    )


def test_atexit_and_finalizers_may_still_use_the_engine():
    result = python(
        """
        import atexit
        from hybridnet import engine
        class Late:
            def __init__(self):
                self.var = engine.new_variable()
            def __del__(self):
                engine.push(lambda: None, writes=[self.var])
                engine.delete_variable(self.var)
        late = Late()
        engine.push(lambda: None, writes=[late.var])
        def at_exit():
            engine.push(lambda: print("at exit"), writes=[late.var])
            engine.wait_for_all()
        atexit.register(at_exit)
        """
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "at exit\n", "")


def test_ctrl_c_in_a_wait_leaves_the_engine_usable():
    result = python(
        """
        import os, signal, sys, threading
        from hybridnet import engine
        var, gate, armed = engine.new_variable(), threading.Event(), [False]
        main = threading.main_thread().ident
        def main_waits():
            code = sys._current_frames()[main].f_code
            return code.co_name == "_acquire" and code.co_filename.endswith("pool.py")
        def interrupt(*_):
            if armed[0]:
                armed[0] = False
                raise KeyboardInterrupt
        def task():
            while not main_waits():
                pass
            armed[0] = True
            while armed[0]:  # one that comes just before the thread falls asleep is seen late
                signal.pthread_kill(main, signal.SIGINT)
            gate.wait()
        signal.signal(signal.SIGINT, interrupt)
        for wait in (lambda: engine.wait_for_var(var), engine.wait_for_all):
            gate.clear()
            engine.push(task, writes=[var])
            try:
                wait()
            except KeyboardInterrupt:
                print("interrupted")
            gate.set()
            engine.wait_for_all()
        done = []
        engine.push(lambda: done.append(1), writes=[var])
        engine.wait_for_var(var)
        engine.wait_for_all()
        print(done, engine.statistics().pending)
        """
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["interrupted", "interrupted", "[1] 0"]


@pytest.mark.parametrize("kind", ["NaiveEngine", "ThreadedEngine"])
def test_ctrl_c_anywhere_leaves_the_engine_usable(kind: str):
    """Interrupts rain on a loop of pushes and waits; then all that was pushed has run, in order."""
    result = python(
        """
        import random, signal
        from hybridnet import engine
        rng, hits, ran = random.Random(0), [0], []
        def interrupt(_, frame):
            if hits[0] < 1000:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 1e-3))
                if frame.f_globals["__name__"].startswith("hybridnet"):  # elsewhere: no news
                    hits[0] += 1
                    raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        var, other = engine.new_variable(), engine.new_variable()
        signal.setitimer(signal.ITIMER_REAL, 1e-3)
        i = 0
        while hits[0] < 1000:
            try:
                i += 1
                engine.push(lambda i=i: ran.append(i), writes=[var])
                engine.push(lambda: None, reads=[var], writes=[other], lane="io")
                if i % 7 == 0:
                    engine.wait_for_var(other)
                if i % 50 == 0:
                    engine.wait_for_all()
            except (KeyboardInterrupt, engine.TaskError):
                pass  # a task struck while it runs inline counts as failed
        try:
            engine.wait_for_all()
        except engine.TaskError:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        engine.get().core.schedule.validate()
        counts = engine.statistics()
        assert ran == sorted(ran) and len(ran) > 0.9 * i, (len(ran), i)
        engine.push(lambda: ran.append("end"), writes=[var])
        engine.wait_for_var(var)
        print(counts.pending, ran[-1])
        """,
        HYBRIDNET_ENGINE_TYPE=kind,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["0", "end"]


def test_ctrl_c_in_a_naive_task_reaches_the_program():
    engine = NaiveEngine()
    var = engine.new_variable()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.push(interrupted, writes=[var])
    with pytest.raises(TaskError, match="KeyboardInterrupt"):
        engine.wait_for_var(var)
    engine.push(lambda: None, writes=[var])
    engine.wait_for_all()


class _Handler:
    """Handlers of several kinds, which all raise the same."""

    def function(number, frame):
        raise TimeoutError("struck")

    def method(self, number, frame):
        raise TimeoutError("struck")

    __call__ = method


@pytest.mark.parametrize("push", [NaiveEngine.push, NaiveEngine.push_async])
@pytest.mark.parametrize(
    "handler", [_Handler.function, _Handler().method, _Handler(), partial(_Handler.function)]
)
def test_what_a_handler_raises_in_a_naive_task_reaches_the_program(handler, push):
    engine, ran = NaiveEngine(), []
    var = engine.new_variable()

    def struck(*done):
        signal.raise_signal(signal.SIGALRM)
        for _ in range(2):
            pass

    def push_others():
        engine.push(lambda: ran.append("other"))
        push(engine, struck, writes=[var])

    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError, match="struck"):
            engine.push(push_others)
        with pytest.raises(TaskError, match="TimeoutError"):
            engine.wait_for_var(var)
    finally:
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(TaskError):  # that of the outer task, too
        engine.wait_for_all()
    engine.push(lambda: ran.append("next"), writes=[var])
    engine.wait_for_all()
    assert ran == ["other", "next"]


def test_what_a_naive_task_itself_raises_is_its_own():
    engine, var = NaiveEngine(), NaiveEngine().new_variable()

    def late():
        raise TimeoutError

    engine.push(late, writes=[var])
    with pytest.raises(TaskError, match="TimeoutError"):
        engine.wait_for_var(var)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is not on this platform")
# From 3.12 Python warns of forks in a process with threads; surviving them is what is tested.
forks = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(check) -> None:
    """Run `check` in a forked child; the child's exit code tells whether it passed."""
    child = os.fork()
    if child == 0:
        code = 1
        faulthandler.dump_traceback_later(40, exit=True)  # says where a child hangs
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_fork
@forks
@pytest.mark.timeout(60)
def test_fork_with_a_running_and_a_waiting_task():
    engine = ThreadedEngine()
    done, half, waiting = (engine.new_variable(name) for name in ("done", "half", "waiting"))
    started, gate, ran = threading.Event(), threading.Event(), []
    engine.push(lambda: ran.append("done"), writes=[done])
    engine.push(lambda: (started.set(), gate.wait(200)), writes=[half], name="running")
    engine.push(lambda: ran.append("waiting"), reads=[half], writes=[waiting], name="waiting")
    engine.wait_for_var(done)
    started.wait(200)

    def check() -> bool:
        fresh = engine.statistics()
        engine.wait_for_var(done)  # its value was there before the fork
        engine.wait_for_all()
        messages = []
        for var in (half, waiting):
            try:
                engine.wait_for_var(var)
            except TaskError as error:
                messages.append(str(error))
        engine.push(lambda: ran.append("child"), writes=[half, waiting], lane="io")
        engine.push(lambda: ran.append("child 2"), reads=[half, done])
        engine.wait_for_all()
        return (
            fresh.threads == 0
            and fresh.pending == 0
            and ["'running'" in messages[0], "'waiting'" in messages[1]] == [True, True]
            and all("pending in the parent process" in message for message in messages)
            and ran == ["done", "child", "child 2"]
            and engine.close()
        )

    in_child(check)
    gate.set()
    engine.wait_for_all()
    assert ran == ["done", "waiting"]
    engine.close()


@needs_fork
@forks
def test_what_the_parent_left_is_not_collected_in_a_child():
    class Knot:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            collected.append(os.getpid())

    collected: list[int] = []
    gc.collect()
    gc.disable()
    try:
        Knot()
        in_child(lambda: gc.collect() >= 0 and not collected)
    finally:
        gc.enable()
    gc.collect()
    assert collected == [os.getpid()]


@needs_fork
@forks
@pytest.mark.timeout(120)
def test_fork_while_other_threads_push():
    engine = ThreadedEngine()
    var, stop = engine.new_variable(), threading.Event()

    def push_on():
        while not stop.is_set():
            engine.push(lambda: None, writes=[var])
            engine.wait_for_var(var)

    threads = [threading.Thread(target=push_on) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(thorough(20, 4)):
            ran: list[int] = []

            def check(ran=ran) -> bool:
                engine.push(lambda: ran.append(1), writes=[var])
                engine.wait_for_all()
                return ran == [1]

            in_child(check)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    engine.wait_for_all()
    engine.close()


@needs_fork
@forks
@pytest.mark.timeout(60)
def test_fork_inside_a_task():
    engine = ThreadedEngine()
    codes, ran = [], []

    def task():
        child = os.fork()
        if child == 0:
            engine.push(lambda: ran.append(1))
            engine.wait_for_all()
            os._exit(0 if ran == [1] else 1)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    engine.push(task)
    engine.wait_for_all()
    assert codes == [0]
    engine.close()


@needs_fork
def test_a_forked_child_that_ends_normally_does_not_hang():
    result = python(
        """
        import os, sys, threading, warnings
        from hybridnet import engine
        warnings.simplefilter("ignore")
        gate, started = threading.Event(), threading.Event()
        var = engine.new_variable()
        engine.push(lambda: (started.set(), gate.wait()), writes=[var])
        started.wait()
        if os.fork() == 0:
            engine.push(lambda: print("child", flush=True))
            sys.exit(0)
        os.wait()
        gate.set()
        engine.push(lambda: print("parent"), reads=[var])
        """
    )
    assert (result.stdout.split(), result.stderr) == (["child", "parent"], "")


class Payload:
    """What a task captures; counted by the garbage collector's list."""


def soak(engine, pushes: int) -> None:
    variables = [engine.new_variable() for _ in range(16)]
    for i in range(pushes):
        a, b, c = variables[i % 16], variables[(i * 7) % 16], variables[(i * 5 + 3) % 16]
        payload = Payload()
        engine.push(lambda payload=payload: payload, (a, b), (c,))
        if i % 1000 == 0:
            engine.delete_variable(a)
            variables[i % 16] = engine.new_variable()
            engine.wait_for_var(c)
    engine.wait_for_all()


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("kind", [NaiveEngine, ThreadedEngine])
def test_very_many_pushes_leave_memory_flat(kind):
    engine = kind()
    soak(engine, 20_000)  # first, what is allocated once
    gc.collect()
    tracemalloc.start()
    try:
        soak(engine, 10_000)
        gc.collect()
        before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
        tracemalloc.stop()  # tracing a million pushes takes minutes; the objects count all the same
        soak(engine, thorough(1_000_000, 120_000))
        tracemalloc.start()
        soak(engine, 10_000)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert engine.statistics().pending == 0
    assert abs(len(gc.get_objects()) - objects) < 1000
    assert after - before < 100_000  # bytes
    assert not [one for one in gc.get_objects() if isinstance(one, Payload)]
    engine.close()


def test_an_idle_worker_keeps_nothing_of_its_last_task():
    engine = ThreadedEngine()
    var = engine.new_variable()
    payload = Payload()
    gone = threading.Event()
    weakref.finalize(payload, gone.set)
    engine.push(lambda payload=payload: payload, writes=[var])
    del payload
    engine.wait_for_all()
    assert gone.wait(60)
    engine.close()
