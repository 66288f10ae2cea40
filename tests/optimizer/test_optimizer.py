"""Optimizers, against the weights MXNet 1.9.1 ended with (`oracle/make_optimizer.py`) and NumPy."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from places import ORACLE

from hybridnet import autograd, lr_scheduler, nd, optimizer
from hybridnet.base.context import cpu
from hybridnet.base.errors import DTypeError, FormatError, MXNetError, ParameterError
from hybridnet.runtime.record import recorder
from hybridnet.tracing import function

ANSWERS = json.loads((ORACLE / "optimizer.json").read_text())
CASES = ANSWERS["optimizers"]
WEIGHTS = [np.array(one, np.float32) for one in ANSWERS["inputs"]["weights"]]
GRADS = [[np.array(one, np.float32) for one in step] for step in ANSWERS["inputs"]["grads"]]
ALL = (
    *("sgd", "nag", "adam", "adagrad", "adadelta", "rmsprop", "ftrl", "signum", "test", "adamax"),
    *("nadam", "ftml", "dcasgd", "sgld", "lamb", "lars", "lbsgd", "ccsgd"),
)
WITH_STATE = [
    ("sgd", {"momentum": 0.9}),
    ("nag", {"momentum": 0.9}),
    ("adam", {"learning_rate": 0.1}),
    ("adagrad", {}),
    ("adadelta", {}),
    ("rmsprop", {"centered": True}),
    ("ftrl", {}),
    ("signum", {}),
    ("dcasgd", {"momentum": 0.5}),
    ("lamb", {}),
    ("lars", {"momentum": 0.9}),
]


def case_id(case: dict[str, Any]) -> str:
    extras = [key for key in ("scheduler", "lr_mult", "dtype") if key in case]
    return "-".join([case["name"], *map(str, case["settings"].values()), *extras])


def made(case: dict[str, Any]) -> optimizer.Optimizer:
    settings = dict(case["settings"])
    if "param_idx2name" in settings:
        settings["param_idx2name"] = {int(k): v for k, v in settings["param_idx2name"].items()}
    if "scheduler" in case:
        kind, arguments = case["scheduler"]
        settings["lr_scheduler"] = getattr(lr_scheduler, kind)(**arguments)
        if case["name"] == "adam":  # its own default rate must be the scheduler's, or it warns
            settings["learning_rate"] = arguments["base_lr"]
    opt = optimizer.create(case["name"], **settings)
    if "lr_mult" in case:
        opt.set_lr_mult(case["lr_mult"])
        opt.set_wd_mult(case["wd_mult"])
    return opt


def arrays(values: Sequence[Any], dtype: str = "float32") -> list[nd.NDArray]:
    return [nd.array(one, dtype=dtype) for one in values]


def shaped(case: dict[str, Any], values: Sequence[Any]) -> list[nd.NDArray]:
    """Returns weights or gradients as a case wants them."""
    made_arrays = arrays(values, case.get("dtype", "float32"))
    shapes = case.get("shapes", [one.shape for one in made_arrays])
    return [one.reshape(shape) for one, shape in zip(made_arrays, shapes, strict=True)]


def assert_answer(case: dict[str, Any], weights: Sequence[nd.NDArray]) -> None:
    for got, wanted in zip(weights, case["result"], strict=True):
        wanted = np.reshape(wanted, got.shape)
        if case.get("dtype") == "float16":
            # Both round a float32 to float16 once; one unit in the last place either way.
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-3)
        else:
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=2e-5, atol=1e-6)


def assert_count(case: dict[str, Any], opt: optimizer.Optimizer) -> None:
    if case["name"] != "test":  # MXNet's optimizer for tests does not count; ours does
        assert opt.num_update == case["num_update"]


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_ten_steps_end_where_mxnets_do(case: dict[str, Any]) -> None:
    opt = made(case)
    updater = optimizer.get_updater(opt)
    weights = shaped(case, WEIGHTS)
    for step in GRADS:
        for index, grad in enumerate(shaped(case, step)):
            updater(index, grad, weights[index])
    assert_answer(case, weights)
    assert_count(case, opt)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_traced_step_on_lists_ends_there_too(case: dict[str, Any]) -> None:
    opt = made(case)
    updater = optimizer.get_updater(opt)
    weights = shaped(case, WEIGHTS)

    @function
    def step(first: Any, second: Any) -> Any:
        updater([0, 1], [first, second], weights)
        return first.sum()

    for grads in GRADS:
        step(*shaped(case, grads))
    assert step.cache_info().traces == 1
    assert_answer(case, weights)
    assert_count(case, opt)


def _adamw(weight: Any, grads: Any, lr: float, wd: float) -> Any:
    mean = square = 0.0
    for t, grad in enumerate(grads, 1):
        mean = 0.9 * mean + 0.1 * grad
        square = 0.999 * square + 0.001 * grad**2
        step = np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * mean / (np.sqrt(square) + 1e-8)
        weight = weight - lr * (step + wd * weight)
    return weight


def _lion(weight: Any, grads: Any, lr: float, wd: float) -> Any:
    mean = 0.0
    for grad in grads:
        step = np.sign(0.9 * mean + 0.1 * grad)
        mean = 0.99 * mean + 0.01 * grad
        weight = weight - lr * (step + wd * weight)
    return weight


@pytest.mark.parametrize(("name", "formula"), [("adamw", _adamw), ("lion", _lion)])
def test_decoupled_decay_is_as_the_papers_say(name: str, formula: Any) -> None:
    lr, wd, rescale = 0.05, 0.1, 0.5
    kinds = {"learning_rate": lr, "wd": wd, "rescale_grad": rescale, "clip_gradient": 0.4}
    wanted = [
        formula(
            np.asarray(weight, np.float64),
            [np.clip(rescale * step[i].astype(np.float64), -0.4, 0.4) for step in GRADS],
            lr,
            wd,
        )
        for i, weight in enumerate(WEIGHTS)
    ]
    for together in (False, True):
        updater = optimizer.get_updater(optimizer.create(name, **kinds))
        weights = arrays(WEIGHTS)
        for step in GRADS:
            if together:
                updater([0, 1], arrays(step), weights)
            else:
                for index, grad in enumerate(arrays(step)):
                    updater(index, grad, weights[index])
        for got, one in zip(weights, wanted, strict=True):
            np.testing.assert_allclose(got.asnumpy(), one, rtol=1e-4, atol=1e-6)


def test_nag_with_decay_uses_the_old_weight_in_both_places() -> None:
    lr, wd, mom = 0.1, 0.05, 0.9
    updater = optimizer.get_updater(optimizer.NAG(momentum=mom, learning_rate=lr, wd=wd))
    weight = nd.array(WEIGHTS[1])
    w, m = WEIGHTS[1].astype(np.float64), np.zeros(4)
    for step in GRADS:
        updater(0, nd.array(step[1]), weight)
        g = step[1] + wd * w
        m = mom * m - lr * g
        w = w + mom * m - lr * g
    np.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-5)


def test_updating_waits_for_nothing_and_is_one_segment() -> None:
    updater = optimizer.get_updater(optimizer.Adam())
    weights, grads = arrays(WEIGHTS), arrays(GRADS[0])
    recorder.flush()
    updater([0, 1], grads, weights)
    pending = [one.read().segment for one in weights]
    assert pending[0] is not None
    assert pending[0] is pending[1]


# -- rates, decay, counts --------------------------------------------------------------------


class Calls(lr_scheduler.LRScheduler):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    def __call__(self, num_update: int) -> float:
        self.calls.append(num_update)
        return 0.5


def test_the_scheduler_is_asked_once_for_each_key_or_once_for_a_list() -> None:
    scheduler = Calls()
    updater = optimizer.get_updater(optimizer.SGD(lr_scheduler=scheduler))
    for _ in range(3):
        for key in ("a", "b"):
            updater(key, nd.ones((2,)), nd.ones((2,)))
    assert scheduler.calls == [1, 1, 2, 2, 3, 3]
    scheduler.calls.clear()
    updater(["a", "b"], [nd.ones((2,))] * 2, [nd.ones((2,)), nd.ones((2,))])
    assert scheduler.calls == [4]
    assert updater.optimizer.learning_rate == 0.5


def test_a_traced_step_asks_the_scheduler_at_each_call() -> None:
    scheduler = Calls()
    updater = optimizer.get_updater(optimizer.SGD(lr_scheduler=scheduler))
    weight = nd.ones((2,))

    @function
    def step(grad: Any) -> Any:
        updater(0, grad, weight)
        return grad

    for _ in range(3):
        step(nd.ones((2,)))
    assert scheduler.calls == [1, 2, 3]
    np.testing.assert_array_equal(weight.asnumpy(), [-0.5, -0.5])


def test_rescale_set_in_a_trace_belongs_to_that_trace() -> None:
    """A last, smaller batch makes a second trace, which must not change the first."""
    opt = optimizer.SGD(learning_rate=1.0)
    updater = optimizer.get_updater(opt)
    weight = nd.zeros((1,))

    @function
    def step(data: Any) -> Any:
        opt.rescale_grad = 1 / data.shape[0]
        updater(0, data.sum(), weight)
        return data

    for batch in (4, 2, 4):
        step(nd.ones((batch,)))
    assert weight.asscalar() == -3


def test_rescale_set_outside_a_trace_is_read_at_each_call() -> None:
    opt = optimizer.SGD(learning_rate=1.0)
    updater = optimizer.get_updater(opt)
    weight = nd.zeros((1,))

    @function
    def step(grad: Any) -> Any:
        updater(0, grad, weight)
        return grad

    for scale in (1.0, 0.5, 0.25):
        opt.rescale_grad = scale
        step(nd.ones((1,)))
    assert weight.asscalar() == -1.75


def test_decay_follows_names_then_symbol_then_settings() -> None:
    names = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma", 3: "bn_beta", 4: "emb"}
    opt = optimizer.SGD(wd=1.0, learning_rate=1.0, param_idx2name=names)
    assert opt._get_wds(range(5)) == [1, 0, 1, 0, 0]
    opt.set_wd_mult({"fc_weight": 2.0, "fc_bias": 0.5, 3: 7.0})
    assert opt._get_wds(range(5)) == [2, 0.5, 1, 7, 0]
    opt.set_lr_mult({"fc_bias": 3.0, 0: 5.0})
    assert opt._get_lrs(range(3)) == [5, 3, 1]
    assert (opt._get_lr(1), opt._get_wd(1)) == (3, 0.5)


def test_the_symbols_attributes_are_multipliers() -> None:
    class Symbol:
        def attr_dict(self) -> dict[str, dict[str, str]]:
            return {"w": {"__lr_mult__": "3.0", "__wd_mult__": "5.0"}, "fc": {"num_hidden": "2"}}

        def list_arguments(self) -> list[str]:
            return ["data", "w", "fc_bias"]

    opt = optimizer.SGD(
        learning_rate=1.0, wd=1.0, sym=Symbol(), param_idx2name={0: "w", 1: "fc_bias"}
    )
    assert opt.lr_mult == {"w": 3.0}
    assert opt.wd_mult == {"w": 5.0, "fc_bias": 0.0}


def test_parameters_multipliers_are_read_at_each_update_and_win() -> None:
    class Parameter:
        lr_mult = 2.0
        wd_mult = 3.0

    opt = optimizer.SGD(learning_rate=1.0, wd=1.0, param_dict={0: Parameter()})
    opt.set_lr_mult({0: 9.0})
    assert (opt._get_lr(0), opt._get_wd(0)) == (2, 3)
    opt.param_dict[0].lr_mult = 4.0
    assert opt._get_lr(0) == 4


def test_counts_are_kept_for_each_device() -> None:
    opt = optimizer.SGD(begin_num_update=5)
    opt._update_count([0, 1])
    opt._update_count(0)
    opt._set_current_context(1)
    opt._update_count(0)
    assert opt._index_update_count == {0: 6}
    opt._set_current_context(0)
    assert opt._index_update_count == {0: 7, 1: 6}
    assert opt.num_update == 7


def test_learning_rate_and_scheduler() -> None:
    opt = optimizer.SGD(learning_rate=0.7)
    opt.set_learning_rate(0.3)
    assert opt.learning_rate == 0.3
    assert optimizer.SGD().learning_rate == 0.01
    assert optimizer.Adam().learning_rate == 0.001
    scheduler = lr_scheduler.FactorScheduler(2, base_lr=0.2)
    opt = optimizer.SGD(lr_scheduler=scheduler)
    assert opt.learning_rate == 0.2
    with pytest.raises(ParameterError, match="set_learning_rate: requires an optimizer without"):
        opt.set_learning_rate(0.1)
    with pytest.warns(UserWarning, match=r"0\.7 overwrites the scheduler's base_lr 0\.2"):
        optimizer.SGD(learning_rate=0.7, lr_scheduler=scheduler)
    assert scheduler.base_lr == 0.7


# -- precision -------------------------------------------------------------------------------


def test_low_precision_weights_keep_what_float16_loses() -> None:
    """2048 + 1e-1 is 2048 in float16; a hundred such steps are not lost in float32."""
    opt = optimizer.SGD(learning_rate=0.1, multi_precision=True)
    updater = optimizer.get_updater(opt)
    weight = nd.array([2048.0], dtype="float16")
    for _ in range(100):
        updater(0, nd.array([-1.0], dtype="float16"), weight)
    assert weight.dtype == np.float16
    assert weight.asscalar() == 2058
    with pytest.warns(UserWarning, match="multi_precision=True keeps a float32 copy"):
        optimizer.SGD().create_state_multi_precision(0, weight)


def test_a_list_may_mix_precisions() -> None:
    updater = optimizer.get_updater(optimizer.SGD(learning_rate=1.0, multi_precision=True))
    low, full = nd.ones((2,), dtype="bfloat16"), nd.ones((3,))
    grads = [nd.ones((2,), dtype="bfloat16"), nd.ones((3,))]
    updater([0, 1], grads, [low, full])
    assert low.dtype != full.dtype
    np.testing.assert_array_equal(full.asnumpy(), np.zeros(3))
    np.testing.assert_array_equal(low.asnumpy().astype(np.float32), np.zeros(2))


def test_a_traced_first_step_cannot_copy_an_argument() -> None:
    updater = optimizer.get_updater(optimizer.SGD(multi_precision=True))

    @function
    def step(weight: Any, grad: Any) -> Any:
        updater(0, grad, weight)
        return weight

    with pytest.raises(MXNetError, match="argument of a traced function"):
        step(nd.ones((2,), dtype="float16"), nd.ones((2,), dtype="float16"))


def test_a_gradient_of_another_dtype_is_refused() -> None:
    updater = optimizer.get_updater(optimizer.SGD(momentum=0.9))
    with pytest.raises(DTypeError, match="sgd_mom_update"):
        updater(0, nd.ones((2,), dtype="float64"), nd.ones((2,)))


# -- states ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "settings"), WITH_STATE, ids=[name for name, _ in WITH_STATE])
@pytest.mark.parametrize("whole", [False, True])
def test_training_resumed_from_states_goes_on_as_if_never_stopped(
    name: str, settings: dict[str, Any], whole: bool
) -> None:
    updater = optimizer.get_updater(optimizer.create(name, **settings))
    weights = arrays(WEIGHTS)
    for step in GRADS[:5]:
        updater([0, 1], arrays(step), weights)
    saved = updater.get_states(dump_optimizer=whole)
    resumed_weights = [one.copy() for one in weights]
    fresh = optimizer.create("sgd") if whole else optimizer.create(name, **settings)
    resumed = optimizer.get_updater(fresh)
    resumed.set_states(saved)
    for step in GRADS[5:]:
        updater([0, 1], arrays(step), weights)
        resumed([0, 1], arrays(step), resumed_weights)
    assert type(resumed.optimizer) is type(updater.optimizer)
    assert resumed.optimizer.num_update == 10
    for one, other in zip(weights, resumed_weights, strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_the_optimizers_settings_and_scheduler_are_restored() -> None:
    scheduler = lr_scheduler.FactorScheduler(1, 0.5, base_lr=0.8)
    opt = optimizer.NAG(momentum=0.5, wd=0.1, lr_scheduler=scheduler, param_idx2name={0: "a_bias"})
    opt.set_lr_mult({0: 2.0, "b": 3.0})
    updater = optimizer.get_updater(opt)
    for _ in range(3):
        updater(0, nd.ones((2,)), nd.ones((2,)))
    resumed = optimizer.get_updater(optimizer.SGD(param_dict={}))
    resumed.set_states(updater.get_states(dump_optimizer=True))
    back = resumed.optimizer
    assert isinstance(back, optimizer.NAG)
    assert (back.momentum, back.wd, back.idx2name) == (0.5, 0.1, {0: "a_bias"})
    assert (back.lr_mult, back.wd_mult) == ({0: 2.0, "b": 3.0}, {"a_bias": 0.0})
    assert back.lr_scheduler is not scheduler
    assert back.learning_rate == opt.learning_rate == 0.2


def test_states_of_every_kind_survive_and_move_to_the_weights_device() -> None:
    class Odd(optimizer.Optimizer):
        def create_state(self, index: Any, weight: Any) -> Any:
            kinds = ("float64", "bfloat16", "int8", "bool")
            return [
                None,
                3,
                "text",
                (weight.copy(), tuple(nd.ones((2, 1), dtype=k) for k in kinds)),
            ]

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            weight.assign(weight + state[3][0])

    updater = optimizer.get_updater(Odd())
    updater("name", nd.ones((2,)), nd.ones((2,)))
    other = optimizer.get_updater(Odd())
    other.set_states(updater.get_states())
    weight = nd.ones((2,), ctx=cpu(1))
    other("name", nd.ones((2,), ctx=cpu(1)), weight)
    np.testing.assert_array_equal(weight.asnumpy(), [2, 2])
    state = other.states["name"]
    assert state[:3] == [None, 3, "text"]
    assert state[3][0].context == cpu(1)
    assert [one.inferred_dtype.name for one in state[3][1]] == [
        "float64",
        "bfloat16",
        "int8",
        "bool",
    ]


def test_a_state_that_cannot_be_saved_is_named() -> None:
    updater = optimizer.get_updater(optimizer.SGD())
    updater.states = {0: (1, object())}
    with pytest.raises(ParameterError, match=r"states\['states'\]\[0\]\[1\].* got object"):
        updater.get_states()


def test_damaged_states_are_refused() -> None:
    updater = optimizer.get_updater(optimizer.Adam())
    updater(0, nd.ones((2,)), nd.ones((2,)))
    good = updater.get_states(dump_optimizer=True)
    for size in (0, 7, 8, 30, len(good) - 1):
        with pytest.raises(FormatError, match="optimizer states"):
            updater.set_states(good[:size])
    for old, new in (
        (b'"F32"', b'"F99"'),
        (b'"shape": [2]', b'"shape": [3]'),
        (b'"shape": [2]', b'"shape": 12 '),
        (b"hybridnet_states", b"hybridnet_status"),
        (b'\\"counts\\"', b'\\"c0unts\\"'),
        (b'\\"dict\\"', b'\\"dikt\\"'),
        (b'\\"beta1\\"', b'\\"beta9\\"'),
        (b'\\"Adam\\"', b'\\"Abel\\"'),
    ):
        assert old in good
        with pytest.raises(FormatError, match="optimizer states"):
            updater.set_states(good.replace(old, new))
    with pytest.raises(FormatError, match="optimizer states"):
        updater.set_states(len(good).to_bytes(8, "little") + b"[" * len(good))


def test_an_optimizer_can_be_pickled_and_copied_without_its_parameters() -> None:
    opt = optimizer.Adam(learning_rate=0.5, param_dict={0: lambda: None})
    for other in (pickle.loads(pickle.dumps(opt)), copy.deepcopy(opt)):
        assert (other.lr, other.beta1, other.param_dict) == (0.5, 0.9, {})


def test_a_copy_of_an_optimizer_has_all_that_was_set() -> None:
    opt = optimizer.SGD()
    opt.aggregate_num = 0
    opt._set_current_context(1)
    opt._update_count(3)
    for other in (pickle.loads(pickle.dumps(opt)), copy.copy(opt), copy.deepcopy(opt)):
        assert (other.aggregate_num, other._index_update_count) == (0, {3: 1})


# -- names and subclasses --------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_optimizers_are_known_by_name_in_any_case(name: str) -> None:
    kind = optimizer.Optimizer.opt_registry[name]
    assert type(optimizer.create(name.upper())) is kind
    assert type(optimizer.Optimizer.create_optimizer(name)) is kind


def test_unknown_names_and_arguments() -> None:
    with pytest.raises(ParameterError, match=r"must be registered \(one of .*adam.*got 'foo'"):
        optimizer.create("foo")
    with pytest.raises(TypeError, match="foo"):
        optimizer.SGD(foo=1)
    with pytest.raises(ParameterError, match="param_idx2name must be a dict"):
        optimizer.SGD(param_idx2name=["w"])
    with pytest.raises(ParameterError, match="subclass of Optimizer"):
        optimizer.register(int)  # type: ignore[type-var]


def test_lars_scales_the_momentum_when_the_rate_changes() -> None:
    """A bias takes plain steps, whatever its norm: momentum and gradient."""
    schedule = lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.4)
    opt = optimizer.LARS(
        momentum=0.9, learning_rate=0.4, lr_scheduler=schedule, param_idx2name={0: "fc_bias"}
    )
    updater = optimizer.get_updater(opt)
    weight, step, last = nd.array([1.0, -2.0]), 0.0, 0.4
    expected = weight.asnumpy()
    for rate in (0.4, 0.2, 0.1):
        updater(0, nd.array([1.0, 2.0]), weight)
        step = 0.9 * rate / last * step - rate * np.array([1.0, 2.0])
        expected, last = expected + step, rate
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-6)


def test_dcasgd_with_momentum_is_the_formula() -> None:
    opt = optimizer.DCASGD(momentum=0.5, lamda=0.3, learning_rate=0.1, wd=0.01)
    updater = optimizer.get_updater(opt)
    weight, grads = nd.array([1.0, -2.0]), ([1.0, 2.0], [0.5, -1.0], [2.0, 0.1])
    expected = previous = weight.asnumpy()
    step = np.zeros(2)
    for one in map(np.array, grads):
        updater(0, nd.array(one), weight)
        late = 0.3 * one**2 * (expected - previous)
        step = 0.5 * step - 0.1 * (one + 0.01 * expected + late)
        previous, expected = expected, expected + step
        np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)


def test_sgld_takes_half_a_step_and_adds_noise_of_variance_lr() -> None:
    updater = optimizer.get_updater(optimizer.SGLD(learning_rate=0.04, wd=0.5))
    weight = nd.ones((20_000,))
    updater(0, nd.ones((20_000,)) * 3, weight)
    moved = weight.asnumpy() - 1
    assert abs(moved.mean() + 0.02 * 3.5) < 0.01
    assert abs(moved.std() - 0.2) < 0.005


def test_adamax_stays_where_there_was_never_a_gradient() -> None:
    updater = optimizer.get_updater(optimizer.Adamax())
    weight = nd.array([1.0, 2.0])
    updater(0, nd.array([0.0, 1.0]), weight)
    assert weight.asnumpy()[0] == 1 and weight.asnumpy()[1] < 2


def test_set_lr_scale_names_its_successor() -> None:
    with pytest.raises(MXNetError, match="set_lr_scale was replaced by set_lr_mult"):
        optimizer.SGD().set_lr_scale({0: 2.0})


def test_an_optimizer_of_ones_own_as_in_mxnet() -> None:
    """It counts, asks for its rate, and computes on arrays; lists reach it one by one."""

    @optimizer.register
    class Half(optimizer.Optimizer):
        def create_state(self, index: Any, weight: Any) -> Any:
            return nd.zeros(weight.shape)

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            self._update_count(index)
            state += 1
            weight -= self._get_lr(index) / self._index_update_count[index] * grad

    updater = optimizer.get_updater(optimizer.create("half", learning_rate=1.0))
    weights = [nd.zeros((2,)), nd.zeros((2,))]
    for _ in range(2):
        updater([0, 1], [nd.ones((2,)), nd.ones((2,))], weights)
    np.testing.assert_array_equal(weights[1].asnumpy(), [-1.5, -1.5])
    np.testing.assert_array_equal(updater.states[0].asnumpy(), [2, 2])
    with pytest.raises(NotImplementedError, match=r"must define update\(\)"):
        optimizer.Optimizer().update(0, weights[0], weights[0], None)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSProp"])
def test_a_class_of_ones_own_may_say_the_rate_of_one_weight(name: str) -> None:
    """As Keras' optimizers for MXNet do; the whole list goes by it, whatever `_get_lrs` gives."""

    class Own(getattr(optimizer, name)):  # type: ignore[misc]
        def _get_lr(self, index: Any) -> float:
            return 0.25 * (index + 1)

        def _get_lrs(self, indices: Any) -> list[float]:
            return [self._get_lr(0) for _ in range(self.aggregate_num)]

        def _get_wd(self, index: Any) -> float:
            return 0.1 * index

    updater, weights = optimizer.get_updater(Own()), [nd.ones((2,)) for _ in range(6)]
    updater(list(range(6)), [nd.full((2,), 3.0)] * 6, weights)
    for i, weight in enumerate(weights):
        # The first step by the formulas: Adam divides g by its size, RMSProp by sqrt(0.1) of it.
        step = {"SGD": 3 + 0.1 * i, "Adam": 1.0, "RMSProp": 10**0.5}[name]
        np.testing.assert_allclose(
            weight.asnumpy(), 1 - 0.25 * (i + 1) * step, rtol=1e-5, atol=1e-5
        )


