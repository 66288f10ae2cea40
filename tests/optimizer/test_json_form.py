"""Optimizers as name and numbers: what parameter servers are sent, and make of it."""

import json

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, optimizer
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.lr_scheduler import CosineScheduler, FactorScheduler, LRScheduler
from hybridnet.optimizer import Optimizer, optimizer_from_json, optimizer_to_json

NAMES = sorted(
    name
    for name, klass in Optimizer.opt_registry.items()
    if klass.__module__.startswith("hybridnet.")
)


def sent(made):
    """Returns what comes out at the other end."""
    return optimizer_from_json(json.loads(json.dumps(optimizer_to_json(made))))


def steps(made, count=3):
    shape = (2, 3) if isinstance(made, optimizer.contrib.GroupAdaGrad) else (6,)
    weight = nd.array(np.linspace(-1, 1, 6, dtype=np.float32)).reshape(shape)
    update = optimizer.get_updater(made)
    for number in range(count):
        hn.random.seed(number)
        grad = np.linspace(0.5, -0.25, 6, dtype=np.float32) * (number + 1)
        update(3, nd.array(grad).reshape(shape), weight)
    return weight.asnumpy()


@pytest.mark.parametrize("name", NAMES)
def test_every_optimizer_computes_the_same_there(name):
    one, other = (
        optimizer.create(
            name,
            learning_rate=0.1,
            wd=0.0 if name == "groupadagrad" else 0.01,  # which has none
            rescale_grad=0.5,
            clip_gradient=0.3,
            lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.1),
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(steps(sent(one)), steps(other))


def test_multipliers_go_by_index_and_by_name():
    made = optimizer.create("sgd", param_idx2name={0: "a_weight", 1: "a_bias", 2: "b_weight"})
    made.set_lr_mult({"b_weight": 0.5, 0: 3.0})
    made.set_wd_mult({})
    param = hn.gluon.Parameter("c_weight", shape=(1,), lr_mult=0.25, wd_mult=2.0)
    made.param_dict = {3: param}
    made.wd = 1.0
    made.lr = 1.0
    other = sent(made)
    for key in (0, 1, 2, 3, "a_bias", "b_weight"):
        assert other._get_lr(key) == made._get_lr(key)
        assert other._get_wd(key) == made._get_wd(key)
    assert other._get_wd(1) == 0.0 and other._get_lr(3) == 0.25


def test_a_scheduler_goes_on_from_where_it_is():
    scheduler = CosineScheduler(10, base_lr=0.5, warmup_steps=2)
    made = optimizer.create("sgd", lr_scheduler=scheduler, begin_num_update=4)
    other = sent(made)
    assert (other.num_update, other.learning_rate) == (4, made.learning_rate)


class Half(LRScheduler):
    def __call__(self, num_update):
        return self.base_lr / 2


@optimizer.register
class Scaled(Optimizer):
    """A user's own, whose __init__ needs an argument."""

    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor
        self.table = {"a": (1, [2.0, None])}

    def update(self, index, weight, grad, state):
        weight.assign(weight - grad * (self.factor * self._get_lr(index)))


def test_users_optimizers_and_schedulers():
    made = Scaled(3.0, lr_scheduler=Half(1.0))
    other = sent(made)
    assert (type(other), other.factor, other.table) == (Scaled, 3.0, made.table)
    assert isinstance(other.lr_scheduler, Half) and other.learning_rate == 0.5
    np.testing.assert_array_equal(steps(other, 1), steps(made, 1))


def test_what_cannot_be_sent():
    with pytest.raises(ParameterError, match="LBSGD on parameter servers requires batch_scale=1"):
        optimizer_to_json(optimizer.LBSGD(batch_scale=2))

    class Unknown(Optimizer):
        pass

    with pytest.raises(ParameterError, match="must be of a registered class; decorate it"):
        optimizer_to_json(Unknown())
    with_array = Scaled(nd.ones(2))
    with pytest.raises(ParameterError, match="one of its attributes is an array"):
        optimizer_to_json(with_array)
    with pytest.raises(ParameterError, match="got function"):
        optimizer_to_json(Scaled(lambda: None))


def test_what_comes_from_strangers():
    form = optimizer_to_json(optimizer.create("sgd"))
    with pytest.raises(ParameterError, match="a server's optimizer must be one of .*got 'evil'"):
        optimizer_from_json({**form, "optimizer": "evil"})
    with pytest.raises(ParameterError, match="lr_scheduler must be one of .*got 'System'"):
        optimizer_from_json({**form, "scheduler": ["System", {"dict": []}]})
    for wrong in ({}, [], None, {**form, "attributes": {"list": []}}, {**form, "scheduler": 3}):
        with pytest.raises(FormatError):
            optimizer_from_json(wrong)
