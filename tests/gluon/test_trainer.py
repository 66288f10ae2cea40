"""`Trainer` against MXNet's recorded steps; contexts, states, stale gradients, wrong use."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import gluon_cases as cases
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.gluon import nn
from hybridnet.gluon.trainer import StaleGradientError

NUMBERS = np.load(ORACLE / "gluon.npz")
BOTH = [hn.cpu(0), hn.cpu(1)]


def recorded(index: int) -> list[np.ndarray[Any, Any]]:
    return [NUMBERS[f"trainer {index} {place}"] for place in range(4)]


@pytest.mark.parametrize("index", range(len(cases.TRAINERS)), ids=lambda i: cases.TRAINERS[i][0])
def test_steps_are_mxnets(index: int) -> None:
    for found, wanted in zip(cases.run_trainer(hn, index), recorded(index), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("index", "options"),
    [
        (1, {}),
        (1, {"update_on_kvstore": False}),
        (4, {"kvstore": "local"}),
        (4, {"kvstore": "device", "update_on_kvstore": True}),
    ],
)
def test_two_contexts_take_the_same_steps(index: int, options: dict[str, Any]) -> None:
    found = cases.run_trainer(hn, index, contexts=2, **options)
    for one, wanted in zip(found, recorded(index), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("update", [False, True])
def test_one_context_with_a_store_takes_the_same_steps(update: bool) -> None:
    found = cases.run_trainer(hn, 1, kvstore=hn.kv.create("local"), update_on_kvstore=update)
    for one, wanted in zip(found, recorded(1), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=2e-6)


def line(ctx: Any = None) -> gluon.Parameter:
    param = gluon.Parameter("w_weight", shape=(2,))
    param.initialize("ones", ctx=ctx)
    return param


def backward(param: gluon.Parameter, factor: float = 1.0) -> None:
    """Makes the gradient `factor` everywhere, on every context."""
    for data in param.list_data():
        with autograd.record():
            loss = (data * factor).sum()
        loss.backward()


def test_a_step_divides_by_the_batch() -> None:
    param = line()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5, "rescale_grad": 2.0})
    backward(param)
    trainer.step(4)
    assert param.data().asnumpy().tolist() == [0.75, 0.75]


@pytest.mark.parametrize("kind", [list, tuple, dict, gluon.ParameterDict])
def test_what_parameters_come_in(kind: Any) -> None:
    params: Any = [line()]
    if kind is gluon.ParameterDict:
        params = gluon.ParameterDict()
        params.update({"w_weight": line()})
    elif kind is dict:
        params = {"w_weight": line()}
    trainer = gluon.Trainer(params, hn.optimizer.SGD(learning_rate=1.0))
    param = params["w_weight"] if kind in (dict, gluon.ParameterDict) else params[0]
    backward(param)
    trainer.step(1)
    assert param.data().asnumpy().tolist() == [0, 0]


def test_rates_and_schedules() -> None:
    param = line()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    assert trainer.learning_rate == 1.0
    trainer.set_learning_rate(0.25)
    backward(param)
    trainer.step(1)
    assert param.data().asnumpy()[0] == 0.75
    schedule = hn.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)
    trainer = gluon.Trainer([param], "sgd", {"lr_scheduler": schedule, "learning_rate": 1.0})
    for _ in range(3):
        backward(param)
        trainer.step(1)
    assert param.data().asnumpy()[0] == 0.75 - (1 + 0.5 + 0.25)
    assert trainer.learning_rate == 0.25
    with pytest.raises(MXNetError, match="scheduler"):
        trainer.set_learning_rate(1.0)


def test_parameters_without_gradients_are_left() -> None:
    param, fixed = line(), gluon.Parameter("b_bias", shape=(2,), grad_req="null")
    fixed.initialize("ones")
    trainer = gluon.Trainer([param, fixed], "sgd", {"learning_rate": 1.0, "wd": 0.5})
    backward(param)
    trainer.step(1)
    assert fixed.data().asnumpy().tolist() == [1, 1]
    param.grad_req = "null"
    trainer.step(1)


def test_stale_gradients() -> None:
    param, other = line(), gluon.Parameter("v_weight", shape=(1,))
    other.initialize("ones")
    trainer = gluon.Trainer([param, other], "sgd", {"learning_rate": 0.5})
    backward(param)
    with pytest.raises(StaleGradientError, match="gradient of 'v_weight' was not written by a"):
        trainer.step(1)
    with pytest.raises(UserWarning):  # MXNet raises one
        trainer.step(1)
    assert param.data().asnumpy()[0] == 1  # all or nothing
    trainer.step(1, ignore_stale_grad=True)
    assert (param.data().asnumpy()[0], other.data().asnumpy()[0]) == (0.5, 1)
    trainer.step(1, ignore_stale_grad=True)
    assert param.data().asnumpy()[0] == 0.5
    param.zero_grad()
    with pytest.raises(StaleGradientError, match="w_weight"):
        trainer.step(1)


def test_gradients_that_add_up_over_passes() -> None:
    param = line()
    param.grad_req = "add"
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    for _ in range(3):
        backward(param, 0.25)
    trainer.step(3)
    assert param.data().asnumpy()[0] == 0.75
    param.zero_grad()
    backward(param, 0.25)
    trainer.step(1)
    assert param.data().asnumpy()[0] == 0.5


def test_reduction_and_update_apart() -> None:
    param = line(BOTH)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5}, update_on_kvstore=False)
    backward(param)
    trainer.allreduce_grads()
    assert [one.asnumpy()[0] for one in param.list_grad()] == [2, 2]
    for grad in param.list_grad():
        grad[:] = grad / 4  # such as clipping
    trainer.update(1)
    assert [one.asnumpy()[0] for one in param.list_data()] == [0.75, 0.75]
    with pytest.raises(StaleGradientError):
        trainer.update(1)


def test_reduction_and_update_are_one_where_the_store_updates() -> None:
    param = line(BOTH)
    trainer = gluon.Trainer([param], "sgd")
    backward(param)
    for call in (trainer.allreduce_grads, lambda: trainer.update(1)):
        with pytest.raises(MXNetError, match="update_on_kvstore=False"):
            call()
    trainer.step(1)


@pytest.mark.parametrize("ctx", [None, BOTH])
@pytest.mark.parametrize("update", [None, False])
def test_values_set_between_steps_count(ctx: Any, update: bool | None) -> None:
    param = line(ctx)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.25}, update_on_kvstore=update)
    for _ in range(2):
        backward(param)
        trainer.step(1)
        param.set_data([5, 5])
    backward(param)
    trainer.step(1)
    wanted = 5 - 0.25 * len(param.list_ctx())
    assert [one.asnumpy().tolist() for one in param.list_data()] == [[wanted] * 2] * len(
        param.list_ctx()
    )


def momentum(param: gluon.Parameter, **options: Any) -> gluon.Trainer:
    return gluon.Trainer([param], "sgd", {"learning_rate": 0.5, "momentum": 0.5}, **options)


@pytest.mark.parametrize("ctx", [None, BOTH])
@pytest.mark.parametrize("update", [None, False])
@pytest.mark.parametrize("first", [False, True])
def test_states_go_on_where_they_were(
    tmp_path: Path, ctx: Any, update: bool | None, first: bool
) -> None:
    """The same third step, by a trainer that took two steps and by one that loads its states."""
    param, other = line(ctx), line(ctx)
    trainer = momentum(param, update_on_kvstore=update)
    for _ in range(2):
        backward(param)
        trainer.step(1)
    trainer.save_states(tmp_path / "sgd.states")
    again = gluon.Trainer([other], "sgd", update_on_kvstore=update)
    if first:  # a trainer that has run
        backward(other)
        again.step(1)
    other.set_data(param.list_data()[0])
    again.load_states(tmp_path / "sgd.states")
    for one, taken in ((param, trainer), (other, again)):
        backward(one)
        taken.step(1)
    assert again.learning_rate == 0.5
    for one, two in zip(param.list_data(), other.list_data(), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), two.asnumpy())


@pytest.mark.parametrize(
    ("ctx", "options"), [(None, {}), (BOTH, {}), (BOTH, {"update_on_kvstore": True})]
)
@pytest.mark.parametrize(("before", "after"), [(0, 9), (9, 0), (98, 9)])
def test_states_find_their_weights_whatever_numbers_the_layers_have(
    tmp_path: Path, before: int, after: int, ctx: Any, options: dict[str, Any]
) -> None:
    """In the order of text dense10 comes before dense9, and dense0 before dense1."""

    def made(number: int) -> tuple[list[Any], gluon.Trainer]:
        layers = [nn.Dense(3, in_units=3, prefix=f"dense{number + i}_") for i in range(3)]
        params = gluon.ParameterDict()
        for layer in layers:
            layer.initialize(ctx=ctx or hn.cpu())
            params.update(layer.collect_params())
        return layers, gluon.Trainer(params, "adam", {"learning_rate": 0.1}, **options)

    def step(layers: list[Any], trainer: gluon.Trainer, seed: int) -> None:
        host = np.random.default_rng(seed).normal(size=(4, 3)).astype(np.float32)
        for place in ctx or [hn.cpu()]:
            with autograd.record():
                hidden = nd.array(host, place)
                for layer in layers:
                    hidden = layer(hidden)
                loss = (hidden**2).sum()
            loss.backward()
        trainer.step(4)

    layers, trainer = made(before)
    others, again = made(after)
    for seed in range(3):
        step(layers, trainer, seed)
    trainer.save_states(tmp_path / "adam.states")
    again.load_states(tmp_path / "adam.states")
    for layer, other in zip(layers, others, strict=True):
        for name in ("weight", "bias"):
            getattr(other, name).set_data(getattr(layer, name).list_data()[0])
    for one, taken in ((layers, trainer), (others, again)):
        step(one, taken, 3)
    for layer, other in zip(layers, others, strict=True):
        np.testing.assert_array_equal(
            layer.weight.list_data()[0].asnumpy(), other.weight.list_data()[0].asnumpy()
        )


@pytest.mark.parametrize("first", [9, 99])
def test_mxnets_states_find_their_weights(tmp_path: Path, first: int) -> None:
    """MXNet saved those of dense9, dense10 and dense11, in the order of text."""
    case = json.loads((ORACLE / "mxnet_states.json").read_text())["trainer"]
    layers = [nn.Dense(2, in_units=2, prefix=f"dense{first + i}_") for i in range(3)]
    params = gluon.ParameterDict()
    for layer in layers:
        layer.initialize()
        params.update(layer.collect_params())
    trained = [param for layer in layers for param in (layer.weight, layer.bias)]
    for param, value in zip(trained, case["before"], strict=True):
        param.set_data(nd.array(value))
    trainer = gluon.Trainer(params, "adam", {"learning_rate": 0.1})
    (tmp_path / "trainer.states").write_bytes(base64.b64decode(case["states"]))
    trainer.load_states(tmp_path / "trainer.states")
    hidden = nd.array(case["batches"][2])
    with autograd.record():
        for layer in layers:
            hidden = layer(hidden)
        loss = (hidden * hidden).sum()
    loss.backward()
    trainer.step(4)
    found = [param.data().asnumpy() for param in trained]
    for one, wanted in zip(found, case["after"], strict=True):
        np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("ctx", [None, BOTH])
def test_a_store_made_before_the_first_step(tmp_path: Path, ctx: Any) -> None:
    """MXNet's tutorial of the learning rate finder saves the states so, to go back to them."""
    param = line(ctx)
    trainer = momentum(param)
    trainer._init_kvstore()
    trainer.save_states(tmp_path / "sgd.states")
    start = [value.copy() for value in param.list_data()]
    after = []
    for _ in range(2):  # the second time from the saved states: the momentum is zero again
        param.set_data(start[0])
        trainer.load_states(tmp_path / "sgd.states")
        backward(param)
        gradient = param.list_grad()[0].asnumpy() * len(start)
        trainer.step(1)
        after.append(param.list_data()[0].asnumpy())
        np.testing.assert_allclose(after[-1], start[0].asnumpy() - 0.5 * gradient, rtol=1e-6)
    np.testing.assert_array_equal(*after)


