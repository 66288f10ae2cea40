"""Indexing and assignment: random keys against NumPy, MXNet's exceptions to it, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import settle, thorough
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hybridnet as hn
from hybridnet import autograd, nd

DTYPES = ["float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool"]


def filled(shape: tuple[int, ...], dtype: Any = "float32") -> np.ndarray[Any, Any]:
    """Distinct numbers where the dtype has room for them."""
    return (np.arange(np.prod(shape, dtype=int)) % 120).reshape(shape).astype(dtype)


def one_or_more(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape or (1,)  # MXNet has no 0-d results


shapes = hnp.array_shapes(min_dims=1, max_dims=4, max_side=4)


@st.composite
def basic_keys(draw: Any) -> tuple[tuple[int, ...], Any]:
    shape = draw(shapes)
    return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, max_dims=6))


@st.composite
def advanced_keys(draw: Any) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """A shape and a key with at least one integer array, each as a list, a NumPy or our array."""
    shape = draw(shapes)
    count = draw(st.integers(1, len(shape)))
    kinds = draw(
        st.lists(st.sampled_from("ais:"), min_size=count, max_size=count).filter(
            lambda found: "a" in found
        )
    )
    broadcast = draw(hnp.array_shapes(min_dims=1, max_dims=2, max_side=3))
    key: list[Any] = []
    for kind, size in zip(kinds, shape, strict=False):
        positions = st.integers(-size, size - 1)
        if kind == "a":
            dims = tuple(draw(st.sampled_from([1, side])) for side in broadcast)
            dtype = draw(st.sampled_from([np.int32, np.int64, np.int8]))
            key.append(draw(hnp.arrays(dtype, dims, elements=positions)))
        elif kind == "i":
            key.append(draw(positions))
        elif kind == "s":
            key.append(draw(st.slices(size)))
        else:
            key.append(slice(None))
    return shape, tuple(key)


def forms(key: tuple[Any, ...], draw: Any) -> tuple[Any, ...]:
    """The same key with its arrays as lists, NumPy arrays, or ours, of integers or floats."""
    made: list[Any] = []
    for item in key:
        if isinstance(item, np.ndarray):
            made.append(
                draw(
                    st.sampled_from(
                        [
                            item,
                            item.tolist(),
                            nd.array(item, dtype="int32"),
                            nd.array(item, dtype="int64"),
                            nd.array(item),
                        ]
                    )
                )
            )
        else:
            made.append(item)
    return tuple(made)


def check_get(shape: tuple[int, ...], key: Any, dtype: Any) -> None:
    host = filled(shape, dtype)
    part = nd.array(host, dtype=dtype)[key]
    expected = np.asarray(host[key])
    assert part.shape == one_or_more(expected.shape)
    assert part.dtype is expected.dtype.type
    np.testing.assert_array_equal(part.asnumpy(), expected.reshape(part.shape))


def check_set(shape: tuple[int, ...], key: Any, dtype: Any, value: Any) -> None:
    host = filled(shape, dtype)
    x = nd.array(host, dtype=dtype)
    host[key] = value
    x[key] = nd.array(value, dtype=value.dtype) if isinstance(value, np.ndarray) else value
    np.testing.assert_array_equal(x.asnumpy(), host)


@given(basic_keys(), st.sampled_from(DTYPES))
@settings(max_examples=60)
@example(((3, 4), (slice(None, None, -2), None, 1)), "float32")
def test_basic_indexing_is_numpys(case, dtype):
    check_get(*case, dtype)


@given(basic_keys(), st.sampled_from(DTYPES), st.data())
@settings(max_examples=60)
def test_assignment_to_a_basic_part_is_numpys(case, dtype, data):
    shape, key = case
    part = filled(shape)[key].shape
    value = data.draw(st.sampled_from([0, 1, 3.0, True, "array"]))
    if value == "array":
        kept = data.draw(st.integers(0, len(part)))
        dims = [data.draw(st.sampled_from([1, size])) for size in part[len(part) - kept :]]
        value = filled(tuple(dims), data.draw(st.sampled_from([dtype, "float32"])))
    check_set(shape, key, dtype, value)


@given(advanced_keys(), st.sampled_from(DTYPES), st.data())
@settings(max_examples=50)
def test_advanced_indexing_is_numpys(case, dtype, data):
    shape, key = case
    host = filled(shape, dtype)
    part = nd.array(host, dtype=dtype)[forms(key, data.draw)]
    expected = np.asarray(host[key])
    assert part.shape == one_or_more(expected.shape)
    np.testing.assert_array_equal(part.asnumpy(), expected.reshape(part.shape))


@given(advanced_keys(), st.sampled_from(DTYPES), st.data())
@settings(max_examples=50)
def test_assignment_to_an_advanced_part_is_numpys(case, dtype, data):
    shape, key = case
    host = filled(shape, dtype)
    # One value for all, since of several written to one place any may win.
    value = data.draw(st.sampled_from([1, 0, 5.0]))
    wide = data.draw(st.booleans())
    x = nd.array(host, dtype=dtype)
    part = host[key].shape
    host[key] = value
    x[forms(key, data.draw)] = nd.full(part or (1,), value, dtype=dtype) if wide else value
    np.testing.assert_array_equal(x.asnumpy(), host)


@pytest.mark.slow
@given(basic_keys(), advanced_keys(), st.sampled_from(DTYPES), st.data())
@settings(max_examples=thorough(1500, 100))
def test_many_random_keys(basic, advanced, dtype, data):
    check_get(*basic, dtype)
    check_set(*basic, dtype, data.draw(st.sampled_from([0, 1, 3.0])))
    test_advanced_indexing_is_numpys.hypothesis.inner_test(advanced, dtype, data)


def test_distinct_values_land_at_distinct_places():
    x, host = nd.zeros((4, 5)), np.zeros((4, 5))
    rows, columns = np.array([[0], [2], [3]]), np.array([4, 1])
    value = np.arange(6.0).reshape(3, 2)
    x[rows, columns] = nd.array(value)
    host[rows, columns] = value
    x[[1, 0], 0] = [8, 9]
    host[[1, 0], 0] = [8, 9]
    x[1:3, [2, 3]] = np.arange(4).reshape(2, 2)
    host[1:3, [2, 3]] = np.arange(4).reshape(2, 2)
    np.testing.assert_array_equal(x.asnumpy(), host)


def test_masks():
    host = filled((3, 4))
    x = nd.array(host)
    np.testing.assert_array_equal(x[host > 5].asnumpy(), host[host > 5])
    mask = nd.array(host > 5, dtype="bool")
    np.testing.assert_array_equal(x[mask].asnumpy(), host[host > 5])
    x[mask] = -1
    host[host > 5] = -1
    x[host < 0] += 3
    host[host < 0] += 3
    np.testing.assert_array_equal(x.asnumpy(), host)
    assert x[np.zeros((3, 4), bool)].shape == (0,)
    y = nd.array(filled((2, 3, 4)))
    for key in [np.s_[0, host > 5], np.s_[..., host > 5], np.s_[..., np.array([True] * 3), :]]:
        np.testing.assert_array_equal(y[key].asnumpy(), filled((2, 3, 4))[key])
    for wrong in [np.array([True, False]), np.s_[..., np.array([True] * 3)], np.ones((4, 3), bool)]:
        with pytest.raises(IndexError, match="a mask must have the shape of the axes"):
            x[wrong]
    # A comparison gives 0 and 1 in the dtype of its operands: positions, as in MXNet.
    assert x[x > 100].shape == (3, 4, 4)
    np.testing.assert_array_equal(x[True].asnumpy(), host[1])


def test_lists_of_booleans_are_positions():
    """MXNet 1.9.1 answered these, of ``arange(12).reshape(3, 4)`` and of zeros."""
    x = nd.array(np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(x[[True, False]].asnumpy(), [[4, 5, 6, 7], [0, 1, 2, 3]])
    np.testing.assert_array_equal(x[[True, False, True]].asnumpy()[:, 0], [4, 0, 4])
    np.testing.assert_array_equal(x[[[True, False]]].asnumpy()[..., 0], [[4, 0]])
    np.testing.assert_array_equal(x[:, [True, False, True, False]].asnumpy()[2], [9, 8, 9, 8])
    x[:, [True, False]] = 0
    np.testing.assert_array_equal(x.asnumpy().sum(axis=0), [0, 0, 18, 21])
    # mx.np follows NumPy.
    y = nd.array(np.arange(12).reshape(3, 4)).as_np_ndarray()
    np.testing.assert_array_equal(y[[True, False, True]].asnumpy()[:, 0], [0, 8])
    with pytest.raises(IndexError, match="a mask must have the shape"):
        y[[True, False]]


def test_ranges_are_arrays_of_positions():
    host = filled((3, 4))
    x = nd.array(host)
    last = nd.array([1, 3, 0])
    np.testing.assert_array_equal(x[range(3), last].asnumpy(), host[range(3), [1, 3, 0]])
    keys = range(2), range(-1, -3, -1), range(0), np.s_[:, range(0, 4, 2)], np.s_[range(2), 1]
    for key in keys:
        np.testing.assert_array_equal(x[key].asnumpy(), host[key])
    x[range(2), 1:3] = -1
    host[range(2), 1:3] = -1
    np.testing.assert_array_equal(x.asnumpy(), host)


def test_objects_that_are_numbers_are_values():
    table = np.array([[1, True, 2.5], [3, None, np.float32(-1)]], dtype=object)
    for made in (nd.array(table), hn.np.array(table, dtype="float32"), nd.zeros((2, 3))):
        made[:] = table
        np.testing.assert_array_equal(made.asnumpy(), [[1, 1, 2.5], [3, np.nan, -1]])
    with pytest.raises(ValueError, match="nd.array: needs real numbers, got other objects"):
        nd.array(np.array([1, {}], dtype=object))


def test_index_arrays_are_truncated_and_negative_ones_count_from_the_end():
    x = nd.array([10, 11, 12])
    np.testing.assert_array_equal(x[nd.array([-1, 0.9, 1.2])].asnumpy(), [12, 10, 11])
    np.testing.assert_array_equal(x[[-1.0, 2.0]].asnumpy(), [12, 12])
    for wrong in (7, -4):
        for read in (lambda at: x[at], lambda at: x[at * 1].asnumpy()):
            with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0"):
                read(nd.array([1, wrong]))
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3"):
        x[nd.array([7, 1])] = 0
    np.testing.assert_array_equal(x.asnumpy(), [10, 11, 12])


def test_whole_numbers_of_every_kind_are_positions():
    host = filled((4, 5))
    x, one, two = nd.array(host), nd.array([1], dtype="int32"), nd.array([2], dtype="int64")
    np.testing.assert_array_equal(x[one:two].asnumpy(), host[1:2])
    np.testing.assert_array_equal(x[np.int8(1) : np.uint8(3), [0, 2]].asnumpy(), host[1:3, [0, 2]])
    np.testing.assert_array_equal(x[[0, 1], one:].asnumpy(), host[[0, 1], 1:])
    np.testing.assert_array_equal(x[np.array(2)].asnumpy(), host[2])
    with pytest.raises(TypeError):
        x[1.5:]


def test_a_loop_over_positions_compiles_once():
    from hybridnet.runtime.programs.cache import cache

    x = nd.array(filled((6, 5)))
    for column in range(2):
        x[:, column].asnumpy()
        x[column].asnumpy()
        x[:, column] = column
        settle()
    before = cache.statistics().compilations
    for column in range(2, 5):
        x[:, column].asnumpy()
        x[column].asnumpy()
        x[:, column] = column
        settle()
    assert cache.statistics().compilations == before


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (5, "index 5 is out of bounds for axis 0 with size 3"),
        (-4, "index -4 is out of bounds for axis 0 with size 3"),
        ((0, 4), "index 4 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), "too many indices .3. for an array with 2 dimensions"),
        ([0, 3], "index 3 is out of bounds for axis 0 with size 3"),
        ((slice(None), np.array([-5])), "index -5 is out of bounds for axis 1 with size 4"),
        ((..., ...), "one Ellipsis"),
        ("a", "indexed with integers, slices.*got 'a'"),
        (1.0, "indexed with integers, slices.*got 1.0"),
        ({1}, "indexed with integers, slices"),
        (["a"], "index array must hold integers"),
    ],
    ids=str,
)
def test_wrong_keys(key, message):
    x = nd.zeros((3, 4))
    with pytest.raises(IndexError, match=message):
        x[key]
    with pytest.raises(IndexError, match=message):
        x[key] = 1


def test_index_arrays_that_do_not_broadcast():
    x = nd.zeros((3, 4))
    with pytest.raises(ValueError, match="indexing float32.3,4. with arrays"):
        x[[0, 1], [0, 1, 2]]
    with pytest.raises(ValueError, match=r"broadcast to the shape \(2, 4\) of the part"):
        x[[0, 1]] = nd.zeros((3, 4))


@pytest.mark.parametrize("key", [np.s_[1:3], np.s_[:, 1:3], np.s_[...]], ids=str)
def test_values_that_do_not_fit(key):
    x = nd.zeros((3, 4))
    with pytest.raises(ValueError, match=r"must broadcast to the shape .*, got shape \(5,\)"):
        x[key] = nd.zeros(5)
    with pytest.raises(ValueError, match=r"must broadcast"):
        x[key] = np.zeros((2, 3, 4))


@pytest.mark.parametrize("value", ["a", None, object(), 1j, [[1], [2, 3]], ["x", "y"], b"1"])
def test_values_that_are_no_numbers(value):
    x = nd.zeros((2,))
    for key in (np.s_[:], np.s_[::-1], [0]):
        with pytest.raises((TypeError, ValueError), match=r"x\[...\] = value: needs"):
            x[key] = value
    assert (x.asnumpy() == 0).all()


def test_surplus_leading_axes_of_a_value_are_dropped():
    for key in (np.s_[1], np.s_[1, ::-1], ([1],)):
        x = nd.zeros((3, 4))
        x[key] = nd.array(np.arange(4).reshape(1, 1, 4))
        assert x.asnumpy()[1].sum() == 6
    x[1] = np.arange(4).reshape(1, 1, 4)
    x[0:2] = [[1, 2, 3, 4]]
    np.testing.assert_array_equal(x.asnumpy()[:2], [[1, 2, 3, 4]] * 2)


def test_values_are_cast_as_in_c():
    x = nd.zeros((5,), dtype="int32")
    x[0] = 2.7
    x[1:3] = [-3.9, 300]
    x[::4] = nd.array([1.9, -1.9], dtype="float64")
    np.testing.assert_array_equal(x.asnumpy(), [1, -3, 300, 0, -1])
    y = nd.zeros((4,), dtype="uint8")
    y[0] = 300
    y[1] = -1
    y[2:] = [300, 2]
    np.testing.assert_array_equal(y.asnumpy(), [44, 255, 44, 2])
    y[::2] = nd.array([-1, 257], dtype="int32")
    np.testing.assert_array_equal(y.asnumpy(), [255, 255, 1, 2])
    z = nd.zeros((3,), dtype="int64")
    z[0] = 2**53 + 1
    z[1:] = [2**62 + 1, -(2**53) - 1]
    np.testing.assert_array_equal(z.asnumpy(), [2**53 + 1, 2**62 + 1, -(2**53) - 1])
    b = nd.zeros((3,), dtype="bool")
    b[1:] = [0.5, 0]
    np.testing.assert_array_equal(b.asnumpy(), [False, True, False])
    h = nd.zeros((2,), dtype="float16")
    h[:] = 1e6
    np.testing.assert_array_equal(h.asnumpy(), [np.inf, np.inf])


def test_empty_parts():
    x = nd.array(filled((3, 4)))
    for key in (np.s_[0:0], np.s_[2:1], np.s_[5:9], np.s_[:, 4:], np.s_[1:1, 2]):
        expected = filled((3, 4))[key]
        assert x[key].shape == expected.shape
        assert x[key].asnumpy().shape == expected.shape
        x[key] = 7
        x[key] = np.zeros(expected.shape)
    np.testing.assert_array_equal(x.asnumpy(), filled((3, 4)))
    empty = nd.empty((0, 3))
    assert empty[:, 1].shape == (0,)
    assert empty[...].shape == (0, 3)
    assert empty.reshape((0, 3)).shape == (0, 3)
    empty[:] = 4
    assert (empty + 1).asnumpy().shape == (0, 3)
    assert x[nd.array([], dtype="int32")].shape == (0, 4)
    assert x[[]].shape == (0, 4)


@given(st.one_of(basic_keys(), advanced_keys()))
@settings(max_examples=30)
def test_the_gradient_of_a_part_is_scattered_back(case):
    shape, key = case
    host = filled(shape)
    x = nd.array(host)
    x.attach_grad()
    with autograd.record():
        part = x[key]
    weights = np.arange(1, part.size + 1, dtype="float32").reshape(part.shape)
    if part.size == 0:
        return
    part.backward(nd.array(weights))
    expected = np.zeros(shape, "float32")
    np.add.at(expected, key, weights.reshape(host[key].shape))
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)
