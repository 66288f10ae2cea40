"""NDArray: making, dtypes, arithmetic, contexts, conversion to and from everything else."""

from __future__ import annotations

import copy
import operator
import pickle

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import hybridnet as mx
from hybridnet import autograd, cpu, nd
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError

DTYPES = [
    "float16", "float32", "float64", "bfloat16", "int8", "int32", "int64", "uint8", "bool",
]  # fmt: skip


def scalar_type(name):
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name).type


# Making


def test_the_default_dtype_is_float32_whatever_the_source():
    for source in [
        1,
        2.5,
        [1, 2],
        np.arange(3),
        np.zeros(2),
        np.array([True]),
        np.float64(3),
        (1,),
    ]:
        assert nd.array(source).dtype is np.float32
    assert nd.array(nd.array([1], dtype="int64")).dtype is np.int64
    assert nd.array(nd.array([1.7]), dtype="int8").dtype is np.int8
    assert nd.array(3).shape == ()
    assert nd.array([]).shape == (0,)
    assert nd.arange(2, 5, dtype="int32").dtype is np.int32


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_can_be_made_computed_with_and_read(dtype):
    kind = scalar_type(dtype)
    for given in (dtype, kind, np.dtype(kind)):
        x = nd.array([0, 1, 2], dtype=given)
        assert x.dtype is kind
    expected = np.array([0, 1, 2]).astype(kind)
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert x.asnumpy().dtype == np.dtype(kind)
    for made in (nd.zeros((2,), dtype=dtype), nd.ones((2,), dtype=dtype), nd.empty(2, dtype=dtype)):
        assert made.dtype is kind
    np.testing.assert_array_equal(nd.ones((2,), dtype=dtype).asnumpy(), np.ones(2, kind))
    np.testing.assert_array_equal(nd.full((2,), 1, dtype=dtype).asnumpy(), np.ones(2, kind))
    assert x.astype("float64").dtype is np.float64
    np.testing.assert_array_equal(x.astype("float64").asnumpy(), expected.astype("float64"))
    doubled = x * 2 if dtype == "bool" else x + x
    assert doubled.dtype is (np.int64 if dtype == "bool" else kind)
    np.testing.assert_array_equal(doubled.asnumpy(), expected.astype(doubled.dtype) * 2)


def test_dtypes_that_are_refused():
    for dtype in ("complex64", "no such", object, "float8", np.datetime64):
        with pytest.raises(DTypeError, match="dtype must be one of bfloat16, bool, float16"):
            nd.zeros((2,), dtype=dtype)


def test_python_types_as_dtypes():
    assert nd.zeros(2, dtype=float).dtype is np.float32
    assert nd.zeros(2, dtype=int).dtype is np.int32
    assert nd.zeros(2, dtype=bool).dtype is np.bool_


