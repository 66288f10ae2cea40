"""The policies' words: what happens to the processes of a job, and what is done with them."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from hybridnet.kvstore.supervise.job import ProcessPlan


@dataclass(frozen=True, slots=True)
class Ended:
    """A process has ended.

    Attributes:
        plan: which.
        code: its exit status; the negative number of the signal that ended it.
        why: a sentence where it could not begin at all, and would not at another start.
    """

    plan: ProcessPlan
    code: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The supervisor itself was asked to end by a signal."""

    number: int


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Time has passed."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start a process."""

    plan: ProcessPlan


@dataclass(frozen=True, slots=True)
class Kill:
    """Send a signal to a process and what it has started."""

    plan: ProcessPlan
    number: int


@dataclass(frozen=True, slots=True)
class Tell:
    """Print a line.

    Attributes:
        line: what it says.
        ended: the end that it is about, which the run's scheduler is to know; None if there is
            nothing to know.
        returns: another process takes the place of that one.
    """

    line: str
    ended: Ended | None = None
    returns: bool = False


@dataclass(frozen=True, slots=True)
class Conclude:
    """All have ended; the job's exit status."""

    code: int


Event = Ended | Interrupted | Elapsed
Action = Start | Kill | Tell | Conclude


def reason(code: int) -> str:
    """Says in words how a process ended."""
    if code >= 0:
        return "ended" if code == 0 else f"failed with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"was killed by signal {-code} ({name})"


def status(code: int) -> int:
    """Returns the exit status that shells give for a process's end."""
    return code if code >= 0 else 128 - code