def test_a_name_that_is_taken_from_another_class_is_told() -> None:
    def define(module: str) -> Any:
        kind = type("OnceOnly", (optimizer.Optimizer,), {"__module__": module})
        return optimizer.register(kind)

    define("here")
    again = define("here")  # a notebook's cell run twice
    assert optimizer.Optimizer.opt_registry["onceonly"] is again
    with pytest.warns(UserWarning, match=r"takes the name 'onceonly' from here\.OnceOnly"):
        other = define("elsewhere")
    assert optimizer.Optimizer.opt_registry["onceonly"] is other


def test_the_gradient_loop_of_a_line_fit() -> None:
    """A line through noiseless points is found, with gradients from autograd."""
    x = nd.array(np.linspace(-2, 2, 32))
    slope = nd.zeros((1,))
    slope.attach_grad()
    updater = optimizer.get_updater(optimizer.create("adam", learning_rate=0.3))
    for _ in range(80):
        with autograd.record():
            loss = ((slope * x - 3 * x) ** 2).mean()
        loss.backward()
        updater(0, slope.grad, slope)
    assert slope.asscalar() == pytest.approx(3, abs=0.02)


def test_lbsgd_keeps_a_momentum_and_for_low_precision_a_copy() -> None:
    weight = nd.ones((2,), dtype="float16")
    opt = optimizer.LBSGD(momentum=0.9, multi_precision=True)
    momentum, master = opt.create_state(0, weight)
    assert momentum.dtype == master.dtype == np.float32
    opt.update(0, weight, nd.ones((2,), dtype="float16").astype("float32"), (momentum, master))
    np.testing.assert_allclose(master.asnumpy(), 0.99, rtol=1e-6)
    assert optimizer.LBSGD().create_state(0, weight.astype("float32")) is None
    with pytest.raises(ParameterError, match=r"batch_scale must be 1 or more, got 0"):
        optimizer.LBSGD(batch_scale=0)


