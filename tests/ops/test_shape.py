"""Operators that reshape, permute, slice, join and pad, against NumPy and MXNet's answers."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_gradient, run_op
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ops.shape.reshape import reshaped

_CUBE = np.arange(24.0).reshape(2, 3, 4)


# Measured with MXNet 1.9.1.
@pytest.mark.parametrize(
    "shape,codes,expected",
    [
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (2, 0, 0), (2, 3, 4)),
        ((2, 3, 4), (6, 1, -1), (6, 1, 4)),
        ((2, 3, 4), (-2,), (2, 3, 4)),
        ((2, 3, 4), (2, -2), (2, 3, 4)),
        ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
        ((2, 3, 4), (-3, 4), (6, 4)),
        ((2, 3, 4), (0, -3), (2, 12)),
        ((2, 3, 4), (-3, -2), (6, 4)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
        ((2, 3, 4), (0, -4, 3, -1, 0), (2, 3, 1, 4)),
        ((2, 3, 4), (-1, 0), (8, 3)),
        ((8, 3, 3, 3, 4, 4), (-4, 2, -1, -2), (2, 4, 3, 3, 3, 4, 4)),
        ((0, 3), (-1,), (0,)),
    ],
)
def test_reshape_codes(shape, codes, expected):
    assert reshaped(shape, codes) == expected
    assert run_op("Reshape", np.zeros(shape), shape=str(codes))[0].shape == expected


@pytest.mark.parametrize(
    "shape,codes,expected",
    [
        ((10, 5, 4), (-1, 0), (50, 4)),
        ((2, 3, 4), (-1, 0, 0), (2, 3, 4)),
        ((2, 3, 4), (-3, 0), (6, 4)),
        ((2, 3, 4), (-2, 0), (2, 3, 4)),
    ],
)
def test_reshape_codes_read_from_the_right(shape, codes, expected):
    assert run_op("Reshape", np.zeros(shape), shape=codes, reverse=True)[0].shape == expected


@pytest.mark.parametrize(
    "codes,error,message",
    [
        ((-1, -1), ParameterError, "only one dimension may be -1"),
        ((-5, 4), ParameterError, "sizes must be at least -4"),
        ((-4, -1, -1, 0, 0), ParameterError, "code -4 must be followed by two sizes"),
        ((0, 0, 0, 0), ShapeError, "need dimensions of the data to stand for"),
        ((-4, 2, 2, -2), ShapeError, "a dimension of 2 cannot be split"),
        ((5, 5), ShapeError, r"the number of elements must stay the same, got shape \(5, 5\)"),
        ((5, -1), ShapeError, "the number of elements must stay the same"),
        ((), ParameterError, "parameter shape .* is required"),
    ],
)
def test_impossible_reshapes_are_refused(codes, error, message):
    with pytest.raises(error, match=f"Reshape: .*{message}"):
        run_op("Reshape", _CUBE, shape=codes)


@settings(max_examples=60, deadline=None)
@given(array_shapes(max_dims=4, max_side=6), st.data())
def test_any_factoring_with_one_dimension_left_out_is_found(shape, data):
    size = int(np.prod(shape))
    divisors = [one for one in range(1, size + 1) if size % one == 0]
    first = data.draw(st.sampled_from(divisors))
    second = data.draw(st.sampled_from([one for one in divisors if (size // first) % one == 0]))
    new = [first, second, size // first // second]
    hole = data.draw(st.integers(0, 2))
    codes = [-1 if i == hole else one for i, one in enumerate(new)]
    assert reshaped(shape, codes) == tuple(new)


def test_reshape_of_old_files():
    assert run_op("Reshape", _CUBE, target_shape=(2, 0))[0].shape == (2, 12)
    got = run_op("Reshape", _CUBE, target_shape=(0, 0), keep_highest=True)[0]
    assert got.shape == (2, 12)


def test_flatten_expand_squeeze():
    assert run_op("flatten", _CUBE)[0].shape == (2, 12)
    assert run_op("Flatten", np.zeros(3))[0].shape == (3, 1)
    for axis in (-4, -1, 0, 3):
        expected = np.expand_dims(_CUBE, axis)
        np.testing.assert_array_equal(run_op("expand_dims", _CUBE, axis=axis)[0], expected)
    assert run_op("squeeze", np.zeros((1, 3, 1)))[0].shape == (3,)
    assert run_op("squeeze", np.zeros((1, 3, 1)), axis=-1)[0].shape == (1, 3)
    assert run_op("squeeze", np.zeros((1, 1)))[0].shape == (1,)
    with pytest.raises(ShapeError, match="squeeze: axis must have size 1, got axis 1 of size 3"):
        run_op("squeeze", np.zeros((1, 3, 1)), axis=1)
    with pytest.raises(ShapeError, match="expand_dims: axis must be from -4 to 3"):
        run_op("expand_dims", _CUBE, axis=4)


# Measured with MXNet 1.9.1.
@pytest.mark.parametrize(
    "lhs,rhs,attrs,expected",
    [
        ((2, 3), (3, 2), {}, (3, 2)),
        ((30, 7), (15, 2, 4), {"lhs_end": 1, "rhs_end": 2}, (15, 2, 7)),
        ((30, 12), (4, 2, 2, 3), {"lhs_begin": -1, "rhs_begin": 1}, (30, 2, 2, 3)),
    ],
)
def test_reshape_like(lhs, rhs, attrs, expected):
    assert run_op("reshape_like", np.zeros(lhs), np.zeros(rhs), **attrs)[0].shape == expected


def test_shape_and_size_are_int64():
    assert run_op("shape_array", _CUBE.astype(np.float16))[0].tolist() == [2, 3, 4]
    size = run_op("size_array", _CUBE)[0]
    assert size.dtype == np.int64
    assert size.tolist() == [24]


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_slice_is_that_of_python(data):
    shape = data.draw(array_shapes(max_dims=3, max_side=5))
    index = data.draw(basic_indices(shape, min_dims=len(shape), allow_ellipsis=False))
    slices = tuple(one for one in np.atleast_1d(np.array(index, object)) if isinstance(one, slice))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    begin, end, step = ([getattr(s, part) for s in slices] for part in ("start", "stop", "step"))
    got = run_op("slice", x, begin=begin, end=end, step=step)[0]
    np.testing.assert_array_equal(got, x[slices])


def test_slice_reads_text():
    got = run_op("slice", _CUBE, begin="(0, None)", end="(2, -1)", step="(None, 2)")[0]
    np.testing.assert_array_equal(got, _CUBE[0:2, :-1:2])


@pytest.mark.parametrize(
    "attrs,message",
    [
        ({"begin": (0, 0), "end": (1,)}, "begin, end and step must have equal lengths"),
        ({"begin": (0,) * 4, "end": (1,) * 4}, "at most one entry for each dimension"),
        ({"begin": (0,), "end": (1,), "step": (0,)}, "step must not be 0"),
    ],
)
def test_wrong_slices_are_refused(attrs, message):
    with pytest.raises(ParameterError, match=f"slice: .*{message}"):
        run_op("slice", _CUBE, **attrs)


def test_slice_axis_and_like():
    np.testing.assert_array_equal(
        run_op("slice_axis", _CUBE, axis=-1, begin=-3, end=-1)[0], _CUBE[..., -3:-1]
    )
    np.testing.assert_array_equal(
        run_op("slice_axis", _CUBE, axis=1, begin=1, end=None)[0], _CUBE[:, 1:]
    )
    like = np.zeros((1, 2, 3))
    np.testing.assert_array_equal(run_op("slice_like", _CUBE, like)[0], _CUBE[:1, :2, :3])
    np.testing.assert_array_equal(
        run_op("slice_like", _CUBE, like, axes=(0, -1))[0], _CUBE[:1, :, :3]
    )
    for begin, end in ((0, 5), (2, 2), (-5, 2)):
        with pytest.raises(ShapeError, match="slice_axis: begin and end must select a part"):
            run_op("slice_axis", _CUBE, axis=1, begin=begin, end=end)
    with pytest.raises(ShapeError, match="slice_like: shape_like must not be larger than data"):
        run_op("slice_like", _CUBE, np.zeros((3, 3, 4)))


def test_split():
    parts = run_op("split", _CUBE, num_outputs=3)
    for got, expected in zip(parts, np.split(_CUBE, 3, 1), strict=True):
        np.testing.assert_array_equal(got, expected)
    parts = run_op("split", _CUBE, num_outputs=2, axis=0, squeeze_axis=True)
    np.testing.assert_array_equal(parts[1], _CUBE[1])
    assert run_op("split", np.zeros(2), num_outputs=2, axis=0, squeeze_axis=True)[0].shape == (1,)
    with pytest.raises(ShapeError, match="the size of axis 1 must be a multiple of num_outputs=2"):
        run_op("split", _CUBE, num_outputs=2)
    with pytest.raises(ShapeError, match="the size of axis 2 must be equal num_outputs=2"):
        run_op("split", _CUBE, num_outputs=2, axis=2, squeeze_axis=True)


def test_split_v2():
    parts = run_op("_split_v2", _CUBE, indices=(0, 1, 2), axis=2)
    for got, expected in zip(parts, np.split(_CUBE, [1, 2], 2), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert [one.shape for one in run_op("_split_v2", _CUBE, indices=(), sections=3)] == [
        (2, 1, 4)
    ] * 3
    parts = run_op("_split_v2", _CUBE, indices=(), axis=0, sections=2, squeeze_axis=True)
    np.testing.assert_array_equal(parts[1], _CUBE[1])
    for indices in ((0, 3, 2), (0, 9), (0, -1)):
        with pytest.raises(ShapeError, match="_split_v2: indices must not decrease, from 0 to 4"):
            run_op("_split_v2", _CUBE, indices=indices, axis=2)


def test_slice_assign():
    expected = _CUBE.copy()
    expected[:, 2:0:-1, ::2] = -1
    region = {"begin": (None, 2, None), "end": (None, 0, None), "step": (None, -1, 2)}
    got = run_op("_slice_assign", _CUBE, np.full((2, 2, 2), -1.0), **region)[0]
    np.testing.assert_array_equal(got, expected)
    got = run_op("_crop_assign_scalar", _CUBE, scalar=-1, **region)[0]
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(ShapeError, match=r"rhs must have the shape of the region, \(2, 2, 2\)"):
        run_op("_slice_assign", _CUBE, np.ones((2, 2)), **region)


def test_transposes():
    np.testing.assert_array_equal(run_op("transpose", _CUBE)[0], _CUBE.T)
    for axes in ((1, 0, 2), (-1, 0, 1)):
        expected = _CUBE.transpose(axes)
        np.testing.assert_array_equal(run_op("transpose", _CUBE, axes=axes)[0], expected)
        head = np.random.default_rng(0).normal(size=expected.shape)
        (grad,) = run_gradient("transpose", _CUBE, heads=[head], axes=axes)
        np.testing.assert_array_equal(grad.transpose(axes), head)
    np.testing.assert_array_equal(
        run_op("swapaxes", _CUBE, dim1=0, dim2=-1)[0], _CUBE.swapaxes(0, -1)
    )
    np.testing.assert_array_equal(run_op("flip", _CUBE, axis=(0, -1))[0], np.flip(_CUBE, (0, -1)))
    for axes in ((1, 0), (0, 0, 1)):
        with pytest.raises(ParameterError, match="transpose: axes must name each axis of data"):
            run_op("transpose", _CUBE, axes=axes)
    with pytest.raises(ShapeError, match="transpose: axis must be from -3 to 2"):
        run_op("transpose", _CUBE, axes=(0, 1, 3))


def test_diag():
    matrix = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run_op("diag", matrix, k=1)[0], np.diag(matrix, 1))
    np.testing.assert_array_equal(run_op("diag", matrix[0], k=-1)[0], np.diag(matrix[0], -1))
    np.testing.assert_array_equal(
        run_op("diag", _CUBE, axis1=-1, axis2=0)[0], np.diagonal(_CUBE, 0, -1, 0)
    )
    with pytest.raises(ShapeError, match="diag: diagonal k=5 must lie inside"):
        run_op("diag", matrix, k=5)


# Measured with MXNet 1.9.1.
def test_depth_and_space():
    depth = np.arange(8.0).reshape(1, 4, 1, 2)
    got = run_op("depth_to_space", depth, block_size=2)[0]
    assert got.ravel().tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    np.testing.assert_array_equal(run_op("space_to_depth", got, block_size=2)[0], depth)
    space = np.arange(16.0).reshape(1, 1, 4, 4)
    got = run_op("space_to_depth", space, block_size=2)[0]
    assert got[0, :2].ravel().tolist() == [0, 2, 8, 10, 1, 3, 9, 11]
    with pytest.raises(ShapeError, match=r"channels must be a multiple of block_size\*\*2=9"):
        run_op("depth_to_space", depth, block_size=3)
    with pytest.raises(ShapeError, match=r"data must be \(batch, channel, height, width\)"):
        run_op("space_to_depth", _CUBE, block_size=2)


def test_concat_and_stack():
    for dim in (0, 1, -1):
        got = run_op("concat", _CUBE, _CUBE, dim=dim, num_args=2)[0]
        np.testing.assert_array_equal(got, np.concatenate([_CUBE, _CUBE], dim))
        got = run_op("stack", _CUBE, _CUBE, axis=dim)[0]
        np.testing.assert_array_equal(got, np.stack([_CUBE, _CUBE], dim))
    mixed = run_op("Concat", np.ones((2, 1), np.float32), np.ones((2, 2), np.int32))[0]
    assert mixed.dtype == np.float32
    with pytest.raises(
        ShapeError, match=r"Concat: inputs must have equal shapes except along dim=0"
    ):
        run_op("Concat", np.ones((2, 3)), np.ones((3, 4)), dim=0)
    with pytest.raises(ShapeError, match="stack: data0 and data1 must have equal shapes"):
        run_op("stack", np.ones((2, 3)), np.ones(3))


def test_tile_and_repeat():
    x = np.arange(4).reshape(2, 2)
    for reps in ((2,), (2, 1, 2), ()):
        np.testing.assert_array_equal(run_op("tile", x, reps=reps)[0], np.tile(x, reps))
    for axis in (None, 0, -1):
        got = run_op("repeat", x, repeats=3, axis=axis)[0]
        np.testing.assert_array_equal(got, np.repeat(x, 3, axis))
    assert run_op("repeat", x, repeats=0)[0].shape == (0,)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode):
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    keywords = {"constant_values": 7} if mode == "constant" else {}
    expected = np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 1)], mode, **keywords)
    got = run_op("pad", x, mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 2, 1), constant_value=7)[0]
    np.testing.assert_array_equal(got, expected)


def test_wrong_padding_is_refused():
    with pytest.raises(ParameterError, match="Pad: pad_width must hold two numbers, not negative"):
        run_op("Pad", _CUBE, mode="edge", pad_width=(1, 1))
    with pytest.raises(ParameterError, match="Pad: parameter mode must be one of 'constant'"):
        run_op("Pad", _CUBE, mode="wrap", pad_width=(0,) * 6)


def test_blocks_and_tiles_of_nothing_are_refused():
    data = np.zeros((1, 4, 0, 2), "float32")
    for name in ("depth_to_space", "space_to_depth"):
        with pytest.raises(ShapeError, match="no dimension of data may be 0"):
            run_op(name, data, block_size=2)
    with pytest.raises(ParameterError, match="reps must be at least 1"):
        run_op("tile", np.zeros((2, 2)), reps=(1, 0))
    assert run_op("_npi_tile", np.zeros((2, 2)), reps=(1, 0))[0].shape == (2, 0)  # NumPy's may be
