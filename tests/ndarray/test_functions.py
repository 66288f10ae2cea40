"""The functions of `nd` that are written by hand, and `nd.linalg` and `nd.image` as users call."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError

_X = np.arange(12.0, dtype=np.float32).reshape(3, 2, 2)


def test_histogram_is_that_of_numpy():
    x = mx.nd.array(_X)
    for bins, limits in ((4, (2, 10)), (3, None), (1, (0, 5))):
        counts, edges = mx.nd.histogram(x, bins=bins, range=limits)
        expected = np.histogram(_X, bins=bins, range=limits)
        np.testing.assert_array_equal(counts.asnumpy(), expected[0])
        np.testing.assert_allclose(edges.asnumpy(), expected[1], rtol=1e-6)
    counts, edges = mx.nd.histogram(x, bins=mx.nd.array([1, 3, 10.5]))
    np.testing.assert_array_equal(counts.asnumpy(), np.histogram(_X, bins=[1, 3, 10.5])[0])
    counts, _ = mx.nd.histogram(mx.nd.ones((3,)), bins=2)  # all elements are equal
    np.testing.assert_array_equal(counts.asnumpy(), np.histogram(np.ones(3), bins=2)[0])


def test_histogram_of_a_symbol():
    x, edges = mx.sym.var("x"), mx.sym.var("edges")
    counts, _ = mx.sym.histogram(x, bins=4, range=(2, 10)).eval(x=mx.nd.array(_X))
    assert counts.asnumpy().tolist() == np.histogram(_X, 4, (2, 10))[0].tolist()
    feeds = {"x": mx.nd.array(_X), "edges": mx.nd.array([0, 1, 20])}
    assert mx.sym.histogram(x, bins=edges).eval(**feeds)[0].asnumpy().tolist() == [1, 11]
    with pytest.raises(ParameterError, match="histogram: range must be given with a number of b"):
        mx.sym.histogram(x, bins=4)


def test_split_v2_by_number_and_by_positions():
    x = mx.nd.array(_X)
    for how, axis in ((3, 0), ((1,), 0), ((1, 1), 2), ([0, 2], 0)):
        for parts in (mx.nd.split_v2(x, how, axis=axis), x.split_v2(how, axis=axis)):
            expected = np.split(_X, how, axis=axis)
            assert len(parts) == len(expected)
            for got, wanted in zip(parts, expected, strict=True):
                np.testing.assert_array_equal(got.asnumpy(), wanted)
    assert mx.nd.split_v2(x, 3, squeeze_axis=True)[0].shape == (2, 2)


def test_finite_keeps_a_zero_of_its_output_where_told():
    good, bad = mx.nd.ones((3,)), mx.nd.array([1.0, np.inf])
    out = mx.nd.ones((1,))
    assert mx.nd.all_finite(bad, out=out) is out and out.asscalar() == 0
    assert mx.nd.all_finite(good, init_output=False, out=out).asscalar() == 0
    assert mx.nd.multi_all_finite(good, good, num_arrays=2, out=out).asscalar() == 1
    assert mx.nd.multi_all_finite(good, bad, num_arrays=2).asscalar() == 0


def test_onehot_encode_writes_into_its_output():
    out = mx.nd.zeros((2, 3))
    assert mx.nd.onehot_encode(mx.nd.array([1, 0]), out) is out
    assert out.asnumpy().tolist() == [[0, 1, 0], [1, 0, 0]]


def test_reset_arrays_writes_zeros():
    x, y = mx.nd.ones((2,)), mx.nd.ones((3, 1))
    assert mx.nd.reset_arrays(x, y, num_arrays=2) == []
    assert x.asnumpy().tolist() == [0, 0] and not y.asnumpy().any()


def test_methods_for_sorting():
    x = np.random.default_rng(0).permutation(12.0 + np.zeros(12)).reshape(3, 4)
    x = x + np.random.default_rng(1).permutation(12).reshape(3, 4)
    data = mx.nd.array(x)
    np.testing.assert_array_equal(data.sort(axis=0).asnumpy(), np.sort(x, 0))
    np.testing.assert_array_equal(data.argsort(axis=1).asnumpy(), np.argsort(x, 1))
    np.testing.assert_array_equal(data.topk(axis=1)[:, 0].asnumpy(), np.argmax(x, 1))
    symbol = mx.sym.var("x").sort(axis=0)
    np.testing.assert_array_equal(symbol.eval(x=data)[0].asnumpy(), np.sort(x, 0))


def test_linear_algebra_by_its_namespaces():
    a = np.random.default_rng(2).normal(size=(2, 3, 3))
    positive = a @ a.swapaxes(1, 2) + np.eye(3)
    factor = mx.nd.linalg.potrf(mx.nd.array(positive, dtype="float64"))
    np.testing.assert_allclose(factor.asnumpy(), np.linalg.cholesky(positive), rtol=1e-10)
    np.testing.assert_allclose(mx.nd.linalg_potri(factor).asnumpy(), np.linalg.inv(positive))
    b = mx.nd.array(a, dtype="float64")
    solved = mx.nd.linalg.trsm(factor, b)
    np.testing.assert_allclose(mx.nd.linalg.trmm(factor, solved).asnumpy(), a, atol=1e-12)
    with mx.name.NameManager():
        symbol = mx.sym.linalg.gemm2(mx.sym.var("a"), mx.sym.var("b"), transpose_b=True)
    assert symbol.name == "gemm20"
    np.testing.assert_allclose(symbol.eval(a=b, b=b)[0].asnumpy(), a @ a.swapaxes(1, 2))


@pytest.mark.parametrize(
    "call,error,message",
    [
        (lambda m: m.linalg.potrf(m.ones((2, 3))), ShapeError, "_linalg_potrf: A must hold square"),
        (
            lambda m: m.linalg.potrf(m.ones((3,))),
            ShapeError,
            r"_linalg_potrf: A must be \(\.\.\., ",
        ),
        (lambda m: m.linalg.gelqf(m.ones((3, 2))), ShapeError, "at least as many columns as rows"),
        (
            lambda m: m.linalg.gemm2(m.ones((2, 3)), m.ones((2, 3))),
            ShapeError,
            r"_linalg_gemm2: the columns of A must be as many .* got A float32\[2,3\] and B",
        ),
        (
            lambda m: m.linalg.gemm2(m.ones((2, 3)), m.ones((3, 2)), axis=1),
            ShapeError,
            "axis must not be the last one",
        ),
        (
            lambda m: m.linalg.gemm(m.ones((2, 3)), m.ones((3, 2)), m.ones((1, 2))),
            ShapeError,
            r"_linalg_gemm: C must have shape \(2, 2\)",
        ),
        (
            lambda m: m.linalg.gemm2(m.ones((2, 3)), m.ones((3, 2), dtype="float64")),
            DTypeError,
            "must have one dtype",
        ),
        (
            lambda m: m.linalg.trmm(m.ones((3, 3)), m.ones((2, 3))),
            ShapeError,
            "_linalg_trmm: B must have the leading dimensions of A, and as many rows as A",
        ),
        (lambda m: m.linalg.det(m.ones((2, 2), dtype="int32")), DTypeError, "floating point"),
        (
            lambda m: m.linalg.extracttrian(m.ones((2, 2)), offset=2),
            ParameterError,
            "offset must be from -1 to 1",
        ),
        (lambda m: m.linalg.maketrian(m.ones((4,))), ShapeError, r"\(1, 3, 6, 10, \.\.\.\)"),
        (
            lambda m: m.SequenceMask(m.ones((4, 2)), m.ones((3,)), use_sequence_length=True),
            ShapeError,
            r"SequenceMask: sequence_length must have shape \(2,\)",
        ),
        (lambda m: m.SequenceLast(m.ones((4,))), ShapeError, "SequenceLast: data must be"),
        (lambda m: m.SequenceReverse(m.ones((4, 2)), axis=2), ParameterError, "from 0 to 1"),
        (lambda m: m.im2col(m.ones((1, 1, 2, 2)), kernel=(3, 3)), ShapeError, "window must fit"),
        (
            lambda m: m.col2im(m.ones((1, 4, 5)), kernel=(2, 2), output_size=(3, 3)),
            ShapeError,
            r"col2im: data must be \(batch, channel \* 4, 4\)",
        ),
        (lambda m: m.khatri_rao(m.ones((2, 3)), m.ones((2, 2))), ShapeError, "as many columns"),
        (lambda m: m.SVMOutput(m.ones((2, 3)), m.ones((3,))), ShapeError, "SVMOutput: data must"),
        (
            lambda m: m.random_pdf_normal(m.ones((2, 3)), m.ones((3,)), m.ones((3,))),
            ShapeError,
            "_random_pdf_normal: sample must be",
        ),
        (lambda m: m.multi_sum_sq(m.ones((2,)), num_arrays=2), ParameterError, "number of arrays"),
        (lambda m: m.histogram(m.ones((2,)), range=(2, 1)), ParameterError, "the smaller first"),
    ],
)
def test_refusals_name_operator_requirement_and_what_was_given(call, error, message):
    with pytest.raises(error, match=message):
        call(mx.nd)


def test_a_matrix_that_is_not_positive_gives_nan_in_a_recorded_step():
    with mx.autograd.record():
        factor = mx.nd.linalg.potrf(-mx.nd.ones((2, 2)))
    assert np.isnan(factor.asnumpy()).any()


def test_unknown_names_of_namespaces():
    with pytest.raises(AttributeError, match="did you mean one of gemm"):
        _ = mx.nd.linalg.gem2


def test_what_an_operator_without_parameters_does_not_have_is_passed_over():
    a, b = mx.nd.array([-1.0, 2.0]), mx.nd.array([0.0, 3.0])
    with pytest.warns(UserWarning, match="broadcast_maximum: has no parameters; 'axis' is passed"):
        assert mx.nd.broadcast_maximum(a, b, axis=1).asnumpy().tolist() == [0, 3]
    with pytest.warns(UserWarning, match="relu: has no parameters; 'slope' is passed over"):
        made = mx.sym.relu(mx.sym.var("x"), slope=2, name="r")
    assert made.name == "r"
    assert made.eval(x=a)[0].asnumpy().tolist() == [0, 2]
    out = mx.nd.zeros((2,))
    mx.nd.broadcast_maximum(a, rhs=b, out=out)
    assert out.asnumpy().tolist() == [0, 3]
    with pytest.raises(ParameterError, match="unknown parameter 'foo'"):
        mx.nd.sum(a, foo=3)


def test_what_has_no_factor_is_an_error_where_the_factor_is_read():
    factor = mx.nd.linalg.potrf(mx.nd.array([[1, 2], [2, 1]]))
    for array in (factor + 1, factor):
        with pytest.raises(mx.MXNetError, match="_linalg_potrf: A must be positive definite"):
            array.asnumpy()
    unknown = mx.nd.linalg.potrf(mx.nd.array([[float("nan"), 0], [0, 1]]))
    assert np.isnan(unknown.asnumpy()).any()
