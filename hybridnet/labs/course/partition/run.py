"""Lab 6: LeNet runs on two devices, in the parts that the student's part has cut."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hybridnet import sym
from hybridnet.base.device_scope import device
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import infer_types
from hybridnet.lenet import AbstractWay, Bound, Settings, training_symbol
from hybridnet.passes import partition
from hybridnet.runtime import deterministic

from ...training import Outcome, hold_against, ordinary_losses, train_lenet
from .chart import draw_parts
from .cutting import Cutting


def figure(folder: Path) -> None:
    """Draws the example of the page, as it is cut."""
    b = sym.exp(sym.var("a"), name="b")
    c = sym.sqrt(b, name="c")
    d = sym.elemwise_mul(c, b, name="d")
    graph = sym.elemwise_add(d, b, name="e").graph
    types = infer_types(graph, [tensor_type((4,), np.dtype(np.float32))])
    devices = {node: "y" if node.name in "cd" else "x" for node in graph.nodes}
    draw_parts(folder / "figure.svg", partition.own(graph, devices, types).parts)


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet, convolutions on one device and dense layers on the other."""
    # Else the clock decides when a compiled program, which rounds otherwise, takes over.
    deterministic()
    ours = ordinary_losses(_on_two_devices)
    cutting = Cutting(part)
    with partition.replaced_by(cutting):
        outcome = train_lenet(_on_two_devices)
    deterministic(False)
    hold_against(ours, outcome.losses)
    outcome.counts = {"asked": cutting.asked, "nodes": cutting.nodes, "sent": cutting.sent}
    for name, (_, cut) in zip(("forward", "backward"), cutting.cuts, strict=False):
        outcome.draw(pictures / f"{name}.svg", partial(draw_parts, parts=cut.parts))
    return outcome


def _on_two_devices(weights: dict[str, Any], settings: Settings) -> AbstractWay:
    return Bound(weights, settings, lambda: training_symbol(device("/device:cpu:1")))
