"""Data iterators: batches as MXNet 1.9.1 gives them, refusals, reading ahead."""

from __future__ import annotations

import copy
import gzip
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import engine, io, nd
from hybridnet.base.errors import FormatError, MXNetError, ParameterError, ShapeError

X = np.arange(20, dtype=np.float32).reshape(10, 2)
Y = np.arange(10, dtype=np.float32)

Pass = list[tuple[list[int], int]]


def one_pass(it: Any) -> Pass:
    """The labels and the pad of each batch, after checking that data and labels go together."""
    batches = []
    for batch in it:
        (data,), (label,) = batch.data, batch.label
        np.testing.assert_array_equal(data.asnumpy(), X[label.asnumpy().astype(int)])
        batches.append((label.asnumpy().astype(int).tolist(), batch.pad))
    return batches


def passes(it: Any, count: int) -> list[Pass]:
    seen = []
    for number in range(count):
        if number:
            it.reset()
        seen.append(one_pass(it))
    return seen


# -- NDArrayIter -----------------------------------------------------------------------------------

FIRST_TWO = [([0, 1, 2, 3], 0), ([4, 5, 6, 7], 0)]
ROLLED = [([8, 9, 0, 1], 2), ([2, 3, 4, 5], 0), ([6, 7, 8, 9], 0)]


@pytest.mark.parametrize(
    ("handle", "expected"),
    [
        ("pad", [[*FIRST_TWO, ([8, 9, 0, 1], 2)]] * 4),
        ("discard", [FIRST_TWO] * 4),
        ("roll_over", [FIRST_TWO, ROLLED, FIRST_TWO, ROLLED]),
    ],
)
def test_what_becomes_of_the_last_batch(handle: str, expected: list[Pass]):
    it = io.NDArrayIter(X, Y, batch_size=4, last_batch_handle=handle)
    assert passes(it, 4) == expected


def test_a_batch_larger_than_the_data():
    for size in (16, 20, 25, 31):
        padded = io.NDArrayIter(X, Y, size)
        assert one_pass(padded) == [([i % 10 for i in range(size)], size - 10)]
    assert one_pass(io.NDArrayIter(X, Y, 16, last_batch_handle="discard")) == []
    rolling = io.NDArrayIter(X, Y, 16, last_batch_handle="roll_over")
    assert passes(rolling, 2) == [[], [([*range(10), *range(6)], 10)]]


def test_rows_roll_over_only_from_a_pass_that_ended():
    it = io.NDArrayIter(X, Y, 4, last_batch_handle="roll_over")
    next(it)
    it.reset()
    assert [next(it), next(it)] and it.cursor == 4
    it.reset()  # all batches were taken, but the end was not reached
    assert one_pass(it) == FIRST_TWO
    it.hard_reset()
    assert one_pass(it) == FIRST_TWO
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(it)
    it.reset()
    assert next(it).pad == 2 and it.cursor == -2
    it.reset()
    assert one_pass(it) == FIRST_TWO
    it.reset()
    it.reset()
    assert one_pass(it) == FIRST_TWO


MX_SHUFFLED = [  # after numpy.random.seed(3)
    [5, 4, 1, 2, 9, 6, 7, 0, 3, 8],
    [1, 2, 4, 9, 3, 8, 6, 0, 5, 7],
    [4, 7, 1, 3, 6, 5, 0, 2, 8, 9],
]
MX_SHUFFLED_ROLLING = [
    [([5, 4, 1, 2], 0), ([9, 6, 7, 0], 0)],
    [([3, 8, 1, 2], 2), ([4, 9, 3, 8], 0), ([6, 0, 5, 7], 0)],
    [([4, 7, 1, 3], 0), ([6, 5, 0, 2], 0)],
    [([8, 9, 0, 3], 2), ([7, 2, 6, 1], 0), ([4, 8, 9, 5], 0)],
]


def test_the_order_of_shuffled_rows_is_mxnets():
    state = np.random.get_state()
    try:
        np.random.seed(3)
        it = io.NDArrayIter(X, Y, 5, shuffle=True)
        orders = [[row for rows, _ in one for row in rows] for one in passes(it, 3)]
        assert orders == MX_SHUFFLED
        np.random.seed(3)
        rolling = io.NDArrayIter(X, Y, 4, shuffle=True, last_batch_handle="roll_over")
        assert passes(rolling, 4) == MX_SHUFFLED_ROLLING
    finally:
        np.random.set_state(state)


