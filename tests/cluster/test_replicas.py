"""Scripts of TensorFlow 1.x's shape over processes: a server, and workers with a graph each."""

import os
import random
import re
from pathlib import Path

import pytest
import replicas as processes
from places import ROOT
from replicas import replicas

import hybridnet.compat.tf1 as tf

pytest.importorskip("zmq")

COUNTS = Path(processes.__file__).with_name("replica_counts.py")
NIGHTLY = bool(os.environ.get("HYBRIDNET_TEST_NIGHTLY"))
SCRIPT = ROOT / "examples" / "tf1_mnist_replicas.py"


@pytest.mark.slow
@pytest.mark.parametrize("together", ["--nosync", "--sync"])
def test_two_workers_and_a_server_learn_digits(tmp_path, together):
    logs = tmp_path / "logs"
    options = together, "--train_steps=80", "--hidden_units=32", f"--logdir={logs}"
    with replicas(SCRIPT, *options) as run:
        for number in range(2):
            run.wait("worker", number)
    said = [run.said("worker", number) for number in range(2)]
    found = [float(one) for text in said for one in re.findall(r"accuracy ([\d.]+)", text)]
    assert max(found) > 0.6, said
    assert (logs / "model.ckpt-80.safetensors").exists() or any(logs.glob("model.ckpt-8?.*"))


def seen(run, job, number):
    """The steps that a worker saw; in each all that is counted was counted alike."""
    found = [one.split()[1:] for one in run.lines[job, number] if one.startswith("saw")]
    torn = [one for one in found if len(set(one)) != 1]
    assert not torn, torn
    return [int(one[0]) for one in found]


@pytest.mark.slow
@pytest.mark.timeout(3600 if NIGHTLY else 300)
def test_training_goes_on_from_the_checkpoint_whoever_is_killed(tmp_path):
    draw = random.Random(7)
    kills = [("worker", 1), ("ps", 0), ("worker", 0)] * (20 if NIGHTLY else 1)
    if NIGHTLY:
        draw.shuffle(kills)
    with replicas(COUNTS, f"--logdir={tmp_path}") as run:
        for number in range(2):
            run.until("worker", number, 15, "saw")
        for job, number in kills:
            other = 1 - number if job == "worker" else 0
            here = len(seen(run, "worker", other))
            run.until("worker", other, here + draw.randrange(30), "saw")
            run.kill(job, number)
            saved = int(tf.train.latest_checkpoint(str(tmp_path)).rpartition("-")[2])
            at = len(seen(run, "worker", other))
            run.start(job, number)
            for one in range(2):
                before = 0 if ("worker", one) == (job, number) else len(seen(run, "worker", one))
                run.until("worker", one, before + 15, "saw")
            # The first may have begun before.
            assert min(seen(run, "worker", other)[at + 1 :]) >= saved
        (tmp_path / "STOP").touch()
        for number in range(2):
            run.wait("worker", number)
            seen(run, "worker", number)
