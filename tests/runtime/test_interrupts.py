"""Exceptions that come out of nothing: Ctrl-C, and those of other signals' handlers."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import traceback
from functools import partial

import jax
import numpy as np
import pytest
from helpers import run_script, settle, thorough
from interrupted_loops import LOOPS, Struck, lines_of
from jax import numpy as jnp
from strikes import Locks, striking, struck_at

import hybridnet as hn
from hybridnet import autograd, engine, kv, nd
from hybridnet.base import interrupts
from hybridnet.ops.host.functions import FUNCTIONS
from hybridnet.runtime.programs.executable import start
from hybridnet.runtime.record import recorder

TRIES = thorough(1000, 60)


def check(step, weights) -> None:
    """Every array can be read, nothing is left on, and the next step runs."""
    assert not autograd.is_recording()
    for weight in weights:
        assert np.isfinite(weight.asnumpy()).all()
    step()
    settle()
    for weight in weights:
        assert np.isfinite(weight.asnumpy()).all()


def moments(step, tries: int) -> list[int]:
    """Lines of a step that repeats, before which something may happen."""
    for _ in range(4):
        step()
    settle()
    return drawn(min(lines_of(step, lambda frame: None, 0) for _ in range(2)), tries)


def drawn(count: int, tries: int) -> list[int]:
    """Returns some of the numbers from 1, in their order."""
    return sorted(random.Random(0).sample(range(1, count + 1), min(tries, count)))


@pytest.mark.slow
@pytest.mark.parametrize("make", LOOPS, ids=lambda make: make.__name__)
def test_ctrl_c_at_any_line_is_raised_between_the_users_statements(make):
    step, weights = make()
    for at in moments(step, TRIES):
        struck = []

        def press(frame, struck=struck):
            struck.append(frame)
            interrupts._handle(signal.SIGINT, frame)

        try:
            lines_of(step, press, at)
        except KeyboardInterrupt as error:
            inside = [
                frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)
            ]
            struck_in = struck[0].f_globals["__name__"]
            if not struck_in.startswith("hybridnet.engine"):  # that raises at once (`interrupts`)
                assert not [name for name in inside if name.startswith("hybridnet.runtime")]
        else:
            assert not struck  # a step may take fewer lines than those that were counted
        check(step, weights)


def struck_everywhere(step, weights) -> None:
    """Has a handler raise at some of a step's instructions, and checks after each."""
    for _ in range(4):
        step()
    settle()
    locks = Locks()
    free = locks.names.keys() - locks.held().keys()
    count = min(struck_at(step, 0) for _ in range(2))
    with striking():
        for at in drawn(count, TRIES // 2):
            with contextlib.suppress(Struck):
                struck_at(step, at)
            autograd.set_recording(False)  # this may be left on: scopes are ended by code, too
            autograd.set_training(False)
            check(step, weights)
            assert not {one: name for one, name in locks.held().items() if one in free}


@pytest.mark.slow
@pytest.mark.parametrize("make", LOOPS, ids=lambda make: make.__name__)
def test_the_exception_of_a_handler_loses_no_array_and_leaves_no_lock(make):
    """Where Ctrl-C is another's affair, or a handler raises by itself (a time limit, say)."""
    struck_everywhere(*make())


def test_the_exception_of_a_handler_leaves_the_engine_and_a_store():
    """Tasks that are pushed and waited for; a store's keys pushed and pulled."""
    total, one = nd.zeros((4,)), nd.ones((4,))
    var, store = engine.new_variable(), kv.create("local")
    store.init("w", total)
    store.set_optimizer(hn.optimizer.SGD(learning_rate=0.01))

    def add():
        total[:] += one

    def step():
        engine.push(add, writes=[var])
        engine.push_async(lambda done: done(), writes=[var])
        engine.wait_for_var(var)
        store.push("w", [one, one])
        store.pull("w", out=total)
        engine.wait_for_all()

    struck_everywhere(step, [total])


def test_the_exception_of_a_handler_is_not_taken_for_a_failure_of_the_program():
    """An ordinary exception class, raised where programs are dispatched."""
    total, one = nd.zeros((8,)), nd.ones((8,))

    def step():
        total[:] += one
        total.wait_to_read()

    struck_everywhere(step, [total])


def test_the_exception_of_a_handler_leaves_a_graph_on_two_devices():
    """It is raised, and not taken for the failure of a node; the next run is whole."""
    x, weight = hn.sym.var("x"), hn.sym.var("weight")
    with hn.AttrScope(ctx_group="first"):
        product = hn.sym.FullyConnected(x, weight, num_hidden=4, no_bias=True)
    with hn.AttrScope(ctx_group="second"):
        out = hn.sym.tanh(product) + 1
    values = {"x": nd.ones((2, 8)), "weight": nd.ones((4, 8))}
    places = {"first": hn.cpu(0), "second": hn.cpu(1)}
    bound = out.bind(hn.cpu(), values, group2ctx=places)
    made = []

    def step():
        made[:] = bound.forward()
        made[0].wait_to_read()

    struck_everywhere(step, list(values.values()))


def test_the_exception_of_a_handler_loses_nothing_while_jax_starts_a_program_for_the_first_time():
    """JAX does so by hundreds of lines of Python, at whose end the outputs are."""

    def first_start():
        made, weight = [], jnp.ones((3,))
        program = jax.jit(lambda x: (x + 1,), donate_argnums=0).lower(weight).compile()
        return partial(start, program, (weight,), made), made, weight

    also = (os.path.dirname(jax.__file__),)
    with striking():
        count = min(struck_at(first_start()[0], 0, also) for _ in range(3))
        begun = 0
        strikes = sorted({1, *drawn(count, TRIES)})  # the first is before JAX begins
        for at in strikes:
            begin, made, weight = first_start()
            with contextlib.suppress(Struck):
                struck_at(begin, at, also)
            assert made or not weight.is_deleted()
            begun += bool(made)
    assert 0 < begun < len(strikes)


@pytest.mark.parametrize("together", [False, True])
def test_the_exception_of_a_handler_leaves_what_numpy_runs(monkeypatch, together):
    """A limit of time that an ordinary exception ends, as scripts set with signal.alarm."""

    def limit(number, frame):
        raise Struck

    def slow(x):
        signal.raise_signal(signal.SIGALRM)
        return np.linalg.cholesky(x)

    monkeypatch.setitem(FUNCTIONS, "linalg.cholesky", slow)
    monkeypatch.setitem(FUNCTIONS, "lax.linalg.cholesky", slow)
    before = signal.signal(signal.SIGALRM, limit)
    try:
        matrix = nd.array(4 * np.eye(3))
        with pytest.raises(Struck):
            root = nd.linalg.potrf(matrix)
            (root + 1 if together else root).asnumpy()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_the_second_ctrl_c_is_raised_at_once():
    def strike(frame):
        interrupts._handle(signal.SIGINT, frame)
        interrupts._handle(signal.SIGINT, frame)

    with pytest.raises(KeyboardInterrupt) as raised:
        lines_of(lambda: nd.ones((2,)) + 1, strike, 5)
    assert raised.traceback[-1].name == "raise_"
    assert sys.gettrace() is None or raised.traceback[-1].frame.f_trace is None


def test_ctrl_c_in_a_finalizer_is_not_dropped():
    class Finalized:
        def __del__(self):
            interrupts._handle(signal.SIGINT, sys._getframe())
            _ = 0

    def drop():
        held = Finalized()
        held.me = held
        del held
        gc.collect()
        _ = 0

    with pytest.raises(KeyboardInterrupt):
        drop()


def test_the_exception_of_a_handler_that_comes_while_garbage_is_collected():
    """It is raised when the collector has ended, and nothing goes on as if that still ran."""
    script = """
        import gc, signal
        from hybridnet import nd, util

        class Late(Exception):
            pass

        def strike(number, frame):
            raise Late

        signal.signal(signal.SIGALRM, strike)
        many = [[number] for number in range(300_000)]
        for one in many:
            one.append(many)
        caught = 0
        for _ in range(5):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-3)
                gc.collect()
                for _ in range(10_000_000):
                    pass
            except Late:
                caught += 1
        print(caught, util.use_np(lambda: (nd.ones((2,)) + caught).asnumpy().tolist())())
    """
    assert run_script(script).split(maxsplit=1) == ["5", "[6.0, 6.0]\n"]


def test_a_call_from_c_code_is_interrupted_as_it_begins(monkeypatch):
    """`map` and the like have no lines: there Ctrl-C is raised before the next element."""
    x, calls = nd.ones((2,)), []
    double = hn.function(lambda x: x * 2)

    def come():
        calls.append(None)
        if len(calls) == 3:
            interrupts._handle(signal.SIGINT, sys._getframe(1))

    monkeypatch.setattr(recorder, "defer_interrupts", come)
    with pytest.raises(KeyboardInterrupt):
        list(map(double, [x] * 100))
    assert len(calls) < 10


LOOP = """
import os, random, signal, sys, threading, time
import numpy as np
from hybridnet import autograd, engine, nd
sys.path.insert(0, {support!r})
import interrupted_loops
make, tries = getattr(interrupted_loops, {name!r}), {tries}
step, weights = make()
for _ in range(8):
    step()
nd.waitall()
engine.wait_for_all()
swallowed = []
sys.unraisablehook = swallowed.append
signal.signal(signal.SIGINT, signal.default_int_handler)
rng = random.Random(0)

def press(gate, after):
    gate.acquire()
    time.sleep(after)
    os.kill(os.getpid(), signal.SIGINT)

for _ in range(tries):
    # Not while the thread is started: Ctrl-C there may leave Python's own locks unlocked.
    gate = threading.Lock()
    gate.acquire()
    finger = threading.Thread(target=press, args=(gate, rng.uniform(0, 0.004)))
    finger.start()
    came = False
    try:
        gate.release()
        while True:
            step()
    except KeyboardInterrupt:
        came = True
    finger.join()
    assert came and not autograd.is_recording()
    for weight in weights:
        assert np.isfinite(weight.asnumpy()).all()
    step()
    nd.waitall()
assert not swallowed, swallowed
print("every one of", tries)
"""


@pytest.mark.slow
@pytest.mark.parametrize("make", LOOPS, ids=lambda make: make.__name__)
def test_real_signals_at_random_moments(make):
    support = os.path.join(os.path.dirname(__file__), os.pardir, "support")
    code = LOOP.format(support=support, name=make.__name__, tries=TRIES)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert done.stdout.strip() == f"every one of {TRIES}", (done.returncode, done.stderr[-3000:])