def test_a_seed_makes_an_order_of_its_own():
    before = np.random.get_state()[1].tolist()
    runs = [passes(io.NDArrayIter(X, Y, 4, shuffle=True, seed=seed), 3) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
    assert runs[0][0] != runs[0][1]
    assert np.random.get_state()[1].tolist() == before


@settings(max_examples=60)
@given(
    count=st.integers(1, 12),
    size=st.integers(1, 15),
    handle=st.sampled_from(["pad", "discard", "roll_over"]),
    shuffle=st.booleans(),
)
def test_no_row_is_lost(count: int, size: int, handle: str, shuffle: bool):
    """In four passes: 'pad' gives every row four times, 'roll_over' all but the last few."""
    it = io.NDArrayIter(X[:1].repeat(count, 0), np.arange(count), size, shuffle, handle, seed=0)
    seen = np.zeros(count, int)
    for number in range(4):
        if number:
            it.reset()
        for batch in it:
            rows = batch.label[0].asnumpy().astype(int)
            assert len(rows) == size
            seen += np.bincount(rows[: size - batch.pad] if handle == "pad" else rows, None, count)
    if handle == "pad":
        assert (seen == 4).all()
    elif handle == "roll_over":
        assert seen.sum() == 4 * count // size * size
        assert seen.max() <= 4
    else:
        assert seen.sum() == 4 * (count // size * size)


def test_names_and_descriptions():
    it = io.NDArrayIter(X, Y, 4)
    assert it.provide_data == [("data", (4, 2))]
    assert it.provide_label == [("softmax_label", (4,))]
    assert str(it.provide_data) == "[DataDesc[data,(4, 2),<class 'numpy.float32'>,NCHW]]"
    assert (it.num_data, it.num_source, it.batch_size) == (10, 1, 4)
    named = io.NDArrayIter({"b": X, "a": X * 2}, {"l2": Y, "l1": Y}, 4, layout="NC")
    assert [one.name for one in named.provide_data] == ["a", "b"]
    assert [one.name for one in named.provide_label] == ["l1", "l2"]
    assert named.provide_data[0].layout == "NC"
    np.testing.assert_array_equal(next(named).data[0].asnumpy(), X[:4] * 2)
    several = io.NDArrayIter([X, Y], None, 4)
    assert several.provide_data == [("_0_data", (4, 2)), ("_1_data", (4,))]
    assert several.provide_label == [] == next(several).label
    alone = io.NDArrayIter([X], Y, 4, data_name="in", label_name="out")
    assert (alone.provide_data[0].name, alone.provide_label[0].name) == ("in", "out")


@pytest.mark.parametrize("kind", [np.float64, np.int32, np.uint8, np.float16])
def test_dtypes(kind: Any):
    (data,) = next(io.NDArrayIter(X.astype(kind), None, 4)).data
    assert data.dtype == np.float32
    it = io.NDArrayIter(nd.array(X, dtype=kind), None, 4)
    (data,) = next(it).data
    assert data.dtype == kind == it.provide_data[0].dtype
    np.testing.assert_array_equal(data.asnumpy(), X[:4].astype(kind))


def test_batches_are_where_the_arrays_are():
    (data,) = next(io.NDArrayIter(nd.array(X, ctx=hn.cpu(1)), None, 4)).data
    assert data.context == hn.cpu(1)
    with hn.cpu(1):
        it = io.NDArrayIter(X, None, 4)
    assert next(it).data[0].context == hn.cpu(1)


def test_the_values_are_copied():
    host, array = X.copy(), nd.array(X)
    it = io.NDArrayIter([host, array], None, 4)
    host[:] = 7
    array[:] = 7
    batch = next(it)
    batch.data[0][:] = 9
    for one in (batch.data[1], *io.NDArrayIter(X, None, 4).next().data):
        np.testing.assert_array_equal(one.asnumpy(), X[:4])
    it.reset()
    np.testing.assert_array_equal(next(it).data[0].asnumpy(), X[:4])


def test_the_parts_of_a_batch_one_by_one():
    it = io.NDArrayIter(X, Y, 4)
    with pytest.raises(MXNetError, match="no current batch; call iter_next"):
        it.getdata()
    assert it.iter_next()
    np.testing.assert_array_equal(it.getdata()[0].asnumpy(), X[:4])
    np.testing.assert_array_equal(it.getlabel()[0].asnumpy(), Y[:4])
    assert (it.getpad(), it.getindex(), it.cursor) == (0, None, 0)
    assert len(list(it)) == 2 and not it.iter_next()
    with pytest.raises(MXNetError, match="no current batch"):
        it.getlabel()


def test_what_an_ndarray_iter_refuses():
    with pytest.raises(ShapeError, match="than the first, got data: 10, softmax_label: 5"):
        io.NDArrayIter(X, Y[:5], 4)
    assert [len(one.label[0]) for one in io.NDArrayIter(X[:4], Y, 2)] == [2, 2]  # as in MXNet
    with pytest.raises(ParameterError, match="one of pad, discard, roll_over, got 'foo'"):
        io.NDArrayIter(X, Y, 4, last_batch_handle="foo")
    with pytest.raises(ParameterError, match="batch_size must be at least 1, got 0"):
        io.NDArrayIter(X, Y, 0)
    for data in (None, "abc", 3):
        with pytest.raises(ParameterError, match="data must be an NDArray, a NumPy array"):
            io.NDArrayIter(data, Y, 4)
    with pytest.raises(ParameterError, match="at least one array, got none"):
        io.NDArrayIter([], Y, 4)
    with pytest.raises(ParameterError, match="a must be an array of numbers, got str"):
        io.NDArrayIter({"a": "text"}, None, 4)
    with pytest.raises(ShapeError, match="must have an axis of rows"):
        io.NDArrayIter(np.array(3.0), None, 4)


# -- DataDesc, DataBatch, DataIter -----------------------------------------------------------------


def test_data_desc():
    desc = io.DataDesc("x", (2, 3))
    assert desc == ("x", (2, 3)) and desc[0] == "x" and desc.layout == "NCHW"
    assert repr(desc) == "DataDesc[x,(2, 3),<class 'numpy.float32'>,NCHW]"
    assert [io.DataDesc.get_batch_axis(one) for one in ("NCHW", None, "TNC", "TC")] == [0, 0, 1, -1]
    (half,) = io.DataDesc.get_list([("x", (2,))], [("x", np.float16)])
    assert half.dtype is np.float16
    assert io.DataDesc.get_list([("x", (2,))], None) == [("x", (2,))]
    for same in (copy.copy(half), pickle.loads(pickle.dumps(half))):
        assert same == half and (same.dtype, same.layout) == (half.dtype, half.layout)


def test_data_batch():
    batch = io.DataBatch([nd.ones((2, 3))], None)
    assert str(batch) == "DataBatch: data shapes: [(2, 3)] label shapes: None"
    assert (batch.pad, batch.index, batch.bucket_key, batch.provide_data) == (None,) * 4
    with pytest.raises(ParameterError, match="data must be a list of NDArrays, got NDArray"):
        io.DataBatch(nd.ones(2))  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="label must be a list of NDArrays, got NDArray"):
        io.DataBatch([], nd.ones(2))  # type: ignore[arg-type]


def test_a_subclass_defines_what_it_has():
    class Three(io.DataIter):
        count = 0

        def iter_next(self) -> bool:
            self.count += 1
            return self.count <= 3

        def getdata(self) -> Any:
            return [nd.array([self.count])]

        def reset(self) -> None:
            self.count = 0

    it = Three(batch_size=1)
    assert [one.data[0].asscalar() for one in it] == [1, 2, 3]
    assert list(it) == [] and list(io.DataIter(3)) == []
    assert it.batch_size == 1


# -- MNISTIter -------------------------------------------------------------------------------------

DIGITS = Path(io.__file__).parent.parent / "data" / "mnist-5k"


def raw(name: str, header: int) -> np.ndarray[Any, Any]:
    """The bytes after a header of known length: independent of our reader."""
    return np.frombuffer(gzip.decompress((DIGITS / name).read_bytes())[header:], np.uint8)


PIXELS = raw("train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28)
LABELS = raw("train-labels-idx1-ubyte.gz", 8)


def digits(**options: Any) -> io.MXDataIter:
    return io.MNISTIter(
        image=DIGITS / "train-images-idx3-ubyte.gz",
        label=DIGITS / "train-labels-idx1-ubyte.gz",
        **{"silent": True, **options},
    )


def labels_of(it: io.MXDataIter) -> list[int]:
    return [int(one) for batch in it for one in batch.label[0].asnumpy()]


def test_digits_in_the_order_of_the_file():
    it = digits(batch_size=64, shuffle=False)
    assert it.provide_data == [("data", (64, 1, 28, 28))]
    assert it.provide_label == [("softmax_label", (64,))]
    batch = it.next()
    (data,), (label,) = batch.data, batch.label
    np.testing.assert_array_equal(data.asnumpy()[:, 0], PIXELS[:64].astype(np.float32) / 256)
    np.testing.assert_array_equal(label.asnumpy(), LABELS[:64])
    assert data.dtype == label.dtype == np.float32
    assert batch.pad == 0 and batch.index.tolist() == list(range(64))
    assert len(list(it)) == 61  # 62.5 batches: the half is left out
    with pytest.raises(StopIteration):
        it.next()
    it.reset()
    assert labels_of(it) == LABELS[: 62 * 64].tolist()


def test_digits_are_shuffled_once():
    it = digits(batch_size=100)
    first = labels_of(it)
    it.reset()
    assert labels_of(it) == first == labels_of(digits(batch_size=100))
    assert first != LABELS.tolist() and sorted(first) == sorted(LABELS.tolist())
    assert labels_of(digits(batch_size=100, seed=5)) != first
    batch = digits(batch_size=100).next()
    np.testing.assert_array_equal(batch.label[0].asnumpy(), LABELS[batch.index])
    np.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0] * 256, PIXELS[batch.index])


