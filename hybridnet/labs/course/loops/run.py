"""Lab 8: LeNet in a loop over the parts of a batch, which the part wires, and so its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hybridnet import gluon, passes, runtime, sym, visualization
from hybridnet.base.device_scope import device
from hybridnet.graph import Edge
from hybridnet.lenet import Bound, Settings, lenet_scores, lenet_symbol
from hybridnet.passes import LoopValue, LoopWiring, NextIterationCall

from ...pictures import write_picture
from ...training import Outcome, hold_against, ordinary_losses, train_lenet

#: Iterations of the loop: parts of a batch.
_PARTS: Final = 4
#: The layers of the second device; the others are on the first.
_SECOND: Final = ("fc1", "tanh3", "fc2")
_DEVICES: Final = ("/device:cpu:0", "/device:cpu:1")
#: Steps of the ordinary run that losses are compared with.
_COMPARED: Final = 10


def figure(folder: Path) -> None:
    """Draws the example of the page, as the framework wires it."""
    _draw_example(folder / "figure.svg")


def _draw_example(file: Path) -> None:
    a, b, n = sym.var("a"), sym.var("b"), sym.var("n")
    last = sym.while_loop(
        lambda a, b: sym.broadcast_lesser(a, n, name="a<n"),
        lambda a, b: (sym.broadcast_add(a, b, name="a+b"), sym.identity(a, name="b=a")),
        [a, b],
        name="loop",
    )
    graph = sym.lower_control(sym.Group(last), a=(1,), b=(1,), n=(1,)).graph
    ends = [Edge(one, 0) for one in graph.targets if isinstance(one.call, NextIterationCall)]
    drawn = visualization.draw_network(sym.Symbol((*graph.outputs, *ends)))
    write_picture(drawn.figure, file)


def looping() -> Any:
    """Returns LeNet for training: a loop whose iterations take a part of the batch each.

    Inputs and outputs are those of `hybridnet.lenet.training_symbol`.
    """
    whole = lenet_symbol()
    shapes = dict(
        zip(whole.list_arguments(), whole.infer_shape(data=(1, 1, 28, 28))[0], strict=True)
    )
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    images = sym.reshape(sym.var("data"), shape=(_PARTS, -1, 1, 28, 28))
    labels = sym.reshape(sym.var("softmax_label"), shape=(_PARTS, -1))

    def part(turn: Any) -> Any:
        scores = lenet_scores(sym.reshape(sym.take(images, turn), shape=(-3, 0, 0, 0)))
        for one in scores.get_internals():
            layer = one.name.removesuffix("_weight").removesuffix("_bias")
            if one.name in shapes:
                one._set_attr(__shape__=str(shapes[one.name]))
            if layer in _SECOND:
                one._set_attr(__device__=_DEVICES[1])
        with device(_DEVICES[1]):
            label = sym.reshape(sym.take(labels, turn), shape=(-3,))
            found = [loss(scores, label), sym.BlockGrad(sym.softmax(scores))]
        return found, turn + 1

    (losses, chances), _ = sym.contrib.while_loop(
        lambda turn: turn < _PARTS, part, sym.zeros((1,)), max_iterations=_PARTS
    )
    found = sym.reshape(losses, shape=(-1,))
    return sym.Group([sym.BlockGrad(sym.reshape(chances, shape=(-3, 0))), sym.make_loss(found)])


def _bound(weights: dict[str, Any], settings: Settings) -> Bound:
    return Bound(weights, settings, looping)


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet; the loops of each graph that is bound are wired by the part."""
    runtime.deterministic()  # else the clock decides when a compiled program takes over
    ordinary = ordinary_losses(_bound, _COMPARED)
    counts = {"loops": 0, "variables": 0, "constants": 0}

    def counted(
        loop: LoopWiring, variables: Sequence[LoopValue], constants: Sequence[LoopValue]
    ) -> Any:
        counts["loops"] += 1
        counts["variables"] += len(variables)
        counts["constants"] += len(constants)
        return part.wire_loop(loop, variables, constants)

    with passes.wire_loop.replaced_by(counted):
        outcome = train_lenet(_bound)
        hold_against(ordinary, outcome.losses)
        outcome.counts = counts | {"iterations": 2 * _PARTS * len(outcome.losses)}
        outcome.draw(pictures / "loop.svg", _draw_example)
    return outcome
