"""What a sample call of an operator is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Sample", "random", "sample", "words"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sample:
    """A call.

    Attributes:
        inputs: the arrays; float64 where they may have a gradient.
        attrs: the parameters.
        train: whether it is in a training pass.
        outputs: how many outputs, from the first, have a gradient.
        skip: inputs that have none.
    """

    inputs: tuple[Array, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    train: bool | None = None
    outputs: int = 1
    skip: tuple[int, ...] = ()


def sample(*inputs: Array, skip: Sequence[int] = (), **attrs: Any) -> Sample:
    """Makes the sample of a call outside training with one output."""
    return Sample(inputs, attrs, skip=tuple(skip))


def random(*shape: int, low: float = -1.0, high: float = 1.0, seed: int = 0) -> Array:
    """Returns distinct numbers between low and high in random order, evenly spaced."""
    grid = np.linspace(low, high, int(np.prod(shape)) + 2)[1:-1]
    return np.random.default_rng(seed).permutation(grid).reshape(shape)


def words(text: str) -> list[str]:
    """Returns the words of a text."""
    return text.split()
