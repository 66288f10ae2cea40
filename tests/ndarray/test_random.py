"""The functions of `nd.random`, `sym.random` and `random`: moments of what they draw, and forms."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import engine, nd
from hybridnet.base.errors import MXNetError, OpError, ParameterError, ShapeError

_COUNT = 20_000
#: Distribution -> its arguments, and the mean and variance it has by them.
_MOMENTS = {
    "uniform": ({"low": -1.0, "high": 3.0}, 1.0, 16 / 12),
    "normal": ({"loc": 2.0, "scale": 0.5}, 2.0, 0.25),
    "exponential": ({"scale": 2.0}, 2.0, 4.0),
    "gamma": ({"alpha": 3.0, "beta": 0.5}, 1.5, 0.75),
    "poisson": ({"lam": 4.0}, 4.0, 4.0),
    "negative_binomial": ({"k": 3, "p": 0.4}, 4.5, 11.25),
    "generalized_negative_binomial": ({"mu": 2.0, "alpha": 0.5}, 2.0, 4.0),
}


def _assert_moments(values, mean, variance):
    deviation = np.sqrt(variance / values.size)
    assert abs(values.mean() - mean) < 5 * deviation
    assert abs(values.var() - variance) < 0.15 * variance


@pytest.mark.parametrize("name", _MOMENTS)
def test_numbers_as_parameters(name):
    given, mean, variance = _MOMENTS[name]
    mx.random.seed(3)
    drawn = getattr(mx.nd.random, name)(**given, shape=(2, _COUNT // 2))
    assert drawn.shape == (2, _COUNT // 2) and drawn.dtype == np.float32
    _assert_moments(drawn.asnumpy(), mean, variance)
    mx.random.seed(3)
    out = mx.nd.zeros((2, _COUNT // 2))
    assert getattr(mx.random, name)(**given, out=out) is out
    _assert_moments(out.asnumpy(), mean, variance)


@pytest.mark.parametrize("name", ["uniform", "gamma", "exponential"])
def test_arrays_as_parameters(name):
    given, mean, variance = _MOMENTS[name]
    arrays = {key: mx.nd.array([value] * 2) for key, value in given.items()}
    mx.random.seed(4)
    drawn = getattr(mx.nd.random, name)(**arrays, shape=_COUNT // 2)
    assert drawn.shape == (2, _COUNT // 2)
    _assert_moments(drawn.asnumpy(), mean, variance)
    # One array is enough: numbers beside it hold for all its elements.
    mixed = dict(arrays, **{list(given)[-1]: list(given.values())[-1]})
    if len(given) > 1:
        assert getattr(mx.nd.random, name)(**mixed, shape=3).shape == (2, 3)


@pytest.mark.parametrize("name", ["normal", "gamma", "exponential"])
def test_symbols(name):
    given, mean, variance = _MOMENTS[name]
    numbers = getattr(mx.sym.random, name)(**given, shape=(_COUNT,))
    variables = {key: mx.sym.var(key) for key in given}
    arrays = getattr(mx.sym.random, name)(**variables, shape=(_COUNT // 2,))
    values = {key: mx.nd.array([value] * 2) for key, value in given.items()}
    mx.random.seed(5)
    _assert_moments(numbers.eval()[0].asnumpy(), mean, variance)
    _assert_moments(arrays.eval(**values)[0].asnumpy(), mean, variance)


@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_forms_like_an_array(front):
    names = [f"{name}_like" for name in _MOMENTS]
    assert set(names) <= set(front.random.__all__)
    data = mx.nd.zeros((50, 40), dtype="float64")
    mx.random.seed(6)
    if front is mx.nd:
        drawn = mx.nd.random.normal_like(data, loc=3.0, scale=2.0)
    else:
        drawn = mx.sym.random.normal_like(mx.sym.var("x"), loc=3.0, scale=2.0).eval(x=data)[0]
    assert drawn.shape == data.shape and drawn.dtype == np.float64
    _assert_moments(drawn.asnumpy(), 3.0, 4.0)


def test_multinomial_draws_by_probability_and_differentiates_its_logarithms():
    data = mx.nd.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0]])
    mx.random.seed(7)
    drawn = mx.nd.random.multinomial(data, shape=5000).asnumpy()
    assert drawn.dtype == np.int32 and drawn.shape == (2, 5000)
    shares = np.stack([(drawn == i).mean(1) for i in range(3)], 1)
    np.testing.assert_allclose(shares, data.asnumpy(), atol=0.03)
    assert mx.random.multinomial(data[0]).shape == (1,)
    data.attach_grad()
    with mx.autograd.record():
        drawn, logarithms = mx.nd.random.multinomial(data, get_prob=True)
    logarithms.backward()
    picked = data.asnumpy()[np.arange(2), drawn.asnumpy()]
    np.testing.assert_allclose(logarithms.asnumpy(), np.log(picked), rtol=1e-6)
    expected = np.zeros((2, 3))
    expected[np.arange(2), drawn.asnumpy()] = 1 / picked
    np.testing.assert_allclose(data.grad.asnumpy(), expected, rtol=1e-6)


def test_multinomial_of_a_symbol():
    symbol = mx.sym.random.multinomial(mx.sym.var("p"), shape=(4,), get_prob=False, dtype="int64")
    (drawn,) = symbol.eval(p=mx.nd.array([[0.0, 1.0]]))
    assert drawn.dtype == np.int64 and drawn.asnumpy().tolist() == [[1, 1, 1, 1]]


def test_same_seed_same_numbers():
    def draw():
        mx.random.seed(11)
        return [
            getattr(mx.nd.random, name)(**_MOMENTS[name][0], shape=5)
            for name in ("normal", "gamma")
        ]

    for first, second in zip(draw(), draw(), strict=True):
        np.testing.assert_array_equal(first.asnumpy(), second.asnumpy())


def test_refusals():
    with pytest.raises(ParameterError, match="random.gamma: alpha and beta must all be numbers or"):
        mx.sym.random.gamma(mx.sym.var("a"), 2.0)
    with pytest.raises(MXNetError, match="_random_poisson: dtype must be floating point"):
        mx.nd.random.poisson(dtype="int32")
    with pytest.raises(MXNetError, match="_sample_multinomial: data must have shape"):
        mx.nd.random.multinomial(mx.nd.empty((2, 0)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda shape: nd.random.uniform(0, 1, shape=shape),
        lambda shape: nd.random.randint(0, 3, shape=shape),
        lambda shape: nd.sample_uniform(nd.zeros(2), nd.ones(2), shape=shape),
        lambda shape: mx.np.random.normal(0, 1, shape),
    ],
)
def test_negative_shapes_fail_at_the_call(draw):
    with pytest.raises(ShapeError, match=r"the dimensions of a result must be >= 0, got .*-1"):
        draw((3, -1))


@pytest.mark.parametrize(
    ("name", "numbers", "message"),
    [
        ("normal", (0, -1), "scale must be >= 0, got -1"),
        ("uniform", (2, 1), "low must be <= high, got 2 and 1"),
        ("gamma", (-1, 1), "alpha must be > 0, got -1"),
        ("exponential", (-1,), "lam must be"),
        ("poisson", (-1,), "lam must be >= 0"),
        ("negative_binomial", (3, -0.5), "p must be >= 0"),
        ("generalized_negative_binomial", (-1, 1), "mu must be >= 0"),
    ],
)
def test_numbers_that_are_no_parameters_fail_at_the_wait(name, numbers, message):
    draw = getattr(nd.random, name)
    made = nd.dot(draw(*numbers, shape=(2, 2)), nd.ones((2, 2)))
    for _ in range(2):
        with pytest.raises(OpError, match=f"{message}.*called at .*test_random.py"):
            made.wait_to_read()
    nd.waitall()  # was told
    draw(*numbers, shape=(2,))
    with pytest.raises(OpError, match=message):
        nd.waitall()
    nd.waitall()


def test_such_numbers_fail_at_once_where_nothing_waits():
    out, good = nd.ones((2,)), nd.ones((2,))
    nd.random.normal(0, -1, out=out)
    with pytest.raises(OpError, match="scale"):
        out.asnumpy()
    assert good.asnumpy().tolist() == [1, 1]
    with engine.naive(), pytest.raises(OpError, match="scale"):
        nd.random.normal(0, -1)
    with pytest.raises(ParameterError, match="scale must be >= 0"):
        mx.sym.random.normal(0, -1, (2,))
    with pytest.raises(ParameterError, match="scale must be >= 0"):
        mx.function(lambda x: x + nd.random.normal(0, -1, (2,)))(good)
    nd.random.normal(0, 0)  # nothing is random, but it has a meaning
    assert nd.random.uniform(1, 1).asnumpy().tolist() == [1]


def test_symbols_take_a_context_that_saved_graphs_hold():
    drawn = mx.sym.random.normal(0, 1, (2,), ctx=mx.cpu(0))
    assert drawn.list_attr()["ctx"] == "cpu(0)"
    assert mx.sym.random.randint(0, 2, (2,), ctx=mx.cpu(0)).list_attr()["ctx"] == "cpu(0)"
