"""Floats as 8-bit whole numbers and back."""

from __future__ import annotations

import numpy as np
import pytest

from hybridnet import nd, sym
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError


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


def _read(made, low, high):
    """Returns the floats that int32 sums stand for."""
    return made.asnumpy() * (high.asnumpy() / np.float32(2**31 - 1))


def _drawn(*shape, seed=0, low=-1.0):
    return np.random.default_rng(seed).uniform(low, 1, shape).astype("float32")


def test_a_range_that_was_measured_before_cuts_off():
    x = nd.array([-3.0, -1.0, 0.5, 1.0])
    made, low, high = nd.contrib.quantize_v2(x, min_calib_range=-1.0, max_calib_range=0.5)
    assert made.asnumpy().tolist() == [-127, -127, 64, 127]
    assert (low.asnumpy().tolist(), high.asnumpy().tolist()) == ([-1], [1])
    made, low, high = nd.contrib.quantize_v2(
        x, out_type="auto", min_calib_range=0.0, max_calib_range=2.0
    )
    assert made.dtype == np.uint8
    assert made.asnumpy().tolist() == [0, 0, 64, 128]


def test_zeros_have_no_range_and_stay_zeros():
    made, *_ = nd.contrib.quantize_v2(nd.zeros((3,)))
    assert made.asnumpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("out_type", ["int8", "uint8"])
@pytest.mark.parametrize("features", [7, 3000])
def test_dense_layers_of_whole_numbers(features, out_type):
    x, w, b = _drawn(4, features), _drawn(5, features, seed=1), _drawn(5, seed=2)
    data, weight = nd.contrib.quantize_v2(nd.array(x), out_type=out_type), nd.array(w)
    weight = nd.contrib.quantize_v2(weight)
    bias = nd.contrib.quantize_v2(nd.array(b))
    parts = zip(data, weight, bias, strict=True)
    (x8, w8, b8), *ends = parts
    ranges = [end for pair in zip(*ends, strict=True) for end in pair]
    made = nd.contrib.quantized_fully_connected(x8, w8, b8, *ranges, num_hidden=5)
    wanted = x @ w.T + b
    # Half a step of each factor.
    bound = features * (1 / 127 + 1 / 127) + 0.02
    assert abs(_read(*made) - wanted).max() < bound / (1 if features < 10 else 10)
    if out_type == "int8":
        whole = x8.asnumpy().astype("int64") @ w8.asnumpy().astype("int64").T
        step = abs(x).max() / 127 * abs(w).max() / 127
        added = np.trunc(b8.asnumpy() * (abs(b).max() / 127 / step))
        np.testing.assert_allclose(made[0].asnumpy(), whole + added, atol=1)


