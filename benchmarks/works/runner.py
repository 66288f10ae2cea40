"""A contestant: does the work, waits for it, and shows its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Turns after which a contestant that still compiles is timed as it is.
_MOST_SETTLING = 60
#: Losses that are compared.
_COMPARED = 3
#: Turns that decide between two ways to run, and fewer where one takes longer than some seconds.
_TRIALS, _TRIALS_LONG, _LONG = 9, 3, 0.05


def _no_facts() -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class Runner:
    """One contestant, ready to run.

    Attributes:
        turn: does the work so many times, waits until it is done, and returns the seconds it took.
        answer: what the work computes from its first state; called once, before any turn (after
            all turns where the work never repeats).
        warm_up: runs turns until the contestant is as fast as it gets.
        facts: what else was counted, by name.
    """

    turn: Callable[[int], float]
    answer: Callable[[], Array]
    warm_up: Callable[[], None]
    facts: Callable[[], dict[str, float]] = field(default=_no_facts)


def losses(step: Callable[[], Any]) -> Array:
    """The mean losses of the first steps, from what each gives."""
    return np.array([np.mean(np.asarray(step())) for _ in range(_COMPARED)])


def each(once: Callable[[], Any]) -> Callable[[int], float]:
    """Returns a `turn` of something that itself waits for what it does."""

    def turn(turns: int) -> float:
        started = time.perf_counter()
        for _ in range(turns):
            once()
        return time.perf_counter() - started

    return turn


def waited(step: Callable[[], Any], wait: Callable[[], Any]) -> Callable[[int], float]:
    """Returns a `turn` that takes so many steps and then waits once."""

    def turn(turns: int) -> float:
        started = time.perf_counter()
        for _ in range(turns):
            step()
        wait()
        return time.perf_counter() - started

    return turn


def plain(
    turn: Callable[[int], float],
    answer: Callable[[], Array],
    settling: int = 2,
    facts: Callable[[], dict[str, float]] = _no_facts,
) -> Runner:
    """A contestant that is as fast as it gets after a few turns."""

    def warm_up() -> None:
        turn(settling)

    return Runner(turn, answer, warm_up, facts)


def pytorch(turn: Callable[[int], float], answer: Callable[[], Array]) -> Runner:
    """A contestant of PyTorch, with as many threads as serve it best: one, or its default.

    Threads that wait for each other lose much on small work, and more on a busy machine. Work that
    takes long is given all.
    """
    import torch

    most = chosen = torch.get_num_threads()

    def on(threads: int, turns: int) -> float:
        torch.set_num_threads(threads)
        return turn(turns)

    def warm_up() -> None:
        nonlocal chosen
        on(most, 1)
        on(1, 1)
        if turn(1) < _LONG:
            seconds = {n: _typical(partial(on, n)) for n in (1, most)}
            chosen = min(seconds, key=lambda n: seconds[n])

    return Runner(lambda turns: on(chosen, turns), answer, warm_up, lambda: {"threads": chosen})


def fastest(runners: dict[str, Runner]) -> Runner:
    """A contestant that may run in several ways, of which it keeps the fastest when it warms up."""
    ways = dict(runners)

    def warm_up() -> None:
        seconds = {}
        for name, way in ways.items():
            way.warm_up()
            seconds[name] = _typical(way.turn)
        best = min(seconds, key=lambda name: seconds[name])
        for name in set(ways) - {best}:
            del ways[name]

    def chosen() -> Runner:
        return next(iter(ways.values()))

    return Runner(
        lambda turns: chosen().turn(turns),
        lambda: chosen().answer(),
        warm_up,
        lambda: chosen().facts() | {next(iter(ways)): 1.0},
    )


def _typical(turn: Callable[[int], float]) -> float:
    """The seconds of a turn."""
    first = turn(1)
    trials = _TRIALS_LONG if first > _LONG else _TRIALS
    return float(np.median([turn(1) for _ in range(trials)]))


def hybrid(
    turn: Callable[[int], float],
    answer: Callable[[], Array],
    facts: Callable[[], dict[str, float]] = _no_facts,
    least: int = 0,
) -> Runner:
    """A contestant of hybridnet, which compiles in the background.

    It is warm when a few turns, and no fewer than `least`, compile nothing and run nothing step by
    step.
    """
    from hybridnet import engine, nd
    from hybridnet.runtime.programs.cache import cache

    def warm_up() -> None:
        for _ in range(_MOST_SETTLING):
            before = cache.statistics()
            turn(max(least, 3))
            nd.waitall()
            engine.wait_for_all()
            after = cache.statistics()
            if (after.cold, after.compilations) == (before.cold, before.compilations):
                return

    return Runner(turn, answer, warm_up, facts)
