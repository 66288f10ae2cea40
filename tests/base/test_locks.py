"""Locks that are free where nobody can be holding them."""

from __future__ import annotations

import os
import threading

import pytest
from helpers import run_script
from interrupted_loops import Struck
from strikes import striking, struck_at

from hybridnet.base.locks import if_free


def test_if_free_does_nothing_while_anybody_holds_the_lock():
    lock, done = threading.RLock(), []
    assert if_free(lock, lambda: done.append(1)) and done == [1]
    with lock:  # as a finalizer would ask, in the midst of what the lock is held for
        assert not if_free(lock, lambda: done.append(2))
        thread = threading.Thread(target=lambda: done.append(if_free(lock, lambda: None)))
        thread.start()
        thread.join()
    assert done == [1, False]
    with pytest.raises(ZeroDivisionError):
        if_free(lock, lambda: 1 / 0)
    assert repr(lock).startswith("<unlocked")


def test_the_exception_of_a_handler_leaves_the_lock_free():
    lock, busy = threading.RLock(), threading.RLock()
    gate, held = threading.Event(), threading.Event()

    def hold():
        with busy:
            held.set()
            gate.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def work():
        if_free(lock, lambda: None)
        if_free(busy, lambda: None)

    count, struck = struck_at(work, 0), 0
    with striking():
        for at in range(1, count + 1):
            try:
                struck_at(work, at)
            except Struck:
                struck += 1
            assert repr(lock).startswith("<unlocked") and not busy._is_owned()
    gate.set()
    thread.join()
    assert struck > count / 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_finds_every_lock_free():
    """All of them are held by another thread at the fork."""
    support = os.path.join(os.path.dirname(__file__), os.pardir, "support")
    out = run_script(
        f"""
        import faulthandler, os, sys, threading, warnings
        import numpy as np
        sys.path[:0] = [{support!r}]
        import hybridnet as hn
        from hybridnet import autograd, gluon, nd
        from strikes import Locks

        warnings.simplefilter("ignore")  # Python's and JAX's of the fork

        @hn.function
        def f(x):
            return (x * 2).sum()

        net = gluon.nn.Dense(3, in_units=4)
        net.initialize()
        x = nd.ones((2, 4))

        def work():
            x[:] = x + 1
            x[0] += 1
            with autograd.record():
                loss = net(x).sum() + f(x) + nd.random.uniform(shape=(1,)).sum()
            loss.backward()
            hn.AttrScope, hn.sym.var("a") * 2
            return loss.asnumpy(), hn.function(lambda y: nd.dot(y, y.T))(x).asnumpy().shape

        for _ in range(3):
            work()
        nd.waitall()
        locks = [one for one, name in Locks().names.items() if name.startswith("hybridnet")]
        hold, held = threading.Lock(), threading.Event()
        hold.acquire()

        def keep():
            taken = [one for one in locks if one.acquire(timeout=0.1)]
            held.set()
            hold.acquire()
            for one in taken:
                one.release()

        thread = threading.Thread(target=keep)
        thread.start()
        held.wait()
        number = os.fork()
        if number == 0:
            faulthandler.dump_traceback_later(60, exit=True)
            assert work()[1] == (2, 2)
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), len(locks) > 20)
        hold.release()
        thread.join()
        """
    )
    assert out.split() == ["7", "True"]
