"""Lab 5: LeNet is bound over two devices of different speeds, and the part says what runs where."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from hybridnet.base.context import cpu
from hybridnet.lenet import AbstractWay, Bound, Settings
from hybridnet.passes import CostModel, DeviceCost, LinkCost, earliest_finish
from hybridnet.runtime import set_costs

from ...training import Outcome, hold_against, ordinary_losses, train_lenet
from .chart import draw_runs
from .placer import Placed, Placer
from .simulated import Speeds, Work, length_of

#: One device is quick at products and slow at moving bytes; the other one is the other way around.
_COSTS: Final = CostModel(
    {
        "/job:localhost/replica:0/task:0/device:cpu:0": DeviceCost(flops=1e11, bandwidth=4e9),
        "/job:localhost/replica:0/task:0/device:cpu:1": DeviceCost(flops=4e10, bandwidth=4e10),
    },
    other_links=LinkCost(bandwidth=2e10, latency=1e-5),
)
#: Programs of other parts of a network round otherwise, so that losses differ in their last bits,
#: and by and by in more of them; of the first losses no more than this may differ.
_TOLERANCE: Final = 1e-3


def figure(folder: Path) -> None:
    """Draws the example of the page: one device, and each node where it ends first."""
    times = {"a": 2, "b": 2, "c": 4, "d": 1}
    a, b = (Work(name, (), ("x", "y")) for name in "ab")
    c = Work("c", ((b, 1),), ("x", "y"))
    d = Work("d", ((a, 1), (c, 1)), ("x", "y"))
    nodes = (a, b, c, d)
    speeds = Speeds("xy", lambda device, node: times[node.name], lambda *link: 1.0)
    runs = {
        "all on x": dict.fromkeys(nodes, "x"),
        "each where it ends first": dict(zip(nodes, "xyyy", strict=True)),
    }
    draw_runs(folder / "figure.svg", runs, nodes, speeds)


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet on two devices, placed by the part."""
    placer, losses = Placer(part), ordinary_losses(Bound)
    before = set_costs(_COSTS)
    with earliest_finish.replaced_by(placer):
        outcome = train_lenet(_on_two_devices)
    set_costs(before)
    hold_against(losses, outcome.losses, rtol=_TOLERANCE)
    outcome.counts = {
        "asked": len(placer.asked),
        "timed": sum(one.speeds.asked for one in placer.asked),
        "placed": sum(len(one.places) for one in placer.asked),
    }
    outcome.draw(pictures / "run.svg", partial(_draw, placer.asked[0]))
    return outcome


def _on_two_devices(weights: dict[str, Any], settings: Settings) -> AbstractWay:
    both: Any = [cpu(0), cpu(1)]  # as `simple_bind` takes them
    return Bound(weights, replace(settings, ctx=both))


def _draw(placed: Placed, file: Path) -> None:
    """Draws the run by the part's placement, and the shortest with all on one device."""
    nodes, speeds, places = placed
    common = set.intersection(*(set(node.devices) for node in nodes))
    alone = [dict.fromkeys(nodes, device) for device in sorted(common)]
    runs = {"placed by your part": places}
    if alone:
        runs["all on one device"] = min(alone, key=lambda one: length_of(nodes, one, speeds))
    draw_runs(file, runs, nodes, speeds)
