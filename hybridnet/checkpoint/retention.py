"""Chooses the checkpoints that a saver keeps: decided here, without files or clocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

_SECONDS: Final = 3600.0  # in an hour


@dataclass(frozen=True, slots=True)
class Retention:
    """The checkpoints that a saver may remove, and the rule by which it does.

    Attributes:
        max_to_keep: how many there may be; None for any number.
        every: hours from one checkpoint that is kept for good to the next; None keeps none.
        next_kept: the first of an age to be removed that was made after this time, in seconds, is
            kept for good.
        held: paths with times, oldest first.
        preserved: when the last one was made that is kept for good; None if there is none.
    """

    max_to_keep: int | None
    every: float | None
    next_kept: float
    held: tuple[tuple[str, float], ...] = ()
    preserved: float | None = None

    @classmethod
    def begin(cls, max_to_keep: int | None, every: float | None, now: float) -> Retention:
        """Returns that of a saver that is made now (a time in seconds)."""
        return cls(max_to_keep or None, every, now + (every or 0.0) * _SECONDS)

    def saved(self, path: str, now: float) -> tuple[Retention, tuple[str, ...]]:
        """Returns the state after a checkpoint was made, and the paths to be removed.

        Args:
            path: of the checkpoint; one made there before is replaced, and so not removed.
            now: the time, in seconds.
        """
        held = [entry for entry in self.held if entry[0] != path] + [(path, now)]
        removed: list[str] = []
        next_kept, preserved = self.next_kept, self.preserved
        while self.max_to_keep is not None and len(held) > self.max_to_keep:
            oldest, made = held.pop(0)
            if self.every is not None and made > next_kept:
                next_kept += self.every * _SECONDS
                preserved = made
            else:
                removed.append(oldest)
        after = replace(self, held=tuple(held), next_kept=next_kept, preserved=preserved)
        return after, tuple(removed)