def test_creation_functions():
    np.testing.assert_array_equal(nd.zeros((2, 3)).asnumpy(), np.zeros((2, 3)))
    np.testing.assert_array_equal(nd.ones(3).asnumpy(), np.ones(3))
    np.testing.assert_array_equal(nd.full((2,), 7.5).asnumpy(), [7.5, 7.5])
    np.testing.assert_array_equal(nd.full((2,), 3.7, dtype="int32").asnumpy(), [3, 3])
    np.testing.assert_array_equal(nd.arange(5).asnumpy(), np.arange(5))
    np.testing.assert_array_equal(nd.arange(1, 3, 0.5, repeat=2).asnumpy(),
                                  np.repeat(np.arange(1, 3, 0.5), 2))  # fmt: skip
    np.testing.assert_array_equal(nd.arange(5, 0, -2).asnumpy(), [5, 3, 1])
    np.testing.assert_allclose(nd.linspace(0, 1, 5).asnumpy(), np.linspace(0, 1, 5))
    np.testing.assert_allclose(nd.linspace(0, 1, 5, endpoint=False).asnumpy(),
                               np.linspace(0, 1, 5, endpoint=False))  # fmt: skip
    np.testing.assert_array_equal(nd.eye(3, 4, 1).asnumpy(), np.eye(3, 4, 1))
    np.testing.assert_array_equal(nd.eye(2, dtype="int32").asnumpy(), np.eye(2))
    out = nd.zeros((2, 2))
    assert nd.full((2, 2), 3, out=out) is out
    assert (out.asnumpy() == 3).all()
    x = nd.array([[1, 2], [3, 4]], dtype="float16")
    assert x.zeros_like().dtype is np.float16
    assert (x.ones_like().asnumpy() == 1).all()
    joined = nd.concatenate([nd.zeros((2, 2)), nd.ones((1, 2))])
    np.testing.assert_array_equal(joined.asnumpy(), [[0, 0], [0, 0], [1, 1]])
    host = np.arange(24).reshape(2, 3, 4)
    np.testing.assert_array_equal(
        nd.moveaxis(nd.array(host), 0, 2).asnumpy(), np.moveaxis(host, 0, 2)
    )
    np.testing.assert_array_equal(nd.moveaxis(nd.array(host), [0, 1], [-1, 0]).asnumpy(),
                                  np.moveaxis(host, [0, 1], [-1, 0]))  # fmt: skip


def test_wrong_sources():
    with pytest.raises(ShapeError, match="nd.array: needs numbers in a regular shape"):
        nd.array([[1, 2], [3]])
    for source in ("abc", None, object(), [1j], ["x"], {1: 2}):
        with pytest.raises(ParameterError, match="nd.array: needs real numbers, got"):
            nd.array(source)
    with pytest.raises(ShapeError, match="nd.zeros: the dimensions must be >= 0"):
        nd.zeros((2, -1))
    with pytest.raises(ParameterError, match="stype must be one of 'default', 'csr'"):
        nd.zeros((2,), stype="coo")


def test_an_array_is_a_copy_of_its_source():
    host = np.arange(6, dtype="float32")
    x = nd.array(host)
    doubled = x * 2
    host[:] = -1
    np.testing.assert_array_equal(x.asnumpy(), np.arange(6))
    np.testing.assert_array_equal(doubled.asnumpy(), np.arange(6) * 2)
    big = np.ones(1 << 16, dtype="float32")  # large enough to be taken over without a copy
    y = nd.array(big)
    big += 1
    assert (y.asnumpy() == 1).all()
    x[:] = host
    host[:] = 5
    assert (x.asnumpy() == -1).all()


def test_asnumpy_is_writable_and_independent():
    for x in (nd.array([1, 2, 3]), nd.zeros((1 << 16,)), nd.array([1, 2, 3])[1:]):
        before = x.asnumpy().copy()
        host = x.asnumpy()
        assert host.flags.writeable
        assert host.flags.owndata
        host[:] = 99
        np.testing.assert_array_equal(x.asnumpy(), before)
        kept = x.asnumpy()
        x += 1
        nd.waitall()
        np.testing.assert_array_equal(kept, before)


# JAX's configuration


def test_64_bit_types_leave_the_process_as_it_was():
    assert not jax.config.jax_enable_x64
    x = nd.array([2**40, 3], dtype="int64") * 3
    y = nd.array([1 / 3], dtype="float64") / 7
    with autograd.record():
        z = nd.array([0.1], dtype="float64").exp()
    np.testing.assert_array_equal(x.asnumpy(), [3 * 2**40, 9])
    assert y.asnumpy()[0] == 1 / 3 / 7
    np.testing.assert_allclose(z.asnumpy(), np.exp([0.1]), rtol=1e-15)
    assert not jax.config.jax_enable_x64
    # JAX code beside ours goes on in 32 bits.
    assert jnp.arange(3).dtype == np.int32
    assert jnp.zeros(2, float).dtype == np.float32
    assert jax.jit(lambda a: a + 1)(np.float64(1)).dtype == np.float32
    assert jax.random.normal(jax.random.key(0), (2,)).dtype == np.float32
    # And where the user wants 64 bits, ours is still ours.
    with jax.enable_x64(True):
        assert nd.array([1.5]).dtype is np.float32
        np.testing.assert_array_equal((nd.array([1.5]) * 2).asnumpy(), [3])
        assert jnp.arange(3).dtype == np.int64
        assert nd.zeros((2,), dtype="int32").sum().dtype is np.int32


