"""Training LeNet with a student's part in the framework, and what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from hybridnet import nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.lenet import AbstractWay, Digits, Settings, batches, initial_weights

#: What `hybridnet train` takes.
_BATCH: Final = 64
_RATE: Final = 0.07
_SEED: Final = 0
#: Steps whose losses are compared, where that is enough.
_FIRST: Final = 20
#: Takes steps: a way, the digits, and which of them each step takes; returns the losses.
Steps: TypeAlias = Callable[[AbstractWay, Digits, Sequence[NumpyArray]], list[float]]


@dataclass
class Outcome:
    """What came of a training run.

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
        """Has a picture drawn into a file, and notes that."""
        draw(file)
        self.pictures.append(str(file))

    def as_table(self) -> dict[str, Any]:
        """Returns it as it is sent."""
        return asdict(self)


def train_lenet(
    make: Callable[[dict[str, Any], Settings], AbstractWay],
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
    digits = Digits.load(None)
    settings = Settings(batch_size, lr, cpu(0))
    way = make(initial_weights(_SEED), settings)
    order = batches(len(digits.train_images), batch_size, _SEED)
    rows = [one for _ in range(epochs) for one in next(order)]
    began = time.perf_counter()
    losses = (steps or _steps)(way, digits, rows)
    taken = time.perf_counter() - began
    right = 0
    for start in range(0, len(digits.test_images), batch_size):
        part = slice(start, start + batch_size)
        scores = way.predict(nd.array(digits.test_images[part])).asnumpy()
        right += int((scores.argmax(1) == digits.test_labels[part]).sum())
    return Outcome(right / len(digits.test_images), taken, losses)


def _steps(way: AbstractWay, digits: Digits, rows: Sequence[NumpyArray]) -> list[float]:
    losses = []
    for one in rows:
        loss = way.step(nd.array(digits.train_images[one]), nd.array(digits.train_labels[one]))
        losses.append(float(loss.mean().asscalar()))
    return losses


def first_steps(count: int = _FIRST) -> Steps:
    """Returns what takes some steps only: for an ordinary run, to compare losses with."""
    return lambda way, digits, rows: _steps(way, digits, rows[:count])


def differ(ours: list[float], theirs: list[float]) -> int | None:
    """Returns the number of the first loss that is not the same, from 0; None where all are."""
    unequal = np.nonzero(np.array(ours) != np.array(theirs[: len(ours)]))[0]
    return int(unequal[0]) if len(unequal) else None
