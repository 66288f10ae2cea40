"""Networks on a mesh against the same ones on one device."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import ParameterError
from hybridnet.gluon import nn
from hybridnet.parallel import COLUMNS, ROWS, broadcast, data, fully_sharded, split, tensor
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.mesh_program import MeshExecutable

MESH = hn.Mesh({"data": 4, "model": 2})
PLAN = {r"0\.(weight|bias)": COLUMNS, r"1\.weight": ROWS}


def dense() -> gluon.Block:
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu"), nn.Dense(32, activation="tanh"), nn.Dense(8))
    return net


def convolutions() -> gluon.Block:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2), nn.Dropout(0.3))
    net.add(nn.Conv2D(16, 3), nn.GlobalAvgPool2D(), nn.Dense(8))
    return net


def attention() -> gluon.Block:
    net = nn.HybridSequential()
    net.add(nn.Embedding(32, 16), nn.TransformerEncoderLayer(16, 32, 4, dropout=0.0), nn.Dense(8))
    return net


INPUTS = {
    dense: lambda rng: rng.random((16, 24)),
    convolutions: lambda rng: rng.random((16, 3, 12, 12)),
    attention: lambda rng: rng.integers(0, 32, (16, 6)),
}

WAYS = {
    "data": lambda net: data(net, MESH),
    "sharded": lambda net: fully_sharded(net, MESH, least=64),
    "tensor": lambda net: tensor(net, MESH, PLAN),
    "both": lambda net: (tensor(net, MESH, PLAN), fully_sharded(net, MESH, least=64)),
}


def trained(make, way, *, hybridize=True, optimizer="adam", steps=4):
    """Returns the losses of a few steps, the network, and its trainer, on one device or a mesh."""
    hn.random.seed(11)
    net = make()
    net.initialize(hn.init.Xavier())
    net.cast("float64")
    net(nd.array(INPUTS[make](np.random.default_rng(0)), dtype="float64"))
    if hybridize:
        net.hybridize()
    if way is not None:
        way(net)
    hn.random.seed(11)  # the mesh draws its own numbers, as the device does
    place = hn.cpu() if way is None else MESH
    trainer = gluon.Trainer(net.collect_params(), optimizer, {"learning_rate": 0.01})
    loss, rng, losses = gluon.loss.SoftmaxCrossEntropyLoss(), np.random.default_rng(5), []
    for _ in range(steps):
        batch = nd.array(INPUTS[make](rng), dtype="float64"), nd.array(rng.integers(0, 8, 16))
        (x,), (y,) = (gluon.utils.split_and_load(one, [place]) for one in batch)
        with autograd.record():
            found = loss(net(x), y)
        found.backward()
        trainer.step(16)
        losses.append(found.asnumpy())
    return np.array(losses), net, trainer


@pytest.mark.slow
@pytest.mark.parametrize("way", ["data", "sharded"])
@pytest.mark.parametrize("make", INPUTS, ids=lambda make: make.__name__)
def test_losses_are_those_of_one_device(make, way):
    wanted, *_ = trained(make, None)
    losses, *_ = trained(make, WAYS[way])
    np.testing.assert_allclose(losses, wanted, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["tensor", "both"])
def test_so_are_those_of_layers_that_are_split(way):
    wanted, *_ = trained(dense, None, hybridize=False, optimizer="sgd")
    losses, *_ = trained(dense, WAYS[way], hybridize=False, optimizer="sgd")
    np.testing.assert_allclose(losses, wanted, rtol=1e-9)


def test_values_gradients_and_states_lie_as_was_said():
    _, net, trainer = trained(dense, WAYS["both"])
    params = net._collect_params_with_prefix()
    lie = {
        "0.weight": {"data": split(1), "model": split(0)},
        "0.bias": {"data": split(0), "model": split(0)},
        "1.weight": {"data": split(0), "model": split(1)},
        "1.bias": {"data": broadcast, "model": broadcast},  # it is too small
        "2.weight": {"data": split(1), "model": broadcast},
    }
    lie["0.bias"] = {"data": broadcast, "model": split(0)}  # of 64, no other axis can be split
    numbers = {name: number for number, name in enumerate(trainer._param2idx)}
    for name, placement in lie.items():
        param = params[name]
        assert param.data().placement == placement, name
        assert param.grad().placement == placement, name
        mean, variance = trainer._updaters[0].states[numbers[param.name]]
        assert mean.placement == variance.placement == placement, name


def test_a_device_of_a_sharded_network_holds_an_eighth():
    mesh = hn.Mesh({"data": 8})
    net = nn.HybridSequential()
    net.add(nn.Dense(512, in_units=256), nn.Dense(256, in_units=512))
    net.initialize(ctx=mesh)
    fully_sharded(net, mesh)
    whole = here = 0
    for param in net.collect_params().values():
        array = param.data().to_jax()
        whole += array.nbytes
        here += array.addressable_shards[0].data.nbytes
    assert here <= 1.2 / 8 * whole


def test_what_was_said_before_does_not_matter():
    """Said twice it is the same; and a network can move to another mesh."""
    net = dense()
    net.initialize(ctx=hn.Mesh({"data": 8}))
    net(nd.ones((8, 24), ctx=hn.Mesh({"data": 8})))
    for _ in range(2):
        fully_sharded(net, hn.Mesh({"data": 8}), least=64)
    assert net[0].weight.data().placement == {"data": split(0)}
    tensor(net, MESH, PLAN)
    for _ in range(2):
        fully_sharded(net, MESH, least=64)
    assert net[0].weight.data().placement == {"data": split(1), "model": split(0)}
    data(net, MESH)
    assert net[0].weight.data().placement == {"data": broadcast, "model": broadcast}


def test_a_network_goes_back_to_one_device(tmp_path):
    _, net, _ = trained(dense, WAYS["both"])
    x = np.random.default_rng(0).random((8, 24))
    wanted = net(nd.array(x, ctx=MESH, dtype="float64")).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    net.collect_params().reset_ctx(hn.cpu())
    np.testing.assert_allclose(net(nd.array(x, dtype="float64")).asnumpy(), wanted, rtol=1e-9)
    other = dense()
    other.cast("float64")
    other.load_parameters(str(tmp_path / "net.params"), ctx=MESH)
    got = other(nd.array(x, ctx=MESH, dtype="float64").to_placement(split(0)))
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-9)


def test_statistics_of_a_batch_are_those_of_all_its_parts():
    """As `SyncBatchNorm` has them, since the batch is one array."""
    norm = nn.BatchNorm(in_channels=3)
    norm.initialize(ctx=MESH)
    values = np.random.default_rng(0).normal(2, 3, (16, 3))
    x = nd.array(values, ctx=MESH, placement=split(0))
    with autograd.record():
        got = norm(x)
    wanted = (values - values.mean(0)) / np.sqrt(values.var(0) + 1e-5)
    np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (lambda net: tensor(net, MESH, {"nothing": COLUMNS}), "requires a parameter that it match"),
        (lambda net: fully_sharded(net, MESH, axis="batch"), "has no axis 'batch'"),
        (lambda net: data(net, hn.cpu()), "requires a Mesh"),
        (lambda net: tensor(net, MESH, {"0.weight": split(2)}), "an array that has the axis"),
    ],
)
def test_what_cannot_be_is_refused(apply, message):
    net = nn.HybridSequential()
    net.add(nn.Dense(6, in_units=3))
    net.initialize()
    with pytest.raises(ParameterError, match=message):
        apply(net)


@pytest.mark.parametrize(
    ("way", "wanted"),
    [("data", {"all-reduce": 1}), ("sharded", {"all-gather": 2, "all-reduce": 1})],
)
def test_the_program_of_a_step_has_the_collectives_that_it_needs(way, wanted):
    """All gradients in one all-reduce; of each weight in parts one all-gather."""
    cache.clear()  # of other tests' programs
    mesh = hn.Mesh({"data": 8})
    net = nn.HybridSequential()
    net.add(nn.Dense(64, activation="relu", in_units=32), nn.Dense(8, in_units=64))
    net.initialize(ctx=mesh)
    net.hybridize()
    if way == "sharded":
        fully_sharded(net, mesh, least=128)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9})
    x = nd.ones((16, 32), ctx=mesh).to_placement(split(0))
    for _ in range(2):
        with autograd.record():
            loss = net(x).sum(axis=1)
        loss.backward()
        trainer.step(16)
    net[0].weight.data().wait_to_read()
    made = [one for one in cache.programs() if type(one.compiled) is MeshExecutable]
    largest = max(made, key=lambda one: one.account.weight)
    kinds = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute"
    found = re.findall(rf" ({kinds})(?:-start)?\(", largest.compiled.last.as_text())
    assert Counter(found) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("before", [0, 1])
def test_a_whole_step_can_be_traced(before):
    """Also the first one, which makes the optimizer's states."""
    found = []
    for traced in (False, True):
        hn.random.seed(2)
        net = dense()
        net.initialize(hn.init.Xavier(), ctx=MESH)
        x = nd.array(np.random.default_rng(0).random((16, 24)), ctx=MESH, placement=split(0))
        net(x)
        fully_sharded(net, MESH, least=64)
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})

        def step(x, net=net, trainer=trainer):
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            trainer.step(1)
            return loss

        for _ in range(before):
            step(x)
        run = hn.function(step) if traced else step
        found.append([float(run(x).asscalar()) for _ in range(4)])
        assert net[0].weight.data().placement["data"] == split(0)
        state, _ = trainer._updaters[0].states[trainer._param2idx[net[0].weight.name]]
        assert state.placement == net[0].weight.data().placement
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_a_parameter_that_layers_share_is_split_by_either_name():
    net = nn.HybridSequential()
    first = nn.Dense(8, in_units=8)
    net.add(first, nn.Dense(8, in_units=8, params=first.params))
    net.initialize()
    assert net[1].weight is net[0].weight
    tensor(net, MESH, {r"0\.weight": COLUMNS})
    assert net[1].weight.data().placement == {"data": broadcast, "model": split(0)}