def test_whole_numbers_beyond_53_bits_are_exact():
    x = nd.array([2**60 + 1], dtype="int64")
    assert int(x + 1) == 2**60 + 2
    assert int(x + (2**60 + 1)) == 2**61 + 2
    assert int((2**60 + 3) - x) == 2
    assert int(nd.maximum(x, 2**60 + 7)) == 2**60 + 7
    assert int(x - np.int64(2**60 + 1)) == 0
    assert float(nd.array([1.0]) * 2**70) == 2.0**70


# Arithmetic

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("apply", OPERATORS + COMPARISONS, ids=lambda f: f.__name__)
def test_floating_arithmetic_is_numpys(apply, dtype):
    a = np.array([[1.5, -2, 3], [0.5, 4, -0.25]], dtype)
    b = np.array([[2.0, 3, -1.5]], dtype)
    # Powers of negative numbers are nan on both sides.
    with np.errstate(invalid="ignore"):
        for left, right in [(a, b), (a, 2.5), (2.5, a), (b, a)]:
            expected = apply(left, right)
            ours = apply(*(nd.array(x, dtype=dtype) if isinstance(x, np.ndarray) else x
                           for x in (left, right)))  # fmt: skip
            assert ours.dtype is np.dtype(dtype).type
            rtol = 2e-3 if dtype == "float16" else 1e-5
            np.testing.assert_allclose(ours.asnumpy(), expected.astype(dtype), rtol=rtol)


def ints(dtype, *values):
    return nd.array(values, dtype=dtype)


# As MXNet 1.9.1 answered: a number is converted to the dtype of the array first, quotients lose
# their fraction, results wrap. (It crashes where we divide by 0.)
@pytest.mark.parametrize(
    ("compute", "dtype", "expected"),
    [
        (lambda: ints("int32", 7, -7) + 2.5, np.int32, [9, -5]),
        (lambda: 2.5 - ints("int32", 7, -7), np.int32, [-5, 9]),
        (lambda: ints("int32", 7, -7) * 1.9, np.int32, [7, -7]),
        (lambda: ints("int32", 7, -7) ** 0.5, np.int32, [1, 1]),
        (lambda: nd.maximum(ints("int32", 1, 3), 2.5), np.int32, [2, 3]),
        (lambda: ints("int32", 3, 2) > 2.5, np.int32, [1, 0]),
        (lambda: ints("int32", 7, -7) / 2, np.int32, [3, -3]),
        (lambda: 20 / ints("int32", 7, -7), np.int32, [2, -2]),
        (lambda: ints("int32", 7, -7) / ints("int32", 0, 2), np.int32, [0, -3]),
        (lambda: ints("int32", 7, -7) % 3, np.int32, [1, 2]),
        (lambda: ints("int32", 7, -7) % -3, np.int32, [-2, -1]),
        (lambda: 3 % ints("int32", -5, 2), np.int32, [-2, 1]),
        (lambda: ints("int32", 7, -7) % 0, np.int32, [0, 0]),
        (lambda: ints("int32", 2, 1) ** -1, np.int32, [0, 1]),
        (lambda: ints("uint8", 3, 200) - 5, np.uint8, [254, 195]),
        (lambda: -ints("uint8", 3, 0), np.uint8, [253, 0]),
        (lambda: ints("int8", 100, -100) * 2, np.int8, [-56, 56]),
        (lambda: ints("bool", 1, 0) + 2.5, np.int64, [3, 2]),
        (lambda: ints("bool", 1, 0) * 3, np.int64, [3, 0]),
        (lambda: ints("uint8", 3, 4) == ints("uint8", 3, 5), np.uint8, [1, 0]),
        (lambda: nd.array([np.nan, 1]) == nd.array([np.nan, 1]), np.float32, [0, 1]),
        (lambda: nd.array([1.0, -1, 0]) / 0, np.float32, [np.inf, -np.inf, np.nan]),
        (lambda: nd.array([7.5, -7.5]) % 0, np.float32, [0, 0]),
        (lambda: nd.array([-7.5, 7.5]) % 3, np.float32, [1.5, 1.5]),
        (lambda: nd.array([1.0], dtype="float16") + 1e6, np.float16, [np.inf]),
        (lambda: nd.array([1, 0]) + True, np.float32, [2, 1]),
        (lambda: nd.array([1, 0]) + np.float64(0.5), np.float32, [1.5, 0.5]),
        (lambda: abs(ints("int32", -3, 3)), np.int32, [3, 3]),
    ],
)
def test_arithmetic_as_mxnet_answers(compute, dtype, expected):
    result = compute()
    assert result.dtype is dtype
    np.testing.assert_array_equal(result.asnumpy(), expected)