def test_group_adagrad_updates_the_rows_of_a_sparse_gradient() -> None:
    opt = optimizer.contrib.GroupAdaGrad(learning_rate=0.5, eps=0.1, rescale_grad=0.5)
    weight, grad = np.ones((3, 2), np.float32), np.float32([[1.0, 3.0]])
    given = nd.array(weight)
    state = opt.create_state(0, given)
    assert state.shape == (3, 1)
    opt.update(0, given, nd.sparse.row_sparse_array((grad, [1]), shape=(3, 2)), state)
    g = grad * 0.5
    weight[1] -= (0.5 * g / np.sqrt((g**2).mean() + 0.1))[0]
    np.testing.assert_allclose(given.asnumpy(), weight, rtol=1e-6)
    with pytest.raises(AssertionError, match=r"must be a matrix.*got shape \(3,\)"):
        opt.create_state(0, nd.ones((3,)))
    opt.wd = 0.1
    with pytest.raises(AssertionError, match=r"must have no weight decay, got 0\.1"):
        opt.update(0, given, given, state)


def test_a_pickled_optimizer_goes_on_without_the_parameters() -> None:
    opt = optimizer.SGD(momentum=0.9, learning_rate=0.3, param_dict={0: object()})
    opt._update_count(0)
    again = pickle.loads(pickle.dumps(opt))
    assert (again.learning_rate, again.num_update, again.param_dict) == (0.3, 1, {})


