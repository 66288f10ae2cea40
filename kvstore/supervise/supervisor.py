"""`Supervisor`: what starts the processes of a job, on this machine or on others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from hybridnet.kvstore.supervise.job import Job, ProcessPlan


class Handle(ABC):
    """A process that was started.

    Attributes:
        why: a sentence, once it has ended, where it could not begin at all.
    """

    why: str = ""

    @abstractmethod
    def poll(self) -> int | None:
        """Returns its exit status (the negative number of a signal), None while it runs."""

    @abstractmethod
    def signal(self, number: int) -> None:
        """Sends a signal to it and to what it has started; nothing if it has ended."""

    def fileno(self) -> int | None:
        """Returns a descriptor that becomes readable when it ends; None if there is none."""
        return None


class Supervisor(ABC):
    """Starts processes, and knows how: a subclass for each kind of cluster.

    What is to be done when one of them ends is the same for all, see `policy`.
    """

    def plans(self, job: Job, tell: Callable[[str], None]) -> list[ProcessPlan]:
        """Returns what is to be started for a job; by default a process for each part.

        Args:
            job: what to run. Whatever is waited for has come after `connect` seconds of its
                cluster.
            tell: is called with a line where that takes a while.

        Raises:
            KVStoreError: it cannot be started; says what to do.
        """
        return job.plans()

    @abstractmethod
    def start(self, plan: ProcessPlan) -> Handle:
        """Starts a process; returns at once.

        Raises:
            KVStoreError: it cannot be started.
        """

    def close(self) -> None:  # noqa: B027
        """Gives back what is held, after all processes have ended. By default, nothing."""
