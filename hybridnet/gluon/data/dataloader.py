"""`DataLoader`: batches of a dataset, made ahead by threads or processes."""

from __future__ import annotations

import warnings
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.reduction import ForkingPickler  # noqa: F401 (programs import it from here)
from typing import Any, Protocol, final

from hybridnet.base.context import cpu_pinned
from hybridnet.base.errors import ParameterError

from .batchify import collate
from .fetching import as_in_context, fetch
from .pooled import _MultiWorkerIter, _worker_fn, _worker_initializer
from .sampler import BatchSampler, Order, RandomSampler, SequentialSampler
from .samples import Batchify, Samples
from .threads import ThreadWorkers
from .workers import ProcessWorkers, are_possible

__all__ = [
    "DataLoader",
    "_MultiWorkerIter",
    "_as_in_context",
    "_worker_fn",
    "_worker_initializer",
    "default_batchify_fn",
    "default_mp_batchify_fn",
]

_as_in_context = as_in_context  # packages import it by MXNet's name


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Stacks the samples of a batch; those that are tuples part by part.

    Args:
        data: arrays, NDArrays or numbers of one shape, or tuples of these.

    Returns:
        An NDArray of the samples' dtype, (batch, ...), or a list of them.

    Raises:
        ShapeError: the samples differ in shape.
        ParameterError: they are no numbers.
    """
    return collate(data, "default_batchify_fn")


def default_mp_batchify_fn(data: Sequence[Any]) -> Any:
    """Does the same: a worker process puts every batch into shared memory, whoever made it."""
    return collate(data, "default_mp_batchify_fn")


class _Workers(Protocol):
    """The processes or threads that make batches in the background."""

    def submit(self, positions: Sequence[int], /) -> Any:
        """Queues a batch to be made; returns the ticket for it."""

    def result(self, ticket: Any, timeout: float, /) -> Any:
        """Returns the batch, for which it waits, or raises what made it fail."""

    def cancel(self, ticket: Any, /) -> None:
        """Says that nobody will ask for this batch."""

    def close(self) -> None:
        """Ends them."""


@final
class _Ahead:
    """One pass over the batches, some of which are being made already."""

    def __init__(
        self, workers: _Workers, batches: Iterator[Sequence[int]], ahead: int, timeout: float
    ) -> None:
        self._workers = workers
        self._batches = batches
        self._timeout = timeout
        self._tickets: deque[Any] = deque()
        for _ in range(ahead):
            self._submit()

    def _submit(self) -> None:
        positions = next(self._batches, None)
        if positions is not None:
            self._tickets.append(self._workers.submit(positions))

    def __iter__(self) -> Iterator[Any]:
        try:
            while True:
                self._submit()
                if not self._tickets:
                    return
                yield self._workers.result(self._tickets.popleft(), self._timeout)
        finally:
            self.close()

    def close(self) -> None:
        """Gives up the batches that nobody asked for."""
        while self._tickets:
            self._workers.cancel(self._tickets.popleft())


def _batch_sampler(
    dataset: Samples,
    batch_size: int | None,
    shuffle: bool,
    sampler: Order | None,
    last_batch: str | None,
) -> BatchSampler:
    if batch_size is None:
        raise ParameterError(
            "DataLoader: batch_size must be specified unless batch_sampler is specified"
        )
    if sampler is None:
        sampler = (RandomSampler if shuffle else SequentialSampler)(len(dataset))
    elif shuffle:
        raise ParameterError("DataLoader: shuffle must not be specified if sampler is specified")
    return BatchSampler(sampler, batch_size, last_batch or "keep")


class DataLoader:
    """Loads a dataset in batches, one pass each time it is iterated.

    ``for data, label in DataLoader(dataset, batch_size=32, shuffle=True, num_workers=4): ...``

    Args:
        dataset: what has a length and ``[i]``: a Dataset, an array, a list.
        batch_size: samples in a batch.
        shuffle: take them in a new random order each pass.
        sampler: gives their order instead; a Sampler, or anything with a length to iterate over.
        last_batch: what becomes of a last batch that is not full: 'keep' (default), 'discard' or
            'rollover', which begins the next pass with it.
        batch_sampler: gives the positions of each batch instead of all these.
        batchify_fn: makes a batch of a list of samples; default `default_batchify_fn`. See
            `gluon.data.batchify`.
        num_workers: how many threads or processes make batches; 0 makes each when it is asked for.
        pin_memory: copy batches to ``cpu_pinned(pin_device_id)``.
        pin_device_id: see `pin_memory`.
        prefetch: how many batches are made ahead; default twice the workers.
        thread_pool: let the workers be threads of this process instead of processes.
        timeout: seconds to wait for a batch of a worker.
        auto_reload: begin with the batches of the next pass as soon as one ends, and with those of
            the first one now.

    Raises:
        ParameterError: arguments that exclude each other, or are out of their range.
    """

    def __init__(
        self,
        dataset: Samples,
        batch_size: int | None = None,
        shuffle: bool = False,
        sampler: Order | None = None,
        last_batch: str | None = None,
        batch_sampler: Order | None = None,
        batchify_fn: Batchify | None = None,
        num_workers: int = 0,
        pin_memory: bool = False,
        pin_device_id: int = 0,
        prefetch: int | None = None,
        thread_pool: bool = False,
        timeout: float = 120,
        auto_reload: bool = False,
    ) -> None:
        if timeout <= 0:
            raise ParameterError(f"DataLoader: timeout must be positive, got {timeout}")
        if batch_sampler is None:
            batch_sampler = _batch_sampler(dataset, batch_size, shuffle, sampler, last_batch)
        elif batch_size is not None or shuffle or sampler is not None or last_batch is not None:
            raise ParameterError(
                "DataLoader: batch_size, shuffle, sampler and last_batch must not be specified if "
                "batch_sampler is specified"
            )
        self._dataset = dataset
        self._batch_sampler = batch_sampler
        self._batchify_fn = batchify_fn or default_batchify_fn
        self._num_workers = max(0, num_workers)
        self._prefetch = max(0, 2 * self._num_workers if prefetch is None else int(prefetch))
        self._timeout = timeout
        self._pin_memory = pin_memory
        self._pin_device_id = pin_device_id
        self._pinned = cpu_pinned(pin_device_id) if pin_memory else None
        self._workers: _Workers | None = None
        if self._num_workers:
            if not thread_pool and not are_possible():
                warnings.warn(
                    "DataLoader: this system cannot start worker processes; they are threads",
                    stacklevel=2,
                )
                thread_pool = True
            kind = ThreadWorkers if thread_pool else ProcessWorkers
            self._workers = kind(dataset, self._batchify_fn, self._num_workers)
            weakref.finalize(self, self._workers.close)
        self.auto_reload = auto_reload
        self._pass: Any = None
        if auto_reload:
            self.refresh()

    def __iter__(self) -> Iterator[Any]:
        if self._pass is None:
            self.refresh()
        batches, self._pass = self._pass, None
        for batch in batches:
            yield batch if self._pinned is None else as_in_context(batch, self._pinned)
        if self.auto_reload and self._pass is None:
            self.refresh()

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def refresh(self) -> None:
        """Begins with the batches of a pass, which the next loop over this loader gets."""
        self.clean()
        if self._workers is None:
            self._pass = self._here()
        else:
            self._pass = _Ahead(
                self._workers, iter(self._batch_sampler), self._prefetch, self._timeout
            )

    def clean(self) -> None:
        """Gives up the pass that was begun ahead, if there is one."""
        begun, self._pass = self._pass, None
        if begun is not None:
            begun.close()

    def _here(self) -> Iterator[Any]:
        """Makes each batch in this thread, when it is asked for."""
        for positions in self._batch_sampler:
            yield fetch(self._dataset, positions, self._batchify_fn)
