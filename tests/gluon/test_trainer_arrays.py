"""A step by arrays that were gathered before is the step that asks each parameter for them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from helpers import thorough

from hybridnet import autograd, cpu, gluon, init, nd
from hybridnet.base.errors import MXNetError
from hybridnet.gluon import nn
from hybridnet.gluon._trained_arrays import TrainedArrays
from hybridnet.gluon.trainer import StaleGradientError

OPTIMIZERS = (
    ("sgd", {"learning_rate": 0.1}),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01, "clip_gradient": 0.2}),
    ("nag", {"learning_rate": 0.05, "momentum": 0.5}),
    ("signum", {"learning_rate": 0.01, "momentum": 0.9, "wd_lh": 0.1}),
    ("adam", {"learning_rate": 0.02}),
    ("adagrad", {"learning_rate": 0.1}),
    ("rmsprop", {"learning_rate": 0.01, "centered": True}),
    ("ftrl", {"learning_rate": 0.1}),
    ("adamax", {"learning_rate": 0.01}),
    ("nadam", {"learning_rate": 0.01}),
)


def network(kind: type) -> nn.HybridSequential:
    net = kind(prefix="net_")
    net.add(
        nn.Dense(4, in_units=3, activation="tanh", prefix="a_"),
        nn.BatchNorm(in_channels=4, prefix="b_"),
    )
    net.add(nn.Dense(2, in_units=4, use_bias=False, prefix="c_"))
    net.initialize(init.Constant(0.2))
    for number, param in enumerate(net.collect_params().values()):
        if param.grad_req != "null":
            count = np.arange(np.prod(param.shape)).reshape(param.shape)
            param.set_data(nd.array(np.sin(count + number) * 0.5))
    return net


class Program:
    """A random program of training, whose every choice follows from its seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.net = network(self.draw.choice([nn.HybridSequential, nn.Sequential]))
        if type(self.net) is nn.HybridSequential and self.draw.random() < 0.6:
            self.net.hybridize()
        self.params = list(self.net.collect_params().values())
        name, numbers = self.draw.choice(OPTIMIZERS)
        self.trainers = [gluon.Trainer(self.net.collect_params(), name, dict(numbers))]
        if self.draw.random() < 0.2:
            self.trainers.append(gluon.Trainer(self.params[:2], "sgd", {"learning_rate": 0.01}))
        self.seen: list[object] = []

    def run(self) -> list[object]:
        doings = [self.learn] * 6 + [self.step] * 5 + [self.anything]
        for _ in range(self.draw.randrange(4, 25)):
            self.draw.choice(doings)()
        for param in self.params:
            for array in param.list_data():
                self.seen.append(array.asnumpy().tobytes())
            if param.grad_req != "null":
                self.seen += [grad.asnumpy().tobytes() for grad in param.list_grad()]
        return self.seen

    def learn(self) -> None:
        x = nd.array(np.float32([[self.draw.gauss(0, 1) for _ in range(3)] for _ in range(2)]))
        with autograd.record():
            loss = (self.net(x) ** 2).sum()
        loss.backward()
        self.step()

    def step(self) -> None:
        trainer = self.draw.choice(self.trainers)
        try:
            trainer.step(self.draw.choice([1, 2, 2, 2, 4]), self.draw.random() < 0.3)
        except (StaleGradientError, MXNetError) as error:
            self.seen.append(f"{type(error).__name__}: {error}")

    def anything(self) -> None:
        draw, param, trainer = self.draw, self.draw.choice(self.params), self.trainers[0]
        case = draw.randrange(14)
        if case == 0:
            param.grad_req = draw.choice(["null", "write", "add"])
        elif case == 1:
            param.zero_grad()
        elif case == 2:
            trainer.set_learning_rate(draw.choice([0.01, 0.1]))
        elif case == 3:
            param.lr_mult = draw.choice([0.0, 0.5, 1.0])
        elif case == 4:
            param.wd_mult = draw.choice([0.0, 2.0])
        elif case == 5:
            param.set_data(param.data() * 0.5)
        elif case == 6 and param.grad_req != "null":
            grad = param.grad()
            grad *= 0.5
        elif case == 7 and param.grad_req != "null":
            param.data().attach_grad()
        elif case == 8:
            self.net.collect_params().setattr("grad_req", draw.choice(["write", "add"]))
        elif case == 9:
            try:
                trainer.allreduce_grads()
                trainer.update(2, ignore_stale_grad=draw.random() < 0.5)
            except MXNetError as error:
                self.seen.append(str(error))
        elif case == 10:
            self.net.collect_params().reset_ctx(draw.choice([[cpu(0)], [cpu(0), cpu(1)]]))
            self.net.collect_params().reset_ctx(cpu(0))
        elif case == 11 and param.grad_req != "null":
            gluon.utils.clip_global_norm([param.grad()], 0.1)
        elif case == 12:
            states = trainer.states_to_bytes()
            self.step()
            trainer.states_from_bytes(states)
        else:
            self.net.cast(draw.choice(["float32", "float64"]))
            self.net.cast("float32")


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(4))
def test_random_programs_of_training_come_to_the_same_bits(shard, monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "only")
    count = thorough(2500, 15)
    gathered = 0
    of = TrainedArrays.of

    def counted(numbered):
        nonlocal gathered
        made = of(numbered)
        gathered += made is not None
        return made

    for seed in range(shard * count, (shard + 1) * count):
        with monkeypatch.context() as patch:
            patch.setattr(TrainedArrays, "of", counted)
            short = Program(seed).run()
        with monkeypatch.context() as patch:
            patch.setattr(TrainedArrays, "of", lambda numbered: None)
            long = Program(seed).run()
        assert short == long, seed
    assert gathered > count


def test_a_network_with_own_gradients_is_asked_for_them():
    class Half(gluon.Parameter):
        def list_grad(self):
            return [grad * 0.5 for grad in super().list_grad()]

    weight = Half("weight", shape=(2,), init="ones")
    weight.initialize()
    trainer = gluon.Trainer([weight], "sgd", {"learning_rate": 1.0})
    for _ in range(2):
        with autograd.record():
            loss = weight.data().sum()
        loss.backward()
        trainer.step(1)
    np.testing.assert_array_equal(weight.data().asnumpy(), [0, 0])
