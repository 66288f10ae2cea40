"""The profiler: what it records, and the forms in which it gives that back."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers import settle
from simulated import Simulated, running_on, simulated

import hybridnet as hn
from hybridnet import engine, nd, profiler, sym
from hybridnet.base.errors import ParameterError
from hybridnet.profiler.spans import Record, events_of
from hybridnet.profiler.sums import Sums
from hybridnet.runtime.observe import events
from hybridnet.runtime.programs.cache import cache


@pytest.fixture(autouse=True)
def quiet(tmp_path, monkeypatch):
    """Each test begins and ends with a profiler that is off and has no events."""
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(hn.MXNetError):
        settle()  # for compilations that other tests began, and whatever they left failing
    profiler.set_state("stop")
    profiler.dumps(reset=True)
    yield
    profiler.resume()
    profiler.set_state("stop")
    profiler.set_config(filename="profile.json", continuous_dump=False, profile_memory=False)
    profiler.dumps(reset=True)


def chain(x: nd.NDArray, length: int) -> nd.NDArray:
    for _ in range(length):
        x = nd.sin(x) + 1
    return x


def line_of(function: Callable[..., Any]) -> int:
    return function.__code__.co_firstlineno


def of_kind(kind: str) -> list[profiler.Span]:
    return [one for one in profiler.events() if one.kind == kind]


def test_nobody_listens_unless_it_runs():
    assert events.observer is None
    chain(nd.ones((3,)), 2).asnumpy()
    assert profiler.events() == []
    profiler.set_state("run")
    assert events.observer is not None
    profiler.set_state("stop")
    assert events.observer is None
    chain(nd.ones((3,)), 2).asnumpy()
    engine.push(lambda: None)
    nd.waitall()
    assert profiler.events() == []


def test_results_are_the_same_with_and_without():
    x = np.linspace(0, 1, 12).reshape(3, 4)
    want = np.sin(np.sin(x) + 1) + 1
    with profiler.profile():
        got = chain(nd.array(x, dtype="float64"), 2).asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.compiled
def test_launches_compilations_and_waits_are_counted():
    x = nd.ones((7, 11))
    x.wait_to_read()
    before = cache.statistics()
    with profiler.profile():
        for _ in range(2):
            for _ in range(2):
                chain(x, 3).wait_to_read()
            settle()
    after = cache.statistics()
    assert len(of_kind("compile")) == after.compilations - before.compilations > 0
    # A launch that runs step by step counts once as cold, and each of its programs as hot.
    assert len(of_kind("program")) == after.hot - before.hot >= 4
    assert len(of_kind("steps")) == after.cold - before.cold
    waits = of_kind("wait")
    assert [one.name for one in waits] == 2 * ["float32[7,11]", "float32[7,11]", "everything"]
    whole = [one for one in of_kind("program") if one.facts["instructions"] == 6]
    assert whole and all(one.facts["device"] == "cpu(0)" for one in whole)
    assert {one.name for one in whole} == {"sin, _plus_scalar"}
    # All in this thread, a program within the wait that launched it.
    first = waits[0]
    assert of_kind("program")[0].start >= first.start
    assert {one.row for one in waits} == {threading.current_thread().name}


def test_long_programs_are_counted_in_their_name():
    with profiler.profile():
        x = nd.ones((2, 2))
        nd.sqrt(nd.exp(nd.cos(nd.sin(nd.tanh(x + 1))))).wait_to_read()
    names = {one.name for one in profiler.events() if one.facts.get("instructions") == 7}
    assert names == {"_ones, _plus_scalar, tanh + 4 more"}


def test_tasks_have_names_lanes_and_failures():
    var = engine.new_variable()

    def bad() -> None:
        raise ValueError("bad")

    with profiler.profile():
        engine.push(lambda: None, writes=[var], lane="io", name="read digits")
        engine.wait_for_var(var)
        engine.push(bad, writes=[var], lane="copy")
        with pytest.raises(engine.TaskError):
            engine.wait_for_var(var)
    good, failed = of_kind("task")
    assert (good.name, good.row) == ("read digits", "io")
    first = line_of(test_tasks_have_names_lanes_and_failures) + 7
    assert dict(good.facts) == {"lane": "io", "failed": False, "line": f"{__file__}:{first}"}
    assert dict(failed.facts) == {"lane": "copy", "failed": True, "line": f"{__file__}:{first + 2}"}
    assert good.start + good.duration <= failed.start
    engine.push(lambda: None, writes=[var])  # a value again: nothing is left to report
    nd.waitall()


def test_rows_hold_spans_that_follow_or_contain_each_other():
    """Tasks a and b end by callbacks in one thread and overlap; c lies within b.

    a: |-----|        d and e are in threads of the same name.
    b:    |-------|
    c:      |--|
    """
    one, two = (1, "hybridnet-io"), (2, "hybridnet-io")
    records = [
        Record("task", "a", one, 0, 60, {}),
        Record("task", "b", one, 30, 110, {}),
        Record("task", "c", one, 50, 80, {}),
        Record("task", "d", two, 10, 20, {}),
        Record("task", "e", one, 110, 120, {}),
    ]
    rows = {event.name: event.row for event in events_of(records[::-1], 0)}
    assert rows == {"a": "io", "d": "io 2", "b": "io 3", "c": "io 3", "e": "io"}
    first = events_of(records, 10)[1]
    assert (first.name, first.start, first.duration) == ("d", 0.0, 0.01)


@pytest.mark.compiled
def test_the_trace_is_chromes_format(tmp_path):
    path = tmp_path / "trace.json"
    with profiler.profile(path):
        engine.push(lambda: None, lane="io", name="task")
        chain(nd.ones((3,)), 1).wait_to_read()
        nd.waitall()
    trace = json.loads(path.read_text())
    spans = [one for one in trace["traceEvents"] if one["ph"] == "X"]
    names = [one for one in trace["traceEvents"] if one["ph"] == "M"]
    assert len(spans) == len(profiler.events())
    assert {one["cat"] for one in spans} >= {"task", "program", "wait"}
    for one in spans:
        assert one["ts"] >= 0 and one["dur"] >= 0
        assert isinstance(one["pid"], int) and isinstance(one["tid"], int)
    rows = {one["tid"]: one["args"]["name"] for one in names if one["name"] == "thread_name"}
    assert set(rows) == {one["tid"] for one in spans}
    assert "io" in rows.values() and threading.current_thread().name in rows.values()
    # Rows are spans that follow or contain each other, which viewers rely on.
    for row in rows:
        ends: list[float] = []
        for one in sorted(
            (one for one in spans if one["tid"] == row), key=lambda one: (one["ts"], -one["dur"])
        ):
            while ends and ends[-1] <= one["ts"]:
                ends.pop()
            assert not ends or one["ts"] + one["dur"] <= ends[-1]
            ends.append(one["ts"] + one["dur"])
    assert all(one["args"]["line"].startswith(__file__) for one in spans if one["cat"] != "task")
    assert list(tmp_path.iterdir()) == [path]


def rows_of(trace):
    """Returns the spans of each process, by its name, and the order of the processes."""
    spans = {}
    names, order = {}, {}
    for one in trace["traceEvents"]:
        if one["name"] == "process_name":
            names[one["pid"]] = one["args"]["name"]
        elif one["name"] == "process_sort_index":
            order[one["pid"]] = one["args"]["sort_index"]
    for one in trace["traceEvents"]:
        if one["ph"] == "X":
            spans.setdefault(names[one["pid"]], []).append(one)
    return spans, [names[pid] for pid in sorted(order, key=order.__getitem__)]


def test_devices_are_groups_of_rows_that_overlap(tmp_path):
    """Two towers on two devices: each waits, in the midst of its program, for the other to run."""
    meeting = threading.Barrier(2, timeout=60)
    x = sym.var("x")
    towers = []
    for index in (0, 1):
        with hn.device(f"/device:toy:{index}"):
            towers.append(sym.exp(x, name=f"tower{index}"))
    path = tmp_path / "trace.json"
    two = engine.ThreadedEngine(workers={"compute": 2})
    with running_on(two), simulated(Simulated(0), Simulated(1)) as toys:
        bound = (towers[0] + towers[1]).simple_bind(toys[0].context, x=(300, 300))
        for toy in toys:
            toy.before = lambda name: meeting.wait() if name == "exp" else None
        with profiler.profile(path):
            bound.forward()[0].wait_to_read()
    trace = json.loads(path.read_text())
    spans, order = rows_of(trace)
    assert order == ["hybridnet", "toy(0)", "toy(1)"]
    first, second = (next(one for one in spans[name] if "exp" in one["name"]) for name in order[1:])
    assert first["cat"] == second["cat"] == "device"
    assert first["ts"] < second["ts"] + second["dur"] and second["ts"] < first["ts"] + first["dur"]
    threads = {
        (one["pid"], one["tid"]) for one in trace["traceEvents"] if one["name"] == "thread_name"
    }
    assert {(one["pid"], one["tid"]) for one in trace["traceEvents"] if one["ph"] == "X"} == threads


def test_a_two_device_network_of_cpus_has_a_row_for_each(tmp_path):
    x = sym.var("x")
    with hn.device("/cpu:1"):
        y = sym.FullyConnected(x, num_hidden=8, name="there")
    bound = (y + 1).simple_bind(hn.cpu(0), x=(4, 8))
    with profiler.profile(tmp_path / "trace.json"):
        bound.forward(is_train=True)
        bound.backward(nd.ones((4, 8)))
        nd.waitall()
    spans, order = rows_of(json.loads((tmp_path / "trace.json").read_text()))
    assert order == ["hybridnet", "cpu(0)", "cpu(1)"]
    assert any("FullyConnected" in one["name"] for one in spans["cpu(1)"])


@pytest.mark.compiled
def test_the_time_of_one_device_is_told_where_programs_are_waited_for():
    profiler.set_config(wait_for_programs=True)
    try:
        with profiler.profile():
            chain(nd.ones((3,)), 3).wait_to_read()
        busy, launches = of_kind("device"), of_kind("program")
    finally:
        profiler.set_config(wait_for_programs=False)
    assert busy and len(busy) == len(launches)
    for outer, inner in zip(busy, launches, strict=True):
        assert outer.facts["device"] == "cpu(0)" and outer.name == inner.name
        assert outer.start <= inner.start
        assert inner.start + inner.duration <= outer.start + outer.duration
    with profiler.profile():
        chain(nd.ones((3,)), 3).wait_to_read()
    assert not of_kind("device")


@pytest.mark.compiled
def test_events_have_the_lines_of_the_user():
    x = nd.ones((5, 2))

    def work() -> None:
        y = nd.exp(x)
        z = y * 3
        z.wait_to_read()

    first = line_of(work)
    with profiler.profile():
        for _ in range(3):
            work()
            settle()
    wait = f"{__file__}:{first + 3}"
    programs = [one for one in of_kind("program") if one.facts["instructions"] == 2]
    assert programs
    for one in programs:
        assert one.facts["line"] == wait
        assert one.facts["recorded"] == f"{__file__}:{first + 1}-{first + 2}"
    whole = [one for one in of_kind("compile") if one.facts["instructions"] == 2]
    # The one in the background is laid to the launch that asked for it.
    assert [one.facts["line"] for one in whole] in ([], [wait])
    assert {one.facts["line"] for one in of_kind("wait") if one.name != "everything"} == {wait}


def test_users_add_tasks_frames_events_counters_and_markers(tmp_path):
    domain = profiler.Domain("training")
    task, frame, event = domain.new_task("epoch"), domain.new_frame("batch"), profiler.Event("io")
    unseen = profiler.Counter(domain, "unseen", 3)
    with profiler.profile(tmp_path / "trace.json"):
        counter = domain.new_counter("loss", 5)
        task.start()
        for _ in range(2):
            frame.start()
            frame.stop()
        with event:
            domain.new_marker("here").mark()
        task.stop()
        counter += 3
        counter -= 1
        counter.increment()
        counter.decrement(2)
        counter.set_value(0.5)
        profiler.Marker(domain, "there").mark("thread")
    task.start()
    task.stop()  # too late to be recorded
    assert [one.name for one in of_kind("user")] == ["epoch", "batch", "batch", "io"]
    epoch = of_kind("user")[0]
    assert all(one.start <= epoch.start + epoch.duration for one in of_kind("user"))
    assert epoch.facts["domain"] == "training" and epoch.facts["what"] == "task"
    values = [one.facts["value"] for one in of_kind("counter")]
    assert values == [5, 8, 7, 8, 6, 0.5]
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    shown = [one for one in trace if one["ph"] == "C"]
    assert [one["args"] for one in shown] == [{"loss": value} for value in values]
    assert [(one["name"], one["s"]) for one in trace if one["ph"] == "i"] == [
        ("here", "p"),
        ("there", "t"),
    ]
    assert {one["cat"] for one in trace if one["ph"] in "Ci"} == {"training"}
    sums = json.loads(profiler.dumps(format="json"))["Time"]
    counts = {name: row["Count"] for name, row in sums["training"].items()}
    assert counts == {"epoch": 1, "batch": 2} and sums["event"]["io"]["Count"] == 1
    assert [str(one) for one in (domain, task, counter, unseen)] == [
        "training",
        "epoch",
        "loss",
        "unseen",
    ]


def test_dump_writes_where_it_was_told_and_the_next_run_starts_anew(tmp_path):
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=str(tmp_path / "a.json"))
    profiler.set_state("run")
    nd.ones((2,)).wait_to_read()
    profiler.dump(finished=False)
    first = len(json.loads((tmp_path / "a.json").read_text())["traceEvents"])
    nd.ones((2,)).wait_to_read()
    profiler.dump()
    assert len(json.loads((tmp_path / "a.json").read_text())["traceEvents"]) > first
    assert events.observer is None
    profiler.set_state("run")
    assert profiler.events() == []


def test_runs_add_up_and_pauses_leave_out():
    profiler.set_state("run")
    nd.ones((2,)).wait_to_read()
    profiler.pause()
    nd.ones((3,)).wait_to_read()
    profiler.resume()
    nd.ones((4,)).wait_to_read()
    profiler.set_state("stop")
    nd.ones((5,)).wait_to_read()
    profiler.set_state("run")
    nd.ones((6,)).wait_to_read()
    names = [one.name for one in of_kind("wait")]
    assert names == ["float32[2]", "float32[4]", "float32[6]"]
    profiler.pause()
    profiler.set_state("stop")
    profiler.set_state("run")  # is not paused
    nd.ones((7,)).wait_to_read()
    assert [one.name for one in of_kind("wait")][-1] == "float32[7]"


def test_profile_forgets_what_was_before_and_a_run_after_it_goes_on(tmp_path):
    profiler.set_state("run")
    nd.ones((2,)).wait_to_read()
    profiler.set_state("stop")
    with profiler.profile():
        nd.ones((3,)).wait_to_read()
    profiler.set_state("run")
    nd.ones((4,)).wait_to_read()
    assert [one.name for one in of_kind("wait")] == ["float32[3]", "float32[4]"]
    profiler.dumps(reset=True)
    nd.ones((5,)).wait_to_read()
    assert [one.name for one in of_kind("wait")] == ["float32[5]"]


def test_dumps_of_a_continuous_trace_add_to_its_file(tmp_path):
    path = tmp_path / "a.json"

    def traced() -> list[dict[str, Any]]:
        return json.loads(path.read_text())["traceEvents"]

    def marks() -> list[str]:
        return [one["name"] for one in traced() if one["ph"] == "i"]

    domain = profiler.Domain("d")
    profiler.set_config(filename=str(path), continuous_dump=True)
    profiler.set_state("run")
    for number in range(3):
        domain.new_marker(f"m{number}").mark()
        profiler.dumps(reset=True)  # of no consequence to the file
        before = path.read_bytes() if number else b""
        profiler.dump(finished=False)
        assert marks() == [f"m{i}" for i in range(number + 1)]
        assert path.read_bytes().startswith(before[:-4])
    named = [one["args"]["name"] for one in traced() if one["name"].endswith("s_name")]
    assert named == ["hybridnet"]
    size = path.stat().st_size
    profiler.dump(finished=False)  # of nothing
    assert path.stat().st_size == size
    path.unlink()
    domain.new_marker("late").mark()
    profiler.dump()
    assert marks() == ["late"]
    profiler.set_state("run")
    domain.new_marker("anew").mark()
    profiler.dump()
    assert marks() == ["anew"]


def test_records_that_could_not_be_written_wait_for_the_next_dump(tmp_path):
    profiler.set_config(filename=str(tmp_path / "later" / "a.json"), continuous_dump=True)
    profiler.set_state("run")
    profiler.Domain("d").new_marker("m").mark()
    with pytest.raises(FileNotFoundError):
        profiler.dump(finished=False)
    (tmp_path / "later").mkdir()
    profiler.dump()
    events = json.loads((tmp_path / "later" / "a.json").read_text())["traceEvents"]
    assert [one["name"] for one in events if one["ph"] == "i"] == ["m"]


def test_an_unwritable_file_leaves_nothing(tmp_path):
    profiler.set_config(filename=str(tmp_path / "missing" / "trace.json"))
    with pytest.raises(FileNotFoundError):
        profiler.dump()
    assert list(tmp_path.iterdir()) == []


def test_tables_sum_up():
    with profiler.profile():
        for _ in range(3):
            nd.ones((2,)).wait_to_read()
        nd.ones((9,)).wait_to_read()
    sums = json.loads(profiler.dumps(format="json", sort_by="count"))["Time"]
    assert [row["Count"] for row in sums["wait"].values()] == [3, 1]
    for rows in sums.values():
        for row in rows.values():
            assert row["Min"] <= row["Avg"] <= row["Max"] <= row["Total"] * (1 + 1e-9)
            assert row["Total"] == pytest.approx(row["Avg"] * row["Count"])
    times = [one.duration / 1e3 for one in of_kind("wait") if one.name == "float32[2]"]
    assert sums["wait"]["float32[2]"]["Total"] == pytest.approx(sum(times))
    ascending = json.loads(profiler.dumps(format="json", sort_by="count", ascending=True))["Time"]
    assert list(ascending["wait"]) == list(sums["wait"])[::-1]
    lines = profiler.dumps(reset=True).splitlines()
    row = next(line for line in lines if line.startswith("float32[2]"))
    assert row.split()[:2] == ["float32[2]", "3"]
    assert profiler.events() == []


@pytest.mark.parametrize("asked_after", [(4,), (1, 4), (2, 3, 4), (1, 2, 3, 4)])
def test_each_record_is_summed_up_once_however_often_sums_are_asked_for(asked_after):
    """A launch instruction by instruction, of which one ran by itself; the other two did not."""
    thread, sums = (1, "main"), Sums(10)
    records = [
        Record("host", "exp", thread, 20_000_000, 30_000_000, {}, None, ("exp",)),
        Record("user", "epoch", thread, 0, 5_000_000, {"domain": "d"}),
        Record(
            "steps", "exp, log + 1 more", thread, 10_000_000, 50_000_000, {}, None, ("exp",) * 3
        ),
        Record("host", "exp", thread, 60_000_000, 65_000_000, {}, None, ("exp",)),
    ]
    for number, record in enumerate(records, start=1):
        sums.pending.append(record)
        if number in asked_after:
            found = sums.statistics("count", False)["Time"]
            assert not sums.pending
    assert found["operator"]["exp"] == {"Count": 4, "Total": 15, "Min": 0, "Max": 10, "Avg": 3.75}
    assert found["d"]["epoch"] == {"Count": 1, "Total": 5, "Min": 5, "Max": 5, "Avg": 5}
    assert found["steps"]["exp, log + 1 more"]["Total"] == 40


def test_operators_are_counted_as_they_are_called():
    profiler.set_config(profile_memory=True)
    with profiler.profile():
        x = nd.zeros((10, 10))
        y = nd.sqrt(x)
        x = x + 1
        x = x + 1
        nd.exp(y)  # nobody wants it
        nd.waitall()
        nd.log(x)  # nor this, nor anything beside it
        nd.waitall()
    profiler.set_config(profile_memory=False)
    sums = json.loads(profiler.dumps(format="json"))
    counts = {name: row["Count"] for name, row in sums["Time"]["operator"].items()}
    assert counts == {"_zeros": 1, "sqrt": 1, "_plus_scalar": 2, "exp": 1, "log": 1}
    assert sums["Unit"] == {"Time": "ms", "Memory": "kB"}
    (memory,) = sums["Memory"]["Device Storage"].values()
    assert memory["Count"] and 0 < memory["Min"] <= memory["Avg"] <= memory["Max"]
    table = profiler.dumps(sort_by="min", ascending=True)
    assert "Memory: cpu/0" in table and "_plus_scalar" in table


def test_operators_within_a_graph_are_counted_by_themselves():
    x = sym.var("x")
    executor = ((x * 2).exp() + 1).simple_bind(hn.cpu(), x=(2, 2))
    for _ in range(3):
        with profiler.profile():
            executor.forward()[0].wait_to_read()
        found = json.loads(profiler.dumps(format="json", reset=True))["Time"]["operator"]
        assert {name: row["Count"] for name, row in found.items()} == {
            "_mul_scalar": 1,
            "exp": 1,
            "_plus_scalar": 1,
        }


def test_what_operators_in_python_do_is_told_apart():
    class Doubled(hn.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            nd.zeros((3,))
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    class DoubledProp(hn.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Doubled()

    hn.operator.register("ProfiledDouble")(DoubledProp)
    x = nd.ones((2,))
    x.attach_grad()
    with profiler.profile():
        with hn.autograd.record():
            y = nd.Custom(x, op_type="ProfiledDouble")
        y.backward()
        nd.waitall()
    found = json.loads(profiler.dumps(format="json"))["Time"]["Custom Operator"]
    assert set(found) >= {
        "ProfiledDouble::pure_python",
        "ProfiledDouble::_mul_scalar",
        "ProfiledDouble::_zeros",
        "_backward_ProfiledDouble::pure_python",
        "_backward_ProfiledDouble::_mul_scalar",
    }


@pytest.mark.parametrize(("dumped", "left"), [(False, True), (True, False)])
def test_a_profile_that_was_never_dumped_is_written_at_the_end(tmp_path, dumped, left):
    script = (
        "import os, hybridnet as hn\n"
        "hn.profiler.set_config(filename='late.json')\n"
        "hn.profiler.set_state('run')\n"
        "hn.nd.ones((2,)).wait_to_read()\n"
        f"if {dumped}: hn.profiler.dump(); os.remove('late.json')\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "late.json").exists() is left
    if left:
        assert json.loads((tmp_path / "late.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: profiler.set_config(file="x"), "set_config: has no file; known are .*filename"),
        (lambda: profiler.set_state("go"), "must be 'run' or 'stop', got 'go'"),
        (lambda: profiler.set_state("run", "server"), "profile_process must be 'worker'"),
        (lambda: profiler.dumps(format="xml"), "format must be 'table' or 'json'"),
        (lambda: profiler.dumps(sort_by="size"), "sort_by must be one of count, total"),
        (
            lambda: profiler.Domain("d").new_marker("m").mark("world"),
            "scope must be one of global, process, .* got 'world'",
        ),
    ],
)
def test_wrong_arguments_say_what_is_right(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_what_has_not_begun_cannot_end():
    with pytest.raises(hn.MXNetError, match=r"Event.stop: 'e' has not begun"):
        profiler.Event("e").stop()


def test_a_profile_within_a_run_is_refused():
    profiler.set_state("run")
    with pytest.raises(hn.MXNetError, match="running already"), profiler.profile():
        pass


def test_the_old_names_warn_and_work(tmp_path):
    with pytest.warns(UserWarning, match=r"profiler_set_config is the old name of profiler\.set_c"):
        profiler.profiler_set_config("all", str(tmp_path / "old.json"))
    with pytest.warns(UserWarning, match="profiler_set_state is the old name"):
        profiler.profiler_set_state("run")
    nd.ones((2,)).asnumpy()
    with pytest.warns(UserWarning, match="dump_profile is the old name"):
        profiler.dump_profile()
    assert json.loads((tmp_path / "old.json").read_text())["traceEvents"]
    with (
        pytest.warns(UserWarning, match="old name"),
        pytest.raises(ParameterError, match="has no profile_some"),
    ):
        profiler.profiler_set_config("some")
