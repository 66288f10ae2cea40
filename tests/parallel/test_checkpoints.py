"""Checkpoints of networks on a mesh: written in parts, read on any other, whoever is killed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import FormatError
from hybridnet.checkpoint import Saver, list_variables, load_variable
from hybridnet.gluon import nn
from hybridnet.parallel import fully_sharded, split

LOSS = gluon.loss.SoftmaxCrossEntropyLoss()


class Training:
    """A network that is trained with Adam, fully sharded over some devices, or on one."""

    def __init__(self, devices: int) -> None:
        hn.random.seed(1)
        self.place = hn.Mesh({"data": devices}) if devices > 1 else hn.cpu()
        # Trainers number states by the order of names, as MXNet's do: dense10 comes before dense9.
        self.net = nn.HybridSequential(prefix="")
        with self.net.name_scope():
            self.net.add(nn.Dense(48, activation="tanh", in_units=24, prefix="first_"))
            self.net.add(nn.Dense(8, in_units=48, prefix="second_"))
        self.net.initialize(hn.init.Xavier())
        self.net.cast("float64")
        if devices > 1:
            fully_sharded(self.net, self.place, least=8)
        params = self.net.collect_params()
        self.trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.01})
        self.step_number = nd.zeros((1,), dtype="int64")
        self.saver = Saver(
            {"net": self.net, "trainer": self.trainer, "step": self.step_number}, max_to_keep=2
        )

    def steps(self, count: int) -> list[float]:
        """Takes some steps, each with a batch of its own; returns the losses."""
        losses = []
        for _ in range(count):
            number = int(self.step_number.asscalar())
            rng = np.random.default_rng(number)
            x = nd.array(rng.random((24, 24)), dtype="float64")
            (x,), (y,) = (
                gluon.utils.split_and_load(one, [self.place])
                for one in (x, nd.array(rng.integers(0, 8, 24)))
            )
            with autograd.record():
                loss = LOSS(self.net(x), y)
            loss.backward()
            self.trainer.step(24)
            self.step_number += 1
            losses.append(float(loss.mean().asscalar()))
        return losses


@pytest.fixture
def saved(tmp_path):
    """A checkpoint after three steps on eight devices, and the losses of the three that follow."""
    training = Training(8)
    training.steps(3)
    path = training.saver.save(tmp_path / "model", 3)
    return path, training.steps(3)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [1, 2, 3, 8])
def test_training_goes_on_with_any_number_of_devices(saved, devices):
    path, wanted = saved
    training = Training(devices)
    training.saver.restore(path)
    np.testing.assert_allclose(training.steps(3), wanted, rtol=1e-9)
    weight, trainer = training.net[0].weight, training.trainer
    if devices > 1:
        assert weight.data().placement == {"data": split(0)}
        for state in trainer._updaters[0].states[trainer._param2idx[weight.name]]:
            assert state.placement == weight.data().placement


@pytest.mark.slow
def test_a_checkpoint_of_one_device_is_read_on_a_mesh(tmp_path):
    training = Training(1)
    training.steps(3)
    path = training.saver.save(tmp_path / "model", 3)
    wanted = training.steps(3)
    other = Training(4)
    other.saver.restore(path)
    np.testing.assert_allclose(other.steps(3), wanted, rtol=1e-9)


@pytest.mark.slow
def test_what_is_in_the_file(saved):
    path, _ = saved
    names = dict(list_variables(path))
    assert names["net/0.weight"] == [48, 24] and [48, 24] in (
        names["trainer/0/1"],
        names["trainer/1/1"],
    )
    with safe_open(f"{path}.safetensors", "np") as file:
        parts = [name for name in file.keys() if name.startswith("net/0.weight")]  # noqa: SIM118
        assert sorted(parts)[0] == "net/0.weight[0:6,0:24]" and len(parts) == 8
        whole = np.concatenate(
            [file.get_tensor(f"net/0.weight[{6 * i}:{6 * i + 6},0:24]") for i in range(8)]
        )
    np.testing.assert_array_equal(load_variable(path, "net/0.weight"), whole)


def test_a_part_that_is_damaged_or_missing_is_named(saved):
    path, _ = saved
    with open(f"{path}.safetensors", "r+b") as file:
        data = file.read()
        file.seek(len(data) - 9)
        file.write(bytes([data[-9] ^ 255]))
    with pytest.raises(FormatError, match=r"the checksum of '.*' does not fit it"):
        Training(2).saver.restore(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda said: said["variables"]["net/0.weight"]["parts"].pop(), "do not make it up"),
        (lambda said: said["variables"]["net/0.weight"]["parts"][0].pop(), "cannot be read"),
        (
            lambda said: said["variables"]["net/0.weight"]["parts"][0].__setitem__(0, 7),
            "do not make it up",
        ),
        (  # as many numbers as there are, of which some come twice
            lambda said: said["variables"]["net/0.weight"]["parts"][0].__setitem__(1, [6, 0]),
            "do not make it up",
        ),
        (lambda said: said.pop("files"), "cannot be read"),
    ],
)
def test_what_a_file_says_of_parts_is_checked(saved, change, message):
    path, _ = saved
    with open(f"{path}.safetensors", "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    said = json.loads(header["__metadata__"]["parts"])
    change(said)
    header["__metadata__"]["parts"] = json.dumps(said)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{path}.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data[8 + size :])
    with pytest.raises(FormatError, match=message):
        Training(2).saver.restore(path)


def test_training_goes_on_while_parts_are_written(tmp_path):
    training = Training(8)
    training.steps(2)
    pending = training.saver.save_async(tmp_path / "model", 2)
    wanted = training.steps(2)
    path = pending.wait()
    other = Training(2)
    other.saver.restore(path)
    np.testing.assert_allclose(other.steps(2), wanted, rtol=1e-9)
