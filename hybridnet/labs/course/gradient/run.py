"""Lab 2: LeNet as a bound symbol, whose backward graph the part makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hybridnet import sym, visualization
from hybridnet.graph import Edge, GradientRules, Graph, Node, backpropagate
from hybridnet.lenet import Bound, Eager, initial_weights, training_symbol
from hybridnet.runtime import deterministic

from ...pictures import write_picture
from ...training import Outcome, hold_against, ordinary_losses, train_lenet


def figure(folder: Path) -> None:
    """Draws the example of the page: a graph in which a result is read twice, and its gradient."""
    x, y = sym.var("x"), sym.var("y")
    a = sym.elemwise_mul(x, y, name="a")
    b = sym.elemwise_mul(a, x, name="b")
    made = sym.Group([b, b.gradient(["x", "y"])])
    write_picture(visualization.draw_network(made).figure, folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet by the part's gradients.

    The losses are held against those of the eager way, whose gradients come from a tape.
    """
    counts = {"graphs": 0, "nodes": 0}

    class CountedRules:
        """The rules, which count the nodes that they are asked for."""

        def __init__(self, rules: GradientRules) -> None:
            self._rules = rules

        def backward(self, *args: Any) -> list[Edge | None]:
            counts["nodes"] += 1
            return self._rules.backward(*args)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._rules, name)

    def gradients(
        graph: Graph, wanted: Sequence[Node], heads: Mapping[int, Edge], rules: GradientRules
    ) -> Any:
        counts["graphs"] += 1
        return part.gradients(graph, wanted, heads, CountedRules(rules))

    # So that only the gradients can make a difference, and not which program is compiled when.
    deterministic()
    with backpropagate.replaced_by(gradients):
        outcome = train_lenet(Bound)
        outcome.counts = dict(counts)
        picture = visualization.draw_network(_lenet_and_gradient())
    hold_against(ordinary_losses(Eager, None), outcome.losses)
    outcome.draw(pictures / "gradient.svg", partial(write_picture, picture.figure))
    return outcome


def _lenet_and_gradient() -> Any:
    loss = training_symbol()[1]
    return sym.Group([loss, loss.gradient(list(initial_weights(0)))])
