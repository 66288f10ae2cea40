"""The namespaces `nd.contrib` and `sym.contrib`, and names of MXNet's that are not supported."""

import re

import numpy as np
import pytest

import hybridnet as mx
from hybridnet.base.errors import GraphError, ParameterError, ShapeError
from hybridnet.base.unsupported import UNSUPPORTED, NotSupportedError, missing
from hybridnet.ops.core.registry import REGISTRY


def test_namespaces_hold_every_contrib_operator():
    names = [name.removeprefix("_contrib_") for name in REGISTRY if name.startswith("_contrib_")]
    assert "SyncBatchNorm" in names
    for name in names:
        assert callable(getattr(mx.nd.contrib, name))
        assert callable(getattr(mx.sym.contrib, name))


def test_isfinite_isinf_and_isnan():
    x = mx.nd.array([1.0, np.inf, -np.inf, np.nan])
    assert mx.nd.contrib.isfinite(x).asnumpy().tolist() == [1, 0, 0, 0]
    assert mx.nd.contrib.isinf(x).asnumpy().tolist() == [0, 1, 1, 0]
    assert mx.nd.contrib.isnan(x).asnumpy().tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "namespace,name",
    [
        (namespace, name)
        for namespace, reasons in UNSUPPORTED.items()
        for names in reasons.values()
        for name in names.split()
    ],
)
def test_unsupported_names_say_so_and_are_not_there(namespace, name):
    owner = mx
    for part in filter(None, namespace.split(".")):
        owner = getattr(owner, part)
    assert not hasattr(owner, name)
    full = f"{namespace}.{name}".removeprefix(".")
    with pytest.raises(NotImplementedError, match=rf"{re.escape(full)} of MXNet is not supp"):
        getattr(owner, name)


def test_unknown_names_are_no_rows_of_mxnet_and_suggest_near_ones():
    error = missing("nd.contrib", "box_nsm", ["box_nms", "fft"])
    assert not isinstance(error, NotSupportedError)
    assert (
        str(error) == "hybridnet.nd.contrib has no function 'box_nsm'; did you mean one of box_nms?"
    )
    with pytest.raises(AttributeError, match=r"hybridnet\.nd\.contrib has no function 'nothing'"):
        _ = mx.nd.contrib.nothing


def test_boolean_mask_waits_for_the_mask_and_has_a_gradient():
    data, index = mx.nd.array([[1, 2], [3, 4], [5, 6]]), mx.nd.array([0, 1, 1]) + 0
    data.attach_grad()
    with mx.autograd.record():
        chosen = mx.nd.contrib.boolean_mask(data, index)
    assert chosen.shape == (2, 2)
    chosen.backward()
    assert chosen.asnumpy().tolist() == [[3, 4], [5, 6]]
    assert data.grad.asnumpy().tolist() == [[0, 0], [1, 1], [1, 1]]
    assert mx.nd.contrib.boolean_mask(data, index * 0).shape == (0, 2)
    wide = mx.nd.contrib.boolean_mask(data, mx.nd.array([1, 0]), axis=1, size=2)
    assert wide.asnumpy().tolist() == [[1, 0], [3, 0], [5, 0]]


_NEEDS_SIZE = "_contrib_boolean_mask: the shape of the result depends on the values .* give size="


def test_a_shape_that_depends_on_values_must_be_given_in_a_graph():
    x, mask = mx.nd.array([1, 2, 3]), mx.nd.array([1, 0, 1])
    with pytest.raises(GraphError, match=_NEEDS_SIZE):
        mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("mask"))
    with pytest.raises(GraphError, match=_NEEDS_SIZE):
        mx.function(mx.nd.contrib.boolean_mask)(x, mask)
    symbol = mx.sym.contrib.boolean_mask(mx.sym.var("x"), mx.sym.var("mask"), size=2)
    assert symbol.eval(x=x, mask=mask)[0].asnumpy().tolist() == [1, 3]
    traced = mx.function(lambda x, mask: mx.nd.contrib.boolean_mask(x, mask, size=3))
    assert traced(x, mask).asnumpy().tolist() == [1, 3, 0]


class _Chooser(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x, mask):
        return F.contrib.boolean_mask(x, mask)


def test_a_block_that_chooses_by_values_works_hybridized_too():
    block, x, mask = _Chooser(), mx.nd.array([1, 2, 3]), mx.nd.array([1, 0, 1])
    assert block(x, mask).asnumpy().tolist() == [1, 3]
    block.hybridize()
    assert block(x, mask).asnumpy().tolist() == [1, 3]
    assert block(x, mask * 0).shape == (0,)


def test_boolean_mask_refuses_unfit_inputs():
    x = mx.nd.ones((3, 2))
    with pytest.raises(ShapeError, match=r"index must have shape \(3,\).* got data float32\[3,2\]"):
        mx.nd.contrib.boolean_mask(x, mx.nd.ones(2))
    with pytest.raises(ParameterError, match="requires 2 inputs"):
        mx.nd.contrib.boolean_mask(x)
    with pytest.raises(ParameterError, match="must be an NDArray"):
        mx.nd.contrib.boolean_mask(x, [1, 0, 1])


def test_zipfian_candidates_fall_as_the_law_says():
    mx.random.seed(7)
    true = mx.nd.array([[0, 3]])
    drawn, of_true, of_drawn = mx.nd.contrib.rand_zipfian(true, 20000, 9)
    probability = np.log((np.arange(9) + 2) / (np.arange(9) + 1)) / np.log(10)
    np.testing.assert_allclose(of_true.asnumpy(), 20000 * probability[[[0, 3]]])
    np.testing.assert_allclose(of_drawn.asnumpy(), 20000 * probability[drawn.asnumpy()])
    assert (drawn.dtype, of_true.dtype, of_drawn.dtype) == (np.int64, np.float64, np.float64)
    counts = np.bincount(drawn.asnumpy(), minlength=9)
    # Five standard deviations of a count.
    assert (abs(counts - 20000 * probability) < 5 * np.sqrt(20000 * probability)).all()
    symbols = mx.sym.contrib.rand_zipfian(mx.sym.var("true"), 5, 9)
    drawn, of_true, _ = mx.sym.Group(symbols).eval(true=true)
    assert drawn.shape == (5,) and set(drawn.asnumpy()) <= set(range(9))
    np.testing.assert_allclose(of_true.asnumpy(), 5 * probability[[[0, 3]]])


def test_fourier_transforms_and_sketches():
    x = np.random.default_rng(0).normal(size=(2, 5)).astype("float32")
    found = mx.nd.contrib.fft(mx.nd.array(x))
    complex_ = np.fft.fft(x)
    np.testing.assert_allclose(found.asnumpy()[:, ::2], complex_.real, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.asnumpy()[:, 1::2], complex_.imag, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mx.nd.contrib.ifft(found).asnumpy() / 5, x, rtol=1e-5, atol=1e-6)
    number, sign = np.array([[0, 2, 0, 1, 2]]), np.array([[1, -1, -1, 1, 1]])
    wanted = np.zeros((2, 4), "float32")
    for column in range(5):
        wanted[:, number[0, column]] += sign[0, column] * x[:, column]
    sketch = mx.nd.contrib.count_sketch(
        mx.nd.array(x), mx.nd.array(number), mx.nd.array(sign), out_dim=4
    )
    np.testing.assert_allclose(sketch.asnumpy(), wanted, rtol=1e-6)
