"""What devices tell each other: read from a program's text, and shown by explain and profiler."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from gangs import await_end, start_gang
from helpers import settle

import hybridnet as hn
from hybridnet import autograd, nd, profiler
from hybridnet.gluon import nn
from hybridnet.parallel import COLUMNS, ROWS, fully_sharded, split, tensor
from hybridnet.runtime.programs.collectives import count_collectives, read_collectives

MESH = hn.Mesh({"data": 4, "model": 2})
GRID = "channel_id=1, replica_groups=[4,2]<=[8], to_apply=%add"


@pytest.mark.parametrize(
    ("line", "facts"),
    [
        (
            f'%all-reduce = f32[2,16]{{1,0}} all-reduce(%dot), {GRID}, metadata={{op_name="jit(p)/'
            '0.net0/dense0/dot_general" stack_frame_id=2}',
            ("all-reduce", 128, 2, ((0, "dense0"),), ()),
        ),
        (
            "ROOT %all-reduce.6 = (f32[16]{0}, pred[], bf16[3,2]{1,0}) all-reduce(%a, %b, %c), "
            "replica_groups=mesh['x'=4,'y'=2] {'x'}, to_apply=%add, metadata={op_name="
            '"jit(p)/(6._backward_net0/b/transpose(jvp())/dot_general:2.mean/reduce_sum)"}',
            ("all-reduce", 64 + 1 + 12, 4, ((6, "b"), (2, "reduce_sum")), ()),
        ),
        (
            "%all-gather = f64[8,2]{1,0} all-gather(%p), replica_groups={{0,1,2},{3,4,5}}, "
            'dimensions={0}, metadata={op_name="args[3]"}',
            ("all-gather", 128, 3, (), (3,)),
        ),
        (
            "%ag = (f32[2]{0}, f32[8]{0}) all-gather-start(%p), replica_groups=[1,4]<=[4]",
            ("all-gather", 32, 4, (), ()),
        ),
    ],
)
def test_a_line_of_the_text_is_read(line, facts):
    text = f"HloModule m\n  %dot = f32[2] dot(%a, %b)\n  {line}\n  %x = f32[] tuple(%all-reduce)\n"
    (one,) = read_collectives(text)
    assert (one.kind, one.nbytes, one.devices, one.instructions, one.inputs) == facts
    assert count_collectives([one, one]) == {one.kind: 2}


@pytest.fixture
def step():
    """A step of a tensor-parallel network, that ran once: a sum forward, and one backward."""
    x = nd.ones((8, 16), ctx=MESH).to_placement(split(0))
    net = nn.HybridSequential(prefix="net_")
    net.add(nn.Dense(32, in_units=16, activation="relu"), nn.Dense(16, in_units=32))
    net.initialize(ctx=MESH)
    net.hybridize()
    tensor(net, MESH, {r"0\.(weight|bias)": COLUMNS, r"1\.weight": ROWS})

    def run() -> None:
        with autograd.record():
            loss = (net(x) ** 2).sum()  # the line that is asked for
        loss.backward()
        nd.waitall()

    run()
    return run


def line_of(step) -> str:
    return f"test_collectives.py:{step.__code__.co_firstlineno + 2}"


def test_explain_says_what_devices_tell_each_other(step):
    with hn.runtime.explaining() as explanation:
        step()
    text = str(explanation)
    assert "# between devices: 2 all-reduce (" in text
    (line,) = [line for line in text.splitlines() if "among 2 devices" in line]
    assert line.startswith("#   all-reduce of 128 B among 2 devices, for net/fullyconnected")
    assert line.endswith(f"{line_of(step)})")
    assert "between devices: 2 all-reduce" in explanation._repr_html_()
    with hn.runtime.explaining() as explanation:
        (nd.ones((4,)) + 1).wait_to_read()
        (nd.ones((4,), ctx=MESH) + 1).wait_to_read()
    assert "between devices" not in str(explanation)


@pytest.fixture
def quiet(tmp_path, monkeypatch):
    """A profiler that has no events, and has none of this test's afterwards."""
    monkeypatch.chdir(tmp_path)
    settle()
    profiler.dumps(reset=True)
    yield
    profiler.set_state("stop")
    profiler.set_config(wait_for_programs=False, trace_devices=False)
    profiler.dumps(reset=True)


