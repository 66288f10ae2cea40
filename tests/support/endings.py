"""Scripts for the end of a process: what goes on, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

__all__ = ["ENDS", "WORK", "run", "run_to_the_end", "script_of"]

_SETUP = """
import atexit, concurrent.futures, multiprocessing, os, signal, sys, threading, time
import hybridnet as hn
from hybridnet import autograd, engine, nd
from hybridnet.runtime.programs.cache import cache
x = nd.ones((200, 200))
(x + 1).wait_to_read()

def forever(work):
    def loop():
        turn = 0
        while True:
            turn += 1
            work(turn)
    threading.Thread(target=loop, daemon=True).start()
    time.sleep(pause)

def places():
    for frame in sys._current_frames().values():
        while frame is not None:
            yield frame.f_globals.get("__name__")
            frame = frame.f_back

def until(*modules):
    while set(modules).isdisjoint(places()): time.sleep(0.001)
    time.sleep(pause - 0.2)

def compile_soon():
    def twisted(x):
        for k in range(60): x = nd.dot(nd.tanh(x) * k - x, x).sort(axis=k % 2)
        return x
    with cache.compiling_soon():
        for _ in range(2): twisted(x).asnumpy()

pause = {pause}
"""

# What is called in another process is found by its name there, and has no main module to import.
_POOL = """
        pool = multiprocessing.get_context("{}").Pool(1)
        assert pool.apply(nd.ones, ((2,),)).asnumpy().sum() == 2
        """
#: What goes on as the process ends.
WORK = {
    "nothing": "",
    "recorded work": "y = x\nfor _ in range(50): y = nd.dot(y, x) * 0.001",
    "a program that runs": "y = nd.dot(nd.ones((900, 900)), nd.ones((900, 900)))\nnd.waitall",
    "a daemon thread that computes": "forever(lambda turn: (nd.dot(x, x) * 0.1).asnumpy())",
    "a daemon thread that compiles": "forever(lambda n: nd.softmax(nd.ones((n, 3))).asnumpy())",
    "a daemon thread that trains": """
        weight = nd.ones((200, 200)); weight.attach_grad()
        def train(turn):
            with cache.compiling_soon(), autograd.record(): y = (nd.dot(x, weight) ** 2).mean()
            y.backward()
            weight[:] -= 0.01 * weight.grad
        forever(train)
        """,
    "JAX in a daemon thread": """
        import jax
        f = jax.jit(lambda x: (x @ x).sum())
        forever(lambda turn: f(jax.numpy.ones((200, 200))).block_until_ready())
        """,
    "JAX loading in a daemon thread": """
        threading.Thread(target=__import__, args=("jax",), daemon=True).start()
        until("jax")
        """,
    "a compilation in the background": "compile_soon()",
    "JAX lowering in the background": "compile_soon(); until('jax._src.interpreters.mlir')",
    "XLA compiling in the background": """
        compile_soon(); until("jax._src.compiler", "hybridnet.runtime.programs.aside")
        """,
    "JAX compiling in a daemon thread": """
        import jax
        def function(x):
            for k in range(30): x = jax.numpy.sort(jax.numpy.tanh(x * k - x) @ x, k % 2)
            return x
        forever(lambda turn: jax.jit(function).lower(jax.numpy.ones((turn, turn))).compile())
        """,
    "XLA calling Python in a daemon thread": """
        import jax, numpy
        kind = jax.ShapeDtypeStruct((3,), "float32")
        add = jax.jit(lambda a: jax.pure_callback(lambda a: numpy.asarray(a) + 1, kind, a))
        forever(lambda turn: add(jax.numpy.ones(3)).block_until_ready())
        """,
    "garbage collected in the background": """
        import gc
        from hybridnet.runtime.platform import background
        background.in_own_thread(lambda: [gc.collect(0) for _ in iter(int, 1)], "collects")
        """,
    "a pool of threads": """
        pool = concurrent.futures.ThreadPoolExecutor(2)
        found = [pool.submit(lambda: nd.dot(x, x).asnumpy()) for _ in range(4)]
        """,
    "a task of asyncio in a thread": """
        import asyncio
        async def main(): return await asyncio.to_thread(lambda: nd.dot(x, x).asnumpy())
        asyncio.run(main())
        """,
    "a forked process": """
        import warnings
        warnings.simplefilter("ignore")  # JAX warns of os.fork()
        child = multiprocessing.get_context("fork").Process(
            target=lambda: sum(range(1_000_000))
        )
        child.start()
        """,
    "a process of a fork server": _POOL.format("forkserver"),
    "a spawned process": _POOL.format("spawn"),
    "a finalizer that reads an array": """
        class Finalized:
            def __init__(self): self.me, self.array = self, x * 2
            def __del__(self):
                try: self.array.asnumpy()
                except Exception: pass
        held = Finalized()
        """,
}
#: How it ends, and the status that Python gives it.
ENDS = {
    "the last line": ("", 0),
    "sys.exit(3)": ("sys.exit(3)", 3),
    "an exception": ("raise ValueError('meant')", 1),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -15),
    "Ctrl-C": ("signal.raise_signal(signal.SIGINT); x + 1; time.sleep(9)", -2),
}


def script_of(work: str, pause: float = 0.2) -> str:  # pytest 8.0 calls what is named `setup`
    """Returns the script that sets some work going.

    Args:
        work: of `WORK`.
        pause: seconds, 0.2 or more, that it has before the script goes on.
    """
    return _SETUP.format(pause=pause) + textwrap.dedent(WORK[work]) + "\n"


def run_to_the_end(work: str, end: str, pause: float) -> subprocess.CompletedProcess[str]:
    """Runs a script, whose last line prints the time just before its end.

    Args:
        work: of `WORK`.
        end: of `ENDS`.
        pause: as for `script_of`.
    """
    script = f"{script_of(work, pause)}print(time.time(), flush=True)\n{ENDS[end][0]}"
    return run("-c", script)


def run(
    *arguments: str, cwd: Path | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Runs Python to its end with some arguments, in a folder, and with more in its environment."""
    return subprocess.run(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,  # a hang, and not the half second that it should be: see benchmarks/exits.py
        cwd=cwd,
        env={**os.environ, "HYBRIDNET_CACHE_DIR": "off", **environ},
        check=False,
    )
