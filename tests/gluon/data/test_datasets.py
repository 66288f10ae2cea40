"""Datasets and samplers: what they are made of, and what MXNet's tests say of them."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import gluon, nd, recordio
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.gluon import data
from hybridnet.gluon.data import batchify


def tens() -> data.SimpleDataset:
    return data.SimpleDataset(list(range(100)))


def test_samplers() -> None:
    assert list(data.SequentialSampler(3, start=2)) == [2, 3, 4]
    np.random.seed(3)
    drawn = list(data.RandomSampler(10))
    np.random.seed(3)
    order = np.arange(10)
    np.random.shuffle(order)  # as MXNet draws it
    assert drawn == list(order) and len(data.RandomSampler(10)) == 10
    assert list(data.FilterSampler(lambda x: x % 4 == 1, [1, 2, 5])) == [0, 2]
    assert list(data.IntervalSampler(5, 2)) == [0, 2, 4, 1, 3]
    once = data.IntervalSampler(5, 2, rollover=False)
    assert list(once) == [0, 2, 4] and len(once) == 3
    with pytest.raises(ParameterError, match="interval must be between 1 and the length 5"):
        data.IntervalSampler(5, 6)


@pytest.mark.parametrize(
    ("last", "passes"),
    [
        ("keep", [[[0, 1, 2], [3, 4]]] * 2),
        ("discard", [[[0, 1, 2]]] * 2),
        ("rollover", [[[0, 1, 2]], [[3, 4, 0], [1, 2, 3]]]),
    ],
)
def test_the_last_batch(last: str, passes: list[list[list[int]]]) -> None:
    sampler = data.BatchSampler(data.SequentialSampler(5), 3, last)
    for wanted in passes:
        assert len(sampler) == len(wanted)
        assert list(sampler) == wanted


def test_batches_that_cannot_be() -> None:
    with pytest.raises(ParameterError, match="'keep', 'discard', or 'rollover', got 'drop'"):
        data.BatchSampler([1], 2, "drop")
    with pytest.raises(ParameterError, match="batch_size must be at least 1, got 0"):
        data.BatchSampler([1], 0)


def test_parts_of_a_dataset() -> None:
    nine = data.SimpleDataset(list(range(9)))
    parts = [list(nine.shard(4, i)) for i in range(4)]
    assert parts == [[0, 1, 2], [3, 4], [5, 6], [7, 8]]
    assert list(nine.take(2)) == [0, 1] and len(nine.take(None)) == len(nine.take(20)) == 9
    assert list(nine.sample(data.SequentialSampler(2, 5))) == [5, 6]
    assert list(tens().filter(lambda x: x % 30 == 0)) == [0, 30, 60, 90]
    assert list(tens().transform(lambda x: x + 1).filter(lambda x: x % 50 == 0)) == [50, 100]
    for wrong in ((4, 4), (4, -1), (0, 0)):
        with pytest.raises(ParameterError, match="Dataset.shard: index must be"):
            nine.shard(*wrong)
    with pytest.raises(ParameterError, match="needs a gluon.data.Sampler, got list"):
        nine.sample([1])  # type: ignore[arg-type]


def test_transforms_are_lazy_or_not() -> None:
    calls = []

    def double(x: int) -> int:
        calls.append(x)
        return 2 * x

    pairs = data.ArrayDataset([1, 2], [3, 4])
    lazy = pairs.transform_first(double)
    assert not calls and lazy[1] == (4, 4) and lazy[1] == (4, 4) and calls == [2, 2]
    assert list(pairs.transform_first(double, lazy=False)) == [(2, 3), (4, 4)]
    assert list(pairs.transform(lambda x, y: x * y)) == [3, 8]
    assert data.SimpleDataset([5]).transform_first(double)[0] == 10


def test_array_dataset_joins_what_has_a_length() -> None:
    joined = data.ArrayDataset(nd.array([[1, 2], [3, 4]]), nd.array([5, 6]), ["a", "b"])
    image, label, name = joined[1]
    assert image.asnumpy().tolist() == [3, 4] and name == "b"
    assert isinstance(label, np.float32) and label == 6  # labels are numbers, not arrays
    with pytest.raises(ParameterError, match=r"same length, got lengths \[2, 1\]"):
        data.ArrayDataset([1, 2], [1])
    with pytest.raises(ParameterError, match="at least one array"):
        data.ArrayDataset()


def test_records_of_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    names = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    with recordio.MXIndexedRecordIO(*names, "w") as file:
        for i in (3, 1, 2):
            file.write_idx(i, b"record %d" % i)
    found = data.RecordFileDataset(names[1])
    assert list(found) == [b"record 3", b"record 1", b"record 2"]


def test_what_subclasses_must_define() -> None:
    class Nothing(data.Dataset):
        pass

    with pytest.raises(NotImplementedError, match="Nothing must define __getitem__"):
        Nothing()[0]
    with pytest.raises(NotImplementedError, match="Nothing must define __len__"):
        len(Nothing())


# -- batches -----------------------------------------------------------------------------------


def test_batches_have_the_dtype_of_samples() -> None:
    make = gluon.data.dataloader.default_batchify_fn
    for samples, dtype in (([1, 2], "int64"), ([1.5, 2], "float64"), ([np.uint8(3)], "uint8")):
        batch = make(samples)
        assert isinstance(batch, nd.NDArray) and np.dtype(batch.dtype) == dtype
    image, label = make([([1, 2], 0), ([3, 4], 1)])
    assert image.asnumpy().tolist() == [[1, 2], [3, 4]] and label.asnumpy().tolist() == [0, 1]
    stacked = make([nd.ones((2, 3)), nd.zeros((2, 3))])
    assert stacked.shape == (2, 2, 3)


def test_batches_of_numpys_mode() -> None:
    with hn.util.np_array(), hn.util.np_shape():
        assert isinstance(gluon.data.dataloader.default_batchify_fn([1, 2]), hn.np.ndarray)


@pytest.mark.parametrize("of", [np.ones, nd.ones])
def test_samples_that_do_not_fit(of) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ShapeError, match=r"must have one shape, got \[\(2,\), \(3,\)\].*Pad"):
        gluon.data.dataloader.default_batchify_fn([of(2), of(3)])
    with pytest.raises(ParameterError, match="must be arrays, numbers.*got str.*AsList"):
        gluon.data.dataloader.default_batchify_fn(["a", "b"])


def test_batchify() -> None:
    padded = batchify.Pad(val=-1)([[1, 2], [3]])
    assert padded.asnumpy().tolist() == [[1, 2], [3, -1]] and padded.dtype == np.int64
    assert batchify.Pad(round_to=4)([np.ones((2, 3)), np.ones((5, 1))]).shape == (2, 8, 4)
    group = batchify.Group(batchify.Stack(), batchify.Pad(), batchify.AsList())
    numbers, rows, names = group([(1, [1], "a"), (2, [1, 2], "b")])
    assert numbers.shape == (2,) and rows.shape == (2, 2) and names == ["a", "b"]
    assert [x.shape for x in batchify.Append()([np.ones(2), np.ones(3)])] == [(1, 2), (1, 3)]
    assert batchify.Append(expand=False)([nd.ones(2)])[0].shape == (2,)
    with pytest.raises(ParameterError, match=r"use Group\(Pad"):
        batchify.Pad()([(1, 2)])
    with pytest.raises(ParameterError, match="has 3 functions, and samples have 2"):
        group([(1, 2)])
    with pytest.raises(ShapeError, match="same number of axes"):
        batchify.Pad()([[1], [[1]]])
