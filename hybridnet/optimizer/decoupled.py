"""Optimizers whose weight decay is no part of the gradient (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Unpack

from hybridnet.ndarray import NDArray
from hybridnet.runtime.traces import host_scalars

from .adaptive import times
from .optimizer import (
    Arrays,
    Index,
    Indices,
    ListOptimizer,
    OptimizerOptions,
    States,
    Step,
    register,
)

__all__ = ["AdamW", "Lion"]


def _rescaled(step: Step, clip: float | None) -> NDArray:
    """Returns the rescaled gradient, limited to the absolute value `clip`."""
    grad: NDArray = times(step.grad, step.scalars["rescale_grad"])
    return grad.clip(-clip, clip) if clip else grad


def _moved(step: Step, direction: NDArray) -> NDArray:
    """Returns the weight after a step against a direction, and its decay."""
    decayed = direction + times(step.weight, step.scalars["wd"])
    return step.weight - times(decayed, step.scalars["lr"])


@register
class AdamW(ListOptimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    With ``g = clip(rescale_grad * grad)`` and t the number of updates of the weight:
    ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2) * g**2``, then
    ``weight -= lr * (m / (sqrt(v) + epsilon) + wd * weight)`` with m and v the means divided by
    ``1 - beta1**t`` and ``1 - beta2**t``.

    Args:
        learning_rate: the step size.
        beta1: the decay of the gradient's running mean.
        beta2: the decay of the running mean of its square.
        epsilon: keeps the division finite.
        correct_bias: whether the means are corrected for having begun at 0.
        kwargs: see `Optimizer`.
    """

    num_states = 2  # the running means of the gradient and its square

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        correct_bias: bool = True,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.correct_bias = correct_bias

    def _corrections(self, indices: Sequence[Index]) -> list[float]:
        """Returns, for each weight, the factors of the mean and of the root of the mean square."""
        if not self.correct_bias:
            return [1.0] * (2 * len(indices))
        factors: list[float] = []
        for index in indices:
            t = self._index_update_count[index]
            factors += [1 / (1 - self.beta1**t), 1 / math.sqrt(1 - self.beta2**t)]
        return factors

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        steps = list(self.steps(index, weight, grad, state))
        indices = tuple(index) if isinstance(index, (list, tuple)) else (index,)
        factors = host_scalars(functools.partial(self._corrections, indices), 2 * len(steps))
        for number, step in enumerate(steps):
            of_mean, of_root = factors[2 * number : 2 * number + 2]
            mean, square = step.state
            g = _rescaled(step, self.clip_gradient)
            mean.assign(mean * self.beta1 + g * (1 - self.beta1))
            square.assign(square * self.beta2 + g.square() * (1 - self.beta2))
            root = times(square.sqrt(), of_root) + self.epsilon
            step.weight.assign(_moved(step, times(mean, of_mean) / root))


@register
class Lion(ListOptimizer):
    """Steps of one size for all elements, by the sign of a momentum (Chen et al., 2023).

    With ``g = clip(rescale_grad * grad)``:
    ``weight -= lr * (sign(beta1 * mean + (1 - beta1) * g) + wd * weight)``, then
    ``mean = beta2 * mean + (1 - beta2) * g``. The paper takes a third to a tenth of AdamW's rate,
    and as many times its decay.

    Args:
        learning_rate: the step size.
        beta1: how much of the running mean is in a step.
        beta2: the decay of the running mean.
        kwargs: see `Optimizer`.
    """

    num_states = 1  # the running mean of the gradient

    def __init__(
        self,
        learning_rate: float = 0.0001,
        beta1: float = 0.9,
        beta2: float = 0.99,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        for step in self.steps(index, weight, grad, state):
            mean = step.state[0] if isinstance(step.state, (list, tuple)) else step.state
            g = _rescaled(step, self.clip_gradient)
            direction = (mean * self.beta1 + g * (1 - self.beta1)).sign()
            mean.assign(mean * self.beta2 + g * (1 - self.beta2))
            step.weight.assign(_moved(step, direction))
