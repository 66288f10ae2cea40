"""Queues: elements of one or several arrays each, put and taken by whoever knows the name."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from ..errors import EndedError, GivenUpError, WrongError
from .thing import Asked, SharedThing

Element = list[NumpyArray]
#: What is known of the shapes of an element's components.
Shapes = Sequence[Sequence[int | None] | None]

_PUT: Final = "put"


class FirstInQueue(SharedThing):
    """Gives elements in the order in which they were put.

    It is asked:

    * ``put`` with the rows of arrays (``many``) or one element: answered when all are in it;
    * ``take`` of ``count`` elements, joined along a new axis if ``many``; ``fewer``: what is left
      in a closed queue will do;
    * ``close``; with ``cancel`` what waits to be put is given up;
    * ``size`` and ``is_closed``.

    Args:
        name: by which it is known.
        capacity: how many elements it holds at most; below 0 any number.
        shapes: of an element's components.
    """

    def __init__(self, name: str, capacity: int, shapes: Shapes) -> None:
        super().__init__(name)
        self._capacity = capacity
        self._shapes = shapes
        self._held: deque[Element] = deque()
        self._closed = False
        self._cancelled = False

    def _try(self, asked: Asked) -> Sequence[NumpyArray] | None:
        match asked.method:
            case "put":
                return self._try_put(asked)
            case "take":
                return self._try_take(asked)
            case "close":
                self._closed = True
                self._cancelled = self._cancelled or asked.words.get("cancel") is True
                return []
            case "size":
                return [np.array(len(self._held), np.int32)]
            case "is_closed":
                return [np.array(self._closed)]
        raise WrongError(f"Queue '{self.name}' knows no {asked.method[:40]!r}")

    def _admit(self, asked: Asked) -> None:
        if asked.method == _PUT and self._closed:
            raise GivenUpError(f"Queue '{self.name}' is closed.")

    def _try_put(self, asked: Asked) -> Sequence[NumpyArray] | None:
        if self._cancelled:
            raise GivenUpError(f"Queue '{self.name}' is closed.")
        if asked.progress is None:
            asked.progress = deque(self._elements(asked))
        left: deque[Element] = asked.progress
        while left and not 0 <= self._capacity <= len(self._held):
            self._put(left.popleft())
            self._moves += 1
        return None if left else []

    def _elements(self, asked: Asked) -> Iterable[Element]:
        if len(asked.arrays) != len(self._shapes):
            raise WrongError(f"Queue '{self.name}': an element has {len(self._shapes)} components")
        many = asked.words.get("many") is True
        if many and len({one.shape[:1] for one in asked.arrays}) > 1:
            raise WrongError(
                f"Queue '{self.name}': components must have as many rows, got "
                f"{[one.shape for one in asked.arrays]}"
            )
        rows = [list(row) for row in zip(*asked.arrays, strict=True)] if many else [asked.arrays]
        made = [[np.asarray(one) for one in row] for row in rows]
        for row in made:
            for one, shape in zip(row, self._shapes, strict=True):
                self._check(one, shape)
        return made

    def _check(self, one: NumpyArray, shape: Sequence[int | None] | None) -> None:
        if shape is None:
            return
        sizes = zip(one.shape, shape, strict=False)
        if one.ndim != len(shape) or any(want not in (None, size) for size, want in sizes):
            wanted = tuple(shape)
            raise WrongError(f"Queue '{self.name}': shape {one.shape} must be {wanted}")

    def _put(self, element: Element) -> None:
        self._held.append(element)

    def _try_take(self, asked: Asked) -> Sequence[NumpyArray] | None:
        count = asked.number("count")
        if count < 1:
            raise WrongError(f"Queue '{self.name}': {count} elements cannot be taken")
        if asked.progress is None:
            asked.progress = []
        taken: list[Element] = asked.progress
        while len(taken) < count and self._available():
            taken.append(self._next())
            self._moves += 1
        if len(taken) < count:
            if not self._closed or any(one.method == _PUT for one in self._waiting):
                return None
            if not (taken and asked.words.get("fewer") is True):
                there = len(taken)
                self._undo(asked)
                raise EndedError(
                    f"Queue '{self.name}' is closed and has insufficient elements (requested "
                    f"{count}, current size {there})"
                )
        if asked.words.get("many") is not True:
            return taken[0]
        try:
            return self._joined(taken)
        except ValueError as error:
            self._undo(asked)
            raise WrongError(
                f"Queue '{self.name}': elements differ in shape and are not taken together: {error}"
            ) from error

    def _available(self) -> bool:
        return bool(self._held)

    def _next(self) -> Element:
        return self._held.popleft()

    def _joined(self, elements: Sequence[Element]) -> Element:
        return [np.stack(parts) for parts in zip(*elements, strict=True)]

    def _undo(self, asked: Asked) -> None:
        if asked.method == "take":
            self._held.extendleft(reversed(asked.progress or ()))
            asked.progress = []


class PaddingQueue(FirstInQueue):
    """One whose elements may differ in sizes that are not given: several are padded with 0."""

    def _joined(self, elements: Sequence[Element]) -> Element:
        return [_padded(parts) for parts in zip(*elements, strict=True)]


class ShufflingQueue(FirstInQueue):
    """Gives elements in a random order.

    Args:
        name: by which it is known.
        capacity: how many elements it holds at most.
        shapes: of an element's components.
        least: how many must be left, while it is open.
        seed: where its random numbers begin; None: anywhere.
    """

    def __init__(
        self, name: str, capacity: int, shapes: Shapes, least: int, seed: int | None
    ) -> None:
        super().__init__(name, capacity, shapes)
        self._least = least
        self._random = np.random.default_rng(seed)

    def _available(self) -> bool:
        return len(self._held) > (0 if self._closed else self._least)

    def _next(self) -> Element:
        self._held.rotate(-int(self._random.integers(len(self._held))))
        return self._held.popleft()


class PriorityOrder(FirstInQueue):
    """Gives the elements whose first component, a whole number, is smallest."""

    def _put(self, element: Element) -> None:
        bisect.insort(self._held, element, key=lambda one: int(one[0]))


def _padded(parts: Sequence[NumpyArray]) -> NumpyArray:
    sizes: Any = np.max([one.shape for one in parts], axis=0)
    found = np.zeros((len(parts), *sizes), parts[0].dtype)
    for number, one in enumerate(parts):
        found[number][tuple(slice(size) for size in one.shape)] = one
    return found