def test_two_bool_arrays_have_no_arithmetic():
    a = nd.array([True, False], dtype="bool")
    for apply in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(TypeError, match="inputs must be numeric, got bool"):
            apply(a, a)


def test_arithmetic_with_what_is_no_number():
    x = nd.array([1, 2])
    for other in (None, "a", [1, 2], np.array([1.0, 2.0]), object()):
        for apply in (operator.add, operator.sub, operator.mul, operator.lt):
            with pytest.raises(TypeError):
                apply(x, other)
            with pytest.raises(TypeError):
                apply(other, x)
        with pytest.raises(TypeError, match=r"\+=: the right-hand side must be|two of a kind"):
            x += other
    assert (x.asnumpy() == [1, 2]).all()
    with pytest.raises(TypeError):
        x // 2


def test_shapes_that_do_not_broadcast_raise_at_the_line():
    with pytest.raises(ShapeError, match=r"broadcast_add.*float32\[3\].*float32\[2\]"):
        nd.zeros((3,)) + nd.zeros((2,))
    x = nd.zeros((3,))
    with pytest.raises(
        ShapeError, match=r"\+=: the result must keep the shape \(3,\), got \(2, 3\)"
    ):
        x += nd.ones((2, 3))


def test_in_place_operators_keep_dtype_and_broadcast():
    x = nd.array([[1, 2], [3, 4]], dtype="int32")
    x += nd.array([10, 20], dtype="int32")
    x *= 2
    x /= 3
    x -= 1
    x %= 5
    x **= 2
    expected = (((np.array([[11, 22], [13, 24]]) * 2) // 3 - 1) % 5) ** 2
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert x.dtype is np.int32
    flags = nd.array([True, False], dtype="bool")
    flags += 1
    assert flags.dtype is np.bool_
    np.testing.assert_array_equal(flags.asnumpy(), [True, True])


def test_functions_take_numbers_on_either_side():
    x = nd.array([1.0, 4])
    np.testing.assert_array_equal(nd.subtract(2, x).asnumpy(), [1, -2])
    np.testing.assert_array_equal(nd.subtract(x, 2).asnumpy(), [-1, 2])
    np.testing.assert_array_equal(nd.divide(2, x).asnumpy(), [2, 0.5])
    np.testing.assert_array_equal(nd.power(2, x).asnumpy(), [2, 16])
    np.testing.assert_array_equal(nd.modulo(5, x).asnumpy(), [0, 1])
    np.testing.assert_array_equal(nd.greater(2, x).asnumpy(), [1, 0])
    np.testing.assert_array_equal(nd.lesser_equal(4, x).asnumpy(), [0, 1])
    np.testing.assert_array_equal(nd.maximum(2, x).asnumpy(), [2, 4])
    np.testing.assert_array_equal(nd.add(x, x).asnumpy(), [2, 8])
    # MXNet's answers for two numbers.
    numbers = [nd.add(2, 3), nd.maximum(2, 3), nd.power(2, 3), nd.equal(2, 3), nd.modulo(7, 3)]
    assert numbers == [5, 3, 8, 0, 1]
    assert [nd.greater(3, 2), nd.logical_and(3, 2), nd.logical_xor(3, 2)] == [1, 1, 0]
    with pytest.raises(ParameterError, match="must be an NDArray"):
        nd.add([1], 2)
    with pytest.raises(ParameterError, match="must be an NDArray"):
        nd.add(x, "a")


# Contexts


def test_contexts_and_copies_between_them():
    x = nd.array([1, 2, 3])
    assert x.context == x.ctx == cpu() == cpu(0) == mx.Context("cpu", 0)
    assert str(x.context) == "cpu(0)"
    y = x.as_in_context(cpu(1))
    assert y.context == cpu(1)
    x += 1
    np.testing.assert_array_equal(y.asnumpy(), [1, 2, 3])
    np.testing.assert_array_equal((y * 2).asnumpy(), [2, 4, 6])
    assert (y * 2).context == cpu(1)
    target = nd.zeros((3,), ctx=cpu(0), dtype="int32")
    y.copyto(target)
    np.testing.assert_array_equal(target.asnumpy(), [1, 2, 3])
    target[1:] = y[1:] * 10
    np.testing.assert_array_equal(target.asnumpy(), [1, 20, 30])
    assert y.copyto(cpu(0)).context == cpu(0)
    assert nd.array(y, ctx=cpu(0)).context == cpu(0)
    assert nd.array(y).context == cpu(0)  # the current context, as with any other source
    with cpu(1):
        assert mx.current_context() == cpu(1)
        assert nd.zeros(2).context == cpu(1)
        assert nd.random.uniform(shape=(2,)).context == cpu(1)
        assert (nd.zeros(2) + nd.ones(2)).context == cpu(1)
    assert nd.zeros(2).context == cpu(0)


def test_arrays_of_two_cpus_meet_on_the_first_ones():
    x, y = nd.ones(2), nd.ones(2, ctx=cpu(1))
    x.attach_grad()
    y.attach_grad()
    with autograd.record():
        z = y * 2 + x
    z.backward()
    assert z.context == cpu(1)
    assert z.asnumpy().tolist() == [3, 3]
    assert (x.grad.context, y.grad.context) == (cpu(0), cpu(1))
    assert (x.grad.asnumpy() + y.grad.asnumpy()).tolist() == [3, 3]
    message = r"sgd_mom_update: .* one context, got cpu\(0\), cpu\(0\), cpu\(1\); move them"
    with pytest.raises(MXNetError, match=message):  # what is overwritten stays where it is
        nd.sgd_mom_update(x, x, y, lr=0.1, out=x)
    nd.broadcast_add(x, x, out=y)
    assert y.context == cpu(1) and y.asnumpy().tolist() == [2, 2]


def test_a_context_that_is_not_there():
    if not mx.num_gpus():
        with pytest.raises(MXNetError, match=r"gpu\(0\): this process has no gpu device"):
            nd.zeros((2,), ctx=mx.gpu())


# Conversions


def test_one_element_becomes_a_number():
    x = nd.array([2.5])
    assert float(x) == 2.5
    assert int(x) == 2
    assert x.asscalar() == 2.5
    assert x.item() == 2.5
    assert bool(x)
    assert not nd.array([0])
    assert [10, 20, 30][nd.array([1], dtype="int32")] == 20
    assert nd.array([[1, 2]]).tolist() == [[1, 2]]
    for convert in (float, int, nd.NDArray.asscalar, nd.NDArray.item):
        with pytest.raises(ValueError, match=r"needs an array of one element, got shape \(2,\)"):
            convert(nd.zeros(2))
    with pytest.raises(ValueError, match="truth value of an NDArray of shape .2,. is ambiguous"):
        bool(nd.zeros(2))
    with pytest.raises(TypeError, match="only an integer array can be an index"):
        [1][nd.array([0])]


def test_len_iteration_membership_and_hash():
    x = nd.array([[1, 2], [3, 4], [5, 6]])
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]]
    assert 2 in nd.array([1, 2])
    assert 9 not in nd.array([1, 2])
    assert len({x, x, nd.array([1])}) == 2
    with pytest.raises(TypeError, match="len.. of a 0-d array"):
        len(nd.array(1))


