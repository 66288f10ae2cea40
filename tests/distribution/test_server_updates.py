"""Optimizers as servers run them, on parts of keys and on their states as plain arrays."""

import json

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, optimizer
from hybridnet.kv.server_updates import PREFIX
from hybridnet.kvstore import KVStoreError
from hybridnet.kvstore.storage.dtypes import dtype_of
from hybridnet.kvstore.storage.updates import PartOf, find_updates
from hybridnet.lr_scheduler import FactorScheduler
from hybridnet.optimizer import Optimizer, optimizer_to_json

NAMES = sorted(
    name
    for name, klass in Optimizer.opt_registry.items()
    if klass.__module__.startswith("hybridnet.")
)
#: What these compute depends on the whole array, or on chance: other tests are for them.
ELEMENTWISE = [name for name in NAMES if name not in ("groupadagrad", "lamb", "lars", "sgld")]


@pytest.fixture(autouse=True)
def as_on_servers(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "only")


def server(made):
    form = json.loads(json.dumps(optimizer_to_json(made)))
    return find_updates(PREFIX + form["optimizer"])(form)


class Slots:
    """A part as a server keeps it: two slots of its value and states, updated in turn."""

    def __init__(self, updates, part, value):
        self.updates, self.part, self.number = updates, part, 0
        specs = updates.states(part)
        self.old = [value, *(np.zeros(shape, dtype) for shape, dtype in specs)]
        self.new = [np.full_like(one, 77) for one in self.old]
        updates.begin(part, value, self.old[1:])

    def push(self, gradient, rows=None):
        self.number += 1
        if rows is None:
            self.updates.update(self.part, self.number, gradient, self.old, self.new)
        else:
            old = [one[rows] for one in self.old]
            new = [np.full_like(one, 77) for one in old]
            self.updates.update(self.part, self.number, gradient, old, new, rows)
            self.new = [one.copy() for one in self.old]
            for target, source in zip(self.new, new, strict=True):
                target[rows] = source
        self.old, self.new = self.new, self.old
        return self.old[0]


def made_of(name):
    scheduler = FactorScheduler(2, 0.5, base_lr=0.1)
    made = optimizer.create(
        name, learning_rate=0.1, wd=0.01, rescale_grad=0.5, lr_scheduler=scheduler
    )
    made.set_wd_mult({"k": 0.5})
    return made


def gradients(size, dtype=np.float32):
    generator = np.random.default_rng(3)
    return [generator.normal(size=size).astype(dtype) for _ in range(5)]


def part_of(size, start=0, stop=None, dtype=np.float32, key="k"):
    return PartOf(key, (size,), np.dtype(dtype), start, size if stop is None else stop)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_parts_on_servers_are_updated_as_the_whole_is_here(name):
    value = np.linspace(-1, 1, 10, dtype=np.float32)
    here, update = nd.array(value), optimizer.get_updater(made_of(name))
    there = server(made_of(name))
    slots = [
        Slots(there, part_of(10, start, stop), value[start:stop].copy())
        for start, stop in ((0, 4), (4, 10))
    ]
    for gradient in gradients(10):
        update("k", nd.array(gradient), here)
        one, other = (part.push(gradient[part.part.start : part.part.stop]) for part in slots)
        np.testing.assert_allclose(np.concatenate([one, other]), here.asnumpy(), rtol=2e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "groupadagrad"])
def test_a_server_that_was_started_again_goes_on_bit_for_bit(name):
    """All that an update depends on is in the arrays and its number."""
    value, given = np.linspace(-1, 1, 6, dtype=np.float32), gradients(6)
    straight = Slots(server(made_of(name)), part_of(6), value.copy())
    killed = Slots(server(made_of(name)), part_of(6), value.copy())
    for gradient in given:
        straight.push(gradient.copy())
        killed.updates = server(made_of(name))
        hn.random.uniform(shape=(3,)).wait_to_read()  # others draw numbers in between
        killed.push(gradient.copy())
        for one, other in zip(straight.old, killed.old, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["sgd", "adam", "nag", "lamb"])
def test_low_precision_is_updated_through_float32(name, dtype):
    made = [optimizer.create(name, learning_rate=0.01, multi_precision=True) for _ in range(2)]
    kind = dtype_of(dtype)
    value = np.linspace(-1, 1, 6).astype(kind)
    here, update = nd.array(value, dtype=dtype), optimizer.get_updater(made[0])
    part = part_of(6, dtype=kind)
    slots = Slots(server(made[1]), part, value.copy())
    assert {one.dtype for one in slots.old[1:]} >= {np.dtype(np.float32)}
    for gradient in gradients(6, kind):
        update("k", nd.array(gradient, dtype=dtype), here)
        got = slots.push(gradient)
        assert got.dtype == kind
        np.testing.assert_array_equal(got, here.asnumpy())


@pytest.mark.parametrize("name", ["sgd", "adam", "adagrad", "ftrl", "test"])
def test_rows_are_updated_alone(name):
    arguments = {"momentum": 0.9} if name == "sgd" else {}
    value = np.arange(12, dtype=np.float32).reshape(4, 3)
    part = PartOf("k", (9, 3), np.dtype(np.float32), 5, 9, is_rows=True)
    slots = Slots(server(optimizer.create(name, **arguments)), part, value.copy())
    assert all(one.shape[0] == 4 for one in slots.old)
    dense = Slots(
        server(optimizer.create(name, **arguments)), part_of(6), value[[0, 2]].reshape(-1).copy()
    )
    for gradient in gradients((2, 3)):
        got = slots.push(gradient.copy(), np.array([0, 2]))
        np.testing.assert_array_equal(got[[0, 2]].reshape(-1), dense.push(gradient.reshape(-1)))
        np.testing.assert_array_equal(got[[1, 3]], value[[1, 3]])


def test_schedules_depend_on_the_number_of_the_update_alone():
    """Parts reach the servers in any order: what one has done must not tell the others."""
    there = server(optimizer.create("sgd", lr_scheduler=FactorScheduler(1, 0.5, base_lr=1.0)))
    one, other = (Slots(there, part_of(1), np.zeros(1, np.float32)) for _ in range(2))
    ones = np.ones(1, np.float32)
    assert [float(one.push(ones)[0]) for _ in range(3)] == [-1.0, -1.5, -1.75]
    assert [float(other.push(ones)[0]) for _ in range(3)] == [-1.0, -1.5, -1.75]


def test_numbers_of_its_own_are_kept_with_the_states_but_not_for_rows():
    there = server(optimizer.create("nadam"))
    *_, (shape, dtype) = there.states(part_of(3))
    assert (shape, dtype) == ((1,), np.float64)
    with pytest.raises(KVStoreError, match="Nadam: it changes numbers of its own"):
        there.states(PartOf("k", (3, 2), np.dtype(np.float32), 0, 3, is_rows=True))
