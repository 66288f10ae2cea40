"""Lab 3: LeNet is trained on a device whose results lie where the part says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from hybridnet import sym, visualization
from hybridnet.graph import Graph, Node
from hybridnet.lenet import AbstractWay, Settings, Traced, lenet_symbol
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Types
from hybridnet.passes import MemoryPlan, memory_steps, plan_memory
from hybridnet.runtime.placing import register_device

from ...pictures import write_picture
from ...training import Outcome, hold_against, ordinary_losses, train_lenet
from .device import ArenaDevice
from .networks import NAMES, training_step


def figure(folder: Path) -> None:
    """Draws a small network's plans: without sharing, and ours."""
    x = sym.FullyConnected(sym.var("data"), num_hidden=64, name="fc1")
    x = sym.FullyConnected(sym.relu(x, name="relu"), num_hidden=32, name="fc2")
    net = sym.SoftmaxOutput(x, name="softmax")
    shape = (16, 32)
    axes = visualization.plot_memory(net, True, "naive", data=shape)
    visualization.plot_memory(net, True, ax=_beside(axes), data=shape)
    write_picture(axes.figure, folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet on the device, and the first epoch on one where each result has its own place.

    Nothing but the places differs, so the losses must be the same.
    """
    counts = {"plans": 0}

    def planned(
        graph: Graph, types: Mapping[Node, Types], strategy: str = "both", paths: int = 1
    ) -> MemoryPlan:
        if strategy != "both" or paths != 1:
            return plan_memory.own(graph, types, strategy, paths)
        counts["plans"] += 1
        steps = memory_steps(graph, types)
        return MemoryPlan(*_plan_of(part, steps))

    ours = ArenaDevice(0, lambda graph, types: plan_memory(graph, types))
    apart = ArenaDevice(1, lambda graph, types: plan_memory.own(graph, types, "naive"))
    for device in (ours, apart):
        register_device(device)
    with plan_memory.replaced_by(planned):
        outcome = train_lenet(lambda *given: _OnArena(ours, *given))
        outcome.counts = {**counts, "placed": ours.placed}
        axes = visualization.plot_memory(lenet_symbol(), True, data=(64, 1, 28, 28))
    reference = ordinary_losses(lambda *given: _OnArena(apart, *given), None)
    hold_against(reference, outcome.losses)
    for name in NAMES:
        step = training_step(name)
        key = name.lower().replace("-", "")
        outcome.counts |= {key: _plan_of(part, step.steps)[0], f"{key}_ours": step.ours}
    other = visualization.plot_memory(lenet_symbol(), True, ax=_beside(axes), data=(64, 1, 28, 28))
    axes.set_title(f"part.py\n{axes.get_title()}")
    other.set_title(f"hybridnet\n{other.get_title()}")
    outcome.draw(pictures / "memory.svg", partial(write_picture, axes.figure))
    return outcome


def _plan_of(part: Any, steps: Any) -> tuple[int, dict[Any, int]]:
    """Returns the bytes and the places of the part's plan."""
    place = dict(part.plan(steps))
    sizes = {result: size for step in steps for result, size in step.makes.items()}
    return max((place[result] + size for result, size in sizes.items()), default=0), place


def _beside(axes: Any) -> Any:
    """Returns new axes to the right of some, of the same height."""
    figure = axes.figure
    figure.set_size_inches(10, 3.4)
    grid = figure.add_gridspec(1, 2)
    axes.set_subplotspec(grid[0])
    return figure.add_subplot(grid[1], sharey=axes)


class _OnArena(AbstractWay):
    """The traced step on a device: forward, backward and the update are one graph."""

    title = "on a device of its own"

    def __init__(self, device: ArenaDevice, weights: Mapping[str, Any], settings: Settings) -> None:
        self._ctx = device.context
        self._way = Traced(weights, dataclasses.replace(settings, ctx=device.context))

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        return self._way.step(data.as_in_context(self._ctx), label.as_in_context(self._ctx))

    def predict(self, data: NDArray) -> NDArray:
        return self._way.predict(data.as_in_context(self._ctx))

    def weights(self) -> Mapping[str, NDArray]:
        return self._way.weights()