def test_printing():
    assert repr(nd.array([1.5, 2, 3])) == "\n[1.5 2.  3. ]\n<NDArray 3 @cpu(0)>"
    assert repr(nd.zeros((2, 2), ctx=cpu(1))) == "\n[[0. 0.]\n [0. 0.]]\n<NDArray 2x2 @cpu(1)>"
    assert str(nd.array(3)) == "\n3.0\n<NDArray  @cpu(0)>"


def test_facts():
    x = nd.zeros((2, 3), dtype="float16")
    assert (x.shape, x.size, x.ndim, x.stype) == ((2, 3), 6, 2, "default")
    assert x.T.shape == (3, 2)
    assert x.grad is None
    with pytest.raises(AttributeError):
        x.shape = (3, 2)
    with pytest.raises(AttributeError):
        x.no_such_attribute = 1


def test_results_of_one_element_have_one_axis():
    x = nd.array([[1, 2], [3, 4]])
    assert x[0, 1].shape == x.sum().shape == nd.zeros((1, 1)).squeeze().shape == (1,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pickling_and_copying_are_by_value(dtype):
    x = nd.array([[0, 1], [1, 0]], dtype=dtype, ctx=cpu(1))
    x.attach_grad()
    for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.copy()):
        assert made.dtype is x.dtype
        assert made.context == cpu(1)
        np.testing.assert_array_equal(made.asnumpy(), x.asnumpy())
        made[:] = 1
        np.testing.assert_array_equal(x.asnumpy(), [[0, 1], [1, 0]])
        assert made.grad is None
    view = pickle.loads(pickle.dumps(x[1:]))
    assert view.shape == (1, 2)
    pair = copy.deepcopy([x, x])
    assert pair[0] is pair[1] is not x


