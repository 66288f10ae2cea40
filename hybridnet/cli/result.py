"""The measurements of ``hybridnet train``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """The measurements of one way."""

    title: str
    #: Mean loss of each step, before it.
    losses: list[float]
    #: Share of the test digits told right.
    accuracy: float
    #: Mean cross-entropy on the test digits.
    test_loss: float
    #: Seconds from the first call of a step until its loss was there.
    first_step: float
    #: Seconds for a step after the first epoch (in it, if there is one only): the median over
    #: stretches of steps.
    steady_step: float
    images_per_second: float