@pytest.mark.parametrize("out_type", ["int8", "uint8"])
def test_convolutions_of_whole_numbers(out_type):
    x, w = _drawn(2, 70, 6, 6, low=-0.3), _drawn(3, 70, 3, 3, seed=1)
    x8, *x_range = nd.contrib.quantize_v2(nd.array(x), out_type=out_type)
    w8, *w_range = nd.contrib.quantize_v2(nd.array(w))
    settings = {"kernel": (3, 3), "num_filter": 3, "pad": (1, 1), "no_bias": True}
    made = nd.contrib.quantized_conv(x8, w8, *x_range, *w_range, **settings)
    floats = nd.Convolution(nd.contrib.dequantize(x8, *x_range), nd.array(w), **settings).asnumpy()
    assert abs(_read(*made) - floats).max() < 0.005 * abs(floats).max() + 0.3
    if out_type == "int8":
        padded = np.pad(x8.asnumpy().astype("int64"), ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        wanted = np.einsum("nchwij,ocij->nohw", windows, w8.asnumpy().astype("int64"))
        np.testing.assert_array_equal(made[0].asnumpy(), wanted)


@pytest.mark.parametrize("out_type", ["int8", "uint8"])
def test_layers_that_keep_the_range(out_type):
    x = _drawn(2, 3, 4, 4, low=-0.4)
    x8, *ends = nd.contrib.quantize_v2(nd.array(x), out_type=out_type)
    floats = nd.contrib.dequantize(x8, *ends)
    pool = {"kernel": (2, 2), "stride": (2, 2)}
    for made, wanted in (
        (nd.contrib.quantized_act(x8, *ends), floats.relu()),
        (nd.contrib.quantized_flatten(x8, *ends), floats.flatten()),
        (nd.contrib.quantized_pooling(x8, *ends, **pool), nd.Pooling(floats, **pool)),
        (
            nd.contrib.quantized_pooling(x8, *ends, pool_type="avg", **pool),
            nd.Pooling(floats, pool_type="avg", **pool),
        ),
    ):
        assert made[0].dtype == x8.dtype
        back = nd.contrib.dequantize(*made).asnumpy()
        np.testing.assert_allclose(back, wanted.asnumpy(), atol=0.5 / 127 + 1e-6)


def _ends(*values):
    return [nd.array([value]) for value in values]


def test_joined_arrays_have_mxnets_numbers():
    """MXNet 1.9.1 answered these."""
    a = nd.array([[-127, -50, 3], [0, 64, 127]], dtype="int8")
    b = nd.array([[0, 255, 7], [128, 30, 90]], dtype="uint8")
    c = nd.array([[10, -20, 127], [-127, 1, 99]], dtype="int8")
    for arrays, ends, dim, dtype, wanted, wanted_ends in (
        ((a, c), (-1.5, 1.5, -4, 4), 1, "int8",
         [[-48, -19, 1, 10, -20, 127], [0, 24, 48, -127, 1, 99]], (-4, 4)),
        ((a, b), (-1.5, 1.5, 0, 3), 0, "int8",
         [[-64, -25, 2], [0, 32, 64], [0, 127, 3], [64, 15, 45]], (-1.5, 3)),
        ((b, b), (0, 2.5, 0, 3), 1, "uint8",
         [[0, 212, 6, 0, 255, 7], [107, 25, 75, 128, 30, 90]], (0, 3)),
    ):  # fmt: skip
        made, low, high = nd.contrib.quantized_concat(*arrays, *_ends(*ends), num_args=2, dim=dim)
        assert made.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(made.asnumpy(), wanted)
        assert (low.asscalar(), high.asscalar()) == wanted_ends


@pytest.mark.parametrize("kinds", [("int8", "int8"), ("uint8", "int8"), ("uint8", "uint8")])
def test_sums_of_whole_numbers(kinds):
    parts, ends, floats = [], [], []
    for seed, kind in enumerate(kinds):
        eight, *range_ = nd.contrib.quantize_v2(nd.array(_drawn(3, 5, seed=seed)), out_type=kind)
        parts.append(eight)
        ends += range_
        floats.append(nd.contrib.dequantize(eight, *range_).asnumpy().astype("float64"))
    made, low, high = nd.contrib.quantized_elemwise_add(*parts, *ends)
    widest = sum(max(abs(one.asscalar()) for one in ends[i : i + 2]) for i in (0, 2))
    assert made.dtype == np.int32 and high.asscalar() == -low.asscalar() == np.float32(widest)
    found = made.asnumpy() * (widest / (2**31 - 1))
    # uint8 keeps the float 0 at a whole step, so that its steps lie up to half a one elsewhere.
    off = sum(0.5 / 255 * 2 for kind in kinds if kind == "uint8")
    np.testing.assert_allclose(found, floats[0] + floats[1], rtol=1e-5, atol=1e-6 + off)


def test_sums_and_joins_that_are_refused():
    eight, ends = nd.ones((2, 2), dtype="int8"), _ends(-1, 1)
    with pytest.raises(ShapeError, match="lhs and rhs must have equal shapes"):
        nd.contrib.quantized_elemwise_add(eight, nd.ones((2, 3), dtype="int8"), *ends, *ends)
    with pytest.raises(DTypeError, match="arrays must be int8 or uint8"):
        nd.contrib.quantized_elemwise_add(eight, nd.ones((2, 2)), *ends, *ends)
    with pytest.raises(ParameterError, match="both ends of the range of each"):
        nd.contrib.quantized_concat(eight, eight, *ends, num_args=2)


def test_sums_become_8_bits():
    sums = nd.array(np.array([2**31 - 1, -(2**30), 2**29]), dtype="int32")
    low, high = nd.array([-8.0]), nd.array([8.0])
    made, *ends = nd.contrib.requantize(sums, low, high)
    assert made.asnumpy().tolist() == [127, -64, 32]
    made, *ends = nd.contrib.requantize(sums, low, high, min_calib_range=-4, max_calib_range=2)
    assert made.asnumpy().tolist() == [127, -127, 64]
    assert [end.asscalar() for end in ends] == [-4, 4]
    settings = {"out_type": "auto", "min_calib_range": 0, "max_calib_range": 4}
    made, *ends = nd.contrib.requantize(sums, low, high, **settings)
    assert (made.dtype, made.asnumpy().tolist()) == (np.uint8, [255, 0, 128])


def test_variables_of_quantized_layers_have_their_dtypes():
    names = ("weight", "min_data", "max_data", "min_weight", "max_weight")
    data, others = sym.var("data", dtype="uint8"), [sym.var(name) for name in names]
    layer = sym.contrib.quantized_fully_connected(data, *others, num_hidden=3, no_bias=True)
    dtypes, outputs, _ = layer.infer_type()
    assert [np.dtype(dtype).name for dtype in dtypes] == ["uint8", "int8"] + ["float32"] * 4
    assert [np.dtype(dtype).name for dtype in outputs] == ["int32", "float32", "float32"]
    assert layer.infer_shape(data=(2, 7))[0][1] == (3, 7)


def test_what_quantized_layers_refuse():
    one, eight = nd.ones((1,)), nd.ones((1, 2, 4, 4), dtype="int8")
    ends = [one] * 4
    with pytest.raises(DTypeError, match="data must be int8 or uint8"):
        nd.contrib.quantized_act(nd.ones((2,)), one, one)
    with pytest.raises(ParameterError, match=r"leave this layer in floats \(excluded_sym_names\)"):
        nd.contrib.quantized_conv(
            eight, nd.ones((2, 1, 1, 1), dtype="int8"), *ends,
            kernel=(1, 1), num_filter=2, num_group=2, no_bias=True,
        )  # fmt: skip
    with pytest.raises(ShapeError, match="weight"):
        nd.contrib.quantized_fully_connected(
            eight, nd.ones((2, 3), dtype="int8"), *ends, num_hidden=2, no_bias=True
        )