def test_numpy_reads_arrays():
    x = nd.array([[1, 2], [3, 4]])
    assert np.asarray(x).dtype == np.float32
    np.testing.assert_array_equal(np.array(x), x.asnumpy())
    np.testing.assert_array_equal(np.asarray(x, dtype="int64"), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.sin(x.asnumpy()), np.sin([[1, 2], [3, 4]], dtype="float32"))
    np.testing.assert_array_equal(np.concatenate([x[0], x[1]]), [1, 2, 3, 4])
    assert np.array(x, copy=True).flags.writeable
    with pytest.raises(ValueError, match="without a copy"):
        np.array(x, copy=False)
    stacked = nd.array([nd.array([1, 2]), nd.array([3, 4])])
    np.testing.assert_array_equal(stacked.asnumpy(), [[1, 2], [3, 4]])


def test_casting_is_that_of_c():
    x = nd.array([-1, 300, 2.9, -2.9])
    np.testing.assert_array_equal(x.astype("uint8").asnumpy(), [255, 44, 2, 254])
    np.testing.assert_array_equal(x.astype("int32").asnumpy(), [-1, 300, 2, -2])
    np.testing.assert_array_equal(x.astype("bool").asnumpy(), [True] * 4)
    np.testing.assert_array_equal(
        nd.array([0.0, 0.1], dtype="float64").astype("bool").asnumpy(), [False, True]
    )
    np.testing.assert_array_equal(nd.array([-1, 300], dtype="uint8").asnumpy(), [255, 44])
    np.testing.assert_array_equal(nd.array([1e6], dtype="float16").asnumpy(), [np.inf])


