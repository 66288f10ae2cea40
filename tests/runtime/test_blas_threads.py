"""NumPy's matrix products leave processors to others, and keep to the threads asked for."""

from __future__ import annotations

import threading

import pytest
from helpers import run_script

from hybridnet.runtime.platform import blas_threads

threadpoolctl = pytest.importorskip("threadpoolctl")


def threads():
    """Of the copies that NumPy and SciPy bring; OpenCV has one, too, and keeps it to itself."""
    found = threadpoolctl.ThreadpoolController().select(internal_api="openblas").info()
    return [each["num_threads"] for each in found if "opencv" not in each["filepath"]]


@pytest.fixture(autouse=True)
def several():
    if not threads() or max(threads()) < 2:
        pytest.skip("NumPy computes with one thread here")


def test_one_is_left_while_anybody_wants_it():
    before, inside, go_on = threads(), threading.Event(), threading.Event()

    def compiles():
        with blas_threads.leave_one():
            inside.set()
            go_on.wait(60)

    other = threading.Thread(target=compiles)
    with blas_threads.leave_one():
        less = threads()
        other.start()
        assert inside.wait(60)
    assert threads() == less
    go_on.set()
    other.join()
    assert threads() == before
    assert max(less) < max(before)


def test_scipys_copy_is_kept_to_the_limit_when_it_comes_later():
    out = run_script(
        """
        import threadpoolctl
        from hybridnet.runtime.platform import blas_threads

        def threads():
            found = threadpoolctl.ThreadpoolController().select(internal_api="openblas").info()
            return sorted(each["num_threads"] for each in found)

        with blas_threads.leave_one():
            first = threads()
            import scipy.linalg
            with blas_threads.leave_one():
                both = threads()
        print(len(both) > len(first), max(both) == max(first), min(threads()) > max(both))
        """
    )
    assert out.split() == ["True"] * 3


def test_a_limit_of_the_users_stays():
    def compiles():
        with blas_threads.leave_one():
            pass

    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        worker = threading.Thread(target=compiles)
        worker.start()
        worker.join()
        assert set(threads()) == {1}


def test_it_keeps_to_the_threads_asked_for():
    out = run_script(
        """
        import threadpoolctl
        from hybridnet import nd
        nd.ones((2, 2)).asnumpy()
        print({each["num_threads"] for each in threadpoolctl.threadpool_info()})
        """,
        HYBRIDNET_NUM_THREADS="1",
    )
    assert out == "{1}\n"


@pytest.mark.parametrize(
    ("used", "idle", "wanted"),
    [
        (0.2, 0.2, 2),  # alone: one processor is used, one idle
        (0.0, 0.4, 2),  # it waited for a file
        (0.4, 0.0, 2),  # alone, on both
        (0.2, 0.0, 1),  # another process has the other one
        (0.26, 0.0, 1),  # two threads share two processors with another process
        (0.1, 0.0, 1),  # three others
    ],
)
def test_there_are_as_many_as_processors_are_left(monkeypatch, used, idle, wanted):
    clock = {"idle": 10.0, "used": 1.0}
    monkeypatch.setattr(blas_threads, "idle_seconds", lambda: clock["idle"])
    monkeypatch.setattr(blas_threads, "process_time", lambda: clock["used"])
    monkeypatch.setattr(blas_threads, "num_threads", lambda: 2)
    monkeypatch.setattr(blas_threads, "_threads", blas_threads._Threads())
    before, others = threads(), blas_threads._Others()
    others.look(5.0)
    assert max(threads()) == 1  # nothing is known yet
    assert 5.0 < others.due < 5.2
    clock["idle"] += idle
    clock["used"] += used
    others.look(5.2)
    assert max(threads()) == min(wanted, max(before))
    blas_threads._threads.remove(wanted)
    assert threads() == before


def test_nobody_looks_where_idle_time_is_not_counted(monkeypatch):
    monkeypatch.setattr(blas_threads, "idle_seconds", lambda: None)
    before, others = threads(), blas_threads._Others()
    others.look(5.0)
    assert others.due == float("inf")
    assert threads() == before


def test_the_number_stays_where_bits_must_be_the_same(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "only")
    monkeypatch.setattr(blas_threads, "idle_seconds", lambda: 10.0)
    monkeypatch.setattr(blas_threads, "num_threads", lambda: 2)
    before, others = threads(), blas_threads._Others()
    others.look(5.0)
    assert threads() == before
    with blas_threads.leave_one():
        assert threads() == before


TRAINING = """
import hashlib
import time
import numpy as np
from hybridnet import autograd, gluon, init, nd, random
from hybridnet.runtime.platform import blas_threads

blas_threads.idle_seconds, blas_threads.process_time = {idle}, lambda: 0.0
random.seed(1)
numbers = np.random.default_rng(0)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Conv2D(8, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(600))
net.initialize(init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "adam")
x = nd.array(numbers.standard_normal((16, 3, 20, 20)))
begun = time.monotonic()
for step in range(6):
    with autograd.record():
        loss = (net(x) ** 2).mean()
    loss.backward()
    trainer.step(1)
    loss.asscalar()
    while not step and time.monotonic() < begun + 0.3:  # others are looked at meanwhile
        nd.dot(x[0, 0], x[0, 1]).asnumpy()
digest = hashlib.sha256()
for parameter in net.collect_params().values():
    digest.update(parameter.data().asnumpy().tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
@pytest.mark.parametrize("onednn", ["0", "1"])
def test_training_gives_the_same_bits_however_busy_the_machine_is(onednn):
    """`HYBRIDNET_HOST=only` promises that: how a product is shared decides how it is rounded."""
    environ = {"HYBRIDNET_HOST": "only", "HYBRIDNET_NUM_THREADS": "2", "HYBRIDNET_ONEDNN": onednn}
    alone = run_script(TRAINING.format(idle="lambda: 2 * time.monotonic()"), **environ)
    beside_others = run_script(TRAINING.format(idle="lambda: 0.0"), **environ)
    assert alone == beside_others
