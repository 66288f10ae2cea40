"""Scripts of TensorFlow 1.x's shape over processes: a server, and workers with a graph each."""

import re

import pytest
from places import ROOT
from replicas import replicas

pytest.importorskip("zmq")

SCRIPT = ROOT / "examples" / "tf1_mnist_replicas.py"


def test_two_workers_and_a_server_learn_digits(tmp_path):
    logs = tmp_path / "logs"
    options = "--train_steps=80", "--hidden_units=32", f"--logdir={logs}"
    with replicas(SCRIPT, tmp_path, *options) as run:
        for number in range(2):
            run.wait("worker", number)
    said = [run.said("worker", number) for number in range(2)]
    found = [float(one) for text in said for one in re.findall(r"accuracy ([\d.]+)", text)]
    assert max(found) > 0.6, said
    assert (logs / "model.ckpt-80.safetensors").exists() or any(logs.glob("model.ckpt-8?.*"))
