"""The helpers that tests written for MXNet import."""

from __future__ import annotations

import bz2
import hashlib
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import test_utils as tu
from hybridnet.base.errors import MXNetError, ParameterError


@pytest.fixture(autouse=True)
def _seeded():
    np.random.seed(0)


def test_defaults_are_mxnets():
    assert tu.default_dtype() is np.float32
    assert tu.default_rtols()[np.dtype("float32")] == 1e-4
    assert tu.default_atols()[np.dtype("float16")] == 1e-1
    assert tu.get_tols(np.zeros(2, "float16"), np.zeros(2, "float32"), None, None) == (1e-2, 1e-1)
    assert tu.get_tols(1, 1.0, 0.5, {np.dtype("float64"): 0.25, "int64": 0}) == (0.5, 0.25)
    assert (tu.get_rtol(), tu.get_atol(1e-3), tu.get_etol()) == (1e-5, 1e-3, 0)
    assert tu.default_context() == mx.cpu()
    tu.set_default_context(mx.Context("cpu_pinned"))
    try:
        assert tu.default_context() == mx.current_context() == mx.cpu_pinned()
        with mx.cpu(0):
            assert tu.default_context() == mx.cpu()
    finally:
        tu.set_default_context(mx.cpu())


@pytest.mark.parametrize(
    "a,b,options,equal",
    [
        ([1.0, 2.0], [1.0, 2.0001], {}, True),
        ([1.0, 2.0], [1.0, 2.01], {}, False),
        ([1.0, 2.0], [1.0, 2.01], {"rtol": 0.1}, True),
        ([1.0, np.nan], [1.0, np.nan], {}, False),
        ([1.0, np.nan], [1.0, np.nan], {"equal_nan": True}, True),
        ([np.inf, 1.0], [np.inf, 1.0], {}, True),
        ([np.inf, 1.0], [-np.inf, 1.0], {}, False),
        ([[1.0], [1.0]], [1.0], {}, True),
    ],
)
def test_almost_equal(a, b, options, equal):
    arrays = mx.nd.array(a), np.array(b, np.float32)
    assert tu.almost_equal(*arrays, **options) is equal
    if equal:
        tu.assert_almost_equal(*arrays, **options)
    else:
        with pytest.raises(AssertionError, match="left and right must be equal within"):
            tu.assert_almost_equal(*arrays, names=("left", "right"), **options)


def test_a_difference_is_reported_worst_first():
    with pytest.raises(AssertionError) as caught:
        tu.assert_almost_equal(mx.nd.array([[1, 2], [3, 4]]), np.array([[1, 2.5], [3, 9]]))
    first, second, third = str(caught.value).splitlines()
    assert "2 of 4 elements differ" in first
    assert "[1, 1] a=4.0 b=9.0" in second
    assert "[0, 1] a=2.0 b=2.5" in third


def test_other_comparisons():
    a = mx.nd.array([1, 2, 3])
    assert tu.same(a, np.array([1, 2, 3], "float32")) and not tu.same(a, a[:2])
    with pytest.raises(AssertionError, match=r"shapes must be equal, got \(3,\) and \(1, 3\)"):
        tu.almost_equal(a, a.reshape((1, 3)), use_broadcast=False)
    tu.assert_allclose(a, a)
    tu.assert_almost_equal_ignore_nan(np.array([1, np.nan]), np.array([1.0, 7.0]))
    tu.assert_almost_equal_with_err(a, np.array([1, 2, 9.0]), etol=0.4)
    with pytest.raises(AssertionError, match="allowed is 0.2"):
        tu.assert_almost_equal_with_err(a, np.array([1, 2, 9.0]), etol=0.2)
    assert tu.same_array(a, a[:]) and not tu.same_array(a, a.copy())
    tu.compare_ndarray_tuple((a, (a, None)), (a, (a, None)))


def test_exceptions_and_retries():
    tu.assert_exception(mx.nd.dot, MXNetError, mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))
    with pytest.raises(AssertionError, match="dot must raise MXNetError"):
        tu.assert_exception(mx.nd.dot, MXNetError, mx.nd.ones((2, 2)), mx.nd.ones((2, 2)))
    runs = []

    @tu.retry(3)
    def lucky(least):
        runs.append(1)
        assert len(runs) >= least

    lucky(2)
    assert len(runs) == 2
    with pytest.raises(AssertionError):
        lucky(9)
    assert len(runs) == 5
    with pytest.raises(ParameterError, match="n must be positive, got 0"):
        tu.retry(0)


