"""A pass over batches that a pool of the caller's own makes.

`DataLoader` starts workers of its own. Packages written for MXNet derive loaders from it that bring
a `multiprocessing` pool and a function for it (one that picks a transform for each batch, say);
they extend `_MultiWorkerIter`, whose attributes are therefore MXNet's.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

from hybridnet.base.context import cpu_pinned

from .fetching import as_in_context, fetch
from .sampler import Order
from .samples import Batchify, Samples

__all__ = ["_MultiWorkerIter", "_worker_fn", "_worker_initializer"]

_worker_dataset: Any = None


def _worker_initializer(dataset: Samples, *modes: object) -> None:
    """Gives a worker process the dataset of which `_worker_fn` takes samples.

    Args:
        dataset: see above.
        modes: MXNet's switches of NumPy's shapes and arrays, which a forked process has already.
    """
    global _worker_dataset
    _worker_dataset = dataset


def _worker_fn(
    samples: Sequence[int], batchify_fn: Batchify, dataset: Samples | None = None
) -> bytes:
    """Makes a batch in a worker process that `_worker_initializer` has prepared.

    Args:
        samples: positions in the dataset.
        batchify_fn: makes a batch of a list of samples.
        dataset: not used; threads get theirs so.

    Returns:
        The batch, pickled.
    """
    buffer = io.BytesIO()
    ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(
        fetch(_worker_dataset, samples, batchify_fn)
    )
    return buffer.getvalue()


class _MultiWorkerIter:
    """Iterates over batches, each made by one call in a pool of processes or threads.

    Args:
        worker_pool: has `apply_async`, as `multiprocessing.Pool` and `ThreadPool` have.
        batchify_fn: makes a batch of a list of samples.
        batch_sampler: gives the positions of each batch.
        pin_memory: copy batches to ``cpu_pinned(pin_device_id)``.
        pin_device_id: see `pin_memory`.
        worker_fn: called in the pool with the positions, `batchify_fn` and `dataset`. Without a
            `dataset` it returns the batch pickled.
        prefetch: how many batches are asked for at once.
        dataset: for threads: of what samples are taken.
        data_loader: kept alive as long as this is, since it owns the pool.
        timeout: seconds to wait for a batch.
    """

    def __init__(
        self,
        worker_pool: Any,
        batchify_fn: Batchify,
        batch_sampler: Order,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        worker_fn: Callable[..., Any] = _worker_fn,
        prefetch: int = 0,
        dataset: Samples | None = None,
        data_loader: object = None,
        timeout: float = 120,
    ) -> None:
        self._worker_pool = worker_pool
        self._batchify_fn = batchify_fn
        self._batch_sampler = batch_sampler
        self._data_buffer: dict[int, Any] = {}
        self._rcvd_idx = 0
        self._sent_idx = 0
        self._iter: Iterator[Any] = iter(batch_sampler)
        self._worker_fn = worker_fn
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._dataset = dataset
        self._data_loader = data_loader
        self._timeout = timeout
        for _ in range(prefetch):
            self._push_next()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return self

    def _push_next(self) -> None:
        """Asks the pool for one batch more, if there is one; extended by others."""
        positions = next(self._iter, None)
        if positions is None:
            return
        self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(
            self._worker_fn, (positions, self._batchify_fn, self._dataset)
        )
        self._sent_idx += 1

    def __next__(self) -> Any:
        self._push_next()
        if self._rcvd_idx == self._sent_idx:
            raise StopIteration
        try:
            batch = self._data_buffer.pop(self._rcvd_idx).get(self._timeout)
        except Exception:
            self._worker_pool.terminate()  # nobody can go on: a batch is missing
            raise
        if self._dataset is None:
            batch = pickle.loads(batch)
        self._rcvd_idx += 1
        if self._pin_memory:
            batch = as_in_context(batch, cpu_pinned(self._pin_device_id))
        return batch

    def next(self) -> Any:
        """Returns the next batch.

        Raises:
            StopIteration: there is none.
        """
        return next(self)
