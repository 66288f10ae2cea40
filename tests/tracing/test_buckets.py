"""Buckets: padding gives what there is without it; few programs; what would be wrong is refused."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.programs.shape_advice import ShapeAdvice

W = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)


def rows(length: int, width: int = 4, seed: int = 0) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng([seed, length])
    return generator.standard_normal((length, width)).astype(np.float32)


@contextmanager
def compilations() -> Iterator[list[int]]:
    """Gives a list in which the number of compilations is, after the block."""
    nd.waitall()
    hn.engine.wait_for_all()
    before = programs.cache.statistics().compilations
    counted: list[int] = []
    yield counted
    nd.waitall()
    hn.engine.wait_for_all()
    counted.append(programs.cache.statistics().compilations - before)


# The sizes


def test_default_sizes_are_the_powers_of_two() -> None:
    found = [hn.Buckets().size(n) for n in range(1, 300)]
    assert sorted(set(found)) == [2**k for k in range(10)]
    assert all(size >= n > size / 2 for n, size in enumerate(found, 1))


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_more_sizes_in_an_octave_mean_less_padding(parts: int) -> None:
    found = [hn.Buckets(per_octave=parts).size(n) for n in range(1, 1025)]
    assert all(0 <= size - n < max(1, n / parts) for n, size in enumerate(found, 1))
    assert len(set(found)) <= 10 * parts + 1


def test_given_sizes() -> None:
    buckets = hn.Buckets(sizes=[3, 10])
    assert [buckets.size(n) for n in (1, 3, 4, 10)] == [3, 3, 10, 10]
    with pytest.raises(ShapeError, match="at most 10, the largest size, got 11"):
        buckets.size(11)
    with pytest.raises(ShapeError, match="at least 1, got 0"):
        buckets.size(0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sizes": []}, "sizes must be positive and ascending"),
        ({"sizes": [4, 2]}, "sizes must be positive and ascending"),
        ({"sizes": [0, 2]}, "sizes must be positive and ascending"),
        ({"per_octave": 3}, "per_octave must be a power of two"),
        ({"per_octave": 0}, "per_octave must be a power of two"),
        ({"axes": "x"}, "axes must be a whole number, or a dict"),
        ({"axes": {}}, "axes must be a whole number, or a dict"),
        ({"axes": {"x": None}}, "axes must be a whole number, or a dict"),
    ],
)
def test_wrong_buckets(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        hn.Buckets(**wrong)


def test_stack_pads_sequences_and_marks_them() -> None:
    batch, mask = hn.Buckets(pad=-1).stack([[1, 2, 3], [4], [5, 6, 7, 8, 9]])
    np.testing.assert_array_equal(batch[:, :5], [[1, 2, 3, -1, -1], [4, *[-1] * 4], range(5, 10)])
    assert batch.shape == mask.shape == (3, 8)
    assert batch.dtype.kind == "i"
    np.testing.assert_array_equal(mask.sum(axis=1), [3, 1, 5])
    np.testing.assert_array_equal(batch == -1, mask == 0)
    vectors, _ = hn.Buckets(sizes=[4]).stack([rows(2), rows(3)])
    assert vectors.shape == (2, 4, 4)


def test_stack_refuses_what_is_not_alike() -> None:
    with pytest.raises(ShapeError, match="at least one sequence"):
        hn.Buckets().stack([])
    with pytest.raises(ShapeError, match="alike in all axes but the first"):
        hn.Buckets().stack([rows(2), rows(2, 5)])
    with pytest.raises(ShapeError, match="at least 1, got 0"):
        hn.Buckets().stack([[], []])
    with pytest.raises(ShapeError, match="at most 4"):
        hn.Buckets(sizes=[4]).stack([[1] * 5])


# Functions


def test_results_are_cut_back() -> None:
    w = nd.array(W)

    @hn.function(buckets=hn.Buckets())
    def layer(x: Any) -> Any:
        return {"rows": nd.tanh(nd.dot(x, w)), "turned": nd.dot(x, w).T, "w": w * 2}

    for length in (5, 8, 7, 5, 1, 13):
        x = rows(length)
        for given in (x, nd.array(x)):
            made = layer(given)
            assert made["rows"].shape == (length, 3)
            np.testing.assert_allclose(made["rows"].asnumpy(), np.tanh(x @ W), 1e-5, 1e-6)
            np.testing.assert_allclose(made["turned"].asnumpy(), (x @ W).T, 1e-5, 1e-6)
            np.testing.assert_array_equal(made["w"].asnumpy(), 2 * W)


@pytest.mark.compiled
def test_many_lengths_compile_at_most_the_number_of_sizes() -> None:
    lengths = np.random.default_rng(0).integers(1, 129, 60)
    w = nd.array(W)

    @hn.function(buckets=hn.Buckets(check=False))
    def layer(x: Any) -> Any:
        return nd.tanh(nd.dot(x, w))

    with compilations() as counted:
        for length in lengths:
            x = rows(length)
            np.testing.assert_allclose(layer(nd.array(x)).asnumpy(), np.tanh(x @ W), 1e-5, 1e-6)
    assert len(set(lengths)) > 40
    assert counted[0] <= 8


def test_a_masked_loss_and_its_gradients_are_those_without_padding() -> None:
    w = nd.array(W)
    w.attach_grad()

    @hn.function(buckets=hn.Buckets({"x": 0, "y": 0}, mask="mask"))
    def loss(x: Any, y: Any, *, mask: Any) -> Any:
        rows = ((nd.tanh(nd.dot(x, w)) - y) ** 2).mean(axis=1)
        return (rows * mask).sum() / mask.sum()

    for length in (5, 8, 3, 11, 6):
        x, y = nd.array(rows(length)), nd.array(rows(length, 3, 1))
        x.attach_grad()
        with autograd.record():
            got = loss(x, y=y)
        got.backward()
        h = np.tanh(rows(length) @ W)
        error = h - rows(length, 3, 1)
        np.testing.assert_allclose(got.asscalar(), (error**2).mean(), 1e-5)
        back = 2 * error / error.size * (1 - h**2)
        np.testing.assert_allclose(w.grad.asnumpy(), rows(length).T @ back, 1e-4, 1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), back @ W.T, 1e-4, 1e-6)


def test_gradients_flow_through_what_is_cut_and_what_came_before() -> None:
    w = nd.array(W)
    w.attach_grad()
    layer = hn.function(lambda x: nd.dot(x, w), buckets=hn.Buckets())
    x = nd.array(rows(5))
    x.attach_grad()
    with autograd.record():
        y = nd.square(layer(x * 3)).sum()
    y.backward()
    back = 2 * (3 * rows(5) @ W)
    np.testing.assert_allclose(y.asscalar(), ((3 * rows(5) @ W) ** 2).sum(), 1e-5)
    np.testing.assert_allclose(w.grad.asnumpy(), 3 * rows(5).T @ back, 1e-5, 1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), 3 * back @ W.T, 1e-5, 1e-5)


def test_gradients_of_gradients_flow_too() -> None:
    cube = hn.function(lambda x: x * x * x, buckets=hn.Buckets())
    x = nd.array([1.0, 2.0, 3.0])
    x.attach_grad()
    with autograd.record():
        (first,) = autograd.grad(cube(x), [x], create_graph=True)
        total = first.sum()
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), [6.0, 12.0, 18.0])


def test_a_whole_training_step_with_an_optimizer() -> None:
    """The step writes weights; the try of the padding must neither train nor count a step."""
    x, y = rows(11), rows(11, 3, 1)

    def train(step_of: Any) -> list[np.ndarray[Any, Any]]:
        net = gluon.nn.Dense(3, in_units=4)
        net.initialize(hn.init.One())
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        step = step_of(net, trainer)
        for length in (5, 7, 3):
            step(nd.array(x[:length]), nd.array(y[:length]))
        return [one.data().asnumpy() for one in net.collect_params().values()]

    def plain(net: Any, trainer: Any) -> Any:
        def step(x: Any, y: Any) -> None:
            with autograd.record():
                loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            trainer.step(1)

        return step

    def bucketed(net: Any, trainer: Any) -> Any:
        @hn.function(buckets=hn.Buckets(mask="mask"))
        def step(x: Any, y: Any, mask: Any) -> None:
            with autograd.record():
                loss = (((net(x) - y) ** 2).mean(axis=1) * mask).sum() / mask.sum()
            loss.backward()
            trainer.step(1)

        return step

    for got, wanted in zip(train(bucketed), train(plain), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-4, 1e-5)


def test_two_axes_vary() -> None:
    both = (hn.Buckets(0, mask="rows"), hn.Buckets(1, sizes=(8, 16), mask="steps"))

    @hn.function(buckets=both)
    def f(x: Any, rows: Any, steps: Any) -> Any:
        masked = x * rows.reshape((-1, 1)) * steps.reshape((1, -1))
        return x.T * 2, masked.sum(axis=0), masked.sum(axis=1), masked.sum()

    for shape in ((3, 5), (4, 8), (4, 7), (3, 8), (5, 5), (3, 9), (2, 5)):
        x = rows(*shape)
        wanted = x.T * 2, x.sum(axis=0), x.sum(axis=1), x.sum(keepdims=True)[0]
        for got, other in zip(f(nd.array(x)), wanted, strict=True):
            assert got.shape == other.shape
            np.testing.assert_allclose(got.asnumpy(), other, 1e-5, 1e-6)
    assert f.cache_info().traces <= 4 * 3 + 4


def test_lengths_that_differ_by_a_constant_are_cut() -> None:
    difference = hn.function(lambda x: x[1:] - x[:-1], buckets=hn.Buckets())
    for length in (5, 6, 3, 9):
        x = rows(length)
        np.testing.assert_allclose(difference(nd.array(x)).asnumpy(), np.diff(x, axis=0), 1e-6)


def test_indices_dtypes_and_pads_are_kept() -> None:
    table = nd.array(rows(10))

    @hn.function(buckets=hn.Buckets(-1, pad=9))
    def embed(tokens: Any) -> Any:
        return tokens, nd.take(table, tokens)

    tokens = np.array([[3, 1, 2], [0, 5, 7]], np.int32)
    back, vectors = embed(nd.array(tokens, dtype="int32"))
    assert back.dtype == np.int32
    np.testing.assert_array_equal(back.asnumpy(), tokens)
    np.testing.assert_array_equal(vectors.asnumpy(), rows(10)[tokens])
    half = hn.function(lambda x: x * 2, buckets=hn.Buckets())
    for dtype in ("float16", "float64", "uint8"):
        got = half(nd.array([1, 2, 3], dtype=dtype))
        assert got.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(got.asnumpy(), [2, 4, 6])


def test_nested_arguments_and_arguments_by_position() -> None:
    @hn.function(buckets=hn.Buckets({"pair": 0, 1: 0}))
    def f(pair: Any, z: Any, w: Any, n: int) -> Any:
        return (pair[0] + pair[1]["y"] + z) * n, w

    x = nd.array(rows(5))
    got, w = f((x, {"y": x}), x, nd.ones((7,)), 2)
    np.testing.assert_allclose(got.asnumpy(), 6 * rows(5), 1e-6)
    assert w.shape == (7,)


def test_methods_contexts_copies_and_pickles() -> None:
    class Scale:
        factor = 3

        @hn.function(buckets=hn.Buckets({"x": 0}))
        def __call__(self, x: Any) -> Any:
            return x * self.factor

    x = nd.array(rows(5), ctx=hn.cpu(1))
    got = Scale()(x)
    assert got.context == hn.cpu(1)
    np.testing.assert_allclose(got.asnumpy(), 3 * rows(5))
    for again in (copy.copy(by_name), pickle.loads(pickle.dumps(by_name))):
        assert again(nd.ones((3,))).shape == (3,)


@hn.function(buckets=hn.Buckets())
def by_name(x: Any) -> Any:
    return x + 1


def test_inside_another_traced_function_nothing_is_padded() -> None:
    @hn.function(buckets=hn.Buckets(mask="mask"))
    def mean(x: Any, mask: Any) -> Any:
        assert mask.shape == x.shape[:1]
        return (x * mask.reshape((-1, 1))).sum() / mask.sum()

    outer = hn.function(lambda x: mean(x) * 2)
    for length in (3, 5):
        x = rows(length)
        np.testing.assert_allclose(outer(nd.array(x)).asscalar(), 2 * x.sum() / length, 1e-5)


def test_under_naive_engine_it_is_the_same() -> None:
    f = hn.function(lambda x: nd.tanh(x), buckets=hn.Buckets())
    with hn.engine.naive():
        got = f(nd.array(rows(5)) * 2)
    np.testing.assert_allclose(got.asnumpy(), np.tanh(2 * rows(5)), 1e-5, 1e-6)


# What would be wrong is refused


BATCH_NORM = gluon.nn.BatchNorm(in_channels=4)
MIXING = {
    "mean": lambda x: x.mean(axis=0),
    "maximum": lambda x: x.max(axis=0),
    "softmax": lambda x: nd.softmax(x, axis=0),
    "flip": lambda x: nd.flip(x, axis=0),
    "last": lambda x: x[-1],
    "last result": lambda x: nd.tanh(x)[-1],
    "total": lambda x: x.sum() / x.shape[0],
}


@pytest.mark.parametrize("name", MIXING)
def test_what_mixes_positions_is_refused_each_time(name: str) -> None:
    f = hn.function(MIXING[name], buckets=hn.Buckets())
    for length in (5, 5, 6, 3):
        with pytest.raises(MXNetError, match=r"would change its results.*check=False"):
            f(nd.array(rows(length)))
    np.testing.assert_allclose(  # a length that is a size is not padded
        f(nd.array(rows(8))).asnumpy(), MIXING[name](nd.array(rows(8))).asnumpy(), 1e-5, 1e-6
    )


def test_a_view_of_another_result_is_tried_too() -> None:
    def f(x: Any) -> Any:
        y = nd.tanh(x)
        return y, y[-1]

    with pytest.raises(MXNetError, match="would change its results"):
        hn.function(f, buckets=hn.Buckets())(nd.array(rows(5)))


def test_the_size_in_the_place_of_the_length_is_refused() -> None:
    @hn.function(buckets=hn.Buckets(mask="mask"))
    def mean(x: Any, mask: Any) -> Any:
        return (x * mask.reshape((-1, 1))).sum(axis=0) / x.shape[0]

    with pytest.raises(MXNetError, match=r"uses the size of the padded axis.*mask\.sum\(\)"):
        mean(nd.array(rows(5)))


def test_statistics_of_batch_normalization_are_refused_and_left_alone() -> None:
    BATCH_NORM.initialize(force_reinit=True)
    f = hn.function(BATCH_NORM.forward, buckets=hn.Buckets())
    assert f(nd.array(rows(5))).shape == (5, 4)  # with the moving statistics it is row by row
    with pytest.raises(MXNetError, match="batch normalization"), autograd.train_mode():
        f(nd.array(rows(5)))
    np.testing.assert_array_equal(BATCH_NORM.running_mean.data().asnumpy(), np.zeros(4))


def test_arguments_that_tell_nothing_are_tried_again_later() -> None:
    f = hn.function(lambda x: x.max(axis=0), buckets=hn.Buckets())
    zeros = nd.zeros((3,), dtype="int32")
    assert f(zeros).asscalar() == 0
    with pytest.raises(MXNetError, match="would change its results"):
        f(nd.array([-3, -2, -5], dtype="int32"))


def test_an_unchecked_function_is_as_wrong_as_one_makes_it() -> None:
    f = hn.function(lambda x: x.mean(), buckets=hn.Buckets(check=False))
    assert f(nd.ones((3,))).asscalar() == 0.75


def test_random_numbers_go_on_as_if_nothing_had_been_tried() -> None:
    f = hn.function(lambda x: x + nd.random.uniform(shape=(2, 1)), buckets=hn.Buckets(1))
    hn.random.seed(3)
    wanted = nd.random.uniform(shape=(2, 1)).asnumpy()
    hn.random.seed(3)
    np.testing.assert_allclose(f(nd.ones((2, 5))).asnumpy(), 1 + wanted.repeat(5, axis=1), 1e-6)


def test_written_arguments_are_refused() -> None:
    def change(x: Any) -> None:
        x[:] = x + 1

    f = hn.function(change, buckets=hn.Buckets())
    with pytest.raises(MXNetError, match="changes an argument that is padded"):
        f(nd.ones((3,)))
    whole = nd.ones((4,))
    f(whole)
    np.testing.assert_array_equal(whole.asnumpy(), np.full(4, 2))


def test_gradients_that_the_function_itself_puts_into_arguments_are_refused() -> None:
    @hn.function(buckets=hn.Buckets())
    def f(x: Any) -> None:
        with autograd.record():
            y = (x * x).sum()
        y.backward()

    x = nd.ones((3,))
    x.attach_grad()
    with pytest.raises(MXNetError, match="computes the gradient of one"):
        f(x)


def test_results_that_cannot_be_cut_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"result 0 has shape \(32,\) for arrays padded to 8"):
        hn.function(lambda x: x.reshape(-1), buckets=hn.Buckets())(nd.array(rows(5)))
    with pytest.raises(MXNetError, match="result 1 is 8 for arrays padded to 8, and 5"):
        hn.function(lambda x: (x, x.shape[0]), buckets=hn.Buckets())(nd.array(rows(5)))
    difference = hn.function(lambda x: x[2:], buckets=hn.Buckets(sizes=[8]))
    difference(nd.array(rows(5)))
    with pytest.raises(ShapeError, match="too short"):
        difference(nd.array(rows(1)))


def test_wrong_arguments_are_refused() -> None:
    f = hn.function(lambda x, y: x + y, buckets=hn.Buckets({"x": 1, "y": 1}, sizes=[4]))
    x = nd.ones((2, 3))
    with pytest.raises(ShapeError, match=r"equal lengths, got \[3, 2\]"):
        f(x, nd.ones((2, 2)))
    with pytest.raises(ShapeError, match="at most 4, the largest size, got 5"):
        f(nd.ones((2, 5)), nd.ones((2, 5)))
    with pytest.raises(ShapeError, match="at least 1, got 0"):
        f(nd.empty((2, 0)), nd.empty((2, 0)))
    with pytest.raises(ShapeError, match=r"argument 1 must have axis 1.*got shape \(2,\)"):
        f(x, nd.ones((2,)))
    with pytest.raises(ParameterError, match="needs an array to pad in 'x', 'y', got none"):
        f(1, 2)
    with pytest.raises(ParameterError, match="got no z among x"):
        hn.function(lambda x: x, buckets=hn.Buckets({"z": 0}))
    with pytest.raises(ParameterError, match="got no mask among x"):
        hn.function(lambda x: x, buckets=hn.Buckets(mask="mask"))
    for wrong in (16, [], [16]):
        with pytest.raises(ParameterError, match=r"must be an hn\.Buckets, or a sequence"):
            hn.function(lambda x: x, buckets=wrong)


# Blocks


class MaskedMean(gluon.HybridBlock):
    """The mean over the steps of (batch, steps, units), after a layer."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.layer = gluon.nn.Dense(3, flatten=False)

    def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
        mask = F.reshape(mask, shape=(1, -1, 1))
        masked = F.broadcast_mul(self.layer(x), mask)
        return F.broadcast_div(F.sum(masked, axis=1), F.sum(mask, axis=1))


