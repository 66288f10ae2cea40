"""Behaviour of `np` and `npx` that MXNet's users rely on, beside what NumPy has."""

from __future__ import annotations

import numpy as onp
import pytest

from hybridnet import autograd, gluon, nd, np, npx, sym
from hybridnet.base.errors import DTypeError, GraphError, MXNetError, ParameterError, ShapeError


def _block(function):
    """A hybridized block around a function of arrays."""

    class Block(gluon.HybridBlock):
        def forward(self, *args):
            return function(*args)

    block = Block()
    block.hybridize()
    return block


# Shapes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "wanted", "made"),
    [((5,), (3, 4, -2), (3, 4, 5)), ((1, 0), (2, -2, -2), (2, 1, 0)), ((3, 1), (-2, 4), (3, 4))],
)
def test_broadcasting_keeps_sizes_of_minus_two(shape, wanted, made):
    x = np.ones(shape)
    x.attach_grad()
    with autograd.record():
        y = np.broadcast_to(x, wanted)
    y.backward()
    assert y.shape == made
    share = onp.prod(made, dtype=int) // max(onp.prod(shape, dtype=int), 1)
    onp.testing.assert_array_equal(x.grad.asnumpy(), onp.full(shape, share))


def test_broadcasting_refuses_sizes_that_are_not_there():
    for wanted in [(-2, 5), (-1,), (2, 4)]:
        with pytest.raises(ShapeError, match="cannot broadcast array"):
            np.broadcast_to(np.ones((5,)), wanted)


def test_codes_of_reshape_are_read_from_the_end_in_reverse():
    x = np.arange(8 * 5 * 4 * 6).reshape(8, 5, 4, 6)
    assert npx.reshape(x, (-4, -1, 3, -6), reverse=True).shape == (8, 5, 4, 2, 3)
    assert npx.reshape(x, (-6, 2, -1, -4)).shape == (2, 4, 5, 4, 6)
    assert npx.reshape(x, (-5, -1), reverse=True).shape == (20, 48)


def test_a_number_has_a_position_along_one_axis_of_its_own():
    x = np.array(3.0)
    for axis in (None, 0, -1):
        assert int(np.argmax(x, axis)) == int(x.argmin(axis)) == 0
        assert np.argmax(x, axis).shape == ()
    with pytest.raises(ShapeError, match="axis"):
        np.argmin(x, 1)


def test_eye_refuses_a_negative_number_of_columns():
    assert np.eye(2, 0).shape == (2, 0)
    with pytest.raises(MXNetError, match="M"):
        np.eye(1, -1)


# Taking away and putting in -----------------------------------------------------------------------


def test_positions_outside_of_an_array_take_nothing_away():
    x = np.arange(6).reshape(2, 3)
    made = np.delete(x, np.array([1, 7, -1], dtype="int32"), axis=1)
    onp.testing.assert_array_equal(made.asnumpy(), [[0, 2], [3, 5]])
    assert np.delete(np.zeros((0,)), np.array([0], dtype="int64")).shape == (0,)
    for outside in (3, -4, [3]):
        with pytest.raises(IndexError, match="from -3 to 2"):
            np.delete(x, outside, axis=1)


_VALUES = [
    (1, (2,), None),
    (-1, (), None),
    (2, (2, 3), 1),
    (0, (3, 1), 0),
    (3, (2, 2), 0),
    ([1], (3, 2), 1),
    ([-2], (2,), 0),
    ([3, 0, -1], (3, 1), 0),
    ([0, 2, 2], (3, 1), 1),
    ([0, 2, 2], (3, 3), 1),
    (slice(0, 2), (3, 1), 1),
    (slice(None, None, -1), (3, 1), 1),
    (slice(1, 1), (3, 1), 1),
]


@pytest.mark.parametrize(("where", "shape", "axis"), _VALUES)
def test_parts_are_put_in_as_numpy_does(where, shape, axis):
    base = onp.arange(6, dtype="float32").reshape(3, 2)
    values = 10 + onp.arange(onp.prod(shape, dtype=int), dtype="float32").reshape(shape)
    if axis is None and isinstance(where, list):
        where = onp.array(where)
    given = np.array(where, dtype="int64") if isinstance(where, list) else where
    made = np.insert(np.array(base), given, np.array(values), axis)
    onp.testing.assert_array_equal(made.asnumpy(), onp.insert(base, where, values, axis))