def test_states_are_loaded_before_a_first_step_that_is_traced(tmp_path: Path) -> None:
    param, other = line(), line()
    trainer = momentum(param)
    for _ in range(2):
        backward(param)
        trainer.step(1)
    trainer.save_states(tmp_path / "sgd.states")
    other.set_data(param.data())
    again = momentum(other)
    again.load_states(tmp_path / "sgd.states")

    @hn.function
    def step() -> None:
        backward(other)
        again.step(1)

    for _ in range(2):
        backward(param)
        trainer.step(1)
        step()
        np.testing.assert_array_equal(param.data().asnumpy(), other.data().asnumpy())
    again.save_states(tmp_path / "sgd.states")


@pytest.mark.parametrize("ready", [False, True])
def test_states_that_cannot_be_read(tmp_path: Path, ready: bool) -> None:
    param = line()
    trainer = momentum(param)
    if ready:
        backward(param)
        trainer.step(1)
    for content in (b"\x80\x04 a pickle", b"", b"{}", b"garbage"):
        (tmp_path / "damaged").write_bytes(content)
        with pytest.raises(FormatError, match="damaged: optimizer states"):
            trainer.load_states(tmp_path / "damaged")
    with pytest.raises(FileNotFoundError, match="missing"):
        trainer.load_states(tmp_path / "missing")
    with pytest.raises(OSError, match="nowhere"):
        trainer.save_states(tmp_path / "nowhere" / "states")
    backward(param)
    trainer.step(1)  # as before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gluon.Trainer(3, "sgd"), "params must be what collect_params.* got int"),
        (lambda: gluon.Trainer([nd.ones((1,))], "sgd"), "needs Parameters, got NDArray"),
        (lambda: gluon.Trainer([line()], "foo"), "foo"),
        (
            lambda: gluon.Trainer([line()], hn.optimizer.SGD(), {"learning_rate": 1}),
            "optimizer_params must be None with an optimizer object",
        ),
        (
            lambda: gluon.Trainer([line()], "sgd", compression_params={"type": "2bit"}),
            "gradient compression is not supported",
        ),
        (
            lambda: gluon.Trainer([line()], "sgd", update_on_kvstore=True).step(1),
            "update_on_kvstore=True requires a key-value store",
        ),
    ],
)
def test_trainers_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("batch", [0, -1, "a", None])
def test_batches_of_no_size(batch: Any) -> None:
    param = line()
    backward(param)
    with pytest.raises(ParameterError, match="batch_size must be a number > 0, got"):
        gluon.Trainer([param], "sgd").step(batch)


