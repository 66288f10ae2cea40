"""Adam and its relatives: by the largest gradient, with Nesterov's momentum, moving leader."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Unpack

from hybridnet import nd
from hybridnet.ndarray import NDArray
from hybridnet.runtime.traces import host_scalars

from .adaptive import times
from .optimizer import (
    Arrays,
    Index,
    Indices,
    ListOptimizer,
    OptimizerOptions,
    RatedOptions,
    States,
    Step,
    register,
)

__all__ = ["FTML", "Adam", "Adamax", "Nadam"]


@register
class Adam(ListOptimizer):
    """Adam (Kingma and Ba, 2014).

    With ``g = clip(rescale_grad * grad + wd * weight)`` and t the number of updates of the weight:
    ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2) * g**2``, then
    ``weight -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * mean / (sqrt(var) + epsilon)``.

    Args:
        learning_rate: the step size.
        beta1: the decay of the gradient's running mean.
        beta2: the decay of the running mean of its square.
        epsilon: keeps the division finite.
        lazy_update: by a row-sparse gradient, update only the rows that it holds.
        kwargs: see `Optimizer`.
    """

    num_states = 2  # the running means of the gradient and its square

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        lazy_update: bool = True,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def _effective_lrs(self, indices: Sequence[Index], lrs: list[float]) -> list[float]:
        counts = self._index_update_count
        steps = [counts[index] for index in indices]
        return [
            lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
            for lr, t in zip(lrs, steps, strict=True)
        ]

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = {**self._numbers("beta1", "beta2", "epsilon"), "lazy_update": self.lazy_update}
        self._apply("adam_update", index, weight, grad, state, **fixed)


def _decayed(step: Step, clip: float | None) -> NDArray:
    """Returns the rescaled gradient with weight decay, limited to the absolute value `clip`."""
    grad: NDArray = times(step.grad, step.scalars["rescale_grad"])
    grad = grad + times(step.weight, step.scalars["wd"])
    return grad.clip(-clip, clip) if clip else grad


@register
class Adamax(ListOptimizer):
    """Adam by the infinity norm (Kingma and Ba, 2014, section 7).

    With ``g = clip(rescale_grad * grad + wd * weight)`` and t the number of updates of the weight:
    ``m = beta1 * m + (1 - beta1) * g``, ``u = max(beta2 * u, |g|)``, then
    ``weight -= lr / (1 - beta1**t) * m / u``; nothing where u is 0, which gives NaN in MXNet.

    Args:
        learning_rate: the step size.
        beta1: the decay of the gradient's running mean.
        beta2: the decay of the running maximum.
        kwargs: see `Optimizer`.
    """

    num_states = 2  # the running mean and maximum

    def __init__(
        self,
        learning_rate: float = 0.002,
        beta1: float = 0.9,
        beta2: float = 0.999,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def _effective_lrs(self, indices: Sequence[Index], lrs: list[float]) -> list[float]:
        steps = [self._index_update_count[index] for index in indices]
        return [lr / float(1 - self.beta1**t) for lr, t in zip(lrs, steps, strict=True)]

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        for step in self.steps(index, weight, grad, state):
            mean, largest = step.state
            g = _decayed(step, self.clip_gradient)
            mean.assign(mean * self.beta1 + g * (1 - self.beta1))
            largest.assign(nd.maximum(largest * self.beta2, g.abs()))
            moved = mean / (largest + (largest == 0))
            step.weight.assign(step.weight - times(moved, step.scalars["lr"]))


@register
class Nadam(ListOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2015), whose momentum grows by a schedule.

    As in MXNet, the product of the momentums so far is one for all weights, so that with several
    of them it advances with each.

    Args:
        learning_rate: the step size.
        beta1: the momentum in the long run; the decay of the gradient's running mean.
        beta2: the decay of the running mean of its square.
        epsilon: keeps the division finite.
        schedule_decay: how fast the momentum grows: it is
            ``beta1 * (1 - 0.96**(t * schedule_decay) / 2)`` in update t.
        kwargs: see `Optimizer`.
    """

    running = ("m_schedule",)
    num_states = 2  # the running means of the gradient and its square

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        schedule_decay: float = 0.004,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.schedule_decay = schedule_decay
        self.m_schedule = 1.0

    def _momentum(self, t: int) -> float:
        return float(self.beta1 * (1 - 0.5 * 0.96 ** (t * self.schedule_decay)))

    def _factors(self, indices: Sequence[Index]) -> list[float]:
        """Returns, for each weight, the factors of gradient, mean and mean square in its step."""
        factors: list[float] = []
        for index in indices:
            t = self._index_update_count[index]
            now, following = self._momentum(t), self._momentum(t + 1)
            self.m_schedule *= now
            factors += [
                (1 - now) / (1 - self.m_schedule),
                following / (1 - self.m_schedule * following),
                1 / (1 - self.beta2**t),
            ]
        return factors

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        steps = list(self.steps(index, weight, grad, state))
        indices = tuple(index) if isinstance(index, (list, tuple)) else (index,)
        factors = host_scalars(functools.partial(self._factors, indices), 3 * len(steps))
        for number, step in enumerate(steps):
            of_grad, of_mean, of_square = factors[3 * number : 3 * number + 3]
            mean, square = step.state
            g = _decayed(step, self.clip_gradient)
            mean.assign(mean * self.beta1 + g * (1 - self.beta1))
            square.assign(square * self.beta2 + g.square() * (1 - self.beta2))
            moved = times(g, of_grad) + times(mean, of_mean)
            moved = moved / (times(square, of_square).sqrt() + self.epsilon)
            step.weight.assign(step.weight - times(moved, step.scalars["lr"]))


@register
class FTML(ListOptimizer):
    """Follow the moving leader (Zheng and Kwok, 2017, algorithm 1).

    With ``g = clip(rescale_grad * grad + wd * weight)`` and t the number of updates of the weight:
    ``v = beta2 * v + (1 - beta2) * g**2``,
    ``d_t = (1 - beta1**t) / lr * (sqrt(v / (1 - beta2**t)) + epsilon)``,
    ``z = beta1 * z + (1 - beta1) * g - (d_t - beta1 * d) * weight``, then ``weight = -z / d_t``.

    Args:
        beta1: the decay of z.
        beta2: the decay of the running mean of the squared gradient.
        epsilon: keeps the division finite.
        kwargs: see `Optimizer`.
    """

    num_states = 3  # d, v and z

    def __init__(
        self,
        beta1: float = 0.6,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        **kwargs: Unpack[RatedOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = {
            "beta1": float(self.beta1),
            "beta2": float(self.beta2),
            "epsilon": float(self.epsilon),
            "clip_grad": self._clip_parameter(),
        }
        steps = list(self.steps(index, weight, grad, state))
        for step, t in zip(steps, self.update_counts(index), strict=True):
            w, g, s, scalars = step
            nd.ftml_update(w, g, *s, out=w, **{**fixed, **scalars, "t": t})