# Masks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "axes", "start"),
    [((2, 3), 2, 0), ((2, 3, 4), 2, 0), ((2, 3, 4), 1, 1), ((2, 3, 4), 2, 1), ((), 0, 0)],
)
def test_values_are_written_where_a_mask_holds(shape, axes, start):
    draw = onp.random.default_rng(len(shape))
    base = draw.normal(size=shape).astype("float32")
    mask = onp.asarray(draw.random(shape[start : start + axes]) < 0.6)
    mask.flat[0] = True
    before = (slice(None),) * start
    count = int(mask.sum())
    tail = shape[start + axes :]
    for values in (
        draw.normal(size=(*shape[:start], count, *tail)),
        draw.normal(size=(*shape[:start], 1, *tail)),
        onp.array(3.0),
    ):
        wanted = base.copy()
        wanted[(*before, mask)] = values
        x, given = np.array(base), np.array(values, dtype="float32")
        where = np.array(mask, dtype="bool")
        np._internal.boolean_mask_assign_tensor(x, where, given, start_axis=start, out=x)
        onp.testing.assert_array_equal(x.asnumpy(), wanted)
    x = np.array(base)
    np._internal.boolean_mask_assign_scalar(x, where, 42.0, start_axis=start, out=x)
    wanted[(*before, mask)] = 42
    onp.testing.assert_array_equal(x.asnumpy(), wanted.reshape(shape) if axes else [42.0][0])


def test_a_mask_of_another_shape_is_refused():
    x = np.zeros((2, 3))
    with pytest.raises(ShapeError, match="mask must have the shape of data from axis 1"):
        np._internal.boolean_mask_assign_scalar(x, np.ones((2,)), 1.0, start_axis=1)


# Elements -----------------------------------------------------------------------------------------


def test_a_bool_array_is_a_number_beside_numbers():
    truth, x = np.array([True, False], dtype="bool"), np.array([0.5, 2.0], dtype="float16")
    for name, wanted in (("subtract", [0.5, -2]), ("mod", [0, 0]), ("power", [1, 0])):
        made = getattr(np, name)(truth, x)
        assert made.dtype == onp.float16
        onp.testing.assert_array_equal(made.asnumpy(), wanted)
    with pytest.raises(DTypeError, match="must be numeric"):
        np.subtract(truth, truth)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "isposinf", "isneginf"])
def test_tests_are_written_into_bool_arrays_only(name):
    x = np.array([1.0, onp.nan, onp.inf, -onp.inf])
    out = np.zeros((4,), dtype="bool")
    getattr(np, name)(x, out)
    onp.testing.assert_array_equal(out.asnumpy(), getattr(onp, name)(x.asnumpy()))
    with pytest.raises(TypeError, match="out must be bool, got"):
        getattr(np, name)(x, out=np.zeros((4,)))


def test_numbers_are_repaired_in_a_block_without_changing_its_input():
    x = np.array([1.0, onp.nan, -onp.inf])
    x.attach_grad()
    block = _block(lambda a: np.nan_to_num(a, False, 7.0, 8.0, 9.0))
    with autograd.record():
        y = block(x)
    y.backward()
    onp.testing.assert_array_equal(y.asnumpy(), [1, 7, 9])
    onp.testing.assert_array_equal(x.grad.asnumpy(), [1, 0, 0])
    assert onp.isnan(x.asnumpy()[1])
    np.nan_to_num(x, False, 7.0, 8.0, 9.0)
    onp.testing.assert_array_equal(x.asnumpy(), [1, 7, 9])


