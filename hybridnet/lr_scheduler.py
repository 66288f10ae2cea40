"""Learning rates that change as training goes on.

A scheduler maps the number of updates made so far (counted from 1 by the optimizer) to a learning
rate. `FactorScheduler` and `MultiFactorScheduler` move forward only, as in MXNet: they keep the
current rate in `base_lr`, and asking for an earlier update gives the current rate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ParameterError

__all__ = [
    "CosineScheduler",
    "FactorScheduler",
    "LRScheduler",
    "MultiFactorScheduler",
    "PolyScheduler",
]


class LRScheduler:
    """The base of schedulers; a subclass says what the rate is after the warmup, in `__call__`.

    Args:
        base_lr: the rate that the schedule begins with, once it is warm.
        warmup_steps: how many updates the warmup takes.
        warmup_begin_lr: the rate that the warmup begins with; not above `base_lr`.
        warmup_mode: 'linear' rises to `base_lr`; 'constant' stays at `warmup_begin_lr`.

    Raises:
        ParameterError: an argument is out of its range.
    """

    def __init__(
        self,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        self._require(_is_whole(warmup_steps, 0), "warmup_steps", "an integer >= 0", warmup_steps)
        self._require(
            warmup_begin_lr <= base_lr,
            "warmup_begin_lr",
            f"at most base_lr ({base_lr})",
            warmup_begin_lr,
        )
        known = warmup_mode in ("linear", "constant")
        self._require(known, "warmup_mode", "'linear' or 'constant'", warmup_mode)
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def _require(self, met: bool, name: str, requirement: str, got: Any) -> None:
        if not met:
            owner = type(self).__name__
            raise ParameterError(f"{owner}: {name} must be {requirement}, got {got!r}")

    def get_warmup_lr(self, num_update: int) -> float:
        """Returns the rate at an update before `warmup_steps`."""
        self._require(
            num_update < self.warmup_steps,
            "num_update",
            f"below warmup_steps ({self.warmup_steps}) during the warmup",
            num_update,
        )
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        rise = self.warmup_final_lr - self.warmup_begin_lr
        return self.warmup_begin_lr + rise * num_update / self.warmup_steps

    def __call__(self, num_update: int) -> float:
        """Returns the learning rate at an update.

        Args:
            num_update: the greatest number of updates that any one weight has had.
        """
        raise NotImplementedError(f"{type(self).__name__} must define __call__(num_update)")


class FactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` every `step` updates, down to `stop_factor_lr`.

    Args:
        step: the number of updates between two changes, at least 1.
        factor: at most 1.
        stop_factor_lr: the least rate.
        base_lr, warmup_steps, warmup_begin_lr, warmup_mode: see `LRScheduler`.
    """

    def __init__(
        self,
        step: int,
        factor: float = 1,
        stop_factor_lr: float = 1e-8,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._require(_is_whole(step, 1), "step", "an integer >= 1", step)
        self._require(factor <= 1, "factor", "at most 1, so that the rate falls", factor)
        self.step = step
        self.factor = factor
        self.stop_factor_lr = stop_factor_lr
        self.count = 0  # the update after which the present rate began

    def __call__(self, num_update: int) -> float:
        """Returns the learning rate at an update."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        # A loop, for updates may be skipped when training is resumed.
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """Multiplies the rate by `factor` after each of the updates listed.

    Args:
        step: the updates, increasing, each at least 1.
        factor: at most 1.
        base_lr, warmup_steps, warmup_begin_lr, warmup_mode: see `LRScheduler`.
    """

    def __init__(
        self,
        step: Sequence[int],
        factor: float = 1,
        base_lr: float = 0.01,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        increasing = (
            isinstance(step, (list, tuple))
            and len(step) >= 1
            and all(_is_whole(count, 1) for count in step)
            and all(count < other for count, other in itertools.pairwise(step))
        )
        self._require(increasing, "step", "a list of increasing integers >= 1", step)
        self._require(factor <= 1, "factor", "at most 1, so that the rate falls", factor)
        self.step = list(step)
        self.cur_step_ind = 0
        self.factor = factor
        self.count = 0  # the last of the updates listed that has passed

    def __call__(self, num_update: int) -> float:
        """Returns the learning rate at an update."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
        return self.base_lr


class _DecayScheduler(LRScheduler):
    """Falls from the base rate to `final_lr`, from the warmup's end to `max_update`."""

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self._require(_is_whole(max_update, 1), "max_update", "an integer >= 1", max_update)
        # The curve keeps the rate given here even if an optimizer overwrites base_lr, as in MXNet.
        self.base_lr_orig = base_lr
        self.max_update = max_update
        self.final_lr = final_lr
        self.max_steps = max_update - warmup_steps

    def _remaining(self, fraction: float) -> float:
        """Returns how much of the way down is left (1 to 0) when `fraction` of the time is over."""
        raise NotImplementedError

    def __call__(self, num_update: int) -> float:
        """Returns the learning rate at an update."""
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        if num_update >= self.max_update:
            self.base_lr = self.final_lr
        else:
            remaining = self._remaining((num_update - self.warmup_steps) / self.max_steps)
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * remaining
        return self.base_lr


class PolyScheduler(_DecayScheduler):
    """Falls as a power of the time left: ``final_lr + (base_lr - final_lr) * (1 - t)**pwr``.

    Args:
        max_update: the update at which `final_lr` is reached.
        pwr: the power.
        final_lr: the rate at the end.
        base_lr, warmup_steps, warmup_begin_lr, warmup_mode: see `LRScheduler`.
    """

    def __init__(
        self,
        max_update: int,
        base_lr: float = 0.01,
        pwr: float = 2,
        final_lr: float = 0,
        warmup_steps: int = 0,
        warmup_begin_lr: float = 0,
        warmup_mode: str = "linear",
    ) -> None:
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _remaining(self, fraction: float) -> float:
        return float((1 - fraction) ** self.power)


class CosineScheduler(_DecayScheduler):
    """Falls along half a cosine (Loshchilov and Hutter, 2016).

    That is ``final_lr + (base_lr - final_lr) * (1 + cos(pi * t)) / 2``.

    Args:
        max_update: the update at which `final_lr` is reached.
        final_lr: the rate at the end.
        base_lr, warmup_steps, warmup_begin_lr, warmup_mode: see `LRScheduler`.
    """

    def _remaining(self, fraction: float) -> float:
        return (1 + math.cos(math.pi * fraction)) / 2


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and value >= least