def test_random_arrays_and_shapes():
    assert tu.random_arrays((2, 3)).dtype == np.float32
    assert [one.shape for one in tu.random_arrays((2,), (), (3, 1))] == [(2,), (), (3, 1)]
    (uniform,) = tu.random_uniform_arrays((50,), low=2, high=3, dtype="float64")
    assert uniform.dtype == np.float64 and (uniform >= 2).all() and (uniform < 3).all()
    shapes = [tu.rand_shape_nd(3, 2, allow_zero_size=True) for _ in range(50)]
    assert {one for shape in shapes for one in shape} == {0, 1, 2}
    assert tu.rand_shape_2d(1, 1) == (1, 1) and len(tu.rand_shape_3d()) == 3
    x, y = tu.rand_coord_2d(1, 3, 5, 6)
    assert 1 <= x < 3 and y == 5
    assert tu.rand_ndarray((2, 3), dtype="float64").dtype == np.float64
    assert tu.random_sample([4, 5, 6, 7], 4) == [4, 5, 6, 7]
    with pytest.raises(ParameterError, match="stype must be 'csr' or 'row_sparse'"):
        tu.rand_ndarray((2, 3), "coo")


def test_matrices_and_reductions():
    for matrix in tu.new_matrix_with_real_eigvals_nd((2, 4, 4)):
        np.testing.assert_allclose(np.sort(np.linalg.eigvals(matrix).real), [1, 2, 3, 4])
    symmetric = tu.new_sym_matrix_with_real_eigvals_nd((1, 3, 3))[0]
    np.testing.assert_array_equal(symmetric, symmetric.T)
    data = np.arange(24.0).reshape(2, 3, 4)
    for axis, keepdims in ((None, False), (1, True), ((0, -1), True), ((0, 2), False)):
        np.testing.assert_array_equal(
            tu.np_reduce(data, axis, keepdims, np.sum), data.sum(axis=axis, keepdims=keepdims)
        )
    np.testing.assert_array_equal(tu.collapse_sum_like(data, (3, 1)), data.sum((0, 2))[:, None])
    np.testing.assert_array_equal(tu.assign_each(data, lambda x: x + 1), data + 1)
    np.testing.assert_array_equal(tu.assign_each2(data, data, lambda x, y: x * y), data**2)
    np.testing.assert_array_equal(tu.create_2d_tensor(2, 3).asnumpy(), [[0] * 3, [1] * 3])
    np.testing.assert_array_equal(tu.create_vector(3).asnumpy(), [0, 1, 2])
    np.testing.assert_array_equal(tu.get_identity_mat_batch(2), [np.eye(2)] * 2)


def test_simple_forward_and_symbolic_checks():
    a, b = mx.sym.var("a"), mx.sym.var("b")
    x, y = np.array([[1.0, 2], [3, 4]]), np.array([[5.0, 6], [7, 8]])
    np.testing.assert_array_equal(tu.simple_forward(mx.sym.dot(a, b), a=x, b=y), x @ y)
    tu.check_symbolic_forward(mx.sym.dot(a, b), [x, y], [x @ y])
    tu.check_symbolic_forward(a * b, {"a": x, "b": y}, [x * y])
    head = np.array([[1.0, -1], [2, 0.5]])
    for request in ("write", "add", "null"):
        grads = tu.check_symbolic_backward(
            a * b, [x, y], [head], [head * y, head * x], grad_req=request
        )
    assert sorted(grads) == ["a", "b"]
    tu.check_symbolic_backward(a * b, [x, y], [head], {"b": head * x}, dtype=np.float64)
    with pytest.raises(AssertionError, match="EXPECTED_a and BACKWARD_a"):
        tu.check_symbolic_backward(a * b, [x, y], [head], [head * x, head * x])
    with pytest.raises(ValueError, match=r"requires arrays named \['a', 'b'\], got \['a'\]"):
        tu.check_symbolic_forward(a * b, {"a": x}, [x])
    assert tu.same_symbol_structure(a + b, mx.sym.var("c") + mx.sym.var("d"))
    assert not tu.same_symbol_structure(a + b, a * b)


