"""Barriers: a worker passes one for the n-th time when all have come to it n times."""

from __future__ import annotations

from collections.abc import Collection
from typing import final


@final
class Barriers:
    """The number of times that each worker has come to each barrier, and who waits.

    Counts make it idempotent: a question that comes again has the same answer. A worker that was
    started again passes at once where its predecessor had been, if the others had been there, too;
    and who comes to a barrier for the n-th time is waited for no more at those with less. Counts
    may leave numbers out.
    """

    def __init__(self) -> None:
        self._arrived: dict[str, dict[int, int]] = {}
        self._waiting: dict[tuple[int, str, int], None] = {}

    def arrive(self, name: str, rank: int, count: int) -> None:
        """Takes down that a worker has been there so often."""
        counts = self._arrived.setdefault(name, {})
        counts[rank] = max(count, counts.get(rank, 0))

    def most(self, name: str) -> int:
        """The number of times that the worker that was there most often has come to a barrier."""
        return max(self._arrived.get(name, {}).values(), default=0)

    def wait(self, name: str, rank: int, count: int) -> None:
        """A worker has come there, and waits."""
        self.arrive(name, rank, count)
        self._waiting[rank, name, count] = None

    def done(self, ranks: Collection[int]) -> list[tuple[int, str, int]]:
        """Returns those who wait no more, as (rank, name, count), and forgets that they waited.

        Args:
            ranks: whom the others wait for.
        """
        found = []
        for rank, name, count in list(self._waiting):
            counts = self._arrived[name]
            if all(counts.get(one, 0) >= count for one in ranks):
                del self._waiting[rank, name, count]
                found.append((rank, name, count))
        return found
