"""Parameters, constants and dicts of them: values, gradients, contexts, and wrong use."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError

RECORDED = json.loads((ORACLE / "gluon.json").read_text())
BOTH = [hn.cpu(0), hn.cpu(1)]


def made(ctx: Any = None, **kwargs: Any) -> gluon.Parameter:
    param = gluon.Parameter("w_weight", shape=(2, 3), **kwargs)
    param.initialize("ones", ctx=ctx)
    return param


def test_texts_are_mxnets() -> None:
    layer = gluon.nn.Dense(2, prefix="dense0_")
    recorded = RECORDED["reprs"]
    assert [repr(layer.weight), repr(layer.bias)] == recorded["param"]
    assert [repr(layer.collect_params()), repr(gluon.ParameterDict())] == recorded["dict"]


def test_a_value_and_a_gradient() -> None:
    param = made()
    assert param.data().asnumpy().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert param.grad().asnumpy().tolist() == [[0, 0, 0], [0, 0, 0]]
    with autograd.record():
        loss = (param.data() * nd.array([1, 2, 3])).sum()
    loss.backward()
    assert param.grad().asnumpy().tolist() == [[1, 2, 3], [1, 2, 3]]
    param.zero_grad()
    assert not param.grad().asnumpy().any()
    assert param.list_ctx() == [hn.cpu(0)]
    assert param.list_data()[0] is param.data()


def test_several_contexts() -> None:
    param = made(BOTH)
    assert param.list_ctx() == BOTH
    assert [one.context for one in param.list_data()] == BOTH
    assert [one.context for one in param.list_grad()] == BOTH
    assert param.data(hn.cpu(1)).context == hn.cpu(1)
    with hn.cpu(1):
        assert param.data().context == hn.cpu(1)
    param.set_data(np.arange(6).reshape(2, 3))
    for one in param.list_data():
        assert one.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(MXNetError, match=r"'w_weight' was not initialized on cpu\(2\); it is on"):
        param.data(hn.cpu(2))
    param.reset_ctx(hn.cpu(1))
    assert param.list_ctx() == [hn.cpu(1)]
    assert param.data().asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert param.grad().context == hn.cpu(1)


def test_moving_takes_the_mean_of_what_differs() -> None:
    param = made(BOTH)
    param.data(hn.cpu(1))[:] = 3
    param.reset_ctx(hn.cpu(0))
    assert param.data().asnumpy()[0].tolist() == [2, 2, 2]


def test_before_initialization() -> None:
    param = gluon.Parameter("w", shape=(2,))
    for call in (param.data, param.grad, param.list_data, param.list_grad, param.list_ctx):
        with pytest.raises(MXNetError, match=r"'w' has not been initialized; call initialize\(\)"):
            call()
    with pytest.raises(MXNetError, match="'w' has not been initialized"):
        param.set_data(nd.ones((2,)))
    with pytest.raises(ValueError, match="'w': reset_ctx requires a value.*not been initialized"):
        param.reset_ctx(hn.cpu(1))
    param.zero_grad()  # there is nothing to do


def test_deferred_initialization() -> None:
    param = gluon.Parameter("w_weight", shape=(2, 0), allow_deferred_init=True)
    param.initialize("ones", ctx=BOTH)
    assert param.list_ctx() == BOTH
    for call in (param.data, param.list_data, param.grad):
        with pytest.raises(gluon.DeferredInitializationError, match="run some input through"):
            call()
    param.reset_ctx(hn.cpu(1))
    param.grad_req = "add"
    param.cast("float64")
    param.shape = (2, 3)
    param.finish_deferred_init()
    assert param.list_ctx() == [hn.cpu(1)]
    assert param.data().dtype is np.float64
    assert param.grad().dtype is np.float64


def test_setting_the_data_ends_the_wait() -> None:
    param = gluon.Parameter("w_weight", shape=(2, 0), allow_deferred_init=True)
    param.initialize(ctx=BOTH)
    param.set_data([[1, 2, 3], [4, 5, 6]])
    assert param.shape == (2, 3)
    assert [one.asnumpy()[1, 2] for one in param.list_data()] == [6, 6]


def test_what_may_not_wait() -> None:
    with pytest.raises(ParameterError, match=r"'w': cannot .* unknown shape \(2, 0\); give its"):
        gluon.Parameter("w", shape=(2, 0)).initialize()
    with pytest.raises(ParameterError, match="unknown shape None"):
        gluon.Parameter("w").initialize()


def test_initializing_again() -> None:
    param = made()
    param.initialize("zeros")
    assert param.data().asnumpy().all()
    param.initialize("zeros", force_reinit=True)
    assert not param.data().asnumpy().any()
    param.set_data(np.full((2, 3), 5))
    param.initialize(default_init="ones", force_reinit=True, ctx=hn.cpu(1))
    assert param.data().asnumpy()[0, 0] == 1
    assert param.list_ctx() == [hn.cpu(1)]


def test_which_initializer_counts() -> None:
    own = gluon.Parameter("w_weight", shape=(2,), init="ones")
    own.initialize(default_init="zeros")
    assert own.data().asnumpy().tolist() == [1, 1]
    own.initialize("zeros", force_reinit=True)
    assert own.data().asnumpy().tolist() == [0, 0]
    none = gluon.Parameter("w_weight", shape=(50,))
    none.initialize()
    assert 0 < np.abs(none.data().asnumpy()).max() <= 0.07
    with pytest.raises(ValueError, match="foo"):
        gluon.Parameter("w_weight", shape=(2,)).initialize("foo")


@pytest.mark.parametrize("request_", ["write", "add"])
def test_gradient_requests(request_: str) -> None:
    param = made(grad_req=request_)
    for _ in range(2):
        with autograd.record():
            loss = param.data().sum() * 2
        loss.backward()
    assert param.grad().asnumpy()[0, 0] == (2 if request_ == "write" else 4)


def test_changing_the_gradient_request() -> None:
    param = made()
    data = param.data()
    param.grad_req = "null"
    with pytest.raises(MXNetError, match="'w_weight' has no gradient: its grad_req is 'null'"):
        param.grad()
    with pytest.raises(MXNetError, match="has no gradient"):
        param.list_grad()
    assert data.grad is None
    param.grad_req = "add"
    assert param.data() is data
    assert param.grad().shape == (2, 3)
    with pytest.raises(ParameterError, match="must be 'write', 'add' or 'null', got 'foo'"):
        param.grad_req = "foo"
    statistic = gluon.Parameter("s", shape=(1,), differentiable=False)
    statistic.grad_req = "write"
    assert statistic.grad_req == "null"


@pytest.mark.parametrize("shape", [(3, 2), (2,), (2, 3, 1), ()])
def test_set_data_of_another_shape(shape: tuple[int, ...]) -> None:
    param = made()
    with pytest.raises(ShapeError, match=r"'w_weight': shape must agree with \(2, 3\), got"):
        param.set_data(np.ones(shape))
    assert param.shape == (2, 3)


def test_set_data_keeps_arrays_dtype_and_gradients() -> None:
    param = made()
    data, grad = param.data(), param.grad()
    with autograd.record():
        loss = (param.data() * 2).sum()
    loss.backward()
    param.set_data(nd.array([[1, 2, 3], [4, 5, 6]], dtype="int32"))
    assert param.data() is data
    assert data.dtype is np.float32
    assert grad.asnumpy()[0, 0] == 2
    given = nd.ones((2, 3))
    param.set_data(given)
    given[:] = 7
    assert data.asnumpy()[0, 0] == 1


def test_casting() -> None:
    param = made(BOTH)
    param.cast("float16")
    assert {one.dtype for one in (*param.list_data(), *param.list_grad())} == {np.float16}
    assert param.dtype == "float16"
    param.dtype = "float64"
    assert param.data(hn.cpu(1)).dtype is np.float64
    with pytest.raises(MXNetError, match="foo"):
        param.cast("foo")


def test_dtypes_are_told_as_they_were_given() -> None:
    """Programs compare ``param.dtype`` with the text they gave; recorded from MXNet 1.9.1."""
    default, text = gluon.Parameter("w", shape=(2,)), gluon.Parameter("w", dtype="int32")
    assert (default.dtype, text.dtype) == (np.float32, "int32")
    assert repr(default) == "Parameter w (shape=(2,), dtype=<class 'numpy.float32'>)"
    assert repr(text) == "Parameter w (shape=None, dtype=int32)"
    default.cast("float16")
    assert default.dtype == "float16"
    assert repr(default) == "Parameter w (shape=(2,), dtype=float16)"
    default.cast(np.float64)
    assert default.dtype is np.float64
    layer = gluon.nn.Dense(2, in_units=2)
    assert (layer.weight.dtype, layer.bias.dtype) == ("float32", "float32")
    assert gluon.nn.BatchNorm(in_channels=2).gamma.dtype is np.float32
    assert gluon.nn.Embedding(2, 2).weight.dtype == "float32"
    assert copy.deepcopy(layer.weight).dtype == "float32"


@pytest.mark.parametrize("shape", [("a",), (2.5,), (-2, 2), "ab", 2.5])
def test_shapes_that_are_none(shape: Any) -> None:
    with pytest.raises(ParameterError, match="'w': shape must be whole numbers"):
        gluon.Parameter("w", shape=shape)


def test_shapes_are_filled_in_but_not_changed() -> None:
    param = gluon.Parameter("w", shape=(0, 3), allow_deferred_init=True)
    with pytest.raises(ShapeError, match=r"'w': shape must agree with \(0, 3\), got \(2, 4\)"):
        param.shape = (2, 4)
    param.shape = (np.int64(2), 3)
    assert param.shape == (2, 3)
    assert gluon.Parameter("w", shape=4).shape == (4,)
    assert gluon.Parameter("w", shape=np.int32(4)).shape == (4,)
    with pytest.raises(ParameterError, match="stype"):
        gluon.Parameter("w", shape=(2,), stype="columns")


def test_variables() -> None:
    param = made(lr_mult=2.0, init=hn.init.Xavier())
    assert param.var() is param.var()
    attributes = param.var().list_attr()
    assert attributes["__shape__"] == "(2, 3)"
    assert attributes["__lr_mult__"] == "2.0"
    assert attributes["__init__"] == hn.init.Xavier().dumps()


@pytest.mark.parametrize("ctx", [None, BOTH])
def test_copies_are_by_value(ctx: Any) -> None:
    param = made(ctx, lr_mult=3.0)
    for other in (copy.deepcopy(param), pickle.loads(pickle.dumps(param))):
        assert other.list_ctx() == param.list_ctx()
        other.set_data(np.zeros((2, 3)))
        assert param.data(param.list_ctx()[0]).asnumpy().all()
        assert other.lr_mult == 3.0
        with autograd.record():
            loss = (other.data(other.list_ctx()[-1]) * 2).sum()
        loss.backward()
        assert other.list_grad()[-1].asnumpy()[0, 0] == 2
        assert not param.list_grad()[-1].asnumpy().any()


# -- constants -----------------------------------------------------------------------------------


def test_constants() -> None:
    value = gluon.Constant("c", [[1, 2], [3, 4]])
    value.initialize(ctx=BOTH)
    assert value.data(hn.cpu(1)).asnumpy().tolist() == [[1, 2], [3, 4]]
    assert value.grad_req == "null"
    value.grad_req = "write"
    assert value.grad_req == "null"
    assert repr(value) == "Constant c (shape=(2, 2), dtype=<class 'numpy.float32'>)"
    other = copy.deepcopy(value)
    assert other.data(hn.cpu(0)).asnumpy().tolist() == [[1, 2], [3, 4]]


def test_constants_in_dicts() -> None:
    params = gluon.ParameterDict("net_")
    value = params.get_constant("c", [1, 2])
    assert value.name == "net_c"
    assert params.get_constant("c") is value
    assert params.get_constant("c", [1, 2]) is value
    with pytest.raises(ParameterError, match="'net_c' exists with another value"):
        params.get_constant("c", [1, 3])
    with pytest.raises(ParameterError, match="no constant 'net_d'"):
        params.get_constant("d")
    params.get("w", shape=(1,))
    with pytest.raises(ParameterError, match="'net_w' is a Parameter, and no constant"):
        params.get_constant("w", [1])


# -- dicts ---------------------------------------------------------------------------------------


def test_dicts() -> None:
    params = gluon.ParameterDict("net_")
    weight = params.get("weight", shape=(2, 3))
    assert params.get("weight") is weight
    assert params["net_weight"] is weight
    assert params.prefix == "net_"
    assert list(params.keys()) == list(params) == ["net_weight"]
    assert list(params.values()) == [weight]
    assert list(params.items()) == [("net_weight", weight)]
    assert "net_weight" in params
    assert len(params) == 1
    with pytest.raises(KeyError, match="net_foo"):
        params["net_foo"]


def test_getting_again_fills_in_or_refuses() -> None:
    params = gluon.ParameterDict()
    weight = params.get("w", shape=(0, 3), allow_deferred_init=True)
    assert params.get("w", shape=(2, 0)) is weight
    assert weight.shape == (2, 3)
    assert params.get("w", shape=(2, 3), dtype="float32") is weight
    with pytest.raises(ShapeError, match=r"'w': shape must agree with \(2, 3\), got \(4, 3\)"):
        params.get("w", shape=(4, 3))
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        params.get("w", shape=(2, 3, 1))
    with pytest.raises(ParameterError, match="'w' exists with dtype=.*float32.*'float16' was"):
        params.get("w", dtype="float16")
    with pytest.raises(ParameterError, match="'w' exists with grad_req='write', but 'add' was"):
        params.get("w", grad_req="add")


def test_sharing_dicts() -> None:
    first = gluon.ParameterDict("net_")
    weight = first.get("w", shape=(1,))
    second = gluon.ParameterDict("net_", shared=first)
    assert second.get("w", shape=(1,)) is weight
    second.get("b", shape=(1,))
    assert "net_b" not in first


def test_all_of_a_dict() -> None:
    params = gluon.ParameterDict()
    one, two = params.get("a_weight", shape=(2,)), params.get("b_bias", shape=(3,))
    params.initialize("ones", ctx=hn.cpu(1))
    assert params.list_ctx() == [hn.cpu(1)]
    params.reset_ctx(BOTH)
    assert params.list_ctx() == BOTH
    params.setattr("grad_req", "add")
    params.setattr("lr_mult", 0.5)
    assert (one.grad_req, two.lr_mult) == ("add", 0.5)
    for param in (one, two):
        for data in param.list_data():
            with autograd.record():
                loss = data.sum()
            loss.backward()
    assert one.list_grad()[1].asnumpy().tolist() == [1, 1]
    params.zero_grad()
    assert not any(grad.asnumpy().any() for grad in (*one.list_grad(), *two.list_grad()))


def test_names_of_two_parameters_clash() -> None:
    params, other = gluon.ParameterDict(), gluon.ParameterDict()
    params.get("w", shape=(1,))
    other.get("w", shape=(1,))
    with pytest.raises(ParameterError, match="two different parameters named 'w'; give one"):
        params.update(other)
    params.update(params)


def test_files_of_dicts(tmp_path: Path) -> None:
    params = gluon.ParameterDict("net_")
    weight = params.get("weight", shape=(2,))
    params.initialize("ones")
    params.save(tmp_path / "all.params", strip_prefix="net_")
    assert list(nd.load(tmp_path / "all.params")) == ["weight"]
    with pytest.raises(ParameterError, match="cannot take 'foo_' off the name 'net_weight'"):
        params.save(tmp_path / "none.params", strip_prefix="foo_")
    assert not (tmp_path / "none.params").exists()
    weight.set_data([5, 6])
    params.load(tmp_path / "all.params", restore_prefix="net_")
    assert weight.data().asnumpy().tolist() == [1, 1]
    with pytest.raises(ParameterError, match=r"all.params: has no net_weight; it has weight"):
        params.load(tmp_path / "all.params")
    fresh = gluon.ParameterDict("net_")
    fresh.get("weight", shape=(0,), allow_deferred_init=True)
    fresh.load(tmp_path / "all.params", ctx=BOTH, restore_prefix="net_")
    assert fresh["net_weight"].list_ctx() == BOTH


def test_unknown_sizes_read_minus_one_where_shapes_are_numpys() -> None:
    class Net(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", shape=(-1, 3), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:
            return x.dot(w)

    net = hn.util.use_np(Net)()
    assert net.w.shape == (0, 3)
    net.initialize()
    with hn.util.np_shape():
        assert net.w.shape == (-1, 3)
    assert net(hn.np.ones((2, 4))).shape == (2, 3)
    assert net.w.shape == (4, 3) and type(net.w.data()) is hn.np.ndarray


class _Halved(gluon.Parameter):
    """Stands in for another parameter as packages of MXNet's do it: by its private names."""

    def __init__(self, other):
        super().__init__(other.name, shape=other._shape, differentiable=other._differentiable)
        self._data, self._grad, self._var = other._data, other._grad, other._var
        self._ctx_list, self._ctx_map = other._ctx_list, other._ctx_map
        self._trainer = other._trainer

    def data(self, ctx=None):
        return self._check_and_get(self._data, ctx) / 2


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_parameter_may_stand_in_for_another(hybrid):
    net = gluon.nn.Dense(2, in_units=3, use_bias=False)
    assert net.weight._data is None and net.weight._ctx_map is None
    net.initialize(hn.init.One())
    assert net.weight._ctx_map == [[], [0]] and net.weight._ctx_list == [hn.cpu()]
    halved = _Halved(net.weight)
    net.params._params[halved.name] = halved
    net._reg_params["weight"] = halved
    if hybrid:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    with autograd.record():
        loss = net(nd.ones((1, 3))).sum()
    loss.backward()
    trainer.step(1)
    assert loss.asscalar() == 3
    np.testing.assert_array_equal(net.weight.data().asnumpy(), np.full((2, 3), 0.5))


