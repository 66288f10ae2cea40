"""Truth values in indices of np arrays, as NumPy reads them; orders, formats, kinds of outputs."""

import numpy as onp
import pytest

import hybridnet as hn
from hybridnet import gluon, np
from hybridnet.util import use_np

_A = onp.arange(24).reshape(2, 3, 4)
_MASK = onp.array([[True, False, True], [False, True, False]])


@pytest.mark.parametrize(
    "key",
    [
        True,
        False,
        onp.True_,
        (True, 1),
        (1, True),
        (False, 1),
        (0, True, True, _MASK[0]),
        (True, _MASK),
        (slice(None), True),
        (True, True),
        (..., True),
        onp.array(False),
    ],
    ids=str,
)
def test_truth_values_in_an_index(key):
    ours = key
    if isinstance(key, tuple):
        ours = tuple(np.array(x) if isinstance(x, onp.ndarray) else x for x in key)
    x, host = np.array(_A, dtype="int32"), _A.copy()
    part = x[ours]
    assert part.shape == _A[key].shape and (part.asnumpy() == _A[key]).all()
    x[ours] = host[key] = 7
    assert (x.asnumpy() == host).all()


def test_arrays_of_no_dimensions_are_truth_values_too():
    x = np.array(_A)
    assert x[np.array(True, dtype="bool")].shape == (1, 2, 3, 4) and x[
        np.array(False, dtype="bool")
    ].shape == (0, 2, 3, 4)


def test_orders_that_there_are_not():
    for call in (
        lambda: np.zeros((2,), order="F"),
        lambda: np.empty((2,), "float32", "A"),
        lambda: np.ones((2,)).copy(order="F"),
    ):
        with pytest.raises(NotImplementedError, match="order must be 'C'"):
            call()


def test_formats():
    assert f"{np.array(onp.pi):0.3g}" == "3.14"
    assert f"{np.array([1.0, 2.0])}" == "[1. 2.]"
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{np.array([1.0]):30}"


def test_multinomial_takes_np_arrays():
    drawn = np.random.multinomial(10, np.array([0.0, 1.0, 0.0]), size=(2,))
    assert drawn.asnumpy().tolist() == [[0, 10, 0], [0, 10, 0]]
    assert np.random.multinomial(10, np.array([]), size=(2,)).shape == (2, 0)
    assert np.random.multinomial(10, []).shape == (0,)


@pytest.mark.parametrize("hybrid", [False, True])
def test_blocks_give_np_arrays_in_numpy_mode(hybrid):
    @use_np
    class Mixed(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.multiply(x, x), x.as_nd_ndarray() + 1

    net = Mixed()
    if hybrid:
        net.hybridize()
    with pytest.raises(TypeError, match="outputs must be np arrays, got an NDArray"):
        net(np.ones((2,)))


def test_changes_in_place_are_refused_in_mxnets_words():
    x = np.ones((2,))
    x.attach_grad()
    with hn.autograd.record():
        y = x * 2
        with pytest.raises(hn.MXNetError, match="Inplace operations .* are not supported when"):
            y[0] = 1


@pytest.mark.parametrize(
    ("name", "numbers", "message"),
    [
        ("lognormal", {"sigma": -1}, "sigma must be >= 0, got -1"),
        ("rayleigh", {"scale": -1}, "scale must be >= 0"),
        ("exponential", {"scale": -1}, "scale must be >= 0"),
        ("gamma", {"shape": 1, "scale": 0}, "scale must be > 0, got 0"),
        ("power", {"a": -1}, r"np.random.power: a must be > 0"),
    ],
)
def test_numbers_that_no_distribution_has(name, numbers, message):
    with pytest.raises(ValueError, match=message):
        getattr(np.random, name)(**numbers)


def test_windows_of_no_points_and_operators_by_their_names():
    assert np.hanning(-3).shape == (0,)
    assert np._internal.add(np.ones((2,)), np.ones((2,))).asnumpy().tolist() == [2, 2]
    assert hn.sym.np._Symbol is type(hn.sym.var("x").as_np_ndarray())
    with pytest.raises(AttributeError, match="np._internal"):
        _ = np._internal.nothing


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"where": False}, NotImplementedError),
        ({"subok": False}, NotImplementedError),
        ({"dtype": onp.int8}, NotImplementedError),
        ({"dtype": "abcdefg"}, TypeError),
        ({"casting": "safe"}, NotImplementedError),
        ({"casting": "mxnet"}, TypeError),
        ({"order": "C"}, NotImplementedError),
        ({"out_of": 1}, TypeError),
    ],
    ids=str,
)
def test_keywords_of_ufuncs(option, error):
    x = np.ones((2,), dtype="int32")
    for call in (lambda **given: np.add(x, x, **given), lambda **given: np.invert(x, **given)):
        with pytest.raises(error):
            call(**option)
    assert np.add(x, x, subok=True, casting="same_kind", order="K").asnumpy().tolist() == [2, 2]


def test_odd_arguments_mean_what_they_do_in_numpy():
    assert np.squeeze(np.array(3.0), -1).shape == ()
    host = onp.array([149, 151, -250])
    assert np.around(np.array(host, dtype="int32"), -2).asnumpy().tolist() == [100, 200, -200]
    assert float(np.linalg.norm(np.array([1.0, -3.0]), ord="inf", axis=0)) == 3
    x = np.array(_A)
    assert hn.npx.slice(x, begin=(), end=(), step=None).shape == _A.shape
