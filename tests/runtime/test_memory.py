"""What programs take of the host's memory, the bound on it, and `hn.runtime.memory`."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet import nd
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.executable import innermost

pytestmark = pytest.mark.optimized


_MALLOC = """
import ctypes
import hybridnet as hn
from hybridnet import nd
from hybridnet.runtime.programs.cache import cache

class Told(ctypes.Structure):
    _fields_ = [("numbers", ctypes.c_size_t * 10)]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Told

def used():
    return library.mallinfo2().numbers[7]

def compute(size):
    x = nd.ones((size, size))
    for _ in range(4):
        x = nd.tanh(nd.dot(x, x) + 1).softmax() * 2
    x.asnumpy()

for size in range(3, 6):  # what is allocated once
    compute(size)
before, told = used(), cache.statistics().nbytes
for size in range(6, 46):
    compute(size)
print(used() - before, cache.statistics().nbytes - told)
"""


def test_what_programs_are_said_to_take_is_what_is_allocated():
    """Within a factor of two, by the C library's own count."""
    allocated, said = map(int, run_script(_MALLOC, HYBRIDNET_CACHE_DIR="off").split())
    assert allocated / 2 < said < 2 * allocated, (allocated, said)


_ROUNDS = """
import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.runtime.programs.cache import cache

kept = []
for round in range(24):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(5, activation="relu", in_units=4), gluon.nn.Dense(2, in_units=5))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for _ in range(4):
        with autograd.record():
            loss = net(nd.ones((3 + round, 4))).sum()
        loss.backward()
        trainer.step(3)
    loss.asnumpy()
    kept.append(net)
    assert cache.statistics().nbytes <= 16 << 20, round
before = [net(nd.ones((2, 4))).asnumpy() for net in kept]  # those of dropped programs still run
after = [net(nd.ones((2, 4))).asnumpy() for net in kept]
assert all((x == y).all() for x, y in zip(before, after))
found = cache.statistics()
print(found.compilations > sum(p.compiled is not None for p in cache.programs()))
"""


def test_networks_that_are_kept_do_not_keep_dropped_programs():
    size = str(16 << 20)
    told = run_script(_ROUNDS, HYBRIDNET_PROGRAMS_SIZE=size, HYBRIDNET_CACHE_DIR="off")
    assert told.split() == ["True"]  # some were dropped


def test_a_prepared_call_lets_go_of_a_dropped_program_and_finds_the_next():
    @hn.function
    def f(x):
        return nd.tanh(x) * 3 + nd.sin(x)

    x = np.linspace(-1, 1, 6, dtype=np.float32)
    expected = np.tanh(x) * 3 + np.sin(x)
    given = nd.array(x)
    for _ in range(8):
        got = f(given)
    prepared = f.get_concrete_function(given)._prepared
    assert prepared is not None and prepared.dispatched
    executable = weakref.ref(innermost(prepared._program.compiled))
    cache.clear()
    nd.ones((3,)).asnumpy()  # a thread keeps its last program
    gc.collect()
    assert executable() is None
    for _ in range(8):
        got = f(given)
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-5)
        hn.engine.wait_for_all()
    before = prepared.dispatched
    f(given)
    assert prepared.dispatched == before + 1


def test_memory_counts_arrays():
    hn.nd.waitall()
    before = hn.runtime.memory()
    big = nd.ones((1 << 20,))
    big.wait_to_read()
    after = hn.runtime.memory()
    assert after.arrays["cpu(0)"] - before.arrays.get("cpu(0)", 0) >= 4 << 20
    assert 0 < after.resident <= after.peak
    assert after.programs == cache.statistics().nbytes
    text = str(after)
    assert "arrays on cpu(0)" in text and f"{after.num_programs} programs" in text
