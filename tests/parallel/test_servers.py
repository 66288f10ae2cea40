"""Workers that each have a mesh, and servers between them: the losses of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import kv, nd
from hybridnet.parallel import split

#: Name of a run -> how the network lies, the store, and what else is said.
RUNS: dict[str, dict[str, Any]] = {
    "data": {"lies": "data"},
    "fully sharded": {"lies": "sharded"},
    "tensor": {"lies": "tensor", "kind": "dist_device_sync"},
    "workers update": {"lies": "sharded", "update": False},
    "workers update, tensor": {"lies": "tensor", "update": False},
    "servers update, asked": {"lies": "sharded", "update": True},
    "traced": {"lies": "sharded", "traced": True},
    "sparse": {"lies": "sharded", "sparse": True},
    "compressed": {"lies": "sharded", "compressed": True},
    "restored": {"lies": "sharded", "stop": 3},
    "restored otherwise": {"lies": "tensor", "update": False, "stop": 3},
}
#: What is compared with runs of workers that have a device each.
ON_DEVICES = {"on devices, compressed": {"lies": "", "compressed": True}}

_TRAIN = """
import json, os, sys
import numpy as np
import hybridnet as hn
from hybridnet import autograd, gluon, kv, nd
from hybridnet.gluon import nn
from hybridnet.parallel import COLUMNS, ROWS, fully_sharded, split, tensor

runs, folder, alone = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3] == "alone"
rank, size = (0, 1) if alone else (kv.create("dist_sync").rank, 2)
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

def network(lies, sparse, dtype):
    hn.random.seed(1)
    net = nn.HybridSequential(prefix="net_")
    first = nn.Dense(48, activation="tanh", in_units=24)
    with net.name_scope():
        net.add(nn.Embedding(32, 24, sparse_grad=True) if sparse else first)
        net.add(nn.Dense(8, in_units=72 if sparse else 48))
    net.initialize(hn.init.Xavier(), ctx=hn.cpu())
    net.cast(dtype)
    net.hybridize()
    mesh = hn.Mesh({"data": 2, "model": 2} if lies == "tensor" else {"data": 4})
    if lies == "data":
        hn.parallel.data(net, mesh)
    elif lies == "sharded":
        fully_sharded(net, mesh, least=8)
    elif lies == "tensor":
        tensor(net, mesh, {"0.weight|0.bias": COLUMNS, "1.weight": ROWS})
        fully_sharded(net, mesh, least=8)
    return net, mesh if lies else hn.cpu()

def batch(step, where, sparse, dtype):
    draw = np.random.default_rng(step)
    x = draw.integers(0, 32, (16, 3)) if sparse else draw.random((16, 24))
    mine = slice(rank * 16 // size, (rank + 1) * 16 // size)
    parts = [x[mine], draw.integers(0, 8, 16)[mine]]
    return [gluon.utils.split_and_load(nd.array(one, dtype=dtype), [where])[0] for one in parts]

def train(
    lies="", kind="dist_sync", update=None, traced=False, sparse=False, compressed=False, stop=0
):
    dtype = "float32" if compressed else "float64"  # servers compress that
    net, where = network(lies, sparse, dtype)
    trainer = gluon.Trainer(
        net.collect_params(), "sgd" if sparse else "adam", {"learning_rate": 0.01},
        kvstore=None if alone else kind, update_on_kvstore=None if alone else update,
        compression_params={"type": "2bit", "threshold": 0.02} if compressed else None,
    )

    def step(x, y):
        with autograd.record():
            found = loss_of(net(x), y)
        found.backward()
        trainer.step(16)
        return found

    run, losses = hn.function(step) if traced else step, []
    saver = hn.checkpoint.Saver({"net": net, "trainer": trainer})
    if stop < 0:
        saver.restore(f"{folder}/run-3")
    for number in range(-stop if stop < 0 else 0, stop if stop > 0 else 6):
        losses.append(run(*batch(number, where, sparse, dtype)).sum().asscalar())
    lying = {
        key: str(param.data().placement) if lies else None
        for key, param in net.structural_params().items()
    }
    if stop > 0 and rank == 0:
        saver.save(f"{folder}/run", 3)
    if not alone:
        hn.nd.waitall()
        trainer._kvstore._barrier()
    return losses, lying

found = {}
for name, how in runs.items():
    found[name], lying = train(**how)
    if how.get("stop"):
        again, lying = train(**how | {"stop": -how["stop"]})
        found[name] = [*found[name], *again]
    found[name] = [float(loss) for loss in found[name]], lying
with open(f"{folder}/{rank}.json", "w") as file:
    json.dump(found, file)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory) -> Path:
    """The program."""
    path: Path = tmp_path_factory.mktemp("servers") / "train.py"
    path.write_text(_TRAIN, encoding="utf-8")
    return path


