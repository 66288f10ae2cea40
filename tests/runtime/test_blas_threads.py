"""NumPy's matrix products leave a processor to a compilation, and keep to the threads asked for."""

from __future__ import annotations

import threading

import pytest
from helpers import run_script

from hybridnet.runtime.platform import blas_threads

threadpoolctl = pytest.importorskip("threadpoolctl")


def threads():
    found = threadpoolctl.ThreadpoolController().select(internal_api="openblas").info()
    return [each["num_threads"] for each in found]


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