@pytest.mark.compiled
def test_a_hybridized_net_pads_and_cuts() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.Dense(3))
    net.initialize()
    wanted = {n: net(nd.array(rows(n))).asnumpy() for n in (3, 5, 7, 12, 15, 16)}
    net.hybridize(buckets=hn.Buckets(check=False))
    with compilations() as counted:
        for length, one in wanted.items():
            got = net(nd.array(rows(length)))
            assert got.shape == (length, 3)
            np.testing.assert_allclose(got.asnumpy(), one, 1e-5, 1e-6)
    assert counted[0] == 3
    net.hybridize()
    assert net(nd.array(rows(5))).shape == (5, 3)


@pytest.mark.parametrize("axes", [1, {"x": 1}, {0: 1}])
def test_a_block_gets_the_mask_after_its_inputs(axes: Any, tmp_path: Any) -> None:
    net = MaskedMean()
    net.initialize()
    net.hybridize(buckets=hn.Buckets(axes, mask="mask"))
    for length in (5, 7, 8, 3):  # the first run, which finds the shapes, is not traced
        x = np.random.default_rng(length).standard_normal((2, length, 4)).astype(np.float32)
        with autograd.record():
            got = net(nd.array(x))
        got.backward()
        weight = net.layer.weight.data().asnumpy()
        np.testing.assert_allclose(got.asnumpy(), (x @ weight.T).mean(axis=1), 1e-4, 1e-5)
        gradient = np.repeat(x.mean(axis=1).sum(axis=0)[None], 3, axis=0)
        np.testing.assert_allclose(net.layer.weight.grad().asnumpy(), gradient, 1e-4, 1e-5)
    net.export(str(tmp_path / "net"))
    symbol = hn.sym.load(str(tmp_path / "net-symbol.json"))
    assert {"data0", "data1"} <= set(symbol.list_arguments())


def test_a_block_that_mixes_is_refused() -> None:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3), gluon.nn.BatchNorm())
    net.initialize()
    net(nd.array(rows(5)))
    net.hybridize(buckets=hn.Buckets())
    with pytest.raises(MXNetError, match="batch normalization"), autograd.record():
        net(nd.array(rows(5)))


# Advice


def test_who_compiles_for_many_shapes_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    advice = ShapeAdvice()
    with caplog.at_level(logging.WARNING, "hybridnet.programs"):
        for size in range(2, 40):
            advice.note(_chain(size))
            if size == 32:
                assert not caplog.records
    (record,) = caplog.records
    assert "compiled for 32 different shapes" in record.getMessage()
    assert "buckets=hn.Buckets" in record.getMessage()


def _chain(size: int) -> Any:
    from hybridnet.base.tensor_type import tensor_type
    from hybridnet.ops.core.registry import get
    from hybridnet.runtime.segments.code import Code

    calls = [get(name).bind({})[0] for name in ("tanh", "sin")]
    instructions = tuple((call, (k - 1,) if k else (~0,)) for k, call in enumerate(calls))
    one = tensor_type((size,), np.dtype("float32"))
    return Code(hn.cpu(0), instructions, (one,), (1,), ())
