"""Lab 1: LeNet is read, trained and scored by tasks of the engine, in the order of the part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from hybridnet import engine, nd, profiler, sym, visualization
from hybridnet.base.array_types import NumpyArray
from hybridnet.lenet import AbstractWay, Digits, Eager

from ...pictures import write_picture
from ...training import Outcome, train_lenet

#: Batches that are read ahead; steps between two scores, and the digits of one.
_AHEAD: Final = 3
_EVERY: Final = 20
_SCORED: Final = 200


def figure(folder: Path) -> None:
    """Draws the example of the page: what may run beside what."""
    a, b = sym.var("a"), sym.var("b")
    c, d = sym.exp(a, name="c"), sym.sqrt(a, name="d")
    e = sym.elemwise_mul(sym.elemwise_add(c, d, name="c+d"), b, name="e")
    write_picture(visualization.draw_network(e).figure, folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet; the engine asks the part at each task."""
    counts = {"pushed": 0, "completed": 0}

    class CountedOrder(part.Order):
        def push(self, task: engine.Task) -> bool:
            counts["pushed"] += 1
            answer: bool = super().push(task)
            return answer

        def complete(self, task: engine.Task) -> Any:
            counts["completed"] += 1
            return super().complete(task)

    engine.set_scheduler(CountedOrder)
    with profiler.profile():
        outcome = train_lenet(Eager, steps=_by_tasks)
    engine.set_scheduler(None)
    outcome.counts = counts
    outcome.draw(pictures / "timeline.html", profiler.timeline().save)
    return outcome


def _by_tasks(way: AbstractWay, digits: Digits, rows: Sequence[NumpyArray]) -> list[float]:
    """Takes the steps in tasks, all pushed at once: what they read and write orders them."""
    slots: list[Any] = [None] * _AHEAD
    held = [engine.new_variable(f"batch {slot}") for slot in range(_AHEAD)]
    weights = engine.new_variable("weights")
    losses: list[float] = []
    scores: list[float] = []

    def read(slot: int, one: NumpyArray) -> None:
        slots[slot] = nd.array(digits.train_images[one]), nd.array(digits.train_labels[one])

    def step(slot: int) -> None:
        losses.append(float(way.step(*slots[slot]).mean().asscalar()))

    def score(start: int) -> None:
        some = slice(start, start + _SCORED)
        found = way.predict(nd.array(digits.test_images[some])).asnumpy().argmax(1)
        scores.append(float((found == digits.test_labels[some]).mean()))

    for number, one in enumerate(rows):
        slot = number % _AHEAD
        engine.push(partial(read, slot, one), writes=[held[slot]], lane="io", name="read")
        engine.push(partial(step, slot), [held[slot]], [weights], name="step")
        if number % _EVERY == 0:
            for start in (0, _SCORED):
                engine.push(partial(score, start), [weights], name="score")
    engine.wait_for_all()
    return losses
