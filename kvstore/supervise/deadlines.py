"""When the processes of a job that comes to its end are asked to end, and when they are killed."""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator
from typing import Final, final

from hybridnet.kvstore.supervise.job import ProcessPlan
from hybridnet.kvstore.supervise.words import Action, Kill, Tell

#: Seconds from asking a process to end until it is killed.
GRACE: Final = 5.0


@final
class Deadlines:
    """The times at which something is due; none is while all is well.

    Args:
        patience: seconds that the others have to end by themselves after a loss.

    Attributes:
        lost: a process was lost for good, and the others have their time.
        ending: all were asked to end.
        next: when `elapsed` is due; None: not at all.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.forget()

    def forget(self) -> None:
        """All is well (again)."""
        self.lost = self.ending = False
        self.next: float | None = None

    def lose(self, now: float) -> None:
        """A process was lost: the others may notice, and end by themselves."""
        self.lost, self.next = True, now + self._patience

    def end(self, running: Collection[ProcessPlan], now: float) -> Iterator[Action]:
        """Asks all who run to end, once."""
        if not self.ending:
            self.ending, self.next = True, now + GRACE
            for plan in running:
                yield Kill(plan, signal.SIGTERM)

    def elapsed(self, running: Collection[ProcessPlan], now: float) -> Iterator[Action]:
        """Does what is due: asks those who run to end, and kills those who were asked."""
        if self.next is None or now < self.next:
            return
        if not self.ending:
            yield from self.end(running, now)
            return
        self.next = now + GRACE
        for plan in running:
            yield Tell(f"{plan.title} does not end; killed")
            yield Kill(plan, signal.SIGKILL)