def test_zero_size_arrays():
    x = nd.empty((0, 3))
    assert x.size == 0
    assert len(x) == 0
    assert list(x) == []
    assert (x * 2 + 1).shape == (0, 3)
    assert x.sum().asnumpy().item() == 0
    assert nd.concat(x, nd.ones((2, 3)), dim=0).shape == (2, 3)
    assert x.asnumpy().shape == (0, 3)
    assert pickle.loads(pickle.dumps(x)).shape == (0, 3)
    x += 1
    x[:] = 3
    x.attach_grad()
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert x.grad.shape == (0, 3)
    assert x.as_in_context(cpu(1)).shape == (0, 3)
    assert repr(x) == "\n[]\n<NDArray 0x3 @cpu(0)>"


def test_slice_assignment_by_method():
    x = nd.zeros((3, 4))
    assert x.slice_assign(nd.ones((1, 2)), (1, 1), (2, 3), (1, 1)) is x
    x.slice_assign_scalar(5, (0, 0), (1, None), (None, 2))
    np.testing.assert_array_equal(x.asnumpy(), [[5, 0, 5, 0], [0, 1, 1, 0], [0, 0, 0, 0]])
    with pytest.raises(ParameterError, match="tostype: stype must be one of 'default'"):
        x.tostype("coo")


def test_writing_with_out():
    x, out = nd.array([1, 2]), nd.zeros((2,))
    assert nd.exp(x, out=out) is out
    np.testing.assert_allclose(out.asnumpy(), np.exp([1, 2]), rtol=1e-6)
    nd.broadcast_add(out, x, out=out)
    np.testing.assert_allclose(out.asnumpy(), np.exp([1, 2]) + [1, 2], rtol=1e-6)
    wide = nd.zeros((2,), dtype="float64")
    nd.exp(x, out=wide)
    assert wide.dtype is np.float64
    parts = [nd.zeros((1,)), nd.zeros((1,))]
    nd.split(x, num_outputs=2, axis=0, out=parts)
    assert [float(one) for one in parts] == [1, 2]
    with pytest.raises(ShapeError, match=r"exp: out= must have shape \(2,\), got \(3,\)"):
        nd.exp(x, out=nd.zeros(3))
    with pytest.raises(ParameterError, match="exp: out= needs an NDArray, got list|got int"):
        nd.exp(x, out=3)
    with pytest.raises(ParameterError, match="exp: out= takes at most 1 arrays, got 2"):
        nd.exp(x, out=[out, out])


def test_unknown_functions_and_missing_inputs():
    with pytest.raises(AttributeError, match="no function 'no_such_thing'"):
        nd.no_such_thing  # noqa: B018
    with pytest.raises(ParameterError, match="exp: .*must be an NDArray, but it is a list"):
        nd.exp([1, 2])
    with pytest.raises(ParameterError, match="dot: requires 2 inputs|must be an NDArray"):
        nd.dot(nd.zeros((2, 2)))


