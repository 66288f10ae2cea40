"""A step that went wrong is saved, and shown operator by operator by another process."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import FormatError, MXNetError, NonFiniteError


def _train(path):
    """Trains until a step goes wrong, and saves that; returns its error."""
    hn.random.seed(7)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(2, 3), gluon.nn.Dropout(0.2), gluon.nn.Dense(3))
    net.initialize(hn.init.Uniform(1.0))
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1e30})
    loss_of = gluon.loss.SoftmaxCELoss()
    with pytest.raises(NonFiniteError) as caught, hn.debug.nans():
        for _ in range(9):
            with autograd.record():
                loss = loss_of(net(nd.ones((2, 1, 8, 8))), nd.array([1, 2])).sum()
            loss.backward()
            trainer.step(1)
    hn.debug.save_step(path)
    return caught.value


def test_a_saved_step_blames_the_operator_of_the_error(tmp_path):
    path = tmp_path / "step.hn"
    error = _train(path)
    steps = hn.debug.replay(path)
    first = next(step for step in steps if step.is_first)
    assert first.operator == error.operator
    assert first.line.endswith(f"test_steps.py:{error.line}")
    assert np.isfinite(first.inputs[0]).all()
    names = [step.operator for step in steps]
    assert names.index("Convolution") < names.index("FullyConnected")
    assert names[-1].startswith("multi_sgd")


def test_values_are_those_of_numpy(tmp_path):
    path = tmp_path / "step.hn"
    x = np.array([[4.0, 9.0], [16.0, 0.0]], np.float32)
    with hn.debug.nans():
        y = nd.sqrt(nd.array(x)) * 2 + 1
        y.asnumpy()
        hn.debug.save_step(path, platforms=["cpu"])
    steps = hn.debug.replay(path)
    assert [step.operator for step in steps] == ["sqrt", "_mul_scalar", "_plus_scalar"]
    np.testing.assert_array_equal(steps[0].inputs[0], x)
    np.testing.assert_allclose(steps[0].outputs[0], np.sqrt(x))
    np.testing.assert_allclose(steps[2].outputs[0], np.sqrt(x) * 2 + 1)
    assert not any(step.is_first for step in steps)


@pytest.mark.slow
def test_the_command_in_another_process(tmp_path):
    path = tmp_path / "step.hn"
    error = _train(path)
    command = [sys.executable, "-m", "hybridnet", "replay", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert shown.returncode == 1, shown.stderr
    marked = [line for line in shown.stdout.splitlines() if line.startswith(">>")]
    assert error.operator in marked[0] and f"test_steps.py:{error.line}" in marked[0]
    assert "NaN" in shown.stdout or "infinity" in shown.stdout


def test_nothing_to_save(tmp_path):
    with hn.debug.nans():
        pass
    with pytest.raises(MXNetError, match=r"save_step: no step was kept.*hn.debug.nans"):
        hn.debug.save_step(tmp_path / "never.hn")
    assert not os.listdir(tmp_path)


def test_files_that_are_no_steps(tmp_path):
    function, damaged = tmp_path / "function.hnx", tmp_path / "damaged.hn"
    hn.export(lambda x: x + 1, function, nd.ones((2,)))
    with pytest.raises(FormatError, match="no step"):
        hn.debug.replay(function)
    hn.export(lambda: nd.ones((2,)), function)
    with pytest.raises(FormatError, match="no step"):
        hn.debug.replay(function)
    _train(damaged)
    data = damaged.read_bytes()
    damaged.write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError):
        hn.debug.replay(damaged)
    with pytest.raises(OSError):
        hn.debug.replay(tmp_path / "missing.hn")


def test_a_step_is_a_file_of_arrays_that_numpy_reads(tmp_path):
    path = tmp_path / "step.hn"
    _train(path)
    with zipfile.ZipFile(path) as file:
        assert "manifest.json" in file.namelist()
    with np.load(path) as arrays:
        assert any(name.startswith("parameter") for name in arrays.files)


@pytest.mark.parametrize("names, status", [("nans", "NonFiniteError"), ("", "")])
def test_the_environment_asks_in_a_whole_program(tmp_path, names, status):
    program = tmp_path / "program.py"
    program.write_text("from hybridnet import nd\n\nx = nd.log(nd.array([0.0]))\n")
    env = {**os.environ, "HYBRIDNET_DEBUG": names}
    ran = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=env, cwd=tmp_path
    )
    assert ("program.py:3" in ran.stderr) == bool(status)
    assert status in ran.stderr


def test_a_name_that_the_environment_does_not_know(tmp_path):
    env = {**os.environ, "HYBRIDNET_DEBUG": "nans,lines"}
    command = [sys.executable, "-c", "import hybridnet; hybridnet.nd.ones(2)"]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path)
    assert "HYBRIDNET_DEBUG must be names of nans, indices, memory" in ran.stderr
