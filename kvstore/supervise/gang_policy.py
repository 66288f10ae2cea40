"""The policy when a process of a gang ends: all of them end, and all are started again.

A gang (`hybridnet.distributed`) computes by collective calls, which no process can come back to:
it begins anew, from a checkpoint. Decisions only, as `Policy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, final

from hybridnet.kvstore.supervise.deadlines import Deadlines
from hybridnet.kvstore.supervise.job import ProcessPlan
from hybridnet.kvstore.supervise.words import (
    Action,
    Conclude,
    Elapsed,
    Ended,
    Event,
    Interrupted,
    Start,
    Tell,
    reason,
    status,
)

#: The status by which a process of a broken gang asks for that: `hybridnet.distributed.EXIT_CODE`.
ASKS_TO_RESTART: Final = 75


@final
class GangPolicy:
    """Decides over the processes of a gang.

    One that is killed by a signal has all started again. One that fails by itself would again, so
    the job fails with its status; the others, which ask to be started again, may be seen first.

    Args:
        plans: the processes.
        restarts: how often the gang may be started again.
        patience: seconds that the others have to end by themselves after one has.
    """

    def __init__(
        self, plans: Sequence[ProcessPlan], restarts: int = 3, patience: float = 12.0
    ) -> None:
        self._plans = list(plans)
        self._restarts = restarts
        self._deadlines = Deadlines(patience)
        self._running: dict[str, ProcessPlan] = {}
        self._code = 0
        self._again = False
        self._concluded = False

    def start(self) -> list[Action]:
        """Returns what the job begins with."""
        self._running = {plan.title: plan for plan in self._plans}
        return [Start(plan) for plan in self._plans]

    @property
    def next_time(self) -> float | None:
        """When an `Elapsed` is due at the latest."""
        return self._deadlines.next

    def handle(self, event: Event, now: float) -> list[Action]:
        """Takes an event; returns what is to be done, in order."""
        match event:
            case Ended():
                actions = list(self._ended(event, now))
            case Interrupted(number):
                self._code, self._again = self._code or 128 + number, False
                actions = list(self._deadlines.end(self._running.values(), now))
            case Elapsed():
                actions = list(self._deadlines.elapsed(self._running.values(), now))
        if self._running or self._concluded:
            return actions
        if self._again:
            return actions + self._start_again()
        self._concluded = True
        return [*actions, Conclude(self._code)]

    def _ended(self, event: Ended, now: float) -> Iterator[Action]:
        plan, code = event.plan, event.code
        if self._running.get(plan.title) is not plan:
            return
        del self._running[plan.title]
        deadlines = self._deadlines
        if code == 0 or deadlines.ending:
            return
        if event.why:  # the others wait for it, and have done nothing
            self._code, self._again = self._code or status(code), False
            yield Tell(event.why, event)
            yield from deadlines.end(self._running.values(), now)
        elif deadlines.lost:
            if self._again and code > 0 and code != ASKS_TO_RESTART:
                self._again, self._code = False, status(code)  # which is why the others asked
                yield Tell(f"{plan.title} {reason(code)}: none is started again", event)
            else:
                yield Tell(f"{plan.title} {reason(code)}", event)
        elif (code < 0 or code == ASKS_TO_RESTART) and plan.generation < self._restarts:
            self._again = True
            deadlines.lose(now)
            yield Tell(f"{plan.title} {reason(code)}; all are started again", event, returns=True)
            if code < 0:
                yield from deadlines.end(self._running.values(), now)
        else:
            self._code = status(code)
            deadlines.lose(now)
            yield Tell(f"{plan.title} {reason(code)} and is not started again", event)

    def _start_again(self) -> list[Action]:
        self._plans = [plan.again() for plan in self._plans]
        self._again = False
        self._deadlines.forget()
        return self.start()
