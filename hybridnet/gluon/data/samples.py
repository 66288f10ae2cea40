"""Functions applied to several samples: to each by itself, or to all in one go.

A transform has a method ``_for_each`` if it can take many samples in one go, which costs Python
little more than one sample does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

__all__ = ["Batchify", "Samples", "each", "failed_sample", "one_by_one"]

#: Makes a batch of a list of samples.
Batchify: TypeAlias = Callable[[Any], Any]
Sample = TypeVar("Sample")
Made = TypeVar("Made")


class Samples(Protocol):
    """A collection of samples, with a length and ``[i]``: a `Dataset`, an array, a list."""

    def __len__(self) -> int:
        """Returns how many samples there are."""

    def __getitem__(self, idx: int, /) -> Any:
        """Returns a sample."""


# Where an error keeps which sample it is about.
_NUMBER: Final = "number_of_sample"


def each(function: Callable[[Sample], Made], samples: Sequence[Sample]) -> list[Made]:
    """Returns what a function makes of each of several samples."""
    many = getattr(function, "_for_each", None)
    made: list[Made] = one_by_one(function, samples) if many is None else many(samples)
    return made


def one_by_one(function: Callable[[Sample], Made], samples: Sequence[Sample]) -> list[Made]:
    """Calls a function with each sample; an error keeps which one it is about."""
    made = []
    for number, sample in enumerate(samples):
        try:
            made.append(function(sample))
        except Exception as error:
            vars(error)[_NUMBER] = number
            raise
    return made


def failed_sample(error: Exception) -> int | None:
    """Returns, and forgets, which of several samples an error is about; None: it does not say."""
    number: int | None = vars(error).pop(_NUMBER, None)
    return number
