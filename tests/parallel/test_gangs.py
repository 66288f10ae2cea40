"""Meshes over the processes of a gang: the losses of one process, also after one was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gangs import await_end, start_gang

HERE = Path(__file__).parent

TRAIN = """
import json, os, signal, sys
import numpy as np
import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.gluon import nn
from hybridnet.parallel import fully_sharded, load

hn.distributed.initialize()
rank, size = hn.distributed.rank(), hn.distributed.size()
folder, kill = sys.argv[1], int(sys.argv[2])
mesh = hn.Mesh({"data": 8}, processes=size)
hn.random.seed(1)
net = nn.HybridSequential()
net.add(nn.Dense(48, activation="tanh", in_units=24), nn.BatchNorm(in_channels=48))
net.add(nn.Dropout(0.2), nn.Dense(8, in_units=48))
net.initialize(hn.init.Xavier())
net.cast("float64")
net.hybridize()
fully_sharded(net, mesh, least=8)
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
number = nd.zeros((1,), dtype="int64")
saver = hn.checkpoint.Saver({"net": net, "trainer": trainer, "step": number})
if rank == 0:  # what one process saves by itself is no affair of the others
    hn.checkpoint.Saver({"step": number}).save(folder + "/own", listed=False)
latest = hn.checkpoint.latest_checkpoint(folder)
if latest:
    saver.restore(latest)
loss = gluon.loss.SoftmaxCrossEntropyLoss()
losses = {}
while True:
    step = int(number.asscalar())
    if step == 8:
        break
    rng = np.random.default_rng(step)
    hn.random.seed(step)
    batch = [rng.random((16, 24)), rng.integers(0, 8, 16)]
    mine = [part[rank * 16 // size : (rank + 1) * 16 // size] for part in batch]
    ((x, y),) = load([[part.astype("float64") for part in mine]], mesh)
    with autograd.record():
        found = loss(net(x), y)
    found.backward()
    trainer.step(16)
    number += 1
    losses[step] = float(found.mean().asscalar())
    if step % 2:
        saver.save(folder + "/model", step + 1)
    if step == kill and rank == size - 1 and not latest:
        os.kill(os.getpid(), signal.SIGKILL)
if rank == 0:
    print(json.dumps(losses), list(net[0].weight.data().placement.items()), flush=True)
"""


def trained(folder: Path, processes: int, stop: int = 8) -> dict[int, float]:
    """Returns the losses of the steps of a gang with eight devices in all, up to some step."""
    code = TRAIN.replace("sys.argv[1]", repr(str(folder))).replace("sys.argv[2]", "-1")
    code = code.replace("step == 8", f"step == {stop}")
    started = start_gang(code, processes, HYBRIDNET_NUM_CPU_DEVICES=str(8 // processes))
    ended = await_end(started)
    assert [one.status for one in ended] == [0] * processes, ended
    text, _, placement = ended[0].out.splitlines()[-1].partition(" [")
    assert placement == "('data', split(0))]"
    return {int(step): loss for step, loss in json.loads(text).items()}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory) -> list[float]:
    """The losses of one process."""
    found = trained(tmp_path_factory.mktemp("one"), 1)
    assert list(found) == list(range(8))
    return [*found.values()]


@pytest.mark.slow
def test_losses_are_those_of_one_process_whatever_their_number(tmp_path, wanted):
    found = trained(tmp_path, 2, stop=4)
    np.testing.assert_allclose([*found.values()], wanted[:4], rtol=1e-9)
    files = sorted(path.name for path in tmp_path.glob("model-4*"))
    assert files[0] == "model-4.safetensors" and files[1].endswith(".2-of-2") and len(files) == 2
    found = trained(tmp_path, 4, stop=6)  # they read what the two have written
    np.testing.assert_allclose([*found.values()], wanted[4:6], rtol=1e-9)
    found = trained(tmp_path, 1)
    np.testing.assert_allclose([*found.values()], wanted[6:], rtol=1e-9)


@pytest.mark.slow
def test_after_a_kill_all_start_again_from_the_last_checkpoint(tmp_path, wanted):
    script = tmp_path / "train.py"
    script.write_text(TRAIN)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "hybridnet", "launch", "-n", "2", "-s", "0"),
            *(sys.executable, str(script), str(tmp_path), "4"),
        ],
        env={**os.environ, "HYBRIDNET_NUM_CPU_DEVICES": "4"},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("{")]
    again = {int(step): loss for step, loss in json.loads(line.partition(" [")[0]).items()}
    assert list(again) == [4, 5, 6, 7]  # the steps after the last checkpoint
    np.testing.assert_allclose([*again.values()], wanted[4:], rtol=1e-9)