def test_steps_before_parameters_have_values() -> None:
    net = nn.Dense(2, prefix="net_")
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with pytest.raises(MXNetError, match="'net_bias' has not been initialized"):
        trainer.step(1)
    net.initialize()
    with pytest.raises(gluon.DeferredInitializationError, match="'net_weight'"):
        trainer.step(1)
    with autograd.record():
        loss = net(nd.ones((1, 2))).sum()
    loss.backward()
    trainer.step(1)


def test_parameters_on_different_contexts() -> None:
    params = [line(hn.cpu(0)), gluon.Parameter("v", shape=(1,))]
    params[1].initialize("ones", ctx=hn.cpu(1))
    with pytest.raises(MXNetError, match=r"same contexts, but 'v' is on \[cpu\(1\)\], and others"):
        gluon.Trainer(params, "sgd").step(1)


@pytest.mark.parametrize("before", [[hn.cpu(0)], BOTH])
@pytest.mark.parametrize("after", [[hn.cpu(1)], BOTH])
@pytest.mark.parametrize("update", [None, False])
def test_moved_parameters_train_where_they_are(
    before: list[hn.Context], after: list[hn.Context], update: bool | None
) -> None:
    param = line(before)
    trainer = momentum(param, update_on_kvstore=update)
    backward(param, 1 / len(before))
    trainer.step(1)
    param.reset_ctx(after)
    backward(param, 1 / len(after))
    trainer.step(1)
    assert [one.context for one in param.list_data()] == after
    for one in param.list_data():
        np.testing.assert_allclose(one.asnumpy(), 1 - 0.5 - 0.75)