def test_numeric_gradients_are_compared():
    data = mx.sym.var("data")
    x = np.random.uniform(0.5, 1.5, (2, 3))
    tu.check_numeric_gradient(mx.sym.tanh(data), [x])
    net = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    location = {"data": x, "fc_weight": np.random.rand(2, 3), "fc_bias": np.random.rand(2)}
    tu.check_numeric_gradient(
        net, location, dtype=np.float64, numeric_eps=1e-5, rtol=1e-6, atol=1e-7
    )
    tu.check_numeric_gradient(net, location, grad_nodes={"data": "add", "fc_bias": "write"})
    with pytest.raises(AssertionError, match="EXPECTED_data and BACKWARD_data"):
        tu.check_numeric_gradient(mx.sym.BlockGrad(data), [x])
    with pytest.raises(ParameterError, match="dtype must be a floating NumPy type"):
        tu.check_numeric_gradient(net, location, dtype=np.int32)


class _HandedOver:
    """An executor that rounds otherwise from its n-th pass on, as when a program is compiled."""

    def __init__(self, value, passes):
        self.arg_dict, self.aux_dict, self.outputs = {"x": value.copy()}, {}, []
        self.passes = passes

    def forward(self, is_train):
        self.passes -= 1
        total = (self.arg_dict["x"] ** 2).sum() + (0 if self.passes > 0 else 1e-3)
        self.outputs = [mx.nd.array([total], dtype="float64")]


@pytest.mark.parametrize("passes", range(1, 12))
def test_numeric_gradients_do_not_mix_two_ways_of_rounding(passes):
    x = np.array([0.5, -1.0, 2.0, 0.25])
    grads = tu.numeric_grad(_HandedOver(x, passes), {"x": x}, eps=1e-4, dtype=np.float64)
    np.testing.assert_allclose(grads["x"], 2 * x, rtol=1e-6)


def test_numeric_gradient_with_auxiliary_states():
    net = mx.sym.BatchNorm(mx.sym.var("data"), name="bn", fix_gamma=False)
    states = [np.zeros(3), np.ones(3)]
    location = [np.random.rand(4, 3), np.random.rand(3), np.random.rand(3)]
    tu.check_numeric_gradient(
        net, location, states, dtype=np.float64, numeric_eps=1e-4, rtol=1e-3, atol=1e-5
    )


def test_consistency_between_dtypes():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    contexts = [
        {"ctx": mx.cpu(), "data": (2, 4), "type_dict": {"data": dtype}}
        for dtype in (np.float64, np.float32, np.float16)
    ]
    truth = tu.check_consistency(net, contexts)
    assert truth["fc_output"].dtype == np.float64 and "fc_weight" in truth
    with pytest.raises(AssertionError, match="predict fc_output of context 0"):
        tu.check_consistency(net, contexts[:2], ground_truth={"fc_output": np.full((2, 3), 9.0)})


def test_hybridized_networks_are_compared():
    def build(**kwargs):
        net = mx.gluon.nn.HybridSequential(**kwargs)
        with net.name_scope():
            net.add(mx.gluon.nn.Dense(3, activation="tanh", in_units=4))
        return net

    data = [mx.nd.array(np.random.rand(2, 4))]
    tu.check_gluon_hybridize_consistency(build, data)
    with pytest.raises(AssertionError):
        tu.check_gluon_hybridize_consistency(build, data, lambda x: np.zeros((2, 3)))


def test_optimizers_are_compared():
    make = mx.optimizer.SGD
    tu.compare_optimizer(make(momentum=0.9), make(momentum=0.9), (3, 4), "float32")
    with pytest.raises(AssertionError):
        tu.compare_optimizer(make(learning_rate=0.1), make(learning_rate=0.2), (3, 4), "float32")


