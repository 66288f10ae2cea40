"""The end of a process, whatever its threads are doing: at once, with Python's status, quietly."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
import time

import pytest
from helpers import thorough

TRIES = thorough(100, 1)

SETUP = """
import atexit, concurrent.futures, multiprocessing, signal, sys, threading, time
import hybridnet as hn
from hybridnet import autograd, engine, nd
x = nd.ones((200, 200))
(x + 1).wait_to_read()

def forever(work):
    def loop():
        turn = 0
        while True:
            turn += 1
            work(turn)
    threading.Thread(target=loop, daemon=True).start()
    time.sleep({pause})

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
            with autograd.record(): y = (nd.dot(x, weight) ** 2).mean()
            y.backward()
            weight[:] -= 0.01 * weight.grad
        forever(train)
        """,
    "JAX in a daemon thread": """
        import jax
        f = jax.jit(lambda x: (x @ x).sum())
        forever(lambda turn: f(jax.numpy.ones((200, 200))).block_until_ready())
        """,
    "a compilation in the background": """
        def f(x):
            for k in range(60): x = nd.dot(nd.tanh(x) * k - x, x).sort(axis=k % 2)
            return x
        f(x).asnumpy(); f(x).asnumpy()
        """,
    "a pool of threads": """
        pool = concurrent.futures.ThreadPoolExecutor(2)
        found = [pool.submit(lambda: nd.dot(x, x).asnumpy()) for _ in range(4)]
        """,
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
    "Ctrl-C": ("signal.raise_signal(signal.SIGINT); x + 1; time.sleep(9)", -2),
}


ALL = list(itertools.product(WORK, ENDS))


@pytest.mark.parametrize(("work", "end"), ALL[:: thorough(1, 3)])
def test_a_process_ends(work, end):
    statement, status = ENDS[end]
    for turn in range(TRIES):
        script = SETUP.format(pause=0.2 + 0.013 * turn) + textwrap.dedent(WORK[work])
        script += f"\nprint(time.time(), flush=True)\n{statement}"
        done = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            timeout=60,  # a hang, and not the half second that it should be: see benchmarks
            env={**os.environ, "HYBRIDNET_CACHE_DIR": "off"},
            check=False,
        )
        assert done.returncode == status, (turn, done.stderr)
        assert float(done.stdout) <= time.time()
        noise = done.stderr.splitlines()
        told = [line for line in noise if line.startswith(("Value", "Keyboard"))]
        if status in (1, -2):
            assert told == noise[-1:], done.stderr
        else:
            assert not noise, done.stderr
