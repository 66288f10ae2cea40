"""Updates of sparse weights, and in which order states keep the float32 copy of a weight."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import nd


def stepped(name, weight, grad, stype, **options):
    """Returns a weight after two steps by a row-sparse gradient of row 1."""
    w, g = nd.array(weight).tostype(stype), nd.array(grad).tostype("row_sparse")
    update = mx.optimizer.get_updater(mx.optimizer.create(name, **options))
    for _ in range(2):
        update(0, g, w)
    assert w.stype == stype
    return w.asnumpy()


@pytest.mark.parametrize(
    "name,options",
    [
        ("sgd", {"wd": 0.1}),
        ("sgd", {"momentum": 0.9, "wd": 0.1}),
        ("adam", {"wd": 0.1}),
        ("ftrl", {}),
    ],
)
def test_lazily_other_rows_of_a_sparse_weight_stay(name, options):
    weight = np.arange(6, dtype="float32").reshape(3, 2)
    grad = np.zeros((3, 2), "float32")
    grad[1] = 0.5
    got = stepped(name, weight, grad, "row_sparse", learning_rate=0.1, **options)
    # The row by itself, as a dense weight of one row.
    alone, update = nd.array(weight[1:2]), mx.optimizer.create(name, learning_rate=0.1, **options)
    state = update.create_state(0, alone)
    for _ in range(2):
        update.update(0, alone, nd.array(grad[1:2]), state)
    np.testing.assert_allclose(got[1:2], alone.asnumpy(), rtol=1e-6)
    np.testing.assert_array_equal(got[[0, 2]], weight[[0, 2]])


@pytest.mark.parametrize("stype", ["row_sparse", "csr"])
def test_sparse_weights_are_updated_as_dense_ones_where_there_is_no_rule(stype):
    weight = np.eye(3, dtype="float32")
    grad = np.full((3, 3), 0.5, "float32")
    got = stepped("sgd", weight, grad, stype, learning_rate=0.1, lazy_update=False, wd=0.1)
    dense = stepped("sgd", weight, grad, "default", learning_rate=0.1, lazy_update=False, wd=0.1)
    np.testing.assert_allclose(got, dense, rtol=1e-6)


def test_states_keep_the_copy_where_mxnet_does():
    for name, master in (("sgd", 1), ("nag", 1), ("adam", 0), ("signum", 0)):
        half = nd.ones((2,), dtype="float16")
        options = {} if name == "adam" else {"momentum": 0.5}
        optimizer = mx.optimizer.create(name, multi_precision=True, **options)
        state = optimizer.create_state_multi_precision(0, half)
        assert state[master].dtype == np.float32 and state[master].asnumpy().tolist() == [1, 1]
        optimizer.update_multi_precision(0, half, nd.ones((2,), dtype="float16"), state)
        assert state[master].asnumpy()[0] < 1


def test_a_scheduled_rate_that_is_set_is_an_error_that_is_a_warning_too():
    optimizer = mx.optimizer.SGD(lr_scheduler=mx.lr_scheduler.FactorScheduler(1))
    with pytest.raises(UserWarning, match="requires an optimizer without lr_scheduler") as caught:
        optimizer.set_learning_rate(0.5)
    assert isinstance(caught.value, ValueError)
    assert optimizer.allow_np_array is False