# Linear algebra -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_spectra_are_numpys(dtype):
    base = onp.array([[[2, 1], [1, 3]], [[5, 0], [0, 1]]], dtype)
    x, kind = np.array(base, dtype=dtype), onp.float32 if dtype == "float32" else onp.float64
    for block in (lambda f: f, _block):
        values, vectors = block(np.linalg.eig)(x)
        assert values.dtype == vectors.dtype == kind
        turned = onp.matmul(base, vectors.asnumpy())
        scaled = vectors.asnumpy() * values.asnumpy()[:, None]
        onp.testing.assert_allclose(turned, scaled, rtol=1e-5, atol=1e-6)
        ascending = onp.linalg.eigvalsh(base.astype(kind))
        onp.testing.assert_allclose(block(np.linalg.eigvalsh)(x).asnumpy(), ascending, rtol=1e-5)
        onp.testing.assert_allclose(block(np.linalg.eigh)(x)[0].asnumpy(), ascending, rtol=1e-5)
        found = onp.sort(block(np.linalg.eigvals)(x).asnumpy())
        onp.testing.assert_allclose(found, ascending, rtol=1e-5)
    assert np.linalg.eig(np.zeros((0, 3, 3)))[0].shape == (0, 3)


def test_complex_eigenvalues_lose_their_imaginary_parts():
    made = np.linalg.eigvals(np.array([[1.0, -2.0], [2.0, 1.0]]))
    onp.testing.assert_allclose(made.asnumpy(), [1, 1], rtol=1e-6)


@pytest.mark.parametrize(
    ("a_shape", "b_shape", "x_shape"),
    [
        ((), (1, 1, 1), ()),
        ((1, 1, 1), (), (1, 1, 1)),
        ((2, 3, 6), (6,), None),
        ((1, 1), (1,), (1,)),
    ],
)
def test_tensor_equations_may_have_fewer_axes_than_right_hand_sides(a_shape, b_shape, x_shape):
    size = int(onp.prod(b_shape, dtype=int))
    matrix = onp.eye(size) * 2 + onp.arange(size * size).reshape(size, size) / 100
    axes = (0, 1) if a_shape == (2, 3, 6) else None
    rows = matrix.reshape(6, 2, 3).transpose(1, 2, 0) if axes else matrix
    b = onp.arange(1.0, size + 1)
    made = np.linalg.tensorsolve(
        np.array(rows.reshape(a_shape), dtype="float64"),
        np.array(b.reshape(b_shape), dtype="float64"),
        axes,
    )
    assert made.shape == ((2, 3) if x_shape is None else x_shape)
    onp.testing.assert_allclose(made.asnumpy().reshape(-1), onp.linalg.solve(matrix, b))


# Parameters of distributions ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "scale"), [(1, 0), (0, 1), (1, -1.0), ("a", 0), (1, "a"), ("a", "a")]
)
def test_gamma_refuses_parameters_in_arrays_where_samples_are_read(shape, scale):
    given = [np.array(0.0) if value == "a" else value for value in (shape, scale)]
    with pytest.raises(ValueError, match=r"np\.random\.gamma: .* must be > 0"):
        np.random.gamma(*given).asnumpy()


def test_what_follows_from_refused_samples_cannot_be_read_either():
    y = npx.random.bernoulli(prob=np.array([0.5, 1.5])) + 1
    with pytest.raises(ParameterError, match=r"prob must be from 0 to 1 everywhere, got 1\.5"):
        y.asnumpy()
    with pytest.raises(ValueError, match="from 0 to 1"):
        npx.random.bernoulli(prob=-0.5)
    drawn = npx.random.bernoulli(prob=np.array([0.0, 1.0]), size=(3, 2)).asnumpy()
    onp.testing.assert_array_equal(drawn, [[0, 1]] * 3)


def test_parameters_are_not_looked_at_where_gradients_are_recorded():
    scale = np.array([2.0, 0.5])
    scale.attach_grad()
    with autograd.record():
        y = np.random.normal(np.zeros((2,)), scale)
    y.backward()
    onp.testing.assert_allclose(scale.grad.asnumpy() * scale.asnumpy(), y.asnumpy(), rtol=1e-5)


# Blocks whose shapes depend on values -------------------------------------------------------------


