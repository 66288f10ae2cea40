"""Lab 11: per key a value, how many pushes of each worker are in it, and who waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

Array = NDArray[Any]


class Answer(NamedTuple):
    """To a push, with the value None; or to a pull."""

    worker: int
    key: Any
    number: int
    value: Array | None


@dataclass
class Held:
    """A key.

    `value` and `counted`, the number of each worker's last push that is in it, are saved. The rest
    has not been answered: workers send it again.
    """

    value: Array
    counted: list[int]
    waiting: dict[int, Array] = field(default_factory=dict)
    pulls: set[tuple[int, int]] = field(default_factory=set)


class Server:
    """Adds up what workers push, by rounds ('sync') or at once ('async')."""

    def __init__(
        self, workers: int, consistency: str, update: Callable[[Array, Array], Array]
    ) -> None:
        self._workers = workers
        self._sync = consistency == "sync"
        self._update = update
        self._keys: dict[Any, Held] = {}

    def make(self, key: Any, value: Array) -> None:
        """Begins with a value that has no push in it."""
        self._keys[key] = Held(value, [0] * self._workers)

    def push(self, worker: int, key: Any, number: int, gradient: Array) -> list[Answer]:
        """Counts it now, or with those of all others."""
        held = self._keys[key]
        if number <= held.counted[worker]:  # sent again: the answer was lost
            return [Answer(worker, key, number, None)]
        held.waiting[worker] = gradient
        if self._sync and len(held.waiting) < self._workers:
            return []
        first, *others = sorted(held.waiting)  # by rank, so that no clock decides the rounding
        total = held.waiting[first]
        for one in others:
            total = total + held.waiting[one]
        held.value = self._update(held.value, total)
        answers = []
        for one in (first, *others):
            held.counted[one] += 1
            answers.append(Answer(one, key, held.counted[one], None))
        held.waiting = {}
        return answers + self._answered_pulls(key, held)

    def pull(self, worker: int, key: Any, number: int) -> list[Answer]:
        """Notes it, and answers what may be answered."""
        held = self._keys[key]
        held.pulls.add((worker, number))
        return self._answered_pulls(key, held)

    def _answered_pulls(self, key: Any, held: Held) -> list[Answer]:
        ready = {one for one in held.pulls if one[1] <= held.counted[one[0]]}
        held.pulls -= ready
        # Who asks for an older round has had it: its next push is in the value already.
        return [
            Answer(worker, key, number, held.value)
            for worker, number in sorted(ready)
            if not self._sync or number == held.counted[worker]
        ]

    def save(self, key: Any) -> Any:
        """Returns what was answered for."""
        held = self._keys[key]
        return held.value, list(held.counted)

    def restore(self, key: Any, state: Any) -> None:
        """Begins with what was saved."""
        self._keys[key] = Held(*state)