def test_a_launch_that_is_waited_for_is_in_the_row_of_each_device(step, quiet):
    profiler.set_config(wait_for_programs=True)
    with profiler.profile("trace.json"):
        step()
    found = profiler.events()
    for name in {one.name for one in found if one.kind == "program"}:
        devices = [one for one in found if one.kind == "device" and one.name == name]
        assert {one.facts["device"] for one in devices} == {f"cpu({i})" for i in range(8)}
        assert len({(one.start, one.duration) for one in devices}) == len(devices) // 8
    (told,) = {str(one.facts["collectives"]) for one in found if "collectives" in one.facts}
    assert "2 all-reduce" in told and line_of(step) in told
    page = str(profiler.timeline())
    assert "cpu(7), started by MainThread" in page and '"collectives":["2 all-reduce' in page
    trace = json.loads(Path("trace.json").read_text(encoding="utf-8"))["traceEvents"]
    names = {one["args"]["name"] for one in trace if one["name"] == "process_name"}
    assert {f"cpu({i})" for i in range(8)} <= names


def test_tables_count_what_devices_tell_each_other(step, quiet):
    with profiler.profile():
        for _ in range(3):
            step()
    sums = json.loads(profiler.dumps(format="json"))
    ((_, rows),) = sums["Collectives"].items()
    assert sums["Unit"]["Collectives"] == "kB" and len(rows) == 2
    (forward,) = [row for name, row in rows.items() if name.startswith("all-reduce for net/")]
    assert forward == {"Count": 3, "Total": 0.375, "Min": 0.125, "Max": 0.125, "Avg": 0.125}
    assert "Between devices of a mesh" in profiler.dumps()


def test_xla_says_when_each_device_was_at_work_and_on_what(step, quiet):
    profiler.set_config(trace_devices=True, wait_for_programs=True)
    with profiler.profile():
        step()
        step()
    found = profiler.events()
    for number in range(8):
        own = [one for one in found if one.facts.get("device") == f"cpu({number})"]
        works = [one for one in own if one.kind == "device"]
        collectives = [one for one in own if one.kind == "collective"]
        assert len(works) == 2 and len(collectives) == 4
        for one in collectives:
            assert one.row == f"cpu({number})" and one.name.startswith("all-reduce for ")
            assert any(_is_within(one, work) for work in works)
    assert "Collectives on devices of a mesh" in profiler.dumps()


def _is_within(one: profiler.Span, other: profiler.Span) -> bool:
    """Whether one lies within another, up to the rounding of sums of microseconds."""
    end, last = (each.start + each.duration for each in (one, other))
    return other.start - 0.01 <= one.start and end <= last + 0.01


def test_xlas_profiler_can_be_had_by_one_only(step, quiet, tmp_path):
    import jax

    profiler.set_config(trace_devices=True)
    jax.profiler.start_trace(str(tmp_path))
    try:
        with pytest.raises(
            hn.MXNetError, match="trace_devices requires XLA's profiler, which is in"
        ):
            profiler.set_state("run")
    finally:
        jax.profiler.stop_trace()
    with profiler.profile():
        step()
    assert [one for one in profiler.events() if one.kind == "collective"]


def test_parts_that_are_brought_together_are_told():
    """By the input, or by the operator that reads it: JAX's versions differ."""
    net = nn.Dense(64, in_units=32, use_bias=False)
    net.initialize(ctx=MESH)
    net.hybridize()
    fully_sharded(net, MESH)
    x = nd.ones((8, 32), ctx=MESH).to_placement(split(0))
    net(x).wait_to_read()
    with hn.runtime.explaining() as explanation:
        net(x).wait_to_read()
    assert re.search(
        r"#   all-gather of 8.0 KiB among 4 devices, for (input\d \(float32\[64,32\]\)|dense)",
        str(explanation),
    )


GANG = """
    import json
    import hybridnet as hn
    from hybridnet import nd, profiler
    from hybridnet.parallel import split

    hn.distributed.initialize()
    mesh = hn.Mesh({"data": 4}, processes=2)
    x = nd.ones((8, 4), ctx=mesh).to_placement(split(0))
    drawn = [line for line in str(hn.viz.plot_placement(x)).splitlines() if "has" in line]
    profiler.set_config(trace_devices=True)
    with profiler.profile():
        x.sum().wait_to_read()
        nd.waitall()
    kinds = ("device", "collective")
    devices = {one.facts["device"] for one in profiler.events() if one.kind in kinds}
    print(json.dumps({"drawn": drawn, "devices": sorted(devices)}), flush=True)
"""


@pytest.mark.slow
def test_each_process_of_a_gang_shows_its_own_devices():
    """And draws those of all."""
    ended = await_end(start_gang(GANG, 2, HYBRIDNET_NUM_CPU_DEVICES="2"))
    assert [one.status for one in ended] == [0, 0], ended
    for one in ended:
        (line,) = [line for line in one.out.splitlines() if line.startswith("{")]
        said = json.loads(line)
        names = ("cpu(0) of 0", "cpu(1) of 0", "cpu(0) of 1", "cpu(1) of 1")
        assert said["drawn"] == [
            f"data {i}: {name} has [{2 * i}:{2 * i + 2}, :]" for i, name in enumerate(names)
        ]
        assert said["devices"] == ["cpu(0)", "cpu(1)"]