# -- gluon.utils ---------------------------------------------------------------------------------


def test_splitting() -> None:
    data = nd.array(np.arange(10).reshape(5, 2))
    parts = gluon.utils.split_data(data, 2, even_split=False)
    assert [one.shape for one in parts] == [(3, 2), (2, 2)]
    parts = gluon.utils.split_data(data, 2, batch_axis=1)
    assert parts[1].asnumpy().ravel().tolist() == [1, 3, 5, 7, 9]
    with pytest.raises(MXNetError, match="5 examples do not divide into 2 equal parts"):
        gluon.utils.split_data(data, 2)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("kind", [np.array, nd.array, np.ndarray.tolist])
def test_parts_are_loaded_where_they_are_to_be(kind: Any, axis: int) -> None:
    host = np.arange(30.0).reshape(5, 6)
    loaded = gluon.utils.split_and_load(kind(host), BOTH, axis, even_split=False)
    assert [(one.context, one.dtype) for one in loaded] == [(ctx, np.float32) for ctx in BOTH]
    for ours, numpys in zip(loaded, np.array_split(host, 2, axis), strict=True):
        np.testing.assert_array_equal(ours.asnumpy(), numpys)
    if axis == 0:
        with pytest.raises(MXNetError, match="5 examples do not divide into 2 equal parts"):
            gluon.utils.split_and_load(kind(host), BOTH)


