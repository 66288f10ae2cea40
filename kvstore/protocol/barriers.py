"""Barriers: a worker passes one for the n-th time when all have come to it n times."""

from __future__ import annotations

from collections.abc import Collection
from typing import final

__all__ = ["Barriers"]


@final
class Barriers:
    """How often each worker has come to each barrier, and who waits.

    Counts make it idempotent: a question that comes again has the same answer. A worker that was
    started again counts from 1; where its predecessor had been it passes at once if the others had
    been there, too.
    """

    def __init__(self) -> None:
        self._arrived: dict[str, dict[int, int]] = {}
        self._waiting: dict[tuple[int, str, int], None] = {}

    def arrive(self, name: str, rank: int, count: int) -> None:
        """Takes down that a worker has been there so often."""
        counts = self._arrived.setdefault(name, {})
        counts[rank] = max(count, counts.get(rank, 0))

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