@pytest.mark.parametrize("name", ["adam", "nadam", "adamax", "ftml"])
def test_states_alone_go_on_as_if_training_had_not_stopped(name):
    """Module's files hold no optimizer: what its updates change must be in them all the same."""
    rng = np.random.default_rng(0)
    grads = [nd.array(rng.normal(size=(4,))) for _ in range(6)]
    whole = optimizer.get_updater(optimizer.create(name))
    weight = nd.ones((4,))
    for grad in grads[:3]:
        whole(0, grad, weight)
    resumed = optimizer.get_updater(optimizer.create(name))
    resumed.set_states(whole.get_states())
    again = weight.copy()
    for grad in grads[3:]:
        whole(0, grad, weight)
        resumed(0, grad, again)
    np.testing.assert_array_equal(again.asnumpy(), weight.asnumpy())


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_users_update_is_given_one_weight_at_a_time(name: str) -> None:
    """As MXNet calls those that it does not leave out, whatever the class it comes from."""
    seen = []

    class Own(type(optimizer.create(name))):  # type: ignore[misc]
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            seen.append((index, weight.shape))
            super().update(index, weight, grad, state)

    weights = [nd.ones((2,)), nd.ones((3,))]
    optimizer.get_updater(Own())([0, 1], [w * 1 for w in weights], weights)
    assert seen == [(0, (2,)), (1, (3,))]


def test_who_takes_lists_takes_one_of_one_as_well() -> None:
    """As MXNet's updater, which a store calls with one key at a time."""
    seen = []

    class Together(optimizer.Optimizer):
        aggregate_num = 4

        def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            seen.append((index, len(weight), len(grad), state))

    optimizer.get_updater(Together())("fc_weight", nd.ones((2,)), nd.ones((2,)))
    assert seen == [(["fc_weight"], 1, 1, [None])]
