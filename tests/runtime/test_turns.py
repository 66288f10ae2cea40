"""Launches stand still while somebody has a turn, and go on in between and afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.programs import making
from hybridnet.runtime.specialize import improve, specializing
from hybridnet.runtime.tiers.choice import Decision, Purchase
from hybridnet.runtime.tuning.timing import Comparison, Turns, compare

# Seconds that something which must not happen is waited for, and something that must.
_NEVER, _SOON = 0.1, 60.0


class Counted:
    """Called like an executable; counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *arguments: Any) -> list[Any]:
        self.calls += 1
        return list(arguments)


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, threading.Event]:
    """Starts something; the event tells that it is done."""
    done = threading.Event()

    def run() -> None:
        work()
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, done


def test_a_launch_waits_for_the_end_of_a_turn() -> None:
    whole = Counted()
    turns = Turns(whole)
    assert turns(1, 2) == [1, 2]
    with turns.turn():
        thread, done = in_thread(lambda: turns(3))
        assert not done.wait(_NEVER)
        assert whole.calls == 1
    assert done.wait(_SOON)
    thread.join()
    assert whole.calls == 2


def test_after_an_error_in_a_turn_launches_go_on() -> None:
    turns = Turns(Counted())
    with pytest.raises(KeyError), turns.turn():
        raise KeyError
    assert turns(1) == [1]


def test_a_loop_gets_on_between_turns() -> None:
    whole, over = Counted(), threading.Event()
    turns = Turns(whole)

    def loop() -> None:
        while not over.is_set():
            turns(1)

    thread, _ = in_thread(loop)
    seen = []
    for _ in range(20):
        with turns.turn():
            seen.append(whole.calls)
    over.set()
    thread.join()
    assert seen[-1] >= seen[0] + 10


def test_what_was_launched_and_consumed_is_not_waited_for() -> None:
    import jax.numpy as jnp

    gone = jnp.ones(3)
    turns = Turns(lambda: [gone])
    turns()
    gone.delete()
    with turns.turn():
        pass


def test_each_round_of_a_comparison_has_a_turn() -> None:
    turns, inside = Turns(Counted()), []

    def run() -> float:
        inside.append(not turns._open.is_set)
        return 1.0

    compare(run, run, 0, turns.turn)
    assert len(inside) == 12 and all(inside)


@pytest.mark.parametrize("wins", [False, True])
def test_a_program_is_held_up_while_it_is_compared_and_right_all_along(
    wins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(one).astype("float32") for one in ((4, 64), (512, 64)))
    data, weight = nd.array(x), nd.array(w)
    function = hn.function(lambda x, w: nd.dot(x, nd.transpose(w, axes=(1, 0)) * 2))
    found: list[Any] = []

    def look(one: Any, other: Any, seconds: float, turn: Any) -> Comparison:
        with turn():
            thread, done = in_thread(lambda: found.append(function(data, weight).asnumpy()))
            assert not done.wait(_NEVER)
        assert done.wait(_SOON)
        thread.join()
        found.append([type(one.compiled) for one in programs.cache.programs()])
        return Comparison(1.0, 0.5 if wins else 1.0, 0.5 if wins else 1.0, 0.0)

    for one in (making, improve):
        monkeypatch.setattr(one, "later", lambda work, name, **_: work())
    monkeypatch.setattr(improve, "decide_constants", lambda *_: Decision(Purchase.CONSTANTS))
    monkeypatch.setattr(specializing, "compare", look)
    programs.cache.clear()
    for _ in range(40):
        made = function(data, weight).asnumpy()
        np.testing.assert_allclose(made, x @ w.T * 2, rtol=1e-3, atol=1e-4)
    within, types = found
    np.testing.assert_allclose(within, x @ w.T * 2, rtol=1e-3, atol=1e-4)
    assert Turns in types
    assert not [one for one in programs.cache.programs() if type(one.compiled) is Turns]
    programs.cache.clear()
