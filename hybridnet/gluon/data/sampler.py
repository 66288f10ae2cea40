"""Samplers: in which order the samples of a dataset come, and in which batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from hybridnet.base.errors import ParameterError

__all__ = [
    "BatchSampler",
    "FilterSampler",
    "IntervalSampler",
    "Order",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
]

_Sample = TypeVar("_Sample")


class Order(Protocol):
    """An iterable of positions that has a length: a `Sampler`, a list."""

    def __iter__(self) -> Iterator[Any]:
        """Returns an iterator over the positions."""

    def __len__(self) -> int:
        """Returns how many there are."""


_LAST_BATCH: Final = ("keep", "discard", "rollover")


class Sampler:
    """Gives positions in a dataset (or lists of them, for batches), once each time it is iterated.

    Subclasses define ``__iter__`` and ``__len__``.
    """

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} must define __iter__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__")


class SequentialSampler(Sampler):
    """Gives start, start + 1, ..., start + length - 1.

    Args:
        length: how many.
        start: the first.
    """

    def __init__(self, length: int, start: int = 0) -> None:
        self._length = length
        self._start = start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._start, self._start + self._length))

    def __len__(self) -> int:
        return self._length


class RandomSampler(Sampler):
    """Gives 0 to length - 1, each once, in an order drawn anew each time.

    It is drawn by ``numpy.random``: after the same ``numpy.random.seed`` it is MXNet's order.

    Args:
        length: how many.
    """

    def __init__(self, length: int) -> None:
        self._length = length

    def __iter__(self) -> Iterator[int]:
        order = np.arange(self._length)
        np.random.shuffle(order)
        return iter(order)

    def __len__(self) -> int:
        return self._length


class FilterSampler(Sampler):
    """Gives the positions of the samples for which a function is true.

    All samples are looked at once, when the sampler is made.

    Args:
        fn: takes a sample.
        dataset: where the samples are.
    """

    def __init__(self, fn: Callable[[_Sample], object], dataset: Iterable[_Sample]) -> None:
        self._fn = fn
        self._dataset = dataset
        self._indices = [i for i, sample in enumerate(dataset) if fn(sample)]

    def __iter__(self) -> Iterator[int]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)


class IntervalSampler(Sampler):
    """Gives every `interval`-th position: 0, interval, 2 interval, ...

    Args:
        length: how many positions there are.
        interval: the step, at most `length`.
        rollover: after the last go on with 1, 1 + interval, ..., until each came once.
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        if not 0 < interval <= length:
            raise ParameterError(
                f"IntervalSampler: interval must be between 1 and the length {length}, "
                f"got {interval}"
            )
        self._length = length
        self._interval = interval
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        for first in range(self._interval if self._rollover else 1):
            yield from range(first, self._length, self._interval)

    def __len__(self) -> int:
        return self._length if self._rollover else -(-self._length // self._interval)


class BatchSampler(Sampler):
    """Gives lists of `batch_size` positions that another sampler gives one by one.

    Args:
        sampler: the other sampler.
        batch_size: positions in a batch, at least 1.
        last_batch: what becomes of a last batch that is not full: 'keep' gives it as it is,
            'discard' leaves it out, 'rollover' begins the next pass with it.

    Raises:
        ParameterError: `batch_size` or `last_batch` is none of these.
    """

    def __init__(self, sampler: Order, batch_size: int, last_batch: str = "keep") -> None:
        if batch_size < 1:
            raise ParameterError(f"BatchSampler: batch_size must be at least 1, got {batch_size}")
        if last_batch not in _LAST_BATCH:
            raise ParameterError(
                f"BatchSampler: last_batch must be one of 'keep', 'discard', or 'rollover', "
                f"got {last_batch!r}"
            )
        self._sampler = sampler
        self._batch_size = batch_size
        self._last_batch = last_batch
        self._left: list[Any] = []

    def __iter__(self) -> Iterator[list[Any]]:
        batch, self._left = self._left, []
        for position in self._sampler:
            batch.append(position)
            if len(batch) == self._batch_size:
                yield batch
                batch = []
        if batch and self._last_batch == "keep":
            yield batch
        elif self._last_batch == "rollover":
            self._left = batch

    def __len__(self) -> int:
        source: Sized = self._sampler
        if self._last_batch == "keep":
            return -(-len(source) // self._batch_size)
        return (len(self._left) + len(source)) // self._batch_size
