"""Training LeNet with a student's part in the framework, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from hybridnet import nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.lenet import (
    AbstractWay,
    Digits,
    Settings,
    batches,
    initial_weights,
    predicted,
)

from .checking import Wrong

#: What `hybridnet train` takes.
_BATCH: Final = 64
_RATE: Final = 0.07
_SEED: Final = 0
#: Steps whose losses are compared, where that is enough.
_FIRST: Final = 20
#: Makes the way to train, of weights by name and the settings.
MakeWay: TypeAlias = Callable[[dict[str, Any], Settings], AbstractWay]
#: Takes steps: a way, the digits, and which of them each step takes; returns the losses.
Steps: TypeAlias = Callable[[AbstractWay, Digits, Sequence[NumpyArray]], list[float]]


@dataclass
class Outcome:
    """The result of a training run.

    Attributes:
        accuracy: on the test digits, from 0 to 1.
        seconds: that the training took.
        losses: of each step.
        counts: how often the student's part was asked for something, by the keys of the sentences
            that say so, in the table ``counts`` of the lab's words.
        pictures: the files that were drawn.
    """

    accuracy: float
    seconds: float
    losses: list[float]
    counts: dict[str, int] = field(default_factory=dict)
    pictures: list[str] = field(default_factory=list)

    def draw(self, file: Path, draw: Callable[[Path], object]) -> None:
        """Draws a picture into a file, and notes that."""
        draw(file)
        self.pictures.append(str(file))

    def as_table(self) -> dict[str, Any]:
        """Returns it as it is sent."""
        return asdict(self)


def train_lenet(
    make: MakeWay,
    *,
    epochs: int = 4,
    batch_size: int = _BATCH,
    lr: float = _RATE,
    steps: Steps | None = None,
) -> Outcome:
    """Trains LeNet on the digits that come with hybridnet.

    Args:
        make: makes the way to train it, of weights by name and the settings.
        epochs: passes over the 4,000 digits.
        batch_size: digits in a step.
        lr: the learning rate.
        steps: takes the steps of all epochs; default one after the other.
    """
    way, digits, rows = _prepared(make, epochs, batch_size, lr)
    began = time.perf_counter()
    losses = (steps or _steps)(way, digits, rows)
    taken = time.perf_counter() - began
    scores = predicted(way.predict, digits.test_images, batch_size, cpu(0))
    return Outcome(float((scores.argmax(1) == digits.test_labels).mean()), taken, losses)


def ordinary_losses(
    make: MakeWay, count: int | None = _FIRST, *, batch_size: int = _BATCH
) -> list[float]:
    """Returns the losses of the first steps of a run, to hold those of another against.

    Args:
        make: as `train_lenet` takes it.
        count: how many steps; None: those of an epoch.
        batch_size: digits in a step.
    """
    way, digits, rows = _prepared(make, 1, batch_size, _RATE)
    return _steps(way, digits, rows[:count])


def take_step(way: AbstractWay, digits: Digits, rows: NumpyArray) -> float:
    """Takes a step; returns the mean loss before it.

    Args:
        rows: the numbers of the digits that it takes.
    """
    loss = way.step(nd.array(digits.train_images[rows]), nd.array(digits.train_labels[rows]))
    return float(loss.mean().asscalar())


def _prepared(
    make: MakeWay, epochs: int, batch_size: int, lr: float
) -> tuple[AbstractWay, Digits, list[NumpyArray]]:
    digits = Digits.load(None)
    way = make(initial_weights(_SEED), Settings(batch_size, lr, cpu(0)))
    order = batches(len(digits.train_images), batch_size, _SEED)
    return way, digits, [one for _ in range(epochs) for one in next(order)]


def _steps(way: AbstractWay, digits: Digits, rows: Sequence[NumpyArray]) -> list[float]:
    return [take_step(way, digits, one) for one in rows]


def hold_against(
    wanted: Sequence[float], found: Sequence[float], *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Holds the losses of a run against those of another, as far as both go.

    Args:
        wanted: those of the ordinary run.
        found: those of the run with the part.
        rtol, atol: how far they may be apart: ``atol + rtol * abs(wanted)``; by default not a bit.

    Raises:
        Wrong: with the key "losses", the step (from 1), and what was found and wanted there.
    """
    for step, (one, other) in enumerate(zip(found, wanted, strict=False), 1):
        if not abs(one - other) <= atol + rtol * abs(other):  # NaN is not near anything
            raise Wrong("losses", step=step, found=f"{one:.9g}", wanted=f"{other:.9g}")