class _Scaled(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.scale = self.params.get("scale", shape=(1,), init=hn.init.Zero())

    def hybrid_forward(self, F, x, scale):
        return F.broadcast_mul(x, scale + 1)


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_computed_array_may_be_put_in_a_parameters_place(hybrid):
    """As MXFusion gives blocks weights that it has drawn; MXNet 1.9.1 gives these numbers."""
    net = _Scaled()
    net.initialize()
    if hybrid:
        net.hybridize()
    x, drawn = nd.array([[1, 2], [3, 4]]), nd.array([[1.0], [2.0]])
    assert net(x).asnumpy().tolist() == [[1, 2], [3, 4]]
    drawn.attach_grad()
    with autograd.record():
        net.scale._data[net.scale._ctx_map[hn.cpu().device_typeid & 1][0]] = drawn * 2
        y = net(x)
    y.backward()
    assert y.asnumpy().tolist() == [[3, 6], [15, 20]]
    assert drawn.grad.asnumpy().tolist() == [[6], [14]]
    assert net.scale._reduce().asnumpy().tolist() == [[2], [4]]


def test_packages_begin_a_parameter_with_an_array():
    """By `_load_init`, as gluon-cv's pruned networks and MXFusion do."""
    fresh = gluon.Parameter("w", shape=(2, 0), allow_deferred_init=True)
    fresh._load_init(nd.array([[1, 2, 3], [4, 5, 6]]), hn.cpu())
    assert fresh.shape == (2, 3) and fresh.data().asnumpy().tolist() == [[1, 2, 3], [4, 5, 6]]
    fresh._load_init(nd.array([[7, 7, 7], [8, 8, 8]], dtype="float64"), None, cast_dtype=True)
    assert fresh.data().asnumpy().tolist() == [[7, 7, 7], [8, 8, 8]]
    assert fresh.data().dtype == np.float32
    with pytest.raises(
        ShapeError, match=r"Parameter 'w': the array has shape \(3,\), but .* \(2, 3"
    ):
        fresh._load_init(nd.ones(3), hn.cpu())


def test_storage_and_waiting_have_private_names():
    param = gluon.Parameter("w", shape=(0, 2), allow_deferred_init=True, grad_stype="row_sparse")
    assert (param._stype, param._grad_stype, param._deferred_init) == ("default", "row_sparse", ())
    param.initialize(ctx=[hn.cpu(0), hn.cpu(1)])
    _, contexts, *_ = param._deferred_init
    assert contexts == [hn.cpu(0), hn.cpu(1)] and param._data is None
    with pytest.raises(gluon.DeferredInitializationError):
        param._check_and_get(param._data, None)
    param.shape = (3, 2)
    param.finish_deferred_init()
    assert param._check_and_get(param._data, hn.cpu(1)).context == hn.cpu(1)
    assert len(param._check_and_get(param._grad, list)) == 2 and param._deferred_init == ()
