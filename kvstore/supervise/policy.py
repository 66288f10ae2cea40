"""What to do when a process of a job ends: restart it, wait for the others, or end them all.

A state machine without processes and clock: `handle(event, now)` returns what is to be done, and
`runner.py` does it.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from hybridnet.kvstore.supervise.job import ProcessPlan

__all__ = [
    "Action",
    "Conclude",
    "Elapsed",
    "Ended",
    "Event",
    "Interrupted",
    "Kill",
    "Policy",
    "Start",
    "Tell",
    "reason",
]

#: Seconds from asking a process to end until it is killed.
GRACE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A process has ended.

    Attributes:
        plan: which.
        code: its exit status; the negative number of the signal that ended it.
    """

    plan: ProcessPlan
    code: int


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


@final
class Policy:
    """Decides over the processes of a job.

    Workers that a signal has killed are started again, servers and the scheduler whatever ended
    them. A worker that ends with a status of its own has failed by itself and would again: the
    job fails with that status, after the other workers had time to notice.

    Args:
        plans: the processes.
        restarts: how often one process may be started again.
        patience: seconds that workers have to end by themselves after a loss.
    """

    def __init__(
        self, plans: Sequence[ProcessPlan], restarts: int = 3, patience: float = 12.0
    ) -> None:
        self._plans = list(plans)
        self._restarts = restarts
        self._patience = patience
        self._running: dict[str, ProcessPlan] = {}
        self._code = 0
        # When whoever still runs is asked to end, and when killed; None while all is well.
        self._end_at: float | None = None
        self._kill_at: float | None = None
        self._finished = False

    def start(self) -> list[Action]:
        """Returns what the job begins with."""
        return [self._start(plan) for plan in self._plans]

    @property
    def next_time(self) -> float | None:
        """When a `Elapsed` is due at the latest."""
        return self._kill_at if self._kill_at is not None else self._end_at

    def handle(self, event: Event, now: float) -> list[Action]:
        """Takes an event; returns what is to be done, in order."""
        match event:
            case Ended():
                actions = list(self._ended(event, now))
            case Interrupted(number):
                self._code = self._code or 128 + number
                actions = list(self._end(now))
            case Elapsed():
                actions = list(self._tick(now))
        if not self._running and not self._finished:
            self._finished = True
            actions.append(Conclude(self._code))
        return actions

    def _start(self, plan: ProcessPlan) -> Action:
        self._running[plan.title] = plan
        return Start(plan)

    def _ended(self, event: Ended, now: float) -> Iterator[Action]:
        plan, code = event.plan, event.code
        if self._running.get(plan.title) is not plan:
            return
        del self._running[plan.title]
        if self._kill_at is not None:
            return
        if plan.role == "worker" and code == 0:
            if not any(one.role == "worker" for one in self._running.values()):
                yield from self._end(now)
            return
        if code == 0:  # a server that the scheduler has dismissed: its workers need it no more
            return
        if self._end_at is None and self._comes_back(plan, code):
            again = plan.again()
            line = f"{plan.title} {reason(code)}; started again, generation {again.generation}"
            yield Tell(line, event, returns=True)
            yield self._start(again)
            return
        yield from self._lost(event, now)

    def _comes_back(self, plan: ProcessPlan, code: int) -> bool:
        if plan.generation >= self._restarts or plan.count > 1:
            return False
        return plan.role != "worker" or code < 0

    def _lost(self, event: Ended, now: float) -> Iterator[Action]:
        plan, code = event.plan, event.code
        if self._end_at is None:
            self._code = status(code) or 1
            self._end_at = now + self._patience
            yield Tell(f"{plan.title} {reason(code)} and is not started again", event)
        else:
            yield Tell(f"{plan.title} {reason(code)}", event)
        if not any(one.role == "worker" for one in self._running.values()):
            yield from self._end(now)

    def _end(self, now: float) -> Iterator[Action]:
        """Asks all to end."""
        if self._kill_at is None:
            self._kill_at = now + GRACE
            for plan in self._running.values():
                yield Kill(plan, signal.SIGTERM)

    def _tick(self, now: float) -> Iterator[Action]:
        if self._kill_at is not None and now >= self._kill_at:
            self._kill_at = now + GRACE
            for plan in self._running.values():
                yield Tell(f"{plan.title} does not end; killed")
                yield Kill(plan, signal.SIGKILL)
        elif self._kill_at is None and self._end_at is not None and now >= self._end_at:
            yield from self._end(now)


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
