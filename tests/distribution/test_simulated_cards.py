"""Steps over simulated network cards: as arithmetic says; what priorities of small parts gain."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import pytest
from helpers import thorough
from places import ROOT

from hybridnet.kvstore.protocol.words import Peer, RunPlan

P3 = {"window": 10, "part_items": 40_000}
MB = 250_000  # floats


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the benchmarks, which are scripts beside each other."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


def seconds(cards: Any, workers: int, servers: int, keys: int = 40, **how: Any) -> float:
    """Of a step that pushes keys of 1 MB and computes nothing, by cards of 1 Gb/s."""
    layers = [cards.Layer(MB)] * keys
    card = cards.Card(cards.GIGABIT, latency=1e-4)
    free = cards.Costs(0, 0, 0, 0, 0, 0)
    plan = RunPlan(1, workers, servers)
    world = cards.Simulation(plan, layers, steps=1, card=card, costs=free, **how)
    world.run()
    return max(one.ended[0] - one.begun[0] for one in world.workers)


@pytest.mark.parametrize(("workers", "servers"), [(1, 1), (2, 1), (4, 2), (4, 4)])
def test_bytes_take_the_time_of_the_fullest_card(load: Any, workers: int, servers: int) -> None:
    """All bytes go through each worker's card, and those of all workers through the servers'.

    Answers come back through the other direction of the cards meanwhile; the last key, and the last
    of each server's share of the keys, are what cannot overlap.
    """
    cards = load("cards")
    keys, one = 40, 1e6 / cards.GIGABIT
    least = max(keys, workers * keys / servers) * one
    found = seconds(cards, workers, servers, keys)
    assert least < found <= least + (2 + 2 * workers) * one


def test_servers_beside_workers_take_what_a_ring_takes(load: Any) -> None:
    """With a server on each worker's machine 2 (N - 1) / N of all bytes cross a card."""
    cards = load("cards")
    workers, keys = 4, 40
    least = 2 * keys * (workers - 1) / workers * 1e6 / cards.GIGABIT
    found = seconds(cards, workers, workers, keys, beside=True)
    assert least <= found <= 1.25 * least


@cache
def first_and_all(load: Any, **small: int) -> tuple[float, float]:
    """When the first layer's new value is there, and when all are: a step of VGG-16 at 1 Gb/s."""
    cards = load("cards")
    layers = load("gradient_times").vgg16()
    world = cards.Simulation(
        RunPlan(1, 2, 2, **small), layers, steps=1, card=cards.Card(cards.GIGABIT)
    )
    world.run()
    begun = world.workers[0].begun[0]
    return world.workers[0].fresh[0][0] - begun, world.workers[0].ended[0] - begun


def test_urgent_small_parts_overtake(load: Any) -> None:
    """P3's promise (Jayarajan et al., 2019): the next forward pass may begin much earlier."""
    first, every = first_and_all(load)
    early, total = first_and_all(load, **P3)
    assert early <= first / 2
    assert total <= 1.03 * every


def test_it_is_the_order_that_makes_the_first_layer_early(load: Any) -> None:
    """Small parts that are sent as they come gain nothing for the first layer."""
    early, _ = first_and_all(load, **P3)
    unordered, _ = first_and_all(load, part_items=P3["part_items"])
    assert unordered > 2 * early


def test_a_killed_server_costs_its_absence_and_loses_no_step(load: Any) -> None:
    cards = load("cards")
    layers = [cards.Layer(MB, 0.01, 0.02)] * 8
    calm = cards.Simulation(RunPlan(1, 2, 2), layers, steps=6)
    calm.run()
    world = cards.Simulation(RunPlan(1, 2, 2), layers, steps=6)
    world.kill(Peer("server", 1), calm.workers[0].ended[2] - 0.01, 0.5)
    world.run()
    for worker in world.workers:
        steps = [b - a for a, b in zip(worker.ended, worker.ended[1:], strict=False)]
        assert len(steps) == 5
        assert 0.3 < max(steps) < 1.5
        assert sorted(steps)[3] < 0.3


@pytest.mark.skipif(not thorough(1, 0), reason="a time that is measured: nightly")
def test_what_is_measured_is_predicted(load: Any) -> None:
    """A round of one worker through a card of 200 Mb/s, by real processes and by the simulation."""
    scaling = load("scaling")
    work, rate = (4, MB, 3), 25e6
    [found] = scaling.real(1, rate, [work])
    measured = min(found[0]["times"])
    predicted = scaling.predict(1, work, rate, load("cards").Costs())
    assert abs(predicted / measured - 1) <= 2 * scaling.OFF  # a busy machine is slower