@pytest.mark.parametrize("check", [False, True])
def test_clipping(check: bool) -> None:
    arrays = [nd.array([3.0]), nd.array([[4.0]], ctx=hn.cpu(1))]
    norm = gluon.utils.clip_global_norm(arrays, 1.0, check)
    assert float(norm if check else norm.asscalar()) == 5
    np.testing.assert_allclose([one.asscalar() for one in arrays], [0.6, 0.8], rtol=1e-6)
    gluon.utils.clip_global_norm(arrays, 10.0)
    np.testing.assert_allclose([one.asscalar() for one in arrays], [0.6, 0.8], rtol=1e-6)
    with pytest.raises(ParameterError, match="at least one array"):
        gluon.utils.clip_global_norm([], 1.0)
    with pytest.warns(UserWarning, match="the norm is nan"):
        gluon.utils.clip_global_norm([nd.array([np.nan])], 1.0)


@pytest.mark.parametrize("size", [hn.np.array(4), nd.array([4]), np.array(4), np.float32(4)])
def test_a_batch_may_be_as_large_as_an_array_says(size):
    net = nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(hn.init.One())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        loss = net(nd.ones((4, 2))).sum()
    loss.backward()
    trainer.step(size)
    assert net.weight.data().asnumpy().tolist() == [[0, 0]]
    with pytest.raises(ParameterError, match="batch_size must be a number > 0"):
        trainer.step(size * 0)
    with pytest.raises(ParameterError, match="batch_size must be a number > 0"):
        trainer.step(nd.array([1, 2]))
