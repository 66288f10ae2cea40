"""Row-sparse gradients: of Embedding and dot, into variables, and by optimizers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from oracle.sparse_cases import OPTIMIZERS, train
from places import ORACLE

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError, ParameterError

_ANSWERS = json.loads((ORACLE / "sparse.json").read_text())
_TABLE = np.arange(12, dtype=np.float32).reshape(4, 3)


def variable(grad_req: str = "write", stype: str | None = "row_sparse") -> Any:
    weight = nd.array(_TABLE)
    weight.attach_grad(grad_req, stype=stype)
    return weight


def look_up(weight: Any, places: list[Any]) -> Any:
    sizes = {"input_dim": weight.shape[0], "output_dim": weight.shape[1]}
    return nd.Embedding(nd.array(places), weight, sparse_grad=True, **sizes)


def test_the_gradient_of_a_sparse_embedding_does_so_by_itself() -> None:
    weight = variable()
    with autograd.record():
        rows = nd.contrib.SparseEmbedding(nd.array([3, 1]), weight, input_dim=4, output_dim=3)
    rows.backward()
    assert rows.asnumpy().tolist() == _TABLE[[3, 1]].tolist()
    assert weight.grad.indices.asnumpy().tolist() == [1, 3]


def test_the_gradient_of_embedding_holds_the_rows_looked_up() -> None:
    weight = variable()
    assert weight.grad.stype == "row_sparse" and weight.grad.indices.shape == (0,)
    for _ in range(2):
        with autograd.record():
            loss = (look_up(weight, [[1, 3], [1, 1]]) * nd.array([1, 2, 3])).sum()
        loss.backward()
    assert weight.grad.indices.asnumpy().tolist() == [1, 3]
    assert weight.grad.data.asnumpy().tolist() == [[3, 6, 9], [1, 2, 3]]
    weight.grad.check_format()
    weight.zero_grad()
    assert weight.grad.stype == "row_sparse" and not weight.grad.asnumpy().any()


def test_gradients_are_added_where_asked() -> None:
    weight = variable("add")
    for places in ([1, 3], [0, 3]):
        with autograd.record():
            made = look_up(weight, places)
        made.backward()
    assert weight.grad.indices.asnumpy().tolist() == [0, 1, 3]
    assert weight.grad.data.asnumpy()[:, 0].tolist() == [1, 1, 2]
    with autograd.record():  # two uses in one pass
        made = look_up(weight, [2]) + look_up(weight, [0])
    made.backward()
    assert weight.grad.asnumpy()[:, 0].tolist() == [2, 1, 1, 2]


def test_a_variable_keeps_the_storage_of_its_gradient() -> None:
    dense = variable(stype=None)
    with autograd.record():
        made = look_up(dense, [1, 3, 1])
    made.backward()
    assert dense.grad.stype == "default"
    assert dense.grad.asnumpy()[:, 0].tolist() == [0, 2, 0, 1]
    sparse = variable()
    with autograd.record():
        made = look_up(sparse, [1]) + (sparse * 2).sum()
    made.backward()
    assert sparse.grad.stype == "row_sparse"
    assert sparse.grad.asnumpy()[:, 0].tolist() == [6, 7, 6, 6]
    with autograd.record():
        made = look_up(sparse * 2, [1])
    (found,) = autograd.grad(made, [sparse])
    assert found.asnumpy()[:, 0].tolist() == [0, 2, 0, 0]


def test_the_gradient_of_dot_holds_the_columns_in_use() -> None:
    weight, x = variable(), np.array([[0, 1, 0, 0], [2, 3, 0, 0]], np.float32)
    with autograd.record():
        made = nd.dot(nd.array(x).tostype("csr"), weight)
    made.backward()
    assert weight.grad.indices.asnumpy().tolist() == [0, 1]
    np.testing.assert_array_equal(weight.grad.asnumpy(), x.T @ np.ones((2, 3)))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_step_as_mxnet_does(name: str) -> None:
    weight = train(hn, name)
    wanted = np.array(_ANSWERS[f"train {name}"]["values"]).reshape(6, 2)
    np.testing.assert_allclose(weight.asnumpy(), wanted, rtol=2e-5, atol=1e-6)


def test_rows_without_a_gradient_are_not_touched() -> None:
    weight, momentum = nd.array(_TABLE), nd.ones((4, 3))
    grad = nd.sparse.row_sparse_array((np.ones((1, 3)), [2]), shape=(4, 3), dtype="float32")
    nd.sparse.sgd_mom_update(weight, grad, momentum, out=weight, lr=1.0, momentum=0.5, wd=0.1)
    step = 0.5 - (1 + 0.1 * _TABLE[2])
    wanted, rates = _TABLE.copy(), np.ones((4, 3), np.float32)
    wanted[2] += step
    rates[2] = step
    np.testing.assert_allclose(weight.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(momentum.asnumpy(), rates, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("hybrid", [False, True])
def test_a_network_learns_by_sparse_gradients_as_by_dense_ones(hybrid: bool) -> None:
    # Plain descent without decay: what a lazy update leaves out is 0.
    weights = []
    for sparse in (False, True):
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Embedding(10, 4, sparse_grad=sparse), gluon.nn.Dense(2))
        net.initialize(hn.init.Constant(0.25))
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        for turn in range(3):
            with autograd.record():
                loss = (net(nd.array([[1, 2, turn], [5, 1, 7]])) - 1).square().sum()
            loss.backward()
            trainer.step(2)
        assert net[0].weight.grad().stype == ("row_sparse" if sparse else "default")
        weights.append(net[0].weight.data().asnumpy())
        assert not net[0].weight.has_fresh_grads()
    np.testing.assert_allclose(weights[1], weights[0], rtol=1e-5)


def test_a_traced_step_refuses_a_sparse_gradient_by_name() -> None:
    weight = variable()

    @hn.function
    def step(places: Any) -> Any:
        with autograd.record():
            made = nd.Embedding(places, weight, input_dim=4, output_dim=3, sparse_grad=True)
        made.backward()
        return made

    with pytest.raises(MXNetError, match="cannot make a row-sparse gradient"):
        step(nd.array([1, 2]))


def test_a_store_gives_rows_and_takes_sparse_gradients() -> None:
    store = hn.kv.create("local")
    store.init("w", nd.array(_TABLE).tostype("row_sparse"))
    targets = [nd.sparse.zeros("row_sparse", (4, 3), ctx=hn.cpu(i)) for i in range(2)]
    store.row_sparse_pull("w", out=targets[0], row_ids=nd.array([3, 0, 3]))
    assert targets[0].indices.asnumpy().tolist() == [0, 3]
    np.testing.assert_array_equal(targets[0].data.asnumpy(), _TABLE[[0, 3]])
    store.row_sparse_pull("w", out=targets[0], row_ids=nd.array([3, 3]))
    np.testing.assert_array_equal(targets[0].sum(axis=0).asnumpy(), _TABLE[3])
    store.row_sparse_pull("w", out=targets, row_ids=[nd.array([1]), nd.array([2])])
    assert [one.indices.asnumpy().tolist() for one in targets] == [[1], [2]]
    assert targets[1].context == targets[1].data.context == hn.cpu(1)
    store.set_optimizer(hn.optimizer.SGD(learning_rate=1.0, wd=0.0))
    store.push("w", [one * 0 + one for one in targets])
    dense = nd.zeros((4, 3))
    store.pull("w", out=dense)
    wanted = _TABLE.copy()
    wanted[1:3] = 0
    np.testing.assert_array_equal(dense.asnumpy(), wanted)
    for out, message in ((dense, "needs row_sparse arrays"), (None, "needs out=")):
        with pytest.raises(ParameterError, match=message):
            store.row_sparse_pull("w", out=out, row_ids=nd.array([1]))
    with pytest.raises(MXNetError, match="'v' was not initialized"):
        store.row_sparse_pull("v", out=targets[0], row_ids=nd.array([1]))


@pytest.mark.parametrize("stype", ["default", "row_sparse", "csr"])
def test_sparse_arrays_are_variables(stype: str) -> None:
    x = nd.array([[0, 2, 0], [3, 0, 0]]).tostype(stype)
    x.attach_grad()
    assert x.grad.stype == stype
    with autograd.record():
        y = x * x * 3 + x
    assert y.stype == stype
    y.backward(out_grad=nd.ones((2, 3)).tostype(stype))
    wanted = [[1, 13, 1], [19, 1, 1]]
    assert x.grad.stype == stype and x.grad.asnumpy().tolist() == wanted
    assert x.detach().stype == stype and x.detach().grad is None
    x.zero_grad()
    assert x.grad.stype == stype and not x.grad.asnumpy().any()


@pytest.mark.parametrize("of_array", ["default", "row_sparse", "csr"])
@pytest.mark.parametrize("of_grad", ["default", "row_sparse", "csr"])
def test_a_gradient_has_the_storage_asked_for(of_array: str, of_grad: str) -> None:
    x = nd.array([[0, 2], [3, 0]]).tostype(of_array)
    x.attach_grad(stype=of_grad)
    assert x.grad.stype == of_grad
    with autograd.record():
        loss = x.square().sum()
    loss.backward()
    assert x.grad.stype == of_grad and x.grad.asnumpy().tolist() == [[0, 4], [6, 0]]


def test_dense_variables_beside_sparse_arrays_have_gradients() -> None:
    sparse, weight = nd.array([[1, 0, 2], [0, 0, 3]]).tostype("csr"), nd.ones((2, 3))
    weight.attach_grad()
    with autograd.record():
        made = (sparse * weight) * 3
    assert made.stype == "csr"
    made.backward()
    assert weight.grad.asnumpy().tolist() == [[3, 0, 6], [0, 0, 9]]


def test_a_dense_form_and_a_copy_are_on_the_tape() -> None:
    x = nd.array([[0, 2], [3, 0]]).tostype("row_sparse")
    x.attach_grad()
    with autograd.record():
        dense, copied = x.tostype("default"), x.copy()
        loss = (dense * dense + copied).sum()
    loss.backward()
    assert dense.grad is None and copied.grad is None
    assert x.grad.asnumpy().tolist() == [[1, 5], [7, 1]]


def test_a_row_sparse_weight_of_dot_has_a_row_sparse_gradient() -> None:
    weight, x = nd.array(_TABLE).tostype("row_sparse"), np.float32([[0, 1, 0, 0], [2, 3, 0, 0]])
    weight.attach_grad()
    with autograd.record():
        made = nd.dot(nd.array(x).tostype("csr"), weight)
    made.backward()
    assert weight.grad.indices.asnumpy().tolist() == [0, 1]
    np.testing.assert_array_equal(weight.grad.asnumpy(), x.T @ np.ones((2, 3)))


def test_a_gradient_is_fresh_until_somebody_says_otherwise() -> None:
    x, y = nd.ones((2,)), nd.ones((2,))
    for one in (x, y):
        one.attach_grad()
        assert one._fresh_grad is False
    with autograd.record():
        loss = x * 2 + y
    loss.backward()
    assert x._fresh_grad is y._fresh_grad is True
    x._fresh_grad = y._fresh_grad = False
    with autograd.record():
        loss = (x * 2).detach() + y
    loss.backward()
    assert (x._fresh_grad, y._fresh_grad) == (False, True)
