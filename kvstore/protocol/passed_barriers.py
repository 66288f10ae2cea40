"""The barrier that a worker comes to: a process that replaces one was not at the earlier ones."""

from __future__ import annotations

from typing import Final, final

#: The name of barriers that come after a push, and how many there may be between two pushes.
_AFTER_PUSHES: Final = "@"
_BETWEEN: Final = 1 << 20


@final
class PassedBarriers:
    """The barriers that a worker has come to, and the pushes between them.

    A worker that was started again goes on in the middle of its program, and has not been at the
    barriers before. So those without a name are known, where a store is synchronous, by how many
    pushes of such stores came before, which are as many in all workers, and by their order since
    then. Before its first push it comes to those of the program's beginning, then to those of the
    middle; where nothing is left to push it takes the next one for the one that followed the last
    push.

    Attributes:
        counts: how often this worker has come to each barrier.
        passed: how often it has passed each, as all had come.
        is_sync: whether there are keys that all workers push equally often.
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

    def following(self, name: str) -> tuple[str, int]:
        """The name of the barrier that this worker comes to, and the how-manieth time it is."""
        count = self.counts.get(name, 0) + 1
        first = not self._pushes and (not self.resumes or count <= self.before)
        if name or not self.is_sync or first:
            return name, count
        so_far = (self.resumes + self._pushes) * _BETWEEN
        return _AFTER_PUSHES, max(so_far, self.counts.get(_AFTER_PUSHES, 0)) + 1

    def pushed(self, times: int) -> tuple[str, int] | None:
        """A key that all workers push is pushed for the how-manieth time.

        Returns:
            A barrier that this worker comes to by it; see `goes_on`.
        """
        if times <= self._pushes:
            return None
        barrier = self.goes_on()
        self._pushes = times
        return barrier

    def goes_on(self) -> tuple[str, int] | None:
        """The next thing that all workers do is a push.

        Returns:
            A barrier that this worker comes to by its first push, or before it, if it replaces a
            process: that says that no barrier before the push is come to.
        """
        if self.is_sync and self.resumes and not self._pushes:
            return _AFTER_PUSHES, (self.resumes + 1) * _BETWEEN
        return None