def test_distributions_are_checked():
    def normal(count):
        return mx.nd.array(np.random.normal(0, 1, count))

    def shifted(count):
        return np.random.normal(0.1, 1.1, count)

    quantiles = {0.25: -0.6744897501960817, 0.5: 0.0, 0.75: 0.6744897501960817}
    buckets, probs = tu.gen_buckets_probs_with_ppf(
        lambda p: quantiles.get(p, -np.inf if p == 0 else np.inf), 4
    )
    assert probs == [0.25] * 4 and buckets[1] == (quantiles[0.25], 0.0)
    assert tu.mean_check(normal, 0, 1, 20000) and not tu.mean_check(shifted, 0, 1, 20000)
    assert tu.var_check(normal, 1, 20000) and not tu.var_check(shifted, 1, 20000)
    assert max(tu.verify_generator(normal, buckets, probs, 20000)) > 0.05
    with pytest.raises(AssertionError, match="verify_generator: of 5 checks"):
        tu.verify_generator(shifted, buckets, probs, 20000)
    p, observed, expected = tu.chi_square_check(
        lambda n: [0, 1, 1, 1] * (n // 4), [0, 1], [0.25, 0.75], 400
    )
    assert p == 1.0 and observed.tolist() == expected.tolist() == [100, 300]
    # 2 degrees of freedom: the tail is exp(-x/2); here x = 10²/100 + 10²/100 + 0 = 2.
    counts = [0] * 110 + [1] * 90 + [2] * 100
    p, _, _ = tu.chi_square_check(lambda n: counts, [0, 1, 2], [1 / 3] * 3, 300)
    assert p == pytest.approx(np.exp(-1.0))


def test_environment_is_set_and_restored(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_TEST_A", "old")
    with (
        pytest.raises(KeyError),
        tu.environment({"HYBRIDNET_TEST_A": None, "HYBRIDNET_TEST_B": "1"}),
    ):
        assert os.environ["HYBRIDNET_TEST_B"] == "1"
        os.environ["HYBRIDNET_TEST_A"]
    assert os.environ["HYBRIDNET_TEST_A"] == "old" and "HYBRIDNET_TEST_B" not in os.environ
    with tu.EnvManager("HYBRIDNET_TEST_A", "new"):
        assert os.environ["HYBRIDNET_TEST_A"] == "new"
    with (
        pytest.raises(ParameterError, match="requires a name and a value, or a dict"),
        tu.environment("A"),
    ):
        pass
    assert tu.list_gpus() == range(mx.num_gpus())


def test_digits_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    digits = tu.get_mnist()
    assert digits["train_data"].shape == (4000, 1, 28, 28) and digits["test_label"].dtype == np.int8
    assert digits["train_data"].max() == 1.0
    train, test = tu.get_mnist_iterator(100, (784,))
    assert next(test).data[0].shape == (100, 784)
    dummy = tu.DummyIter(train)
    assert dummy.next() is dummy.next() and dummy.batch_size == 100
    source = tmp_path / "source.txt"
    source.write_text("text")
    url = source.as_uri()
    copied = tmp_path / tu.download(url, fname="copy.txt", dirname="there")
    assert copied.read_text() == "text"
    source.write_text("other")
    tu.download(url, "copy.txt", "there")
    assert copied.read_text() == "text"
    tu.download(url, "copy.txt", "there", overwrite=True)
    assert copied.read_text() == "other"
    with pytest.raises(MXNetError, match="could not be fetched"):
        tu.download((tmp_path / "none").as_uri(), retries=1)


def test_packed_files_are_fetched_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("source.zip", "w") as packed:
        packed.writestr("inner/names.txt", "a b")
    url = (tmp_path / "source.zip").as_uri()
    tu.get_zip_data("zipped", url, "data.zip")
    assert Path("zipped/inner/names.txt").read_text(encoding="utf-8") == "a b"
    Path("zipped/inner/names.txt").unlink()
    tu.get_zip_data("zipped", url, "data.zip")  # the zip file is there: nothing is done
    assert not Path("zipped/inner/names.txt").exists()
    Path("source.bz2").write_bytes(bz2.compress(b"1 2\n"))
    tu.get_bz2_data("lines", "data.t", (tmp_path / "source.bz2").as_uri(), "data.t.bz2")
    assert [path.name for path in Path("lines").iterdir()] == ["data.t"]
    assert Path("lines/data.t").read_bytes() == b"1 2\n"
    Path("source.bz2").unlink()
    tu.get_bz2_data("lines", "data.t", "file:///nowhere", "data.t.bz2")


def test_cifar_comes_as_record_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"cifar/{name}.{kind}" for name in ("train", "test") for kind in ("rec", "lst")]
    with zipfile.ZipFile("source.zip", "w") as packed:
        for name in names:
            packed.writestr(name, name)
    monkeypatch.setattr(tu.files, "_CIFAR10", (tmp_path / "source.zip").as_uri())
    with pytest.raises(MXNetError, match="must have the SHA-1 hash"):
        tu.get_cifar10()
    packed = Path("source.zip").read_bytes()
    monkeypatch.setattr(tu.files, "_CIFAR10_SHA1", hashlib.sha1(packed).hexdigest())
    tu.get_cifar10()
    assert [Path("data", name).read_text(encoding="utf-8") for name in names] == names
    Path("source.zip").unlink()
    Path("data/source.zip").unlink()
    tu.get_cifar10()
