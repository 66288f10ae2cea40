"""Lab 7: LeNet as a pipeline over two devices, whose programs run in the order of the part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hybridnet import gluon, profiler, runtime, sym, visualization
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.device_scope import device
from hybridnet.lenet import AbstractWay, Bound, Digits, Settings, lenet_symbol

from ...pictures import write_picture
from ...training import Outcome, hold_against, ordinary_losses, take_step, train_lenet

#: Parts of a batch, each of which goes through the pipeline by itself.
_PARTS: Final = 4
#: The layers of the first device; the other ones are on the second.
_FIRST: Final = ("conv1", "tanh1", "pool1", "conv2", "tanh2", "pool2", "flatten")
_DEVICES: Final = ("/device:cpu:0", "/device:cpu:1")
#: Steps of the ordinary run that losses are compared with, and those that are drawn.
_COMPARED: Final = 10
_DRAWN: Final = 2


def figure(folder: Path) -> None:
    """Draws the example of the page: two parts of a batch on two devices."""
    batch = sym.var("batch")
    with device(_DEVICES[0]):
        halves = sym.SliceChannel(batch, num_outputs=2, axis=0, name="P0")
        first = [sym.exp(halves[part], name=f"P{part + 1}") for part in range(2)]
    with device(_DEVICES[1]):
        second = [sym.sqrt(one, name=f"Q{part}") for part, one in enumerate(first)]
        losses = sym.concat(*second, dim=0, name="Q2")
    write_picture(visualization.draw_network(losses).figure, folder / "figure.svg")


def pipeline() -> Any:
    """Returns LeNet for training: convolutions on one device, the rest on another.

    The batch goes through in parts, so that one device has the next part while the other has this
    one. Inputs and outputs are those of `hybridnet.lenet.training_symbol`.
    """
    scores = lenet_symbol().get_internals()["fc2_output"]
    for one in scores.get_internals():
        layer = one.name.removesuffix("_weight").removesuffix("_bias")
        one._set_attr(__device__=_DEVICES[layer not in _FIRST])
    with device(_DEVICES[0]):
        images = sym.SliceChannel(sym.var("data"), num_outputs=_PARTS, axis=0, name="images")
    with device(_DEVICES[1]):
        labels = sym.SliceChannel(
            sym.var("softmax_label"), num_outputs=_PARTS, axis=0, name="labels"
        )
        loss, found = gluon.loss.SoftmaxCrossEntropyLoss(), [scores(data=one) for one in images]
        losses = [loss(one, label) for one, label in zip(found, labels, strict=True)]
        chances = sym.concat(*[sym.softmax(one) for one in found], dim=0)
        return sym.Group([sym.BlockGrad(chances), sym.make_loss(sym.concat(*losses, dim=0))])


def _bound(weights: dict[str, Any], settings: Settings) -> Bound:
    return Bound(weights, settings, pipeline)


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet; on each device the queue says what is next."""
    runtime.deterministic()  # else the clock decides when a compiled program takes over
    ordinary = ordinary_losses(_bound, _COMPARED)
    counts = {"queues": 0, "put": 0, "next": 0, "programs": 0}

    class CountedQueue(part.Queue):
        def __init__(self, programs: Sequence[runtime.ReadyProgram]) -> None:
            counts["queues"] += 1
            super().__init__(programs)

        def put(self, slots: Sequence[int]) -> None:
            counts["put"] += 1
            super().put(slots)

        def next(self) -> runtime.ReadyProgram | None:
            counts["next"] += 1
            found: runtime.ReadyProgram | None = super().next()
            counts["programs"] += found is not None
            return found

    runtime.set_ready_queue(CountedQueue)
    try:
        outcome = train_lenet(_bound, steps=_profiled)
    finally:
        runtime.set_ready_queue(None)
    hold_against(ordinary, outcome.losses)
    outcome.counts = counts
    outcome.draw(pictures / "timeline.html", profiler.timeline().save)
    return outcome


def _profiled(way: AbstractWay, digits: Digits, rows: Sequence[NumpyArray]) -> list[float]:
    """Takes the steps; the profiler listens to the last ones."""
    losses = [take_step(way, digits, one) for one in rows[:-_DRAWN]]
    with profiler.profile():
        losses += [take_step(way, digits, one) for one in rows[-_DRAWN:]]
    return losses
