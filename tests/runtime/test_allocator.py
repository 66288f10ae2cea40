"""Memory that a program used is kept for its next run: no page is cleared by the kernel again."""

from __future__ import annotations

import os

import pytest
from helpers import run_script

from hybridnet.base import config

try:
    _GLIBC = bool(os.confstr("CS_GNU_LIBC_VERSION"))
except (AttributeError, ValueError):
    _GLIBC = False
pytestmark = pytest.mark.skipif(not _GLIBC, reason="only glibc's allocator is told what to do")

# The program needs 2 x 48 MB beside its input: 25,000 pages of 4 KiB.
_FAULTS = """
    import resource
    import numpy as np
    from hybridnet import engine, nd

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    x = nd.array(np.ones((12, 1000, 1000), "float32"))
    def step():
        nd.dot(nd.transpose(x + 1, axes=(1, 0, 2)), nd.ones((1000, 12))).wait_to_read()
    taken = []
    for _ in range(20):  # some of them compile
        before = faults()
        step()
        engine.wait_for_all()
        taken.append(faults() - before)
    print(sorted(taken)[5])
"""
# What is made of inputs that stay the same is compiled beside, and faults as well; and NumPy's
# results have other memory.
_BY_XLA = {"HYBRIDNET_CONSTANTS_SIZE": "0", "HYBRIDNET_HOST": "off"}


@pytest.mark.slow
def test_a_step_finds_its_memory_again():
    kept = int(run_script(_FAULTS, **_BY_XLA))
    anew = int(run_script(_FAULTS, **_BY_XLA, HYBRIDNET_KEEP_MEMORY="0"))
    assert kept < 1000 < anew


# A training step that XLA's threads run: the next one is asked for before it is done. It takes
# some 60 MB of temporary memory, and a gradient of 16 MB takes that of the one before.
_STEPS = """
    import resource
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, nd

    weight = nd.array(np.full((64, 64), 0.01, "float32"))
    offset = nd.array(np.zeros((32000, 128), "float32"))
    for one in (weight, offset):
        one.attach_grad()
    data = [nd.array(np.full((32000, 64), one, "float32")) for one in (1, 2, 3)]

    @hn.function(autograph=False)
    def step(data):
        with autograd.record():
            x = data
            for _ in range(4):
                x = nd.tanh(nd.dot(x, weight))
            loss = (nd.concat(x, x, dim=1) + offset).sum()
        loss.backward()
        for one in (weight, offset):
            one[:] = one - 1e-6 * one.grad

    def faults_of_three():
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for number in range(3):
            step(data[number])
        nd.waitall()
        hn.engine.wait_for_all()
        return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 3

    # Two threads may run a step, each from its own heaps; and beside other work it takes a while
    # until all is compiled.
    print(min(faults_of_three() for _ in range(20)))
"""


@pytest.mark.slow
def test_a_training_step_finds_its_memory_again():
    plain = {"HYBRIDNET_KEEP_MEMORY": "0", "HYBRIDNET_TUNE": "off"}
    assert int(run_script(_STEPS)) < 500 < int(run_script(_STEPS, **plain))


def test_the_users_own_settings_stand():
    assert int(run_script(_FAULTS, **_BY_XLA, MALLOC_ARENA_MAX="2")) > 1000


def test_memory_can_be_given_back():
    script = """
        import numpy as np
        import hybridnet as mx

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        arrays = [mx.nd.ones((1000, 1000)) + i for i in range(60)]
        mx.nd.waitall()
        arrays.clear()
        mx.nd.waitall()
        held = resident()
        mx.cpu().empty_cache()
        print(held - resident())
    """
    assert int(run_script(script)) > 200e6


def test_the_limit_is_read_with_units(monkeypatch):
    monkeypatch.delenv("HYBRIDNET_KEEP_MEMORY", raising=False)
    assert config.keep_memory() == 2 << 30
    monkeypatch.setenv("HYBRIDNET_KEEP_MEMORY", "64M")
    assert config.keep_memory() == 64 << 20