def test_digits_in_parts():
    parts = [
        labels_of(digits(batch_size=1, shuffle=False, num_parts=3, part_index=i)) for i in range(3)
    ]
    assert [len(one) for one in parts] == [1333, 1333, 1334]
    assert [one for part in parts for one in part] == LABELS.tolist()


def test_other_forms_of_digits():
    flat = digits(batch_size=50, flat=True, shuffle=False, input_shape=(784,), dtype="float16")
    assert flat.provide_data[0].shape == (50, 784) and flat.provide_data[0].dtype == np.float16
    batch = flat.next()
    assert batch.data[0].shape == (50, 784) and batch.data[0].dtype == np.float16
    assert batch.label[0].dtype == np.float32
    named = digits(data_name="x", label_name="y")
    assert (named.provide_data[0], named.provide_label[0]) == (
        ("x", (128, 1, 28, 28)),
        ("y", (128,)),
    )


def test_what_mnist_iter_refuses(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="nope"):
        io.MNISTIter(image=tmp_path / "nope", label=tmp_path / "nope")
    (tmp_path / "text").write_text("not digits")
    with pytest.raises(FormatError, match="text: the first two bytes must be 0"):
        io.MNISTIter(image=tmp_path / "text", label=tmp_path / "text")
    with pytest.raises(ParameterError, match=r"from 0 to num_parts - 1 = 1, got 2"):
        digits(num_parts=2, part_index=2)
    with pytest.raises(ParameterError, match="batch_size must be at least 1, got 0"):
        digits(batch_size=0)
    it = digits(batch_size=5000)
    with pytest.raises(MXNetError, match="no current batch"):
        it.getdata()
    assert list(it) == []


