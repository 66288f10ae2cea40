"""The benchmark of the eager loop: its table is complete, and contestants do the same work."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

_BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


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
        assert set(made) <= set(rows.TITLES)
        assert {target.against for target in row.targets} - {None} <= set(made), row.work


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
    net(hn.nd.array(network.batch()[0]))
    learned = [one for one in net.collect_params().values() if one.grad_req != "null"]
    assert [one.shape for one in learned] == list(network.shapes.values())


def test_contestants_agree_on_an_mlp(load: Any) -> None:
    made = load("works.catalog").contestants_of("mlp")
    answers = {name: made[name]().answer() for name in ("hybridnet", "jit")}
    np.testing.assert_allclose(answers["hybridnet"], answers["jit"], rtol=1e-5)


def test_ratio_is_the_median_of_the_rounds_and_of_totals_when_cold(load: Any) -> None:
    eager, rows = load("eager"), load("rows")
    times = {"hybridnet": np.array([1.0, 4.0, 9.0]), "jit": np.array([1.0, 2.0, 3.0])}
    settled = rows.Row("mlp", "", "ms", "a step", (rows.Target(1.5, "jit"),))
    cold = rows.Row("mlp", "", "ms", "a step", cold=True)
    assert eager.Result(settled, times, {}).ratio("jit") == 2.0
    assert eager.Result(settled, times, {}).reached(settled.targets[0]) == 2.0
    assert eager.Result(settled, times, {}).reached(rows.Target(1.5, "torch")) is None
    assert eager.Result(cold, times, {}).ratio("jit") == 14.0 / 6.0


def test_answers_that_differ_stop_the_run(load: Any) -> None:
    eager, rows, runner = load("eager"), load("rows"), load("works.runner")

    def answers(value: float) -> Any:
        return runner.Runner(lambda turns: 0.0, lambda: np.array([value]), lambda: None)

    row = rows.Row("mlp", "", "ms", "a step", tolerance=1e-3)
    eager._check(row, {"hybridnet": answers(1.0), "jit": answers(1.0005)})
    with pytest.raises(AssertionError, match="jit computes something else than hybridnet"):
        eager._check(row, {"hybridnet": answers(1.0), "jit": answers(1.1)})


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
