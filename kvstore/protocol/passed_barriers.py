"""Which barrier a worker comes to: a process that replaces one has not been at the earlier ones."""

from __future__ import annotations

from typing import Final, final

__all__ = ["PassedBarriers"]

#: The name of barriers that come after a push, and how many there may be between two pushes.
_AFTER_PUSHES: Final = "@"
_BETWEEN: Final = 1 << 20


@final
class PassedBarriers:
    """The barriers that a worker has come to, and the pushes between them.

    A worker that was started again goes on in the middle of its program, and has not been at the
    barriers before. So those without a name are known, in a synchronous store, by how many pushes
    came before, which are as many in all workers, and by their order since then. Before its first
    push it comes to those of the program's beginning, then to those of the middle; where nothing is
    left to push it takes the next one for the one that followed the last push.

    Attributes:
        counts: how often this worker has come to each barrier.
        passed: how often it has passed each, as all had come.
        is_sync: whether all workers push equally often.
        resumes: how many pushes of each key a predecessor made.
        before: how many barriers come before the first push.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.passed: dict[str, int] = {}
        self.is_sync = True
        self.resumes = 0
        self.before = 0
        self._pushes = 0  # of the key that this process has pushed most

    @property
    def begins_again(self) -> bool:
        """Whether the program was started again, and is still before its first push."""
        return self.resumes > 0 and not self._pushes

    def following(self, name: str) -> tuple[str, int]:
        """The name of the barrier that this worker comes to, and the how-manieth time it is."""
        count = self.counts.get(name, 0) + 1
        first = not self._pushes and (not self.resumes or count <= self.before)
        if name or not self.is_sync or first:
            return name, count
        so_far = (self.resumes + self._pushes) * _BETWEEN
        return _AFTER_PUSHES, max(so_far, self.counts.get(_AFTER_PUSHES, 0)) + 1

    def pushed(self, times: int) -> tuple[str, int] | None:
        """A key is pushed for the how-manieth time.

        Returns:
            A barrier that this worker comes to by it: the first push of a process that replaces one
            says that no barrier before it is come to.
        """
        if times <= self._pushes:
            return None
        first, self._pushes = not self._pushes, times
        if first and self.is_sync and self.resumes:
            return _AFTER_PUSHES, (self.resumes + 1) * _BETWEEN
        return None
