"""What every test needs before JAX starts: two CPU devices, and repeatable property tests."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Read at the first use of JAX in the process, which any test may be. JAX's own variable is for the
# tests that use JAX before hybridnet does.
os.environ.setdefault("HYBRIDNET_NUM_CPU_DEVICES", "2")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")
# What one test compiled must not be found by another; tests of the folder make their own.
os.environ["HYBRIDNET_CACHE_DIR"] = "off"
# The lowerings that every installation has; test_onednn.py and test_winograd.py are about others.
os.environ["HYBRIDNET_ONEDNN"] = "0"

# Programs that a test may compile without the cache's dropping any.
_ROOM = 512

# Compilation makes the first examples slow, so a deadline would say nothing.
settings.register_profile(
    "hybridnet",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("hybridnet")

# What a shell runs in the background ignores SIGINT, and the tests of Ctrl-C send themselves one.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_programs(request: pytest.FixtureRequest) -> None:
    """Each test begins as a program of its own does, whatever the tests before it compiled.

    The thread has compiled nothing in vain, and the program cache has room: it drops nothing that
    the test compiles and counts.

    Programs are compiled in a hurry, which takes half the time of a test. Tests marked `optimized`,
    and all of a nightly run, have them compiled as users' are.
    """
    programs = sys.modules.get("hybridnet.runtime.programs")
    if programs is None:
        return
    from helpers import thorough
    from traced import hurry

    cache = programs.cache
    cache._thread.unused = 0
    optimized = request.node.get_closest_marker("optimized") or thorough(1, 0)
    is_other = hurry(not optimized)
    if is_other or cache.statistics().size > cache._capacity - _ROOM:
        cache.clear()


@pytest.fixture
def with_onednn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """oneDNN is used, and no program is that was made without it."""
    from hybridnet.native import onednn
    from hybridnet.runtime import programs

    monkeypatch.setenv("HYBRIDNET_ONEDNN", "1")
    assert onednn.load(), onednn.state()
    programs.cache.clear()
    yield
    programs.cache.clear()
