"""Batches made by threads of this process: for samples that wait for files, or release the GIL."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, final

from hybridnet.base.numpy_mode import mode

from .fetching import fetch, timed_out
from .samples import Batchify, Samples

__all__ = ["ThreadWorkers"]


def _enter_mode(shape: bool, array: bool) -> None:
    mode.shape, mode.array = shape, array


@final
class ThreadWorkers:
    """Threads that make batches in the background.

    They end when the loader is dropped; a thread in the midst of a batch ends after it.

    Args:
        dataset: where samples come from; several threads ask it at once.
        batchify: makes a batch of a list of samples.
        count: how many threads.
    """

    def __init__(self, dataset: Samples, batchify: Batchify, count: int) -> None:
        self._dataset = dataset
        self._batchify = batchify
        self._threads = ThreadPoolExecutor(
            count, "hybridnet-data", _enter_mode, (mode.shape, mode.array)
        )

    def submit(self, positions: Sequence[int]) -> Future[Any]:
        """Queues a batch to be made; returns the ticket for it."""
        return self._threads.submit(fetch, self._dataset, positions, self._batchify)

    def result(self, ticket: Future[Any], timeout: float) -> Any:
        """Returns the batch, for which it waits.

        Raises:
            LoaderTimeout: it takes more than `timeout` seconds.
            Exception: what the dataset or `batchify` raised.
        """
        try:
            return ticket.result(timeout)
        except FutureTimeout:
            if ticket.done():  # the dataset raised it
                raise
            raise timed_out(timeout, "threads") from None

    def cancel(self, ticket: Future[Any]) -> None:
        """Says that nobody will ask for this batch."""
        ticket.cancel()

    def close(self) -> None:
        """Ends the threads; returns at once."""
        self._threads.shutdown(wait=False, cancel_futures=True)
