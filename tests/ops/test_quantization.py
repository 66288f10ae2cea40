"""Floats as 8-bit whole numbers and back."""

from __future__ import annotations

import numpy as np
import pytest

from hybridnet import nd, sym
from hybridnet.base.errors import DTypeError, ShapeError


def test_whole_numbers_centered_at_zero():
    x = np.array([[0.0, 0.5, -0.5], [2.0, -1.0, 0.254]], "float32")
    made, low, high = nd.contrib.quantize(
        nd.array(x), nd.array([-1]), nd.array([2]), out_type="int8"
    )
    assert made.dtype == np.int8
    # 127 stands for the larger magnitude, 2, and -127 for -2.
    assert made.asnumpy().tolist() == [[0, 32, -32], [127, -64, 16]]
    assert (low.asnumpy().tolist(), high.asnumpy().tolist()) == ([-2], [2])
    back = nd.contrib.dequantize(made, low, high)
    np.testing.assert_allclose(back.asnumpy(), made.asnumpy() * (2 / 127), rtol=1e-6)


def test_whole_numbers_that_span_a_range():
    x = nd.array([-1.0, 0.0, 2.0])
    made, low, high = nd.contrib.quantize(x, nd.array([-1]), nd.array([2]))
    assert made.dtype == np.uint8
    assert made.asnumpy().tolist() == [0, 85, 255]
    np.testing.assert_allclose(
        nd.contrib.dequantize(made, low, high).asnumpy(), [-1, 0, 2], atol=1e-6
    )


def test_quantized_graphs():
    parts = sym.contrib.quantize(sym.var("x"), sym.var("low"), sym.var("high"), out_type="int8")
    assert parts.infer_shape(x=(2, 3)) == ([(2, 3), (1,), (1,)], [(2, 3), (1,), (1,)], [])
    back = sym.contrib.dequantize(parts[0], parts[1], parts[2])
    x = np.random.default_rng(0).uniform(-1, 1, (2, 3)).astype("float32")
    (made,) = back.eval(x=nd.array(x), low=nd.array([-1]), high=nd.array([1]))
    assert abs(made.asnumpy() - x).max() <= 0.5 / 127 + 1e-6


def test_what_cannot_be_quantized():
    one = nd.ones((1,))
    with pytest.raises(DTypeError, match="data must be float32"):
        nd.contrib.quantize(nd.ones((2,), dtype="int32"), one, one)
    with pytest.raises(ShapeError, match="one number each"):
        nd.contrib.quantize(nd.ones((2,)), nd.ones((2,)), one)
    with pytest.raises(DTypeError, match="data must be uint8 or int8"):
        nd.contrib.dequantize(nd.ones((2,)), one, one)
