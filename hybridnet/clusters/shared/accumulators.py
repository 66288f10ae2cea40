"""Accumulators: gradients of several workers, summed up until enough have come."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from ..errors import WrongError
from .thing import Asked, SharedThing


class _Accumulator(SharedThing):
    """Sums gradients of the step that it is at, and drops those of steps before it.

    It is asked:

    * ``apply`` of arrays with the ``step`` that they are of;
    * ``take`` when ``count`` have come: their mean (or sum), and the next step begins;
    * ``count``: how many have come;
    * ``step``: to be at a ``step``.

    Args:
        name: by which it is known.
        shape: of the gradients; None where it may differ, of single sizes, too.
        mean: whether the sum is divided.
    """

    def __init__(self, name: str, shape: Sequence[int | None] | None, mean: bool) -> None:
        super().__init__(name)
        self._shape = shape
        self._mean = mean
        self._count = 0
        self._step = 0

    def _try(self, asked: Asked) -> Sequence[NumpyArray] | None:
        match asked.method:
            case "apply":
                if asked.number("step") >= self._step:
                    self._add(asked.arrays)
                    self._count += 1
                return []
            case "take":
                return self._try_take(asked.number("count"))
            case "count":
                return [np.array(self._count, np.int32)]
            case "step":
                self._step = asked.number("step")
                return []
        raise WrongError(f"Accumulator '{self.name}' knows no {asked.method[:40]!r}")

    def _try_take(self, count: int) -> Sequence[NumpyArray] | None:
        if count < 1:
            raise WrongError(f"Accumulator '{self.name}': num_required must be > 0, got {count}")
        if self._count < count:
            return None
        found = self._taken()
        self._count = 0
        self._step += 1
        return found

    def _check(self, shape: Sequence[int]) -> None:
        known = self._shape
        if known is None:
            return
        pairs = zip(known, shape, strict=False)
        if len(known) != len(shape) or any(want not in (None, size) for want, size in pairs):
            raise WrongError(
                f"Accumulator '{self.name}': a gradient must have shape {tuple(known)}, got "
                f"{tuple(shape)}"
            )

    @abstractmethod
    def _add(self, arrays: Sequence[NumpyArray]) -> None:
        """Adds a gradient."""

    @abstractmethod
    def _taken(self) -> Sequence[NumpyArray]:
        """Returns what was summed up, and begins anew."""


@final
class DenseAccumulator(_Accumulator):
    """Sums arrays of one shape."""

    _sum: NumpyArray | None = None

    def _add(self, arrays: Sequence[NumpyArray]) -> None:
        (grad,) = arrays
        self._check(grad.shape)
        if self._sum is None:
            self._sum = np.array(grad)
        elif self._sum.shape != grad.shape:
            raise WrongError(
                f"Accumulator '{self.name}': it has gradients of shape {self._sum.shape}, got "
                f"{grad.shape}"
            )
        else:
            self._sum += grad

    def _taken(self) -> Sequence[NumpyArray]:
        total, self._sum = self._sum, None
        assert total is not None
        return [total / total.dtype.type(self._count) if self._mean else total]


@final
class RowsAccumulator(_Accumulator):
    """Sums rows by their number; a mean is that of the gradients that have the row.

    ``apply`` takes the numbers of the rows, the rows, and perhaps the shape of the whole; ``take``
    gives all three.
    """

    def __init__(self, name: str, shape: Sequence[int | None] | None, mean: bool) -> None:
        super().__init__(name, shape, mean)
        self._rows: dict[int, NumpyArray] = {}
        self._times: dict[int, int] = {}
        self._whole: NumpyArray | None = None
        self._no_rows: NumpyArray | None = None

    def _add(self, arrays: Sequence[NumpyArray]) -> None:
        numbers, rows, *whole = arrays
        if numbers.ndim != 1 or rows.ndim < 1 or len(numbers) != len(rows):
            raise WrongError(
                f"Accumulator '{self.name}': there must be as many rows as numbers, got "
                f"{rows.shape} and {numbers.shape}"
            )
        self._check(_whole_shape(self._shape, rows, whole))
        if self._shape is not None and self._shape and self._shape[0] is not None:
            outside = numbers[(numbers < 0) | (numbers >= self._shape[0])]
            if len(outside):
                raise WrongError(
                    f"Accumulator '{self.name}': row {outside[0]} is not one of {self._shape[0]}"
                )
        self._no_rows = rows[:0]
        mine: dict[int, NumpyArray] = {}
        for number, row in zip(numbers.tolist(), rows, strict=True):
            mine[number] = mine[number] + row if number in mine else row
        for number, row in mine.items():
            self._rows[number] = self._rows[number] + row if number in self._rows else np.array(row)
            self._times[number] = self._times.get(number, 0) + 1
        if whole:
            self._whole = whole[0]

    def _taken(self) -> Sequence[NumpyArray]:
        numbers = sorted(self._rows)
        rows = [self._rows[one] for one in numbers]
        if self._mean:
            rows = [
                row / row.dtype.type(self._times[one])
                for one, row in zip(numbers, rows, strict=True)
            ]
        shape: Sequence[int]
        if self._shape is not None:
            shape = [-1 if size is None else size for size in self._shape]
        elif self._whole is not None:
            shape = self._whole.tolist()
        else:
            shape = [-1, *(rows[0].shape if rows else ())]
        self._rows, self._times, self._whole = {}, {}, None
        made = np.stack(rows) if rows else self._no_rows
        assert made is not None  # it is not taken before a gradient has come
        return [np.array(numbers, np.int64), made, np.array(shape, np.int64)]


def _whole_shape(
    known: Sequence[int | None] | None, rows: NumpyArray, whole: Sequence[NumpyArray]
) -> Sequence[int]:
    """Returns the shape of the whole of which rows are given."""
    if whole:
        return [int(one) for one in whole[0]]
    first = known[0] if known else None
    return [len(rows) if first is None else first, *rows.shape[1:]]