def test_loading_is_logged_unless_silent(caplog: pytest.LogCaptureFixture):
    with caplog.at_level("INFO", "hybridnet.io"):
        digits(num_parts=2, part_index=0)
        assert not caplog.records
        digits(num_parts=2, part_index=0, silent=False)
    assert "2000 of 4000 images from" in caplog.text


# -- ResizeIter ------------------------------------------------------------------------------------

PADDED = [*FIRST_TWO, ([8, 9, 0, 1], 2)]


@pytest.mark.parametrize(
    ("size", "reset_internal", "expected"),
    [
        (5, True, [[*PADDED, *FIRST_TWO]] * 2),
        (5, False, [[*PADDED, *FIRST_TWO], [PADDED[2], *PADDED, PADDED[0]]]),
        (2, True, [FIRST_TWO] * 2),
        (2, False, [FIRST_TWO, [PADDED[2], PADDED[0]]]),
    ],
)
def test_resize_iter(size: int, reset_internal: bool, expected: list[Pass]):
    it = io.ResizeIter(io.NDArrayIter(X, Y, 4), size, reset_internal)
    assert passes(it, 2) == expected
    assert it.provide_data == [("data", (4, 2))] and it.batch_size == 4


def test_resize_iter_of_nothing():
    it = io.ResizeIter(io.NDArrayIter(X, Y, 16, last_batch_handle="discard"), 3)
    with pytest.raises(MXNetError, match="no current batch"):
        it.getdata()
    with pytest.raises(MXNetError, match="at least one batch, got none"):
        next(it)


