"""The end of a process, whatever its threads are doing: at once, with Python's status, quietly."""

from __future__ import annotations

import ctypes
import itertools
import textwrap
import time
from pathlib import Path

import pytest
from endings import ENDS, WORK, run, run_to_the_end, script_of
from helpers import run_script, thorough

TRIES = thorough(100, 1)
# (Who is killed leaves his processes' semaphores, of which Python's tracker of resources warns.)
ALL = [
    (work, end)
    for work, end in itertools.product(WORK, ENDS)
    if end != "SIGTERM" or work not in ("a process of a fork server", "a spawned process")
]
COMPILING = "XLA compiling in the background"


@pytest.mark.slow
@pytest.mark.parametrize(("work", "end"), ALL[:: thorough(1, 6)])
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "status"),
    [("", 0), ("sys.exit('why')", 1), ("signal.raise_signal(signal.SIGINT); x + 1", -2)],
)
def test_what_a_program_leaves_is_written(tmp_path: Path, end: str, status: int) -> None:
    """By functions of `atexit` that are older than hybridnet and younger, and by Python and C."""
    script = """
        import atexit, sys
        def leave(name, text):
            with open(name, "w") as file: file.write(text)
            print(text, file=sys.stderr)
        atexit.register(leave, "older", "left by an older function")
        """
    script = textwrap.dedent(script) + script_of(COMPILING)
    script += textwrap.dedent(f"""
        import ctypes
        atexit.register(leave, "younger", "left by a younger function")
        file = open("open", "w")
        file.write("left in a buffer")
        ctypes.CDLL(None).puts(b"left in C's buffer")
        print("left without an end of the line", end="")
        {end}
        """)
    done = run("-c", script, cwd=tmp_path, PYTHONUNBUFFERED="")
    assert done.returncode == status, done.stderr
    assert "left in C's buffer\n" in done.stdout
    assert "left without an end of the line" in done.stdout
    texts = [(tmp_path / name).read_text() for name in ("younger", "older", "open")]
    assert texts[:2] == done.stderr.splitlines()[-2:]
    assert texts == [
        "left by a younger function",
        "left by an older function",
        "left in a buffer",
    ]
    assert ("why" in done.stderr.splitlines()) == ("why" in end)


@pytest.mark.slow
def test_threads_that_are_no_daemons_are_waited_for_and_compute_as_before() -> None:
    """Also what needs JAX, which had not been loaded before the main thread came to its end."""
    printed = run_script(
        """
        import sys, threading
        import numpy as np
        from hybridnet import autograd, nd
        from hybridnet.runtime.platform.background import is_ending
        from hybridnet.runtime.programs.cache import cache

        x = nd.ones((20, 20))
        weight = nd.ones((20, 20))
        weight.attach_grad()
        (x + 1).wait_to_read()

        def train():
            threading.main_thread().join()
            assert is_ending() and "jax" not in sys.modules
            for _ in range(30):
                with cache.compiling_soon(), autograd.record():
                    y = (nd.dot(x, weight) ** 2).mean()
                y.backward()
                weight[:] -= 0.01 * weight.grad
            same = np.full((20, 20), 1.0)
            for _ in range(30):
                same -= 0.01 * 2 * 20 * same[0].sum() / 400
            print("jax" in sys.modules, np.allclose(weight.asnumpy(), same, 1e-4))

        threading.Thread(target=train).start()
        """,
        HYBRIDNET_CACHE_DIR="off",
    )
    assert printed == "True True\n"


@pytest.mark.slow
def test_an_older_function_may_wait_for_a_thread_that_computes() -> None:
    """Threads are held only when all functions of `atexit` have been called."""
    script = """
        import atexit, threading
        stop, thread = threading.Event(), None
        def wait():
            stop.set()
            thread.join()
            print("stopped")
        atexit.register(wait)
        """
    script = textwrap.dedent(script) + script_of(COMPILING)
    script += textwrap.dedent("""
        import jax
        def run():
            while not stop.is_set(): jax.jit(lambda a: a + 1)(1).block_until_ready()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        """)
    assert run_script(script, HYBRIDNET_CACHE_DIR="off") == "stopped\n"


def test_who_calls_the_functions_of_atexit_may_go_on() -> None:
    script = """
        import atexit, os, threading
        asked, answered = threading.Event(), threading.Event()
        def answer():
            asked.wait()
            answered.set()
        threading.Thread(target=answer, daemon=True).start()
        """
    script = textwrap.dedent(script) + script_of(COMPILING)
    script += textwrap.dedent("""
        atexit._run_exitfuncs()
        asked.set()
        answered.wait()
        print("goes on", flush=True)
        os._exit(0)
        """)
    assert run_script(script, HYBRIDNET_CACHE_DIR="off") == "goes on\n"


@pytest.mark.slow
@pytest.mark.parametrize("end", ["the last line", "Ctrl-C"])
def test_a_library_that_is_being_loaded_is_whole_when_python_takes_it_down(end) -> None:
    for turn in range(thorough(40, 4)):  # `jaxlib` begins to load some 30 ms after `jax`
        pause = 0.21 + 0.013 * (turn % 4)
        done = run_to_the_end("JAX loading in a daemon thread", end, pause)
        assert done.returncode == ENDS[end][1], (turn, done.stderr)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "on_exit"), reason="not glibc")
def test_xla_keeps_what_it_compiles_by_as_long_as_it_does() -> None:
    """Else LLVM's objects would be gone for the second that the C library's oldest function takes.

    It is called with the status, 1.
    """
    script = "import ctypes\nctypes.CDLL(None).on_exit(ctypes.CDLL(None).sleep, None)\n"
    script += script_of(COMPILING) + "sys.exit(1)"
    done = run("-c", script)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize("how", [["-m", "cProfile"], ["-i"]])
def test_a_process_ends_by_other_hands(tmp_path: Path, how: list[str]) -> None:
    """Those of a profiler, and of a prompt; its input is at its end."""
    file = tmp_path / "script.py"
    file.write_text(script_of(COMPILING) + "print('the end')\n")
    done = run(*how, str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the end\n")
    assert ("function calls" in done.stdout) == (how == ["-m", "cProfile"])
    assert not done.stderr.replace(">>>", "").strip()
