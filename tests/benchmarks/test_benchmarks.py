"""The benchmarks' tables are complete, and all contestants of a work do the same."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from places import ROOT

_BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the benchmarks, which are scripts beside each other."""
    monkeypatch.syspath_prepend(_BENCHMARKS)

    def load(name: str) -> ModuleType:
        return importlib.import_module(name)

    return load


def test_every_row_has_its_contestants(load: Any) -> None:
    rows, catalog = load("rows"), load("works.catalog")
    for row in rows.ROWS:
        made = catalog.contestants_of(row.work)
        assert "hybridnet" in made
        assert set(made) <= set(rows.EAGER)
        assert {target.against for target in row.targets} - {None} <= set(made), row.work
    for row in rows.NETS:
        made = catalog.contestants_of(row.work)
        peers = set(rows.PEERS) - ({"mxnet optimized"} if "step" in row.work else set())
        assert set(made) == {"hybridnet", "jit", *peers}
        assert {target.against for target in row.targets} <= {*made, rows.BEST_PEER}
    for row in rows.MODELS:
        made = catalog.contestants_of(row.work)
        assert {"hybridnet", "mxnet hybridized"} <= set(made) <= {"hybridnet", *rows.PEERS}
    assert set(rows.EAGER) | set(rows.PEERS) <= set(rows.TITLES)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_learn_as_those_of_pytorch(
    load: Any, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    recurrent = load("works.recurrent")
    for name, value in (("_UNITS", 5), ("_STEPS", 3), ("_BATCH", 4)):
        monkeypatch.setattr(recurrent, name, value)
    ours, theirs = recurrent.ours(kind), recurrent.torch(kind)
    np.testing.assert_allclose(ours.answer(), theirs.answer(), rtol=1e-5)


def test_programs_of_the_worst_case_differ_and_repeat_by_seed(load: Any) -> None:
    program = load("works.novel").program
    drawn = [tuple((name, other) for name, other, _ in program(seed)) for seed in range(300)]
    assert len(set(drawn)) == len(drawn)
    assert program(7) == program(7)


@pytest.mark.parametrize("work", ["mlp", "lstm"])
def test_first_weights_and_shapes_fit_the_gluon_block(load: Any, work: str) -> None:
    import hybridnet as hn

    network = load("works.catalog").NETWORKS[work]()
    net = network.block(hn)
    net.initialize()
    net(hn.nd.array(network.batches()[0][0]))
    learned = [one for one in net.collect_params().values() if one.grad_req != "null"]
    assert [one.shape for one in learned] == list(network.shapes.values())


def test_contestants_agree_on_an_mlp(load: Any) -> None:
    made = load("works.catalog").contestants_of("mlp")
    answers = {name: made[name]().answer() for name in ("hybridnet", "jit")}
    np.testing.assert_allclose(answers["hybridnet"], answers["jit"], rtol=1e-5)


def test_ratio_is_the_median_of_the_rounds_and_of_totals_when_cold(load: Any) -> None:
    turns, rows = load("turns"), load("rows")
    times = {"hybridnet": np.array([1.0, 4.0, 9.0]), "jit": np.array([1.0, 2.0, 3.0])}
    settled = rows.Row("mlp", "", "ms", "a step", (rows.Target(1.5, "jit"),))
    cold = rows.Row("mlp", "", "ms", "a step", cold=True)
    assert turns.Result(settled, times, {}).ratio("jit") == 2.0
    assert turns.Result(settled, times, {}).reached(settled.targets[0]) == 2.0
    assert turns.Result(settled, times, {}).reached(rows.Target(1.5, "torch")) is None
    assert turns.Result(cold, times, {}).ratio("jit") == 14.0 / 6.0


def test_answers_that_differ_stop_the_run(load: Any) -> None:
    turns, rows, runner = load("turns"), load("rows"), load("works.runner")

    def answers(value: float) -> Any:
        return runner.Runner(lambda turns: 0.0, lambda: np.array([value]), lambda: None)

    row = rows.Row("mlp", "", "ms", "a step", tolerance=1e-3)
    turns._check(row, {"hybridnet": answers(1.0), "jit": answers(1.0005)})
    with pytest.raises(AssertionError, match="jit computes something else than hybridnet"):
        turns._check(row, {"hybridnet": answers(1.0), "jit": answers(1.1)})


def test_the_best_peer_has_the_least_median(load: Any) -> None:
    turns, rows = load("turns"), load("rows")
    target = rows.Target(1.0, rows.BEST_PEER)
    row = rows.Row("mlp", "", "ms", "a step", (target,))
    times = {"hybridnet": np.array([2.0, 2.0, 2.0]), "jit": np.array([1.0, 1.0, 1.0])}
    assert turns.Result(row, times, {}).reached(target) is None
    times |= {"torch": np.array([1.0, 8.0, 8.0]), "tensorflow": np.array([9.0, 4.0, 4.0])}
    result = turns.Result(row, times, {})
    assert result.best_peer == "tensorflow"
    assert result.reached(target) == 0.5


@pytest.mark.parametrize(
    ("name", "count"),
    [("vgg11", 132_863_336), ("resnet50", 25_557_032), ("mobilenet", 4_231_976)],
)
def test_networks_have_the_published_number_of_parameters(load: Any, name: str, count: int) -> None:
    net = getattr(load("works.nets"), name)(1)
    assert sum(math.prod(one.shape) for one in net.parameters.values()) == count


def _small_nets(load: Any) -> list[Any]:
    """A network with every kind of layer but one, and one with that."""
    layers, nets = load("works.layers"), load("works.nets")
    conv, relu = layers.Conv, layers.Activation("relu")
    body = (conv(6, 3, 2, 1, bias=False), layers.BatchNorm(), relu, conv(6, 3, 1, 1, groups=6))
    every = (
        *(conv(4, 3, 1, 1), relu, layers.MaxPool(3, 2, 1)),
        layers.Residual(body, (conv(6, 1, 2),)),
        layers.Residual((conv(6, 1),)),
        *(layers.Flatten(), layers.Dense(8), layers.Activation("tanh"), layers.Dense(5)),
    )
    pooled = (conv(4, 3, 2), layers.BatchNorm(), layers.GlobalAverage(), layers.Dense(5))
    lstm = (layers.LSTM(6, 2), layers.Dense(5))
    return [
        nets.Net(every, (3, 3, 12, 12), 5),
        nets.Net(pooled, (3, 3, 9, 9), 5, momentum=0.0),
        nets.Net(lstm, (4, 3, 6), 5, momentum=0.0, batch_axis=1),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("work", ["inference", "training"])
def test_networks_compute_the_same_in_every_framework(load: Any, work: str) -> None:
    gluon, jax = load("works.nets_gluon"), load("works.nets_jax")
    made = {"hybridnet": getattr(gluon, f"our_{work}"), "jit": getattr(jax, work)}
    if importlib.util.find_spec("torch"):
        made["torch"] = getattr(load("works.nets_torch"), work)
    for net in _small_nets(load):
        answers = {name: make(net).answer() for name, make in made.items()}
        for answer in answers.values():
            np.testing.assert_allclose(answer, answers["jit"], rtol=1e-4, atol=1e-5)


def test_the_profile_lists_the_operators_of_a_traced_step(load: Any) -> None:
    import hybridnet as hn

    profile = load("nets_profile")
    weight = hn.nd.ones((4, 6))

    @hn.function
    def step(x: Any) -> Any:
        return hn.nd.tanh(hn.nd.dot(x, weight))

    x = hn.nd.ones((3, 4))
    with hn.runtime.explaining() as explanation:
        step(x).wait_to_read()
    parts = [part for launch in explanation for part in profile.parts_of(launch.code)]
    assert [part.call.name for part in parts] == ["dot", "tanh"]
    assert [[one.shape for one in part.types] for part in parts] == [[(3, 4), (4, 6)], [(3, 6)]]
    timed = profile.timed(parts[0], 2)
    assert 1 <= timed.gigaflop / (2 * 3 * 4 * 6 / 1e9) < 1.5  # a lowering may add something
    assert timed.milliseconds > 0


def test_the_profile_of_inference_leaves_out_what_weights_alone_decide(load: Any) -> None:
    import hybridnet as hn

    profile = load("nets_profile")
    x, weight, shift = (hn.nd.ones(shape) for shape in ((3, 4), (4, 6), (6,)))

    @hn.function
    def scores(x: Any, weight: Any, shift: Any) -> Any:
        return hn.nd.dot(x, hn.nd.tanh(weight)) + hn.nd.exp(shift)

    with hn.runtime.explaining() as explanation:
        scores(x, weight, shift).wait_to_read()
    (launch,) = explanation
    parts = list(profile.inference_parts_of(launch.code, (3, 4)))
    assert [(part.call.name, part.constant) for part in parts] == [
        ("dot", (1,)),
        ("broadcast_add", (1,)),
    ]
    assert all(profile.timed(part, 1).milliseconds > 0 for part in parts)


@pytest.mark.slow
def test_a_run_of_the_networks_prints_its_table(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    run = subprocess.run(
        [
            *(sys.executable, str(_BENCHMARKS / "nets.py"), "--quick"),
            *("--works", "mlp-small-step", "--contestants", "hybridnet", "jit"),
            *("--json", str(file)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert set(json.loads(file.read_text())["mlp-small-step"]["times"]) == {"hybridnet", "jit"}
    assert "| MLP 64-128-128-10, batch 32 |" in run.stdout


@pytest.mark.slow
def test_a_run_writes_its_table(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    run = subprocess.run(
        [
            *(sys.executable, str(_BENCHMARKS / "eager.py"), "--rounds", "1"),
            *("--only", "chain", "novel", "--contestants", "hybridnet", "jit", "jax"),
            *("--json", str(file)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    table = json.loads(file.read_text())
    assert list(table) == ["chain", "novel"]
    assert table["chain"]["targets"]["<= 1.5"] > 0
    assert "| 200 chained operators" in run.stdout


def test_contestants_of_the_operators_agree(load: Any) -> None:
    ops, cases = load("ops"), load("ops_cases").CASES
    assert len({case.name for case in cases}) == len(cases) >= 60
    for name in ("exp", "broadcast_add", "softmax", "pick", "LayerNorm"):
        (case,) = (one for one in cases if one.name == name)
        inputs = ops.arrays(case)
        ours = case.hybridnet(ops.nd, *[ops.nd.array(one, dtype=one.dtype) for one in inputs])
        np.testing.assert_allclose(ours.asnumpy(), case.jax(*inputs), rtol=2e-5, atol=2e-5)


@pytest.mark.slow
def test_a_run_of_the_operators_prints_its_table(tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    run = subprocess.run(
        [
            *(sys.executable, str(_BENCHMARKS / "ops.py"), "--rounds", "1"),
            *("--only", "relu", "sign", "--json", str(file)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    table = json.loads(file.read_text())
    assert list(table) == ["relu forward", "relu gradient", "sign forward"]
    assert table["relu gradient"]["ratio"] > 0
    assert "| relu | gradient |" in run.stdout


def test_networks_compute_the_same_with_passes_and_without(load: Any) -> None:
    """And as XLA does when it takes every operator as it is written."""
    models = load("graph_models")
    shape = models.shape_of("LeNet", 2, 0)
    answers = [models.bound("LeNet", "infer", shape, one)()[0] for one in ("on", "off", "xla")]
    assert answers[0].shape == (2, 10)
    for one in answers[1:]:
        np.testing.assert_allclose(np.asarray(one), answers[0], rtol=2e-5, atol=1e-6)


def test_the_figure_of_memory_is_drawn_and_both_is_the_least(
    load: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = load("paper_memory")
    found = paper.figures(["AlexNet"], 2)
    for row in found.values():
        assert row["both"] <= min(row["inplace"], row["co-share"]) < row["naive"]
    assert found["AlexNet", "prediction"]["both"] < found["AlexNet", "training"]["both"]
    paper.show(found)
    assert capsys.readouterr().out.count("AlexNet") == 2
    paper.draw(found, 2, str(tmp_path / "memory.png"))
    assert (tmp_path / "memory.png").read_bytes().startswith(b"\x89PNG")


def test_the_networks_of_the_figure_of_speed_compute_the_same_in_pytorch(
    load: Any, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    paper, networks = load("works.paper"), load("networks")
    x = networks._normalized(networks.sym.var("data"), 4, 7, 4, 3)
    x = networks.sym.LRN(networks._pool(x, 3, 2), alpha=1e-2, knorm=2, nsize=5)
    x = networks._inception(x, 4, (4, 4), (4, 4), "avg", 4)
    x = networks._bottleneck(networks._inception(x, 0, (4, 4), (4, 4), "max", 0), 4, 2, True)
    path = str(tmp_path / "network.json")
    networks._dense(networks._pool(x, 3, 2)).save(path)
    (predict, train), (other, train_other) = (
        paper.side(one, path, 2) for one in ("hybridnet", "torch")
    )
    np.testing.assert_allclose(predict(), other(), rtol=1e-3, atol=1e-6)
    train()
    train_other()


def test_workers_that_wait_for_each_other_are_read_at_once(load: Any, tmp_path: Path) -> None:
    """The second prints more than a pipe holds, and the first does not end before it has."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    programs = [f"open({str(gate)!r}).read()", f"print('x' * (1 << 20)); open({str(gate)!r}, 'w')"]
    workers = [
        subprocess.Popen([sys.executable, "-c", one], stdout=subprocess.PIPE, text=True)
        for one in programs
    ]
    try:
        found = load("push_pull").outputs(workers, 20)
    finally:
        for one in workers:
            one.kill()
            one.wait()
    assert list(map(len, found)) == [0, (1 << 20) + 1]


def test_a_work_is_settled_when_nothing_is_being_compiled(load: Any) -> None:
    gpu, on_device = load("gpu"), load("works.on_device")
    now, reads = [0.0], []

    def step() -> float:
        now[0] += 0.1 if now[0] < 1 else 0.01
        return now[0]

    gpu.time = SimpleNamespace(perf_counter=lambda: now[0])
    try:
        work = on_device.Work(step, lambda: None, lambda x: reads.append(x) or x)
        found = gpu.measure(work, lambda: 0.5 < now[0] < 4, 60.0)
        late = gpu.measure(work, lambda: True, 2.0)
    finally:
        gpu.time = time
    assert found["settled"] and not late["settled"]
    assert found["first"] == pytest.approx(0.1)
    assert found["until"] == pytest.approx(4, abs=0.2)
    assert found["steady"] == pytest.approx(0.01) and found["clock"][2] < found["steps"]
    assert len(reads) > found["steps"] // gpu.READ


@pytest.mark.parametrize("name", ["call", "chain", "cold", "mlp"])
def test_works_of_one_device_are_the_same_hybridized_and_by_jax(load: Any, name: str) -> None:
    import hybridnet as hn

    on_device = load("works.on_device")
    found = []
    for hybridized in (False, True):
        work = on_device.gluon(name, hn, hybridized=hybridized)
        found.append(work.read(work.step()))
    other = on_device.jit(name)
    if name in ("call", "chain", "cold"):
        assert found[0] == pytest.approx(found[1], rel=0.2 if name == "cold" else 1e-5)
    if other is not None:
        made = other.read(other.step())
        assert made == pytest.approx(found[0], rel=0.5 if name == "mlp" else 1e-5)