def test_saving_and_loading(tmp_path):
    path = tmp_path / "arrays.params"
    x = nd.array([[1.5, 2], [3, 4]])
    y = nd.array([2**40], dtype="int64", ctx=cpu(1))
    nd.save(path, {"x": x, "y": y})
    loaded = nd.load(path)
    assert set(loaded) == {"x", "y"}
    np.testing.assert_array_equal(loaded["x"].asnumpy(), x.asnumpy())
    assert loaded["y"].dtype is np.int64
    assert int(loaded["y"]) == 2**40
    nd.save(str(path), [x[1], x])
    first, second = nd.load_frombuffer(path.read_bytes())
    np.testing.assert_array_equal(first.asnumpy(), [3, 4])
    np.testing.assert_array_equal(second.asnumpy(), x.asnumpy())
    nd.save(path, x)
    assert len(nd.load(str(path))) == 1
    with pytest.raises(ParameterError, match="nd.save: every value must be an NDArray, got int"):
        nd.save(path, {"x": 1})
    with pytest.raises(ParameterError, match="load_frombuffer: needs bytes, got str"):
        nd.load_frombuffer("x")
    with pytest.raises(OSError):
        nd.load(tmp_path / "missing")


def test_random_arrays_follow_the_seed():
    mx.random.seed(7)
    first = [nd.random.uniform(shape=(3,)).asnumpy(), nd.random.normal().asnumpy()]
    other = nd.random.uniform(shape=(3,), ctx=cpu(1)).asnumpy()
    mx.random.seed(7)
    again = [nd.random.uniform(shape=(3,)).asnumpy(), nd.random.normal().asnumpy()]
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(nd.random.uniform(shape=(3,), ctx=cpu(1)).asnumpy(), other)
    assert not np.array_equal(other, first[0])
    assert nd.random.normal().shape == (1,)
    assert nd.random.randint(0, 5, shape=(2,)).dtype is np.int32
    pair = nd.random.uniform(nd.array([0, 10]), nd.array([1, 11]), shape=(2,))
    assert pair.shape == (2, 2)
    low, high = pair.asnumpy()
    assert (low < 1).all()
    assert (high >= 10).all()


def test_bfloat16_is_printed_as_floating():
    x = nd.array([3, 0.5]).astype("bfloat16")
    assert str(x) == "\n[3.  0.5]\n<NDArray 2 @cpu(0)>"
    assert repr(mx.np.array([3, 2]).astype("bfloat16")) == "array([3., 2.], dtype=bfloat16)"


def test_numpys_mean_takes_an_array():
    x = nd.array([[1, 2], [3, 6]])
    assert np.mean(x).asnumpy().tolist() == [3]
    assert np.mean(x, axis=0).asnumpy().tolist() == [2, 4]
    with pytest.raises(ParameterError, match="mean: unknown parameter 'dtype'"):
        x.mean(dtype="float64")


def test_a_view_without_a_shape_names_reshape():
    with pytest.raises(TypeError, match=r"got -1 alone; .* x\.reshape\(shape\)"):
        nd.ones((2, 3)).view(-1)


def test_no_dtype_is_float32():
    assert nd.ones((2,), dtype="int32").astype(None).dtype is np.float32
    assert nd.zeros((2,), dtype=None).dtype is np.float32
    assert mx.gluon.Parameter("w", shape=(2,), dtype=None).dtype is np.float32
    table = mx.gluon.nn.Embedding(3, 2, dtype=None)
    table.initialize()
    assert table(nd.array([1])).dtype is np.float32


@pytest.mark.parametrize(
    "read",
    [
        nd.load,
        mx.sym.load,
        lambda path: mx.model.load_checkpoint(path, 0),
        lambda path: mx.recordio.MXRecordIO(path, "r"),
        lambda path: mx.gluon.nn.Dense(2, in_units=2).load_parameters(path),
        lambda path: nd.save(path, nd.ones((2,))),
        lambda path: mx.io.MNISTIter(image=path, label=path),
    ],
)
def test_a_file_that_is_not_there_is_an_error_of_both_kinds(tmp_path, read):
    """MXNet's scripts wait for an MXNetError, those of Python for its own."""
    for kind in (MXNetError, FileNotFoundError):
        with pytest.raises(kind, match="No such file") as caught:
            read(str(tmp_path / "gone" / "file"))
    assert caught.value.errno == 2 and "gone" in caught.value.filename
