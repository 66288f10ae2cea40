"""The policy when a process of a job ends: restart it, wait for the others, or end them all.

A state machine without processes and clock: `handle(event, now)` returns what is to be done, and
`runner.py` does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from hybridnet.kvstore.cluster import CANNOT_SERVE
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


@final
class Policy:
    """Decides over the processes of a job.

    Workers that a signal has killed are started again, servers and the scheduler whatever ended
    them, but for one that could not begin: it could not at the next start, and the job ends. A
    worker that ends with a status of its own has failed by itself and would again: the job fails
    with that status, after the other workers had time to notice. Where the run may shrink, the
    others go on without a worker that was killed once too often, and the job ends as they do.

    Args:
        plans: the processes.
        restarts: how often one process may be started again.
        patience: seconds that workers have to end by themselves after a loss.
        shrinks: whether others go on when a worker is lost.
    """

    def __init__(
        self,
        plans: Sequence[ProcessPlan],
        restarts: int = 3,
        patience: float = 12.0,
        *,
        shrinks: bool = False,
    ) -> None:
        self._shrinks = shrinks
        self._plans = list(plans)
        self._restarts = restarts
        self._deadlines = Deadlines(patience)
        self._running: dict[str, ProcessPlan] = {}
        self._code = 0
        self._finished = False
        self._over = False  # the scheduler has ended, as all workers have finished

    def start(self) -> list[Action]:
        """Returns what the job begins with."""
        return [self._start(plan) for plan in self._plans]

    @property
    def next_time(self) -> float | None:
        """When a `Elapsed` is due at the latest."""
        return self._deadlines.next

    def handle(self, event: Event, now: float) -> list[Action]:
        """Takes an event; returns what is to be done, in order."""
        match event:
            case Ended():
                actions = list(self._ended(event, now))
            case Interrupted(number):
                self._code = self._code or 128 + number
                actions = list(self._deadlines.end(self._running.values(), now))
            case Elapsed():
                actions = list(self._deadlines.elapsed(self._running.values(), now))
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
        if self._deadlines.ending:
            return
        if plan.role == "scheduler" and code == 0:
            self._over = True
        if self._over and self._comes_back(event):
            code = 0  # all have finished, as the one in its place would only be told
        if plan.role == "worker" and code == 0:
            if not any(one.role == "worker" for one in self._running.values()):
                yield from self._deadlines.end(self._running.values(), now)
            return
        if code == 0:  # a server that the scheduler has dismissed: its workers need it no more
            return
        if not self._deadlines.lost and self._comes_back(event):
            again = plan.again()
            line = f"{plan.title} {reason(code)}; started again, generation {again.generation}"
            yield Tell(line, event, returns=True)
            yield self._start(again)
            return
        yield from self._lost(event, now)

    def _comes_back(self, event: Ended) -> bool:
        plan, code = event.plan, event.code
        if plan.generation >= self._restarts or not plan.returns or event.why:
            return False
        return not _could_not_begin(event) and (plan.role != "worker" or code < 0)

    def _lost(self, event: Ended, now: float) -> Iterator[Action]:
        plan, code = event.plan, event.code
        others = any(one.role == "worker" for one in self._running.values())
        if self._shrinks and plan.role == "worker" and code < 0 and others:
            yield Tell(f"{plan.title} {reason(code)}; the others go on without it", event)
            return
        if not self._deadlines.lost:
            self._code = status(code)
            self._deadlines.lose(now)
            line = f"{plan.title} {reason(code)} and is not started again"
            yield Tell(event.why or line, event)
        else:
            yield Tell(event.why or f"{plan.title} {reason(code)}", event)
        idle = _could_not_begin(event)  # the others still wait for it, and have done nothing
        if idle or not others:
            yield from self._deadlines.end(self._running.values(), now)


def _could_not_begin(event: Ended) -> bool:
    """Whether a process was not fit to begin, and would not be at another start.

    One that had served before may have lost its port to somebody for a moment.
    """
    plan = event.plan
    if plan.generation:
        return False
    return bool(event.why) or (plan.role != "worker" and event.code == CANNOT_SERVE)
