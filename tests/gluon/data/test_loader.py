"""`DataLoader`: the same batches whoever makes them, errors with their sample, and its options."""

from __future__ import annotations

import multiprocessing
import pickle
import re
import threading
from multiprocessing.pool import ThreadPool
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import ParameterError
from hybridnet.gluon.data import ArrayDataset, DataLoader, Dataset
from hybridnet.gluon.data.dataloader import (
    _MultiWorkerIter,
    _worker_initializer,
    default_batchify_fn,
)

IMAGES = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
LABELS = np.arange(10)
HOW = [{}, {"num_workers": 2, "thread_pool": True}]


class Failing(Dataset):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, idx: int) -> int:
        if idx == 3:
            raise KeyError("no such picture")
        return idx


def numbers(loader: DataLoader) -> list[list[int]]:
    return [batch.asnumpy().tolist() for batch in loader]


@pytest.mark.parametrize("how", HOW)
def test_batches_come_in_order(how: dict[str, Any]) -> None:
    loader = DataLoader(ArrayDataset(IMAGES, LABELS), batch_size=4, **how)
    assert len(loader) == 3
    for _ in range(2):
        sizes = []
        for i, (image, label) in enumerate(loader):
            rows = slice(4 * i, 4 * i + 4)
            np.testing.assert_array_equal(image.asnumpy(), IMAGES[rows])
            np.testing.assert_array_equal(label.asnumpy(), LABELS[rows])
            assert image.context == hn.cpu() and label.dtype == np.int64
            sizes.append(image.shape[0])
        assert sizes == [4, 4, 2]


@pytest.mark.parametrize("how", HOW)
def test_errors_say_which_sample(how: dict[str, Any]) -> None:
    loader = DataLoader(Failing(), batch_size=2, **how)
    batches = iter(loader)
    assert next(batches).asnumpy().tolist() == [0, 1]
    with pytest.raises(KeyError, match="no such picture") as caught:
        next(batches)
    assert "raised by sample 3 of the dataset" in "".join(caught.value.__notes__)
    bad = DataLoader([1, 2], batch_size=2, batchify_fn=lambda rows: rows[5], **how)
    with pytest.raises(IndexError) as caught:
        next(iter(bad))
    (note,) = caught.value.__notes__
    assert re.search(r"by batchify_fn at .*test_loader.py:\d+, with samples 0, 1$", note)


def test_shuffled_as_mxnet_does() -> None:
    np.random.seed(5)
    loader = DataLoader(LABELS, batch_size=3, shuffle=True, last_batch="discard")
    passes = [numbers(loader), numbers(loader)]
    np.random.seed(5)
    for batches in passes:
        order = np.arange(10)
        np.random.shuffle(order)
        assert np.ravel(batches).tolist() == order[:9].tolist()


def test_left_over_samples_begin_the_next_pass() -> None:
    loader = DataLoader(LABELS, batch_size=4, last_batch="rollover")
    assert [len(numbers(loader)), numbers(loader)[0]] == [2, [8, 9, 0, 1]]


def test_samplers_of_ones_own() -> None:
    assert numbers(DataLoader(LABELS, 2, sampler=[3, 1, 2])) == [[3, 1], [2]]
    assert numbers(DataLoader(LABELS, batch_sampler=[[7], [1, 2]])) == [[7], [1, 2]]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"batch_size": 2, "shuffle": True, "sampler": [1]},
        {"batch_size": 2, "batch_sampler": [[1]]},
        {"batch_sampler": [[1]], "last_batch": "keep"},
        {"batch_size": 2, "timeout": 0},
    ],
)
def test_options_that_exclude_each_other(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="DataLoader: "):
        DataLoader(LABELS, **wrong)


def test_pinned_batches() -> None:
    loader = DataLoader(ArrayDataset(IMAGES, LABELS), 5, pin_memory=True)
    for image, label in loader:
        assert image.context == label.context == hn.cpu_pinned(0)


def test_threads_that_take_too_long_are_an_error() -> None:
    gate = threading.Event()

    def wait(x: int) -> int:
        gate.wait()
        return x

    loader = DataLoader(
        ArrayDataset([1, 2]).transform(wait), 1, num_workers=1, thread_pool=True, timeout=0.01
    )
    try:
        with pytest.raises(multiprocessing.TimeoutError, match=r"timeout=0.01 seconds, and its"):
            next(iter(loader))
    finally:
        gate.set()


def test_prefetching_ahead_and_reloading() -> None:
    made = threading.Semaphore(0)

    def note(x: int) -> int:
        made.release()
        return x

    def begun(count: int) -> None:
        for _ in range(count):
            assert made.acquire(timeout=60)

    dataset = ArrayDataset(LABELS).transform(note)
    options: dict[str, Any] = {"num_workers": 1, "thread_pool": True, "prefetch": 3}
    lazy = DataLoader(dataset, 1, **options)
    assert not made.acquire(blocking=False)
    batches = iter(lazy)
    assert not made.acquire(blocking=False)  # as MXNet: it begins with the first batch
    next(batches)
    begun(4)
    eager = DataLoader(dataset, 1, auto_reload=True, **options)
    begun(3)
    assert len(numbers(eager)) == 10
    begun(7 + 3)  # the rest, and what the next pass begins with
    eager.clean()


def test_a_loop_that_is_left_gives_up_its_batches() -> None:
    loader = DataLoader(LABELS, 1, num_workers=2, thread_pool=True)
    for batch in loader:
        assert batch.asscalar() == 0
        break
    assert len(numbers(loader)) == 10


def test_an_iterator_keeps_its_loader() -> None:
    batches = iter(DataLoader(nd.ones(5), 2, num_workers=1, thread_pool=True))
    assert next(batches).shape == (2, 1)
    assert [x.shape for x in batches] == [(2, 1), (1, 1)]


class Chosen(_MultiWorkerIter):
    """Adds another number to each batch, as a loader of a package may choose a transform."""

    def _push_next(self) -> None:
        positions = next(self._iter, None)
        if positions is not None:
            made = self._worker_pool.apply_async(self._worker_fn, (positions, self._sent_idx))
            self._data_buffer[self._sent_idx] = made
            self._sent_idx += 1


def test_a_loader_of_a_package_brings_its_own_pool() -> None:
    def pickled(positions: list[int], more: int) -> bytes:
        return pickle.dumps(nd.array([one + 10 * more for one in positions]))

    with ThreadPool(2) as pool:
        batches = Chosen(pool, None, [[0, 1], [2], [3]], worker_fn=pickled, prefetch=2)
        assert len(batches) == 3
        assert [batch.asnumpy().tolist() for batch in batches] == [[0, 1], [12], [23]]


def test_a_pass_over_what_a_pool_makes() -> None:
    _worker_initializer(LABELS)
    sampler = [[0, 1], [5]]
    with ThreadPool(1) as pool:
        made = _MultiWorkerIter(pool, default_batchify_fn, sampler, pin_memory=True)
        first = made.next()
        assert first.context == hn.cpu_pinned(0)
        assert [first.asnumpy().tolist(), next(made).asnumpy().tolist()] == sampler
        failing = _MultiWorkerIter(pool, default_batchify_fn, [[77]])
        with pytest.raises(IndexError):
            next(failing)
