"""Keys that are pushed and pulled together from several devices, against sums that NumPy makes."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import thorough
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, gluon, kv, nd, optimizer
from hybridnet.base.errors import MXNetError
from hybridnet.kv import actions

CPUS = [hn.cpu(i) for i in range(4)]
#: Two of these share a device of XLA's, so that no program can span them.
FAR = [hn.cpu(i) for i in (0, 8, 1, 9)]
SHAPES = [(2,), (3, 2), (1, 4), (2,)]
KEYS = range(len(SHAPES))


def arrays(draw, shape, contexts):
    """Returns arrays of small whole numbers, which floats add up exactly, and the same by NumPy."""
    numbers = [draw.integers(-9, 9, shape).astype(np.float32) for _ in contexts]
    return [nd.array(x, ctx=ctx) for x, ctx in zip(numbers, contexts, strict=True)], numbers


@pytest.fixture(autouse=True)
def compiles(monkeypatch):
    """Has a program over devices be worth its compilation at once; returns what sets when it is."""

    def after(seconds):
        free = SimpleNamespace(program=seconds, compiling=lambda weight, kinds: seconds)
        monkeypatch.setattr(actions, "prices", free)

    after(0.0)
    return after


@pytest.mark.slow
@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_random_pushes_and_pulls_are_those_of_numpy(compiles, data):
    # At once, some time, or never.
    compiles(data.draw(st.sampled_from([0.0, 1e-3, 2e-3, 3e-3, math.inf])))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    store = kv.create(data.draw(st.sampled_from(["device", "local"])))
    expected = [draw.integers(-9, 9, shape).astype(np.float32) for shape in SHAPES]
    store.init(list(KEYS), [nd.array(x) for x in expected])
    rate = data.draw(st.sampled_from([None, 0.5]))
    if rate is not None:
        store.set_optimizer(optimizer.SGD(learning_rate=rate, wd=0.0))
    weights = {ctx: [nd.array(x, ctx=ctx) for x in expected] for ctx in (*CPUS, *FAR, hn.cpu(5))}
    kept = []
    for _ in range(data.draw(st.integers(1, 5))):
        keys = data.draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))
        devices = data.draw(st.sampled_from([CPUS, CPUS[:2], CPUS[2:], CPUS[1:2], FAR]))
        pushed = {key: arrays(draw, SHAPES[key], devices) for key in keys}
        if len(keys) == 1:
            store.push(keys[0], pushed[keys[0]][0])
        else:
            store.push(keys, [given for given, _ in pushed.values()])
        for key, (given_, numbers) in pushed.items():
            total = np.sum(numbers, axis=0)
            expected[key] = total if rate is None else expected[key] - rate * total
            if data.draw(st.booleans()):  # the store is to have what was there
                given_[0][:] = 100
                given_[-1] *= 2
                numbers[0], numbers[-1] = np.full_like(numbers[0], 100), numbers[-1] * 2
                if len(devices) == 1:
                    numbers[0] = np.full_like(numbers[0], 200)
            kept.append((given_, numbers))
        to = data.draw(st.sampled_from([CPUS, CPUS[1:3], FAR, [hn.cpu(5)], CPUS[:1]]))
        pulled = data.draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True))
        store.pull(pulled, [[weights[ctx][key] for ctx in to] for key in pulled])
        for key in pulled:
            for ctx in to:
                np.testing.assert_array_equal(weights[ctx][key].asnumpy(), expected[key])
            weights[to[-1]][key] += 1  # nobody else's
    for given_, numbers in kept:
        for one, number in zip(given_, numbers, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), number)
    store.pull(list(KEYS), [weights[CPUS[0]][key] for key in KEYS])
    for key in KEYS:
        np.testing.assert_array_equal(weights[CPUS[0]][key].asnumpy(), expected[key])


@pytest.mark.slow
@pytest.mark.parametrize("update_on_kvstore", [True, False])
@pytest.mark.parametrize("contexts", thorough([CPUS, FAR, CPUS[:3]], [FAR]))
@pytest.mark.parametrize(
    ("name", "settings_"),
    [("sgd", {"momentum": 0.9, "wd": 0.01}), ("adam", {}), ("lamb", {}), ("sgld", {})],
)
def test_a_trainer_on_several_devices_takes_the_steps_of_one(
    compiles, name, settings_, contexts, update_on_kvstore
):
    numbers = np.random.default_rng(1).random((12, 5)).astype(np.float32)

    def trained(contexts, **options):
        hn.random.seed(3)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(4, in_units=5, activation="tanh"), gluon.nn.Dense(1, in_units=4))
        net.initialize(hn.init.One(), ctx=contexts)
        net.hybridize()
        given_ = {"learning_rate": 0.1, **settings_}
        trainer = gluon.Trainer(net.collect_params(), name, given_, **options)
        for step in range(4):
            compiles(0.0 if step else math.inf)
            with autograd.record():
                losses = [
                    (net(x) ** 2).sum() for x in gluon.utils.split_and_load(numbers, contexts)
                ]
            autograd.backward(losses)
            trainer.step(12)
        found = [[x.asnumpy() for x in p.list_data()] for p in net.collect_params().values()]
        for copies in found:
            for copy in copies:
                if update_on_kvstore:
                    np.testing.assert_array_equal(copy, copies[0])
                elif name != "sgld":  # each is updated there, by NumPy or by XLA
                    np.testing.assert_allclose(copy, copies[0], rtol=1e-5, atol=1e-6)
        return [copies[0] for copies in found]

    several = trained(contexts, update_on_kvstore=update_on_kvstore)
    if name != "sgld":  # which draws
        for one, wanted in zip(several, trained([hn.cpu(0)]), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=5e-5, atol=2e-6)


def test_states_go_to_a_trainer_on_other_devices(tmp_path):
    def begun(contexts):
        param = gluon.Parameter("w_weight", shape=(3,))
        other = gluon.Parameter("v_weight", shape=(2, 2))
        for one in (param, other):
            one.initialize("ones", ctx=contexts)
        return [param, other], gluon.Trainer([param, other], "adam", {"learning_rate": 0.1})

    def stepped(params, trainer, count):
        for _ in range(count):
            for param in params:
                for data in param.list_data():
                    with autograd.record():
                        loss = (data * data).sum()
                    loss.backward()
            trainer.step(len(params[0].list_data()))
        return [param.data(param.list_ctx()[0]).asnumpy() for param in params]

    wanted = stepped(*begun(CPUS[:1]), 5)
    params, trainer = begun(CPUS)
    stepped(params, trainer, 2)
    trainer.save_states(tmp_path / "states")
    for contexts in (CPUS[:1], CPUS[:2], CPUS, FAR):
        others, again = begun(contexts)
        for other, param in zip(others, params, strict=True):
            other.set_data(param.data(CPUS[0]))
        again.load_states(tmp_path / "states")
        for found, number in zip(stepped(others, again, 3), wanted, strict=True):
            np.testing.assert_allclose(found, number, rtol=1e-5)


def test_a_key_that_is_not_there_leaves_nothing_behind():
    store = kv.create("device")
    store.init([0, 1], [nd.zeros(2), nd.zeros(2)])
    with pytest.raises(MXNetError):
        store.push([0, 7, 1], [[nd.ones(2, ctx=ctx) for ctx in CPUS]] * 3)
    store.push([1, 0], [[nd.ones(2, ctx=ctx) * 3 for ctx in CPUS]] * 2)
    out = nd.zeros(2)
    store.pull(1, out=out)
    assert out.asnumpy().tolist() == [12, 12]


def test_an_updater_of_the_users_sees_arrays_of_one_device():
    store = kv.create("device")
    store.init([0, 1], [nd.zeros(2), nd.zeros(2)])
    seen = []

    def update(key, merged, stored):
        seen.append((merged.context, stored.context))
        stored += merged.as_in_context(hn.cpu(0)) + nd.ones(2)

    store.set_updater(update)
    store.push([0, 1], [[nd.ones(2, ctx=ctx) for ctx in CPUS]] * 2)
    out = nd.zeros(2)
    store.pull(1, out=out)
    assert out.asnumpy().tolist() == [5, 5]
    assert seen == [(hn.cpu(0), hn.cpu(0))] * 2


def test_a_step_over_more_devices_asks_no_more_of_the_store(monkeypatch):
    """What crosses does so in one task there and one back, and the update is one program."""
    from hybridnet.kv import crossing

    tasks = []
    push_task = crossing.push_task
    monkeypatch.setattr(
        crossing, "push_task", lambda *a, **k: tasks.append(k["name"]) or push_task(*a, **k)
    )
    for contexts in (CPUS, FAR):
        params = [gluon.Parameter(f"w{i}_weight", shape=(3,)) for i in range(4)]
        for one in params:
            one.initialize("ones", ctx=contexts)
        trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.1})
        for step in range(3):
            tasks.clear()
            for param in params:
                for data in param.list_data():
                    with autograd.record():
                        loss = data.sum()
                    loss.backward()
            trainer.step(4)
            if step:  # before it the keys are made
                assert tasks == ["kv push 0 and 3 more", "kv pull 0 and 3 more"]


def test_threads_that_share_a_store_each_get_their_keys():
    store = kv.create("device")
    store.init(list(range(8)), [nd.zeros(3) for _ in range(8)])
    wrong = []

    def work(thread):
        keys = [2 * thread, 2 * thread + 1]
        for turn in range(20):
            pushed = [[nd.ones(3, ctx=ctx) * (turn + key) for ctx in CPUS] for key in keys]
            store.push(keys, pushed)
            outs = [[nd.zeros(3, ctx=ctx) for ctx in CPUS] for _ in keys]
            store.pull(keys, outs)
            for key, copies in zip(keys, outs, strict=True):
                wrong.extend(x for x in copies if x.asnumpy().tolist() != [4 * (turn + key)] * 3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
