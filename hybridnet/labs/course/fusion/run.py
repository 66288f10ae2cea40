"""Lab 4: LeNet is bound and trained with a pass that asks the part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from hybridnet import passes, sym, visualization
from hybridnet.lenet import Bound, training_symbol

from ...pictures import write_picture
from ...training import Outcome, hold_against, ordinary_losses, train_lenet
from .operators import Operator, fusion

_NAME: Final = "yours"
_EPOCHS: Final = 4
#: Steps whose losses are compared with those of an ordinary run, and how near they must be:
#: programs may take over from NumPy at another step, and then round otherwise.
_COMPARED: Final = 30
_NEAR: Final = 1e-3


def figure(folder: Path) -> None:
    """Draws the example of the page: `a` and `c` must not be one without `b`."""
    a = sym.exp(sym.var("x"), name="a")
    b = sym.FullyConnected(a, num_hidden=3, name="b")
    c = sym.elemwise_add(a, b, name="c")
    write_picture(visualization.draw_network(sym.tanh(c, name="d")).figure, folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet; the pass asks the part about each graph that a program is built of."""
    counts = {"asked": 0, "before": 0, "after": 0}

    def choose(operators: Sequence[Operator]) -> list[list[Operator]]:
        chosen = [list(group) for group in part.groups(operators)]
        counts["asked"] += 1
        counts["before"] += len(operators)
        counts["after"] += len(operators) - sum(len(group) - 1 for group in chosen if group)
        return chosen

    ordinary = ordinary_losses(Bound, _COMPARED)
    with passes.register(fusion(choose, _NAME)):
        outcome = train_lenet(Bound, epochs=_EPOCHS)
        outcome.counts = dict(counts)
        network = training_symbol()
        shapes = {"data": (64, 1, 28, 28), "softmax_label": (64,)}
        joined = network.optimize(passes=[_NAME], train=True, **shapes)
    hold_against(ordinary, outcome.losses, rtol=_NEAR)
    for name, one in (("before.svg", network), ("after.svg", joined)):
        picture = visualization.draw_network(one, shape=shapes)
        outcome.draw(pictures / name, partial(write_picture, picture.figure))
    return outcome