# -- PrefetchingIter -------------------------------------------------------------------------------


def test_prefetching_iter():
    it = io.PrefetchingIter(io.NDArrayIter(X, Y, 4))
    assert it.provide_data == [("data", (4, 2))] and it.batch_size == 4
    assert passes(it, 2) == [PADDED, PADDED]
    with pytest.raises(StopIteration):
        next(it)
    it.reset()
    next(it)
    it.reset()  # in the middle
    assert one_pass(it) == PADDED


def test_prefetching_iter_side_by_side():
    it = io.PrefetchingIter(
        [io.NDArrayIter(X, Y, 4), io.NDArrayIter(X * 2, Y * 3, 4)],
        rename_data=[{"data": "d1"}, {"data": "d2"}],
        rename_label=[{"softmax_label": "l1"}, {}],
    )
    assert it.provide_data == [("d1", (4, 2)), ("d2", (4, 2))]
    assert it.provide_label == [("l1", (4,)), ("softmax_label", (4,))]
    batches = list(it)
    assert [one.pad for one in batches] == [0, 0, 2]
    np.testing.assert_array_equal(batches[0].data[1].asnumpy(), X[:4] * 2)
    np.testing.assert_array_equal(batches[2].label[1].asnumpy(), [24, 27, 0, 3])


def test_the_next_batch_is_read_while_this_one_is_used():
    started = threading.Semaphore(0)

    class Source(io.DataIter):
        provide_data = provide_label = (io.DataDesc("data", (1,)),)
        count = 0

        def next(self) -> io.DataBatch:
            self.count += 1
            started.release()
            return io.DataBatch([nd.array([self.count])])

    it = io.PrefetchingIter(Source())
    first = next(it)
    assert started.acquire(timeout=60) and started.acquire(
        timeout=60
    )  # nobody asked for the second
    assert first.data[0].asscalar() == 1 and next(it).data[0].asscalar() == 2
    engine.wait_for_all()


def test_what_a_source_raises_is_raised_where_its_batch_is_wanted():
    class Source(io.DataIter):
        provide_data = provide_label = (io.DataDesc("data", (1,)),)
        fails = True

        def next(self) -> io.DataBatch:
            if self.fails:
                raise FormatError("line 3 is no number")
            return io.DataBatch([nd.ones(1)])

        def reset(self) -> None:
            self.fails = False

    it = io.PrefetchingIter(Source())
    for _ in range(2):
        with pytest.raises(FormatError, match="line 3 is no number"):
            next(it)
    it.reset()
    assert next(it).data[0].asscalar() == 1
    engine.wait_for_all()


def test_what_a_prefetching_iter_refuses():
    it = io.PrefetchingIter([io.NDArrayIter(X, Y, 4), io.NDArrayIter(X[:4], Y[:4], 4)])
    with pytest.raises(MXNetError, match="no current batch"):
        it.getdata()
    next(it)
    with pytest.raises(MXNetError, match=r"same number of batches.*got \[0, None\]"):
        next(it)
    with pytest.raises(ParameterError, match="at least one iterator, got none"):
        io.PrefetchingIter([])
    with pytest.raises(ParameterError, match="rename_data must have a dict for each of the 1"):
        io.PrefetchingIter(io.NDArrayIter(X, Y, 4), rename_data=[])
