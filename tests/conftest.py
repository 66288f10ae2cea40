"""What every test needs before JAX starts: eight CPU devices, and repeatable property tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Read at the first use of JAX in the process, which any test may be. JAX's own variable is for the
# tests that use JAX before hybridnet does.
os.environ.setdefault("HYBRIDNET_NUM_CPU_DEVICES", "8")
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
# What one test compiled must not be found by another; tests of the folder make their own.
os.environ["HYBRIDNET_CACHE_DIR"] = "off"
# Processes that tests start find the bytecode of those before them: half of their time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# The tests' own too: to write their assertions anew takes a third of the time of collecting them.
sys.dont_write_bytecode = False
# The lowerings that every installation has; test_onednn.py and test_winograd.py are about others.
os.environ["HYBRIDNET_ONEDNN"] = "0"

# Other processes find what tests define by its module's name, tests.gluon.data.test_workers, say.
sys.path.append(str(Path(__file__).parents[1]))

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


@pytest.fixture(autouse=True, scope="session")
def hypothesis_begun() -> None:
    """Hypothesis asks the collector, once, who holds its random numbers.

    That would not see what `few_old_objects` has frozen.
    """

    @given(st.none())
    def first(_: None) -> None: ...

    first()


@pytest.fixture(autouse=True, scope="module")
def few_old_objects(hypothesis_begun: None) -> None:
    """Python's collector looks only at what the tests of one file make.

    A million objects pile up in a run, and each full collection would take half a second.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """HYBRIDNET_TEST_CONTEXT=gpu: what is about CPUs is skipped, with its reason."""
    if os.environ.get("HYBRIDNET_TEST_CONTEXT") != "gpu":
        return
    from about_cpus import reason_of

    for item in items:
        why = reason_of(item.nodeid)
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(autouse=True, scope="session")
def default_context() -> None:
    """HYBRIDNET_TEST_CONTEXT=gpu: arrays are made on a virtual GPU; see `virtual_gpu`."""
    if os.environ.get("HYBRIDNET_TEST_CONTEXT") == "gpu":
        from virtual_gpu import begin_default

        begin_default()


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """A virtual GPU, `gpu(0)`, and what is counted of it; see `virtual_gpu.Card`."""
    from helpers import settle
    from virtual_gpu import virtual_gpu

    from hybridnet.runtime.programs.cache import cache

    settle()
    cache.clear()  # what tests before it compiled
    with virtual_gpu() as made:
        yield made
        monkeypatch.undo()  # what the test has replaced of it, before it is taken away itself


@pytest.fixture(autouse=True)
def as_marked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests marked `compiled` are about programs of XLA's: nothing is run on NumPy arrays.

    In all tests JAX has begun, whichever is first; what is there before is tested in processes of
    their own, and by `eager_runs.before_jax`.
    """
    devices = sys.modules.get("hybridnet.runtime.platform.jax_devices")
    if devices is not None and not devices.has_begun():
        devices.device_of(sys.modules["hybridnet"].cpu())
    if request.node.get_closest_marker("compiled"):
        monkeypatch.setenv("HYBRIDNET_HOST", "off")
        programs = sys.modules.get("hybridnet.runtime.programs.cache")
        if programs is not None:
            programs.cache.clear()  # what a test before it ran by NumPy


@pytest.fixture(autouse=True)
def own_programs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins as a program of its own does, whatever the tests before it compiled.

    The thread has compiled nothing in vain, and the program cache has room: it drops nothing that
    the test compiles and counts.

    Programs are compiled in a hurry, which takes half the time of a test. Tests marked `optimized`,
    and all of a nightly run, have them compiled as users' are.
    """
    programs = sys.modules.get("hybridnet.runtime.programs.cache")
    if programs is None:
        return
    from deciding import loops_soon
    from helpers import thorough
    from traced import hurry

    cache = programs.cache
    # Tests count launches of arrays so small that they would not repay a compilation.
    monkeypatch.setattr(cache, "decide", loops_soon)
    habits = cache._maker.habits
    habits.bought = habits.again = 0
    late = bool(cache._maker._underway)  # what another test had compiled, and did not wait for
    vars(sys.modules["hybridnet.runtime.record.at_once"].thread).clear()  # all is recorded
    threads = sys.modules["hybridnet.runtime.platform.blas_threads"]
    if threads.others._limit is not None:  # by the load while another test ran
        threads._threads.remove(threads.others._limit)
        threads.others._limit = None
    sys.modules["hybridnet.runtime.tiers.prices"].prices.forget()
    optimized = request.node.get_closest_marker("optimized") or thorough(1, 0)
    is_other = hurry(not optimized)
    if is_other or late or cache.statistics().size > cache._shelf.capacity - _ROOM:
        cache.clear()
        cache._maker._underway.clear()


@pytest.fixture(scope="session")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A C++ compiler that compiles once, for all processes of this run, and then copies."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # all workers'
    made = folder / "onednn.so"
    real = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")))
    script = tmp_path_factory.mktemp("compiler") / "c++"
    script.write_text(
        textwrap.dedent(
            f"""\
            #!/bin/sh
            for one; do case "$one" in -o*) out="${{one#-o}}";; esac; done
            if [ ! -f "{made}" ]; then
              {real} "$@" || exit
              cp "$out" "{made}.$$" && mv "{made}.$$" "{made}"
            fi
            cp "{made}" "$out"
            """
        )
    )
    script.chmod(0o700)
    return str(script)


@pytest.fixture
def with_onednn(monkeypatch: pytest.MonkeyPatch, compiler: str) -> Iterator[None]:
    """oneDNN is used, and no program is that was made without it."""
    from hybridnet.native import onednn
    from hybridnet.runtime.programs import cache as programs

    monkeypatch.setenv("HYBRIDNET_ONEDNN", "1")
    monkeypatch.setenv("CXX", compiler)
    assert onednn.load(), onednn.state()
    programs.cache.clear()
    yield
    programs.cache.clear()
