"""Work that nobody waits for leaves the processors to others, and its errors arrive."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import jax
import numpy as np
import pytest
from helpers import run_script

from hybridnet import cpu, engine, nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get
from hybridnet.runtime.platform import background
from hybridnet.runtime.platform.background import at_low_priority
from hybridnet.runtime.programs import compiling
from hybridnet.runtime.programs.aside import compile_to_bytes
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.compiling import compile_code, executable_from, to_bytes
from hybridnet.runtime.segments.code import Code


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def test_results_and_errors_arrive() -> None:
    assert at_low_priority(lambda: (threading.current_thread().name, 3), "other") == ("other", 3)
    with pytest.raises(ZeroDivisionError):
        at_low_priority(lambda: 1 // 0, "failing")


@pytest.mark.skipif(sys.platform != "linux", reason="priorities are of whole processes")
def test_only_the_thread_that_works_is_of_low_priority() -> None:
    before = niceness()
    assert at_low_priority(niceness, "low") == min(before + 10, 19)
    assert niceness() == before


# In a process of its own, since the threads that generate code are made once. Deserializing is not
# in it, which JAX's own client does.
_COMPILING = """
    import os
    from contextlib import suppress
    import jax, jax.numpy as jnp, numpy as np
    from hybridnet.runtime.platform.background import at_low_priority
    from hybridnet.runtime.programs.aside import compile_to_bytes

    def ticks():
        found = {}
        for thread in os.listdir("/proc/self/task"):
            with suppress(OSError), open(f"/proc/self/task/{thread}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            found[thread] = int(fields[16]), int(fields[11])
        return found

    def function(x):
        for k in range(60):
            x = jnp.tanh(x @ x + k) + jnp.sort(x, k % 2)
        return x

    lowered = jax.jit(function).lower(np.ones((8, 8), "float32"))
    own, before = os.getpriority(os.PRIO_PROCESS, 0), ticks()
    made = at_low_priority(lambda: compile_to_bytes(lowered, {}), "compile")
    worked = {True: 0, False: 0}
    for thread, (nice, used) in ticks().items():
        worked[nice >= min(own + 10, 19)] += used - before.get(thread, (nice, 0))[1]
    print(len(made) > 0, worked[True], worked[False])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="priorities are of whole processes")
def test_xla_compiles_at_low_priority_what_nobody_waits_for() -> None:
    made, low, other = run_script(_COMPILING).split()
    assert made == "True"
    assert int(low) > 5 * int(other)


def test_what_is_compiled_aside_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    code = Code(
        cpu(0),
        ((get("_mul_scalar").bind({"scalar": 2.0})[0], (~0,)),),
        (tensor_type((3,), np.dtype("float32")),),
        (0,),
        (),
    )
    written = []
    monkeypatch.setattr(
        compiling,
        "compile_to_bytes",
        lambda *how: written.append(compile_to_bytes(*how)) or written[0],
    )
    aside = compile_code(code, for_disk=True, in_background=True)
    assert len(written) == 1  # else this JAX has other names for what `aside` uses
    data = to_bytes(code, aside)
    assert data == written[0]  # with its machine code
    for executable in (aside, executable_from(code, data), compile_code(code)):
        with jax.enable_x64(True):
            (doubled,) = executable(jax.device_put(np.arange(3, dtype="float32")), np.array([2.0]))
        np.testing.assert_array_equal(doubled, [0, 2, 4])


def test_where_jax_has_other_names_its_own_client_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(lowered: Any, options: Any) -> bytes:
        raise AttributeError("get_compile_options")

    monkeypatch.setattr(compiling, "compile_to_bytes", without)
    x = nd.array(np.arange(5.0))
    with cache.compiling_soon():
        for _ in range(4):
            doubled = nd.tanh(x * 2 + 0.25) - 1
            doubled.wait_to_read()
            engine.wait_for_all()
    assert cache.last() is not None
    np.testing.assert_allclose(doubled.asnumpy(), np.tanh(np.arange(5) * 2 + 0.25) - 1, atol=1e-6)


def test_what_is_done_in_a_thread_of_its_own_is_waited_for_and_holds_up_nothing() -> None:
    """`engine.wait_for_all` waits, also for what it has the engine do at its end."""
    may_go_on = threading.Event()
    done: list[str] = []

    def work() -> None:
        may_go_on.wait()
        done.append(threading.current_thread().name)
        background.later(lambda: done.append("last"), "last")

    background.later_in_own_thread(work, "slow")
    for _ in range(8):  # more than the engine has threads for what is done in the background
        background.later(lambda: done.append("other"), "other")
    background.later(may_go_on.set, "end")
    engine.wait_for_all()
    assert done == ["other"] * 8 + ["slow", "last"]


def test_without_a_thread_of_its_own_it_is_done_by_the_engines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine.wait_for_all()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    done = threading.Event()
    with monkeypatch.context() as patched:
        patched.setattr(background, "_start", lambda *_: refuse(threading.current_thread()))
        background.later_in_own_thread(done.set, "slow")
        engine.wait_for_all()
    assert done.is_set()
