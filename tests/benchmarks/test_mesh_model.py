"""The formulas of steps on meshes, where arithmetic says what they must be."""

from __future__ import annotations

import importlib
from math import inf
from typing import Any

import pytest
from places import ROOT


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the formulas, which are beside the benchmarks."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("mesh_model")


@pytest.fixture
def layers(model: Any) -> list[Any]:
    """Ten layers of 5 million parameters; 30 ms a step."""
    return [importlib.import_module("cards").Layer(5_000_000, 1e-3, 2e-3)] * 10


def machines(model: Any, inside: float, between: float, latency: float = 0.0) -> Any:
    return model.Machines(model.Link(inside, latency), model.Link(between, latency))


def test_a_device_of_a_ring_sends_nearly_twice_the_bytes(model: Any) -> None:
    for devices in (1, 2, 8):
        assert model.ring_bytes(800, devices) == 800 * (devices - 1) / devices
        ring = model.Machines(model.Link(1.0, 0.0), model.Link(1.0, 0.0))
        assert ring.all_reduce(800, devices) == 2 * 800 * (devices - 1) / devices


def test_latency_is_by_the_turn(model: Any) -> None:
    one = machines(model, inf, inf, latency=1.0)
    assert one.all_gather(100, 8) == 7 and one.all_reduce(100, 8) == 14
    assert one.all_gather(100, 64) == 7 + 7 and one.all_reduce(100, 64) == 28


def test_between_machines_goes_an_eighth(model: Any) -> None:
    assert machines(model, inf, 1.0).all_gather(800, 16) == pytest.approx(100 / 2)
    assert machines(model, 1.0, inf).all_gather(800, 1024) == pytest.approx(700)


@pytest.mark.parametrize("way", ["data_parallel", "fully_sharded"])
def test_a_step_is_computing_where_nothing_is_to_be_sent(
    model: Any, layers: list[Any], way: str
) -> None:
    step = getattr(model, way)
    assert step(layers, 1, machines(model, 1.0, 1.0, latency=1.0)) == pytest.approx(0.03)
    assert step(layers, 1024, machines(model, inf, inf)) == pytest.approx(0.03)


def test_a_step_is_its_bytes_where_links_are_slow(model: Any, layers: list[Any]) -> None:
    """2 S are sent of gradients; of parameters in parts 3 S, but the last group is kept."""
    slow, size, devices = machines(model, 1e6, inf), 2 * 50e6, 8
    share = (devices - 1) / devices
    data = model.data_parallel(layers, devices, slow)
    assert data == pytest.approx(2 * share * size / 1e6, rel=1e-3)
    last = 2 * 5e6  # of ten layers of 10 MB, three fit a bucket
    sharded = model.fully_sharded(layers, devices, slow)
    assert sharded == pytest.approx(share * (3 * size - last) / 1e6, rel=1e-3)


def test_what_is_sent_while_layers_compute_takes_no_time(model: Any, layers: list[Any]) -> None:
    """All but the bucket that is ready last."""
    alone, devices = 0.03, 8
    fast = machines(model, 3e10, inf)
    last = fast.all_reduce(2 * 5e6, devices)
    assert model.data_parallel(layers, devices, fast) == pytest.approx(alone + last)
    first = fast.all_gather(2 * 15e6, devices)  # and its gradients, which are ready last
    assert model.fully_sharded(layers, devices, fast) == pytest.approx(alone + 2 * first)


def test_parts_are_what_zero_says(model: Any, layers: list[Any]) -> None:
    assert model.state_bytes(layers) == 16 * 50e6
    assert model.state_bytes(layers, 64) == 16 * 50e6 / 64


def test_networks_are_as_large_as_published(model: Any) -> None:
    networks = importlib.import_module("gradient_times")
    small, large = networks.gpt2(12, 768, 1, 1e14), networks.gpt2(48, 1600, 1, 1e14)
    assert sum(one.size for one in small) / 1e6 == pytest.approx(124, rel=0.005)
    assert sum(one.size for one in large) / 1e9 == pytest.approx(1.558, rel=0.005)
    # 72 B s l h^2 (1 + s / 6h + V / 12lh)
    flops = 72 * 1024 * 12 * 768**2 * (1 + 1024 / (6 * 768) + 50_257 / (12 * 12 * 768))
    assert sum(one.forward + one.backward for one in small) == pytest.approx(flops / 1e14)
    taking = networks.taking(networks.resnet50(), 2.0)
    assert sum(one.forward + one.backward for one in taking) == pytest.approx(2.0)
    assert sum(one.size for one in taking) / 1e6 == pytest.approx(25.56, rel=0.005)
