"""Which parts of an array are views, as MXNet 1.9.1 answered, and what a write through one does."""

from __future__ import annotations

import copy
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
from helpers import settle
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hybridnet import autograd, cpu, nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray.parts import assign_call, fill_call, view_call
from hybridnet.ops.state.views import block_lengths
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.compiling import compile_code
from hybridnet.runtime.segments.code import Code


def grid(*shape):
    return nd.array(np.arange(np.prod(shape)).reshape(shape))


# Keys into a (3, 4) array and the shape of the part. MXNet 1.9.1 was asked whether a write to the
# part shows in the array: basic indexing is a view iff the part is one run of memory.
VIEWS = [
    (np.s_[1:3], (2, 4)),
    (np.s_[2], (4,)),
    (np.s_[-1], (4,)),
    (np.s_[1:3, :], (2, 4)),
    (np.s_[0:1, 1:3], (1, 2)),
    (np.s_[0, 1:3], (2,)),
    (np.s_[1, 2], (1,)),
    (np.s_[0:1:2], (1, 4)),
    (np.s_[None], (1, 3, 4)),
    (np.s_[1:3, None], (2, 1, 4)),
    (np.s_[None, 1], (1, 4)),
    (np.s_[:, None], (3, 1, 4)),
    (np.s_[...], (3, 4)),
    (np.s_[1, ...], (4,)),
    (np.s_[:], (3, 4)),
    (np.s_[:, :], (3, 4)),
    ((1,), (4,)),
    (np.int64(1), (4,)),
    ((), (3, 4)),
]
COPIES = [
    (np.s_[1:3, 0:2], (2, 2)),
    (np.s_[:, 1], (3,)),
    (np.s_[:, 1:3], (3, 2)),
    (np.s_[..., 1], (3,)),
    (np.s_[::2], (2, 4)),
    (np.s_[::-1], (3, 4)),
    (np.s_[0:0], (0, 4)),
    ([1], (1, 4)),
    (([0, 1], [1, 2]), (2,)),
    ((slice(1, 3), [0, 1]), (2, 2)),
    (np.array([0, 2]), (2, 4)),
]


@pytest.mark.parametrize(("key", "shape"), VIEWS, ids=str)
def test_parts_that_are_views(key, shape):
    x, reference = grid(3, 4), np.arange(12.0).reshape(3, 4)
    part = x[key]
    assert part.shape == shape
    np.testing.assert_array_equal(part.asnumpy(), reference[key].reshape(shape))
    part[:] = -1
    reference[key] = -1
    np.testing.assert_array_equal(x.asnumpy(), reference)
    x[:] = 7
    assert (part.asnumpy() == 7).all()


@pytest.mark.parametrize(("key", "shape"), COPIES, ids=str)
def test_parts_that_are_copies(key, shape):
    x, reference = grid(3, 4), np.arange(12.0).reshape(3, 4)
    part = x[key]
    assert part.shape == shape
    np.testing.assert_array_equal(part.asnumpy(), reference[key])
    part[:] = -1
    np.testing.assert_array_equal(x.asnumpy(), reference)


def test_an_index_array_gives_a_copy():
    x = grid(3, 4)
    part = x[nd.array([1, 2])]
    part[:] = -1
    assert x[1:].asnumpy().min() == 4


