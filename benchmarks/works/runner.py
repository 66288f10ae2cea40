"""What a contestant is: something that does the work, waits for it, and shows its answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

#: Turns after which a contestant that still compiles is timed as it is.
_MOST_SETTLING = 60


def _no_facts() -> dict[str, float]:
    return {}


@dataclass(frozen=True)
class Runner:
    """One contestant, ready to run.

    Attributes:
        turn: does the work so many times, waits until it is done, and returns the seconds it took.
        answer: what the work computes from its first state; called once, before any turn (after
            all turns where the work never repeats).
        settle: runs turns until the contestant is as fast as it gets.
        facts: what else was counted, by name.
    """

    turn: Callable[[int], float]
    answer: Callable[[], Array]
    settle: Callable[[], None]
    facts: Callable[[], dict[str, float]] = field(default=_no_facts)


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

    def settle() -> None:
        turn(settling)

    return Runner(turn, answer, settle, facts)


def pytorch(turn: Callable[[int], float], answer: Callable[[], Array]) -> Runner:
    """A contestant of PyTorch, with as many threads as serve it best: one, or its default.

    Threads that wait for each other lose much on small work, and more on a busy machine.
    """
    import torch

    def settle() -> None:
        seconds = {}
        for threads in (1, torch.get_num_threads()):
            torch.set_num_threads(threads)
            turn(2)
            seconds[threads] = float(np.median([turn(1) for _ in range(9)]))
        torch.set_num_threads(min(seconds, key=lambda threads: seconds[threads]))

    return Runner(turn, answer, settle, lambda: {"threads": torch.get_num_threads()})


def hybrid(
    turn: Callable[[int], float],
    answer: Callable[[], Array],
    facts: Callable[[], dict[str, float]] = _no_facts,
) -> Runner:
    """A contestant of hybridnet, which compiles in the background.

    It has settled when a few turns compile nothing and run nothing step by step.
    """
    from hybridnet import engine, nd
    from hybridnet.runtime.programs import cache

    def settle() -> None:
        for _ in range(_MOST_SETTLING):
            before = cache.statistics()
            turn(3)
            nd.waitall()
            engine.wait_for_all()
            after = cache.statistics()
            if (after.cold, after.compilations) == (before.cold, before.compilations):
                return

    return Runner(turn, answer, settle, facts)
