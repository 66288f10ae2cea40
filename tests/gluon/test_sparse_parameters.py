"""Parameters with row-sparse values, the stores that hold them, and stores that users write."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import autograd, gluon, kv, nd
from hybridnet.base.errors import MXNetError, ParameterError


def table(ctx=None, **kwargs):
    param = gluon.Parameter("w", shape=(5, 2), stype="row_sparse", grad_stype="row_sparse")
    param.initialize(mx.init.Constant(nd.arange(10).reshape((5, 2))), ctx=ctx)
    return param


def test_rows_come_from_the_store_of_a_trainer():
    contexts = [mx.cpu(0), mx.cpu(1)]
    param = table(contexts)
    rows = nd.array([3, 1, 3], ctx=mx.cpu(1))
    with pytest.raises(RuntimeError, match="row_sparse_data requires a Trainer"):
        param.row_sparse_data(rows)
    for ask in (param.data, param.list_data):
        with pytest.raises(RuntimeError, match="requires a dense value.*row_sparse_data"):
            ask()
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0})
    assert param._trainer is trainer and trainer._params_to_init == [param]
    found = param.row_sparse_data(rows)
    assert (found.stype, found.context, found.shape) == ("row_sparse", mx.cpu(1), (5, 2))
    np.testing.assert_array_equal(found.indices.asnumpy(), [1, 3])
    np.testing.assert_array_equal(found.data.asnumpy(), [[2, 3], [6, 7]])
    assert [one.context for one in param.list_row_sparse_data(rows)] == contexts
    assert (
        param.var().attr("__storage_type__") == "1" and param.grad(mx.cpu(0)).stype == "row_sparse"
    )
    assert not trainer._params_to_init and trainer._update_on_kvstore is True
    with pytest.raises(RuntimeError, match="held by one Trainer"):
        gluon.Trainer([param], "sgd")
    dense = gluon.Parameter("d", shape=(2,))
    dense.initialize()
    with pytest.raises(RuntimeError, match="requires a row_sparse value.*use list_data"):
        dense.list_row_sparse_data(rows)


@pytest.mark.parametrize("contexts", [[mx.cpu(0)], [mx.cpu(0), mx.cpu(1)]])
def test_a_step_changes_the_rows_that_were_used(contexts):
    param = table(contexts)
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0, "momentum": 0.5})
    wanted = np.arange(10, dtype="float32").reshape(5, 2)
    momentum = np.zeros((5, 2), "float32")
    for row in (1, 3, 1):
        with autograd.record():
            for ctx in contexts:
                used = nd.array([row], ctx=ctx)
                weight = param.row_sparse_data(used)
                out = nd.Embedding(used, weight, input_dim=5, output_dim=2, sparse_grad=True)
                out.backward()
        trainer.step(1)
        # Lazily: the momentum of other rows stays.
        momentum[row] = 0.5 * momentum[row] - len(contexts)
        wanted[row] += momentum[row]
    every = nd.arange(5, ctx=contexts[-1])
    np.testing.assert_allclose(param.row_sparse_data(every).asnumpy(), wanted)
    np.testing.assert_allclose(param.reduced().asnumpy(), wanted)


def test_sparse_values_are_saved_loaded_and_moved(tmp_path):
    params = gluon.ParameterDict("net_")
    params.get("w", shape=(5, 2), stype="row_sparse")
    params.initialize(mx.init.One(), ctx=mx.cpu(1))
    trainer = gluon.Trainer(params, "sgd")
    params.save(tmp_path / "w.params")
    assert nd.load(str(tmp_path / "w.params"))["net_w"].stype == "row_sparse"
    for stype in ("row_sparse", "default"):
        other = gluon.ParameterDict("net_")
        param = other.get("w", shape=(5, 2), stype=stype)
        other.load(tmp_path / "w.params", mx.cpu(1))
        assert param._data[0].stype == stype and (param._data[0].asnumpy() == 1).all()
    params["net_w"].reset_ctx([mx.cpu(2), mx.cpu(0)])
    assert params.list_ctx() == [mx.cpu(2), mx.cpu(0)]
    del trainer
    assert params["net_w"]._trainer is None


@pytest.mark.parametrize(
    "stype,grad_stype,given,updates",
    [
        ("default", "default", None, True),
        ("default", "default", False, False),
        ("default", "row_sparse", None, False),
        ("default", "row_sparse", True, True),
        ("row_sparse", "row_sparse", None, True),
    ],
)
def test_who_updates_follows_from_what_is_sparse(stype, grad_stype, given, updates):
    param = gluon.Parameter("x", shape=(4, 1), stype=stype, grad_stype=grad_stype)
    param.initialize("zeros", ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5}, update_on_kvstore=given)
    every = nd.arange(4)
    read = param.list_data if stype == "default" else lambda: param.list_row_sparse_data(every)
    weights = read()
    with autograd.record():
        for weight in weights:
            (weight + 1).backward()
    trainer.step(1)
    assert trainer._update_on_kvstore is updates
    assert all((one.asnumpy() == -1).all() for one in read())


def test_stores_that_cannot_hold_sparse_values_are_refused():
    for options in ({"update_on_kvstore": False}, {"kvstore": None}):
        with pytest.raises(ValueError, match="which a key-value store must hold"):
            gluon.Trainer([table()], "sgd", **options)._init_kvstore()
    with pytest.raises(ValueError, match="'teststore' applies no optimizer"):
        gluon.Trainer([table()], "sgd", kvstore=kv.create("teststore"))._init_kvstore()


def test_a_value_that_is_set_makes_the_store_anew():
    param = gluon.Parameter("x", shape=(3,))
    param.initialize("zeros", ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0, "momentum": 0.9})

    def step():
        with autograd.record():
            for weight in param.list_data():
                (weight + 1).backward()
        trainer.step(1)

    step()
    assert trainer._kvstore.type == "device" and trainer._kv_initialized
    param.set_data(nd.ones((3,)))
    assert trainer._kvstore is None and not trainer._kv_initialized
    step()  # without the momentum of before
    np.testing.assert_array_equal(param.data(mx.cpu(1)).asnumpy(), -1 * np.ones(3))


def test_stores_of_users_add_up_and_leave_updates_to_the_trainer():
    seen = []

    @kv.KVStoreBase.register
    class Noting(kv.KVStoreBase):
        def pushpull(self, key, value, out=None, priority=0):
            seen.append((key, len(value)))
            total = sum(one.as_in_context(mx.cpu(0)) for one in value)
            for one in value:
                one[:] = total

        def is_capable(self, capability):
            return False

    for name in ("noting", "TestStore"):
        param = gluon.Parameter("x", shape=(3,))
        param.initialize("zeros", ctx=[mx.cpu(0), mx.cpu(1)])
        trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1.0}, kvstore=kv.create(name))
        with autograd.record():
            for weight in param.list_data():
                (weight + 1).backward()
        trainer.step(1)
        assert trainer._update_on_kvstore is False
        assert all((one.asnumpy() == -2).all() for one in param.list_data())
    assert seen == [(0, 2)]
    with pytest.warns(UserWarning, match="takes the name of"):
        kv.KVStoreBase.register(type("Noting", (kv.KVStoreBase,), {}))
    with pytest.raises(NotImplementedError, match="Noting defines no broadcast"):
        kv.create("noting").broadcast(0, nd.ones(1), nd.ones(1))
    out = nd.zeros((2,))
    kv.create("teststore").broadcast(0, nd.ones((2,)), out)
    assert out.asnumpy().tolist() == [1, 1]


def test_a_store_of_a_user_that_updates_fills_the_weights():
    """It is given the optimizer and, with the gradients, the weights, as MXNet does."""

    @kv.KVStoreBase.register
    class Halving(kv.KVStoreBase):
        def broadcast(self, key, value, out, priority=0):
            self.value = value.asnumpy()

        def set_optimizer(self, optimizer):
            self.rate = optimizer.lr

        def pushpull(self, key, value, out=None, priority=0):
            self.value = self.value - self.rate * sum(one.asnumpy() for one in value)
            for one in out:
                one[:] = nd.array(self.value)

        def is_capable(self, capability):
            return capability == "optimizer"

    param = gluon.Parameter("x", shape=(3,))
    param.initialize("zeros", ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 0.5}, kvstore=kv.create("halving"))
    for turn in (1, 2):
        with autograd.record():
            for weight in param.list_data():
                (weight + 1).backward()
        trainer.step(1)
        assert trainer._update_on_kvstore is True
        assert all((one.asnumpy() == -turn).all() for one in param.list_data())


def test_what_mxnet_asserts_is_an_assertion_error_too():
    for name in ("stype", "grad_stype"):
        with pytest.raises(AssertionError, match=f"'w': {name} must be one of") as caught:
            gluon.Parameter("w", shape=(2,), **{name: "columns"})
        assert isinstance(caught.value, ParameterError) and isinstance(caught.value, MXNetError)


def test_values_and_gradients_by_mxnets_private_names():
    param = gluon.Parameter("w", shape=(2,))
    assert param._data is None and param._grad is None
    param.initialize()
    assert [one.shape for one in (*param._data, *param._grad)] == [(2,), (2,)]
    param.grad_req = "null"
    assert param._grad is None
