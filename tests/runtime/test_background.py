"""Work that nobody waits for leaves the processors to others, and its errors arrive."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import jax
import numpy as np
import pytest

from hybridnet import cpu, engine
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get
from hybridnet.runtime.platform import background
from hybridnet.runtime.platform.background import at_low_priority
from hybridnet.runtime.programs.compiling import compile_code
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


@pytest.mark.skipif(sys.platform != "linux", reason="priorities are of whole processes")
def test_xla_compiles_at_low_priority_what_nobody_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    noted: list[int] = []
    compile_it = jax.stages.Lowered.compile

    def noting(lowered: Any, **options: Any) -> Any:
        noted.append(niceness())
        return compile_it(lowered, **options)

    monkeypatch.setattr(jax.stages.Lowered, "compile", noting)
    code = Code(
        cpu(0),
        ((get("_mul_scalar").bind({"scalar": 2.0})[0], (~0,)),),
        (tensor_type((3,), np.dtype("float32")),),
        (0,),
        (),
    )
    before = niceness()
    for in_background in (False, True):
        executable = compile_code(code, in_background=in_background)
        assert noted[-1] == min(before + 10 * in_background, 19)
        with jax.enable_x64(True):
            (doubled,) = executable(np.arange(3, dtype="float32"), np.array([2.0]))
        np.testing.assert_array_equal(doubled, [0, 2, 4])


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
