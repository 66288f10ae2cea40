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
    from hybridnet import nd

    def faults():
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

    x = nd.array(np.ones((12, 1000, 1000), "float32"))
    def step():
        nd.dot(nd.transpose(x + 1, axes=(1, 0, 2)), nd.ones((1000, 12))).wait_to_read()
    taken = []
    for _ in range(20):  # some of them compile
        before = faults()
        step()
        nd.waitall()
        taken.append(faults() - before)
    print(sorted(taken)[5])
"""


def test_a_step_finds_its_memory_again():
    # What is made of inputs that stay the same is compiled beside, and faults as well.
    kept = int(run_script(_FAULTS, HYBRIDNET_CONSTANTS_SIZE="0"))
    anew = int(run_script(_FAULTS, HYBRIDNET_CONSTANTS_SIZE="0", HYBRIDNET_KEEP_MEMORY="0"))
    assert kept < 1000 < anew


def test_the_users_own_settings_stand():
    assert int(run_script(_FAULTS, MALLOC_ARENA_MAX="2")) > 1000


def test_memory_can_be_given_back():
    script = """
        import numpy as np
        import hybridnet as mx

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096

        x = mx.nd.zeros((60, 1000, 1000)) + 1
        x.wait_to_read()
        del x
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
