"""Lab 9: LeNet is trained by a traced step with choices on arrays, which the part converts."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet import nd, visualization
from hybridnet.base.lazy import resources
from hybridnet.lenet import AbstractWay, Eager, Settings
from hybridnet.ndarray import NDArray
from hybridnet.tracing import function as traced_function

from ...pictures import write_picture
from ...training import Outcome, hold_against, ordinary_losses, train_lenet
from .drawing import choices_in, unfolded

#: How long the gradients may be together: some of the steps of an epoch clip them.
_BOUND: Final = 0.9
#: How far the losses of an epoch may be from those of plain Python. Programs add in other orders,
#: and where two elements under max pooling are nearly equal, a bit decides which of them learns:
#: 0.006 was seen.
_TOLERANCE: Final = 0.03


def figure(folder: Path) -> None:
    """Draws the example of the page, traced."""

    @traced_function
    def f(x: Any, y: Any) -> Any:
        positive = x > 0
        return nd.contrib.cond(positive, lambda: x * y, lambda: y - x)

    graph = f.graph(nd.array([1]), nd.array([2]))
    picture = visualization.draw_network(unfolded(graph, ["x", "y"]))
    write_picture(picture.figure, folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet; `hn.function` has the part convert the step and the functions that it calls."""
    program = pictures / "training.py"
    text = (resources.files(__package__) / "program" / "training.txt").read_text(encoding="utf-8")
    program.write_text(text, encoding="utf-8")
    names: dict[str, Any] = {"__name__": "training"}
    exec(compile(text, str(program), "exec", dont_inherit=True), names)
    counts = {"converted": 0, "choices": 0}

    def convert(function: types.FunctionType, operators: Any) -> Any:
        counts["converted"] += 1
        return part.convert(function, operators)

    ways: list[_Way] = []

    def make(wrap: Callable[[Any], Any]) -> Callable[[Mapping[str, Any], Settings], _Way]:
        def made(weights: Mapping[str, Any], settings: Settings) -> _Way:
            ways.append(_Way(weights, settings, names["make_step"], wrap))
            return ways[-1]

        return made

    plain = ordinary_losses(make(lambda step: step), None)
    outcome = train_lenet(make(lambda step: traced_function(step, convert=convert)))
    hold_against(plain, outcome.losses, atol=_TOLERANCE)
    way = ways[-1]
    graph = way.traced.graph(*way.example)
    counts["choices"] = choices_in(graph)
    outcome.counts = counts | way.decided()
    outcome.draw(pictures / "step.html", visualization.fold_network(unfolded(graph), depth=2).save)
    return outcome


class _Way(AbstractWay):
    """The step of the program.

    Args:
        weights, settings: as of `Eager`.
        make_step: the program's.
        wrap: makes of a step the one that is taken.
    """

    title = "step with choices"

    def __init__(
        self,
        weights: Mapping[str, Any],
        settings: Settings,
        make_step: Callable[..., Any],
        wrap: Callable[[Any], Any],
    ) -> None:
        self._eager = eager = Eager(weights, settings)
        step = make_step(eager.net, eager.loss, eager.trainer, settings.batch_size, _BOUND)
        self.traced = wrap(step)
        self.example: tuple[NDArray, NDArray] | tuple[()] = ()
        self._decisions: list[tuple[NDArray, NDArray]] = []

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Takes a step, and notes what was decided in it."""
        self.example = data, label
        loss: NDArray
        loss, *decisions = self.traced(data, label)
        self._decisions.append((decisions[0], decisions[1]))
        return loss

    def decided(self) -> dict[str, int]:
        """Returns in how many steps gradients were clipped, and how many were left out."""
        sums = np.sum([[float(one.asscalar()) for one in pair] for pair in self._decisions], 0)
        return {"clipped": int(sums[0]), "left_out": int(sums[1])}

    def predict(self, data: NDArray) -> NDArray:
        """Runs the network."""
        return self._eager.predict(data)

    def weights(self) -> Mapping[str, NDArray]:
        """Returns the parameters."""
        return self._eager.weights()