# What each gives that shares the memory of x.
SHARING = {
    "reshape": lambda x: x.reshape((4, 3)),
    "reshape to the same shape": lambda x: x.reshape((3, 4)),
    "detach": lambda x: x.detach(),
    "as_in_context(same)": lambda x: x.as_in_context(cpu(0)),
    "astype(same, copy=False)": lambda x: x.astype("float32", copy=False),
    "reshape with codes": lambda x: x.reshape(0, -4, 2, -1),
    "as_nd_ndarray": lambda x: x.as_nd_ndarray(),
}
COPYING = {
    "nd.reshape": lambda x: nd.reshape(x, shape=(4, 3)),
    "reshape_like": lambda x: x.reshape_like(nd.zeros((4, 3))),
    "flatten": lambda x: x.flatten(),
    "expand_dims": lambda x: x.expand_dims(0),
    "squeeze": lambda x: x.squeeze(),
    "T": lambda x: x.T,
    "transpose to the same axes": lambda x: x.transpose((0, 1)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "slice": lambda x: nd.slice(x, begin=(0,), end=(2,)),
    "slice_axis": lambda x: x.slice_axis(axis=0, begin=0, end=2),
    "astype": lambda x: x.astype("float32"),
    "as_in_context(other)": lambda x: x.as_in_context(cpu(1)),
    "copyto(context)": lambda x: x.copyto(cpu(0)),
    "copy": lambda x: x.copy(),
    "broadcast_to the same shape": lambda x: x.broadcast_to((3, 4)),
    "identity": lambda x: nd.identity(x),
    "BlockGrad": lambda x: nd.BlockGrad(x),
    "concat of one": lambda x: nd.concat(x, dim=0),
    "nd.array": nd.array,
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("recording", [False, True])
def test_methods_that_share_memory(name, recording):
    x = grid(3, 4)
    with autograd.record() if recording else autograd.pause():
        other = SHARING[name](x)
        other[:] = 5
    assert (x.asnumpy() == 5).all()


@pytest.mark.parametrize("name", COPYING)
@pytest.mark.parametrize("recording", [False, True])
def test_methods_that_copy(name, recording):
    x = grid(3, 4)
    with autograd.record() if recording else autograd.pause():
        other = COPYING[name](x)
        other[:] = 5
    np.testing.assert_array_equal(x.asnumpy(), np.arange(12).reshape(3, 4))
    x[:] = 3
    assert (other.asnumpy() == 5).all()


def test_what_is_the_very_same_object():
    x = grid(3, 4)
    assert x[:] is x
    assert x[()] is x
    assert x[...] is not x
    assert x.reshape((3, 4)) is not x
    assert x.detach() is not x
    assert x.as_in_context(cpu(0)) is x
    assert x.astype("float32", copy=False) is x
    assert x.astype("float32") is not x


def test_views_of_views():
    x = grid(4, 3)
    for view, where in [
        (x[1:3][0], np.s_[1]),
        (x[1:3].reshape(-1)[2:4], None),
        (x.reshape(-1)[3:9].reshape((2, 3))[1], np.s_[2]),
    ]:
        x[:] = 0
        view[:] = 1
        expected = np.zeros((4, 3))
        if where is None:
            expected.reshape(-1)[5:7] = 1
        else:
            expected[where] = 1
        np.testing.assert_array_equal(x.asnumpy(), expected)


def test_a_view_of_a_slice_of_a_view_reads_what_is_written_to_its_siblings():
    x = nd.zeros((4, 6))
    top, flat = x[0:2], x.reshape(-1)
    flat[3:5] = 9
    top[1] += 1
    x[0, 0] = 4
    expected = np.zeros((4, 6))
    expected[0, 3:5] = 9
    expected[1] = 1
    expected[0, 0] = 4
    np.testing.assert_array_equal(x.asnumpy(), expected)
    np.testing.assert_array_equal(top.asnumpy(), expected[:2])
    np.testing.assert_array_equal(flat.asnumpy(), expected.reshape(-1))


@st.composite
def runs(draw: Any) -> tuple[tuple[int, ...], int, int]:
    """A shape, and the offset and the size of a run of its elements."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, max_side=4))
    size = draw(st.integers(1, math.prod(shape)))
    return shape, draw(st.integers(0, math.prod(shape) - size)), size


def is_block(shape, offset, size):
    """Whether the places of a run, unraveled, are all those between the first and the last."""
    places = np.stack(np.unravel_index(np.arange(offset, offset + size), shape))
    return bool(np.prod(np.ptp(places, axis=1) + 1) == size)


@given(runs())
@settings(max_examples=30)
@example(((3, 4), 2, 4))  # as many as a row, but across two
@example(((2, 3, 4), 8, 8))  # whole rows, but of two matrices
@example(((2, 1, 4), 3, 1))
def test_random_runs_are_read_and_written(case):
    shape, offset, size = case
    host = np.arange(math.prod(shape), dtype="float32")
    x = nd.array(host.reshape(shape))
    part = x.reshape(-1)[offset : offset + size]
    np.testing.assert_array_equal(part.asnumpy(), host[offset : offset + size])
    part[:] = -nd.arange(1, size + 1)
    host[offset : offset + size] = -np.arange(1, size + 1)
    np.testing.assert_array_equal(x.asnumpy(), host.reshape(shape))


@given(runs())
@settings(max_examples=300)
@example(((3, 4), 2, 4))
@example(((2, 3, 4), 8, 8))
def test_which_runs_are_blocks(case):
    shape, offset, size = case
    base = tensor_type(shape, np.dtype("float32"))
    part = tensor_type((size,), base.dtype)
    expected = size < base.size and is_block(shape, offset, size)
    for made in (view_call, assign_call):
        call, numbers = made(base, part, offset)
        assert call.attrs["block"] is expected
        assert numbers == (offset,)
    if expected:
        lengths = block_lengths(shape, size)
        assert lengths is not None
        assert math.prod(lengths) == size


def parts(shape, part):
    base = tensor_type(shape, np.dtype("float32"))
    return base, tensor_type(part, base.dtype)


@pytest.mark.parametrize(
    ("shape", "part", "offset"),
    [
        ((300, 400), (400,), 1200),
        ((300, 400), (2, 400), 400),
        ((300, 400), (7,), 403),
        ((30, 40, 10), (40, 10), 800),
        ((30, 40, 10), (3, 10), 450),
        ((120_000,), (1,), 3),
        ((120_000,), (500,), 7),
    ],
)
def test_a_write_is_one_update_of_the_memory_of_the_array(shape, part, offset):
    """The whole program of ``x[3] = 1``, as XLA compiled it, has no copy and no room for one."""
    base, cut = parts(shape, part)
    write = assign_call(base, cut, offset)[0]
    code = Code(cpu(0), ((fill_call(cut), ()), (write, (~0, 0))), (base,), (1,), (0,))
    compiled = compile_code(code)
    sizes = compiled.memory_analysis()
    assert sizes.alias_size_in_bytes >= base.nbytes
    assert sizes.temp_size_in_bytes < 1000
    assert not re.search(r"\bcopy\S*\(", compiled.as_text())


def test_a_read_takes_no_room_for_the_array():
    base, cut = parts((300, 400), (2, 400))
    code = Code(cpu(0), ((view_call(base, cut, 800)[0], (~0,)),), (base,), (0,), ())
    assert compile_code(code).memory_analysis().temp_size_in_bytes < 1000


@pytest.mark.slow
@pytest.mark.compiled
def test_writes_in_a_loop_stay_in_the_same_memory():
    x = nd.zeros((50, 60))
    places = set()
    for row in range(8):
        x[row] = row
        settle()
        if row > 3:
            places.add(x.read().array.unsafe_buffer_pointer())
    assert len(places) == 1
    assert (x.asnumpy()[:8] == np.arange(8)[:, None]).all()


def test_another_row_is_the_same_program():
    x = nd.zeros((9, 4, 6))
    flat = x.reshape(-1)

    def turn(row):
        x[row] = row
        x[row : row + 2].asnumpy()
        x[row, 2, row % 4 : row % 4 + 2] += 1
        flat[24 * row : 24 * row + 24] *= 2
        settle()

    for row in range(3):
        turn(row)
    before = cache.statistics().compilations
    for row in range(3, 8):
        turn(row)
    assert cache.statistics().compilations == before


def test_iteration_gives_views_of_the_rows():
    x = grid(3, 2)
    for number, row in enumerate(x):
        row += number
    np.testing.assert_array_equal(x.asnumpy(), [[0, 1], [3, 4], [6, 7]])


def test_in_place_operators_keep_identity_and_reach_views():
    x = grid(2, 3)
    kept, view = x, x[1]
    x += 1
    x *= 2
    x -= 1
    x /= 2
    assert x is kept
    np.testing.assert_array_equal(view.asnumpy(), (np.arange(3, 6) + 1) - 0.5)
    view **= 2
    view %= 3
    expected = np.arange(6.0).reshape(2, 3) + 0.5
    expected[1] = expected[1] ** 2 % 3
    np.testing.assert_allclose(x.asnumpy(), expected, rtol=1e-6)


def test_augmented_assignment_to_a_part():
    x, reference = grid(3, 4), np.arange(12.0).reshape(3, 4)
    for key in [np.s_[1], np.s_[:, 1], np.s_[0:2, 1:3], ([0, 2], [1, 1]), np.s_[::-2]]:
        x[key] += 100
        reference[key] += 100
        np.testing.assert_array_equal(x.asnumpy(), reference)


def test_overlapping_assignment_reads_before_it_writes():
    x = grid(6)
    x[1:5] = x[0:4]
    np.testing.assert_array_equal(x.asnumpy(), [0, 0, 1, 2, 3, 5])


def test_a_view_keeps_its_old_shape_and_dtype_rules():
    x = nd.arange(6, dtype="int32").reshape((2, 3))
    assert x.dtype is np.int32
    view = x[1]
    view[:] = 2.9
    np.testing.assert_array_equal(x.asnumpy(), [[0, 1, 2], [2, 2, 2]])
    view[:] = nd.array([-1.5, 300.7, 4])
    np.testing.assert_array_equal(x.asnumpy()[1], [-1, 300, 4])


def test_writing_a_whole_array_copies_the_value():
    x, y = grid(3), nd.array([7, 8, 9])
    x[:] = y
    y += 1
    np.testing.assert_array_equal(x.asnumpy(), [7, 8, 9])
    x += 1
    np.testing.assert_array_equal(y.asnumpy(), [8, 9, 10])


def test_out_and_copyto_write_through_views():
    x = nd.zeros((3, 2))
    nd.broadcast_add(nd.array([1, 2]), nd.array([1]), out=x[1])
    nd.array([5, 6]).copyto(x[2])
    np.testing.assert_array_equal(x.asnumpy(), [[0, 0], [2, 3], [5, 6]])


def test_reshape_arguments():
    x = grid(2, 3, 4)
    assert x.reshape(4, -1, 2).shape == (4, 3, 2)
    assert x.reshape(24).shape == (24,)
    assert x.reshape((24,)).shape == (24,)
    assert x.reshape([6, 4]).shape == (6, 4)
    assert x.reshape(shape=(-3, 0)).shape == (6, 4)
    assert x.reshape((0, -4, -1, 3, -2)).shape == (2, 1, 3, 4)
    assert grid(10, 5, 4).reshape((-1, 0), reverse=True).shape == (50, 4)
    with pytest.raises(ValueError, match="Reshape: the number of elements"):
        x.reshape((5,))
    with pytest.raises(ValueError, match="reshape: the shape was given twice"):
        x.reshape((24,), shape=(24,))
    with pytest.raises(ValueError, match="reshape: takes shape and reverse, got sahpe"):
        x.reshape(sahpe=(24,))
