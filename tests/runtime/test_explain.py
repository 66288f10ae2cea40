"""`explain`: the last launches as text, with the lines at which they were recorded."""

from __future__ import annotations

import gc
import io
import os
import re
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import in_thread, settle

import hybridnet as hn
from hybridnet import autograd, engine, nd
from hybridnet.base.errors import OpError, ParameterError
from hybridnet.graph.parse import parse
from hybridnet.ops.core.call import Call
from hybridnet.runtime.observe import events, journal
from hybridnet.runtime.record.host_task import push_task


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Files are shown relative to the working folder; here they lie outside."""
    monkeypatch.chdir(tmp_path)
    settle()


def line_of(function: Callable[..., Any]) -> int:
    return function.__code__.co_firstlineno


def printed(n: int = 1) -> str:
    file = io.StringIO()
    hn.runtime.explain(n, file=file)
    return file.getvalue()


def without_comments(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(re.sub(r" +# .*", "", line) for line in lines) + "\n"


class Failing(Call):
    """An operation that cannot be lowered."""

    num_outputs = num_visible = 1
    num_scalars = 0
    takes_state = False
    name = "boom"

    def infer(self, types):
        return types[:1]

    def lower(self, platform, operands, scalars):
        raise ZeroDivisionError("no such thing")

    def gradient(self, back):
        return [None]


def test_text_names_operators_outputs_donations_and_lines():
    w, x = nd.ones((4, 3)), nd.ones((2, 4))
    settle()

    def step() -> nd.NDArray:
        y = nd.dot(x, w)
        y = y * 2.5
        nd.exp(y)  # nobody wants it
        w[:] = w - 1
        return y.asnumpy()

    with hn.runtime.explaining() as explanation:
        step()
    first = line_of(step)
    here = re.escape(__file__)
    lines = printed().splitlines()
    assert str(explanation) == "\n".join(lines)
    assert lines[0].startswith("# 4 operators on cpu(0): ")
    assert lines[0].endswith(f"; launched at {__file__}:{first + 5}")
    want = [
        r"%0 = input\('input0'\) : float32\[2,4\]",
        r"%1 = input\('input1'\) : float32\[4,3\] +# donated",
        rf"%2 = dot\(%0, %1\) : float32\[2,3\] +# {here}:{first + 1}",
        rf"%3 = _mul_scalar\(%2, scalar=2\.5\) : float32\[2,3\] +# {here}:{first + 2}, output",
        rf"%4 = exp\(%3\) : float32\[2,3\] +# {here}:{first + 3}, not needed",
        rf"%5 = _minus_scalar\(%1, scalar=1\.0\) : float32\[4,3\] +# {here}:{first + 4}, output",
        r"return %5, %3|return %3, %5",
    ]
    assert len(lines) == 2 + len(want)
    for line, pattern in zip(lines[2:], want, strict=True):
        assert re.fullmatch(pattern, line)


def test_the_text_without_comments_is_a_graph():
    x = nd.ones((2, 4))
    with hn.runtime.explaining():
        nd.tanh(x * 2 + 1).wait_to_read()
    graph = parse(without_comments(printed()))
    assert [node.name for node in graph.nodes[1:]] == ["_mul_scalar", "_plus_scalar", "tanh"]


def test_gradients_and_updates_have_the_line_that_asked_for_them():
    w = nd.ones((3,))
    w.attach_grad()

    def step() -> None:
        with autograd.record():
            loss = (w * w).sum()
        loss.backward()
        nd.sgd_update(w, w.grad, lr=0.1, out=w)
        w.wait_to_read()

    with hn.runtime.explaining():
        step()
    first = line_of(step)
    found = re.findall(rf"= (\w+)\(.*# {re.escape(__file__)}:(\d+)", printed())
    where = [(name, int(number) - first) for name, number in found]
    assert where[:2] == [("broadcast_mul", 2), ("sum", 2)]
    assert where[-1] == ("sgd_update", 4)
    assert len(where) > 4 and {line for _, line in where[2:-1]} == {3}  # the backward pass


def test_it_says_how_a_launch_ran():
    # The whole is new: it runs one by one, then is compiled.
    x = nd.ones((3, 7))
    settle()
    for operation in (nd.sin, nd.cos):
        operation(x).wait_to_read()

    def run() -> None:
        nd.cos(nd.sin(nd.cos(nd.sin(x)))).wait_to_read()

    how = []
    for _ in range(20):
        with hn.runtime.explaining() as explanation:
            run()
        settle()
        how.append([one.how for one in explanation])
    assert how[0] == ["run one by one, 4 of them by NumPy"]
    assert how[-1] == ["hot, one dispatch"]
    assert "its program ran" in printed() and "4 operators" in printed()
    with hn.runtime.explaining() as explanation:
        for _ in range(3):
            run()
    assert len(explanation) == 3
    assert str(explanation).count("return") == 1 and "the same 2 times more" in str(explanation)


def test_lines_are_noted_only_while_somebody_listens():
    assert events.observer is None and not journal.is_listening()
    x = nd.ones((2,))
    before = x + 1
    with hn.runtime.explaining() as explanation:
        assert before.read().array is not None  # what was recorded before is launched before
        y = x + 2
    assert events.observer is None and not journal.is_listening()
    assert y.read().array is not None
    (launch,) = explanation
    assert len(launch.lines) == 1
    (x + 3).wait_to_read()
    assert len(explanation) == 1
    text = printed()
    assert "_plus_scalar(%0, scalar=3.0)" in text and "The lines are not known" in text
    assert __file__ not in text


def test_the_last_launches_are_shown_oldest_first():
    x = nd.ones((2,))
    for number in (4, 5, 6):
        (x + number).wait_to_read()
    pending = x + 7
    found = re.findall(r"scalar=(\d)", printed(3))
    assert found == ["4", "5", "6"]
    assert "not launched yet: 1 operator." in printed()
    assert pending.read().array is None
    with pytest.raises(ParameterError, match="n must be at least 1, got 0"):
        hn.runtime.explain(0)


def test_it_prints(capsys):
    (nd.ones((2,)) + 1).wait_to_read()
    hn.runtime.explain()
    assert "return %" in capsys.readouterr().out


def test_launches_keep_no_array():
    x = nd.ones((2,)) + 1
    x.wait_to_read()
    dead = weakref.ref(x.read().array)
    with hn.runtime.explaining() as explanation:
        y = x + 1
        y.wait_to_read()
    del x, y
    gc.collect()
    assert dead() is None and len(explanation) == 1


def test_other_threads_are_seen():
    x = nd.ones((2,))

    def work() -> None:
        (x + 1).wait_to_read()

    with hn.runtime.explaining() as explanation:
        in_thread(work)
    assert f"{__file__}:{line_of(work) + 1}" in str(explanation)


def test_launches_behind_a_task_are_laid_to_what_asked_for_them():
    one = nd.ones((3,)).read().type

    def slow() -> list[Any]:
        return [np.ones(3, np.float32)]

    def work() -> nd.NDArray:
        (made,) = push_task(slow, [], (one,))
        y = nd.NDArray.from_value(made, hn.cpu()) + 1
        y.wait_to_read()
        return y

    with hn.runtime.explaining() as explanation:
        work()
    (launch,) = explanation
    assert engine.resolve_origin(launch.origin) == (__file__, line_of(work) + 3)


def test_errors_say_where_it_was_recorded_if_that_is_known():
    x = nd.ones((3,))

    def alone() -> nd.NDArray:
        return nd.NDArray.apply_call(Failing(), [x])[0]

    def within() -> nd.NDArray:
        y = nd.exp(x)
        z = nd.NDArray.apply_call(Failing(), [y])[0]
        return z + y

    here = re.escape(__file__)
    for function, line in ((alone, 1), (within, 2)):
        number = line_of(function) + line
        with hn.runtime.explaining() as explanation:
            y = function()
        message = rf"boom on cpu\(0\) failed: no such thing; recorded at {here}:{number}$"
        for _ in range(2):
            with pytest.raises(OpError, match=message) as caught:
                y.asnumpy()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert str(explanation)
        y = function()
        with pytest.raises(OpError, match="no such thing$"):
            y.asnumpy()


def test_errors_of_tasks_say_where_they_were_pushed():
    one = nd.ones((3,)).read().type

    def fail() -> list[Any]:
        raise OSError("disk on fire")

    def work() -> nd.NDArray:
        (made,) = push_task(fail, [], (one,), name="reader")
        return nd.NDArray.from_value(made, hn.cpu()) * 2

    raised, pushed = (f"{re.escape(__file__)}:{line_of(one) + 1}" for one in (fail, work))
    said = f"reader failed: disk on fire; raised at {raised}; pushed at {pushed}$"
    with pytest.raises(OpError, match=said):
        work().asnumpy()


def test_results_are_the_same():
    def run() -> list[np.ndarray]:
        hn.random.seed(1)
        x = nd.random.uniform(shape=(3, 4))
        for _ in range(20):
            x[1] = x[0] * 2 - x.mean()
            x = nd.tanh(x)
        return [x.asnumpy()]

    want = run()
    with hn.runtime.explaining():
        got = run()
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_a_setting_notes_lines_from_the_start(tmp_path):
    (tmp_path / "train.py").write_text(
        "import hybridnet as hn\n"
        "x = hn.nd.ones((2,))\n"
        "y = x * 3\n"
        "y.wait_to_read()\n"
        "hn.runtime.explain()\n"
    )
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "HYBRIDNET_EXPLAIN": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "launched at train.py:4" in done.stdout
    assert re.search(r"scalar=3.0\) : float32\[2\] +# train.py:3, output", done.stdout)


def test_what_runs_in_the_place_of_a_structure_is_named():
    """Positions in a graph that MXNet would not clip are looked at: another structure runs."""
    weight, rows = nd.ones((5, 2)), nd.array([1, 4], dtype="int32")
    looked_up = hn.function(lambda weight, rows: nd.take(weight, rows, mode="raise"))
    for _ in range(3):
        looked_up(weight, rows).wait_to_read()
    assert re.search("launched 3 times, .*with answers about positions$", printed(), re.M)
    with hn.debug.nans():
        (weight * 3).wait_to_read()
        assert "with answers about whether results are finite\n" in printed()
    (weight * 3).wait_to_read()
    assert "answers" not in printed()