def test_a_block_runs_as_written_where_shapes_depend_on_values():
    block = _block(lambda x: np.bincount(x, None, 4))
    for values in ([0, 1, 1], [5, 2]):
        made = block(np.array(values, dtype="int32"))
        onp.testing.assert_array_equal(made.asnumpy(), onp.bincount(values, None, 4))
    inverse = _block(lambda x: np.unique(x, False, True))
    found, places = inverse(np.array([3.0, 1.0, 3.0]))
    onp.testing.assert_array_equal(found.asnumpy(), [1, 3])
    onp.testing.assert_array_equal(places.asnumpy(), [1, 0, 1])


def test_what_is_inside_such_a_block_is_traced_still():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(3, in_units=2), gluon.nn.HybridLambda(lambda F, x: F.npx.nonzero(x)))
    net.initialize("ones")
    net.hybridize()
    x = nd.array([[1.0, 2.0], [0.0, 0.0]])
    x.attach_grad()
    made = net(x.as_np_ndarray())
    onp.testing.assert_array_equal(made.asnumpy(), [[0, 0], [0, 1], [0, 2]])
    assert net[0]._active
    with autograd.record():
        loss = net[0](x).sum()
    loss.backward()
    onp.testing.assert_array_equal(x.grad.asnumpy(), [[3, 3], [3, 3]])


def test_a_constraint_is_checked_in_a_block():
    block = _block(lambda x, ok: x * npx.constraint_check(ok, "not so"))
    x = np.array([1.0, 2.0])
    onp.testing.assert_array_equal(block(x, np.array([True, True])).asnumpy(), [1, 2])
    with pytest.raises(ValueError, match="not so"):
        block(x, np.array([True, False])).asnumpy()


def test_symbols_have_no_values():
    with pytest.raises(GraphError, match="values"):
        sym.np.bincount(sym.var("x").as_np_ndarray())


# Gradients of whole numbers -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:backward")
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_of_floats_as_whole_numbers_keep_their_fractions_and_gradients(name):
    host = onp.array([[1.6, 2.6, 3.9], [100.2, 20.5, 0.25]], "float32")
    x = np.array(host)
    x.attach_grad()
    for block in (lambda f: f, _block):
        with autograd.record():
            y = block(lambda x: getattr(np, name)(x, axis=1, dtype="int32"))(x)
        y.backward()
        whole = onp.trunc(host.sum(1))
        wanted = whole if name == "sum" else onp.trunc(whole / 3)
        onp.testing.assert_array_equal(y.asnumpy(), wanted)
        assert y.dtype == onp.int32
        slope = onp.float32(1 if name == "sum" else 1 / 3)
        onp.testing.assert_allclose(x.grad.asnumpy(), onp.full((2, 3), slope), rtol=1e-6)


def test_a_narrow_mean_has_the_slope_of_its_input():
    x = np.array([[1.0, 2.0, 4.0]], dtype="float64")
    x.attach_grad()
    with autograd.record():
        y = np.mean(x, axis=1, dtype="float16")
    y.backward()
    assert y.dtype == onp.float16
    onp.testing.assert_array_equal(x.grad.asnumpy(), onp.ones((1, 3)) / 3)


@pytest.mark.filterwarnings("ignore:backward")
@pytest.mark.parametrize("dtype", [None, "int8", "int32", "int64"])
def test_sums_of_whole_numbers_have_slopes_in_any_dtype(dtype):
    x = np.array([[7, 9, -3]], dtype="int32")
    x.attach_grad()
    with autograd.record():
        y = np.sum(x, axis=1, dtype=dtype)
    y.backward()
    onp.testing.assert_array_equal(x.grad.asnumpy(), onp.ones((1, 3)))


@pytest.mark.filterwarnings("ignore:backward")
def test_remainders_of_whole_numbers_have_no_slope():
    x, y = np.array([7, 9], dtype="int32"), np.array([3, 4], dtype="int32")
    for one in (x, y):
        one.attach_grad()
    with autograd.record():
        z = np.mod(x, y)
    z.backward()
    assert not x.grad.asnumpy().any() and not y.grad.asnumpy().any()