def losses_of(script: Path, launch: list[str], runs: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns what each process has found."""
    folder = script.parent / ("workers" if launch else "alone")
    folder.mkdir()
    how = "workers" if launch else "alone"
    done = subprocess.run(
        [sys.executable, *launch, str(script), json.dumps(runs), str(folder), how],
        env={**os.environ, "HYBRIDNET_NUM_CPU_DEVICES": "4"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:] + done.stdout[-1000:]
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


@pytest.fixture(scope="module")
def wanted(script) -> dict[str, Any]:
    """The losses of one process with one device."""
    runs = {"dense": {}, "sparse": {"sparse": True}}
    return {name: found[0] for name, found in losses_of(script, [], runs)[0].items()}


@pytest.fixture(scope="module")
def found(script) -> list[dict[str, Any]]:
    """What two workers with four devices each have found, one run after the other."""
    launch = ["-m", "hybridnet", "launch", "-n", "2", "-s", "1", sys.executable]
    return losses_of(script, launch, RUNS | ON_DEVICES)


def summed(found: list[dict[str, Any]], name: str) -> Any:
    """Returns the losses of all workers together."""
    return np.sum([one[name][0] for one in found], 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RUNS if name != "compressed"])
def test_losses_are_those_of_one_process(found, wanted, name):
    of = "sparse" if name == "sparse" else "dense"
    np.testing.assert_allclose(summed(found, name), wanted[of], rtol=1e-9)


@pytest.mark.slow
def test_compression_is_that_of_workers_with_a_device(found, wanted):
    mine = summed(found, "compressed")
    np.testing.assert_allclose(mine, summed(found, "on devices, compressed"), rtol=1e-5)
    assert not np.allclose(mine, wanted["dense"], rtol=1e-3)  # it does something


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in RUNS if name != "sparse"])
def test_what_was_pulled_lies_as_before(found, name):
    for one in found:
        lying = one[name][1]
        assert (
            list(lying.values())
            == {
                "data": ["{'data': broadcast}"] * 4,
                "sharded": [f"{{'data': split({axis})}}" for axis in (0, 0, 1, 0)],
                "tensor": [
                    "{'data': split(1), 'model': split(0)}",
                    "{'data': broadcast, 'model': split(0)}",
                    "{'data': split(0), 'model': split(1)}",
                    "{'data': split(0), 'model': broadcast}",
                ],
            }[RUNS[name]["lies"]]
        )


def test_a_store_carries_values_between_meshes_and_devices():
    mesh = hn.Mesh({"data": 4})
    store = kv.create("local")
    store.init("w", nd.zeros((4, 2)))
    x = nd.ones((4, 2), ctx=mesh).to_placement(split(0))
    store.push("w", x * 3)
    out = nd.zeros((4, 2), ctx=mesh).to_placement(split(0))
    on_device = nd.zeros((4, 2))
    store.pull("w", out=[out, on_device])
    assert out.asnumpy().tolist() == on_device.asnumpy().tolist() == [[3, 3]] * 4
    assert str(out.placement) == "{'data': split(0)}"
    store.set_updater(lambda key, merged, stored: stored.__iadd__(merged))
    store.push("w", [x, nd.ones((4, 2)) * 2])
    store.pull("w", out=out)
    assert out.asnumpy().tolist() == [[6, 6]] * 4
