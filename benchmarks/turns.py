"""Contestants of a work take turns, in worker processes of their own, and are compared.

Every contestant does the same work, which is checked before it is timed. They take turns, first
forwards, then backwards, so that a change of the machine's speed meets each alike; ratios are
medians over the rounds. ``eager.py`` and ``nets.py`` are tables made by this.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rows import BEST_PEER, PEERS, TITLES, Row, Target
from worker import Worker, WorkerError
from works.runner import Array, Runner

#: Seconds of work in one turn of a contestant.
SLICE = 0.1
#: Seconds between two turns: threads that one leaves spinning for more work must not slow the next.
PAUSE = 0.01
#: The least rounds, where the seconds allow no more.
LEAST_ROUNDS = 5
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}


@dataclass(frozen=True)
class Seat:
    """A contestant, and the process it runs in.

    Attributes:
        name: in the table.
        contestant: of the work, see `works.catalog`.
        process: seats with one name share a worker.
        python: the worker's interpreter.
        environment: variables that the worker has besides.
    """

    name: str
    contestant: str
    process: str
    python: str
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """The measurements of one row.

    Attributes:
        row: the row.
        times: by contestant, one entry a round, in the row's unit.
        facts: by contestant.
    """

    row: Row
    times: dict[str, Array]
    facts: dict[str, dict[str, float]]

    def value(self, name: str) -> float:
        """The time of a contestant: the median; of work that never repeats, the mean."""
        return float(np.mean(self.times[name]) if self.row.cold else np.median(self.times[name]))

    @property
    def best_peer(self) -> str | None:
        """The fastest of the other frameworks; None where all are missing."""
        return min((peer for peer in PEERS if peer in self.times), key=self.value, default=None)

    def ratio(self, other: str, of: str = "hybridnet") -> float:
        """A contestant's time as a multiple of another's."""
        if self.row.cold:
            return float(self.times[of].sum() / self.times[other].sum())
        return float(np.median(self.times[of] / self.times[other]))

    def reached(self, target: Target) -> float | None:
        """The value reached of a target; None where the other contestant is missing."""
        against = self.best_peer if target.against == BEST_PEER else target.against
        if target.against is not None and against not in self.times:
            return None
        if target.fact is not None:
            got = self.facts["hybridnet"][target.fact]
            return got if against is None else got / self.facts[against][target.fact]
        return self.value("hybridnet") if against is None else self.ratio(against)


# Measuring ----------------------------------------------------------------------------------------


def _make(row: Row, seats: Sequence[Seat], stack: ExitStack) -> Iterator[tuple[str, Runner]]:
    """Makes the contestants of a row, each in its process, but for those that are missing."""
    workers: dict[str, Worker] = {}
    for seat in seats:
        process = seat.name if row.own_process else seat.process
        if process not in workers:
            workers[process] = Worker(seat.python, seat.environment)
            stack.callback(workers[process].close)
        try:
            yield seat.name, workers[process].make(row.work, seat.contestant)
        except WorkerError as error:
            if "ModuleNotFoundError" not in str(error):
                raise
            print(f"   {TITLES[seat.name]} is not installed")


def _check(row: Row, runners: dict[str, Runner]) -> None:
    """Raises unless all contestants compute the same."""
    answers = {name: runner.answer() for name, runner in runners.items()}
    first, *others = answers
    if not np.isfinite(answers[first]).all():
        raise ArithmeticError(f"{row.work}: {first} computes no finite numbers: {answers[first]}")
    for other in others:
        np.testing.assert_allclose(
            answers[other],
            answers[first],
            row.tolerance,
            row.tolerance * float(np.abs(answers[first]).max()),
            err_msg=f"{row.work}: {other} computes something else than {first}",
        )


def _turns(row: Row, runner: Runner) -> int:
    """The number of turns that fill a slice of time."""
    seconds = runner.turn(1)
    if seconds < SLICE:
        seconds = min(seconds, runner.turn(1), runner.turn(1))
    return max(1, min(row.most_turns, round(SLICE / seconds)))


def measure(row: Row, seats: Sequence[Seat], most_rounds: int, seconds: float) -> Result:
    """Makes, checks, warms up and times the contestants of one row.

    Args:
        row: the work.
        seats: who takes part.
        most_rounds: of turns.
        seconds: after which no round begins, when there were enough.
    """
    with ExitStack() as stack:
        runners = dict(_make(row, seats, stack))
        if row.cold:
            turns = dict.fromkeys(runners, row.most_turns)
        else:
            _check(row, runners)
            for runner in runners.values():
                runner.warm_up()
            turns = {name: _turns(row, runner) for name, runner in runners.items()}
        times: dict[str, list[float]] = {name: [] for name in runners}
        rounds = 0
        started = time.perf_counter()
        while rounds < most_rounds and (
            rounds < LEAST_ROUNDS or time.perf_counter() - started < seconds
        ):
            for name in list(runners)[:: -1 if rounds % 2 else 1]:
                time.sleep(PAUSE)
                times[name].append(runners[name].turn(turns[name]) / turns[name])
            rounds += 1
        if row.cold:
            _check(row, runners)
        facts = {name: runner.facts() for name, runner in runners.items()}
    scale = UNITS[row.unit] / row.per
    return Result(row, {name: scale * np.array(turns) for name, turns in times.items()}, facts)


# Showing ------------------------------------------------------------------------------------------


def show(result: Result) -> None:
    """Prints the contestants of a row, and its verdicts."""
    row = result.row
    for name in result.times:
        least = float(result.times[name].min())
        ratio = "" if name == "hybridnet" else f"{result.ratio(name):>9.3f}"
        facts = ", ".join(f"{key} {value:.6g}" for key, value in result.facts[name].items())
        print(
            f"   {TITLES[name]:<18}{result.value(name):>10.3f} {row.unit} {row.item}"
            f" (least {least:.3f}){ratio}  {facts}"
        )
    if row.cold and "jax" in result.times:
        later = {name: times[len(times) // 2 :].sum() for name, times in result.times.items()}
        print(f"   in the later half {later['hybridnet'] / later['jax']:.3f} x {TITLES['jax']}")
    for target in row.targets:
        reached = result.reached(target)
        if reached is None:
            print(f"   target {target}: not measured")
        else:
            verdict = "met" if reached <= target.most else "MISSED"
            print(f"   target {target}: {reached:.3f}, {verdict}", flush=True)


def save(results: Sequence[Result], file: Path) -> None:
    """Writes everything measured."""
    rows = {
        result.row.work: {
            "title": result.row.title,
            "unit": f"{result.row.unit} {result.row.item}",
            "times": {name: times.tolist() for name, times in result.times.items()},
            "facts": result.facts,
            "targets": {str(target): result.reached(target) for target in result.row.targets},
        }
        for result in results
    }
    file.write_text(json.dumps(rows, indent=1), encoding="utf-8")
