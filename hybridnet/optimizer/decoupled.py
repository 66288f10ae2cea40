"""Optimizers whose weight decay is no part of the gradient (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

import math
from typing import Unpack

from .optimizer import (
    Arrays,
    Index,
    Indices,
    ListOptimizer,
    OptimizerOptions,
    States,
    register,
)

__all__ = ["AdamW", "Lion"]


@register
class AdamW(ListOptimizer):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    With ``g = clip(rescale_grad * grad)`` and t the number of updates of the weight:
    ``mean = beta1 * mean + (1 - beta1) * g``, ``var = beta2 * var + (1 - beta2) * g**2``, then
    ``weight -= lr * (c * mean / (sqrt(var) + epsilon) + wd * weight)`` with
    ``c = sqrt(1 - beta2**t) / (1 - beta1**t)``.

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

    def _step_scalars(self, indices: tuple[Index, ...]) -> list[float]:
        rescale, *numbers = super()._step_scalars(indices)
        if not self.correct_bias:
            return [rescale, *numbers]
        count = len(indices)
        made = [rescale, *numbers]
        for place, index in enumerate(indices, 1):
            t = self._index_update_count[index]
            factor = math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
            made[place] *= factor
            made[place + count] /= factor  # the decay goes by the rate itself
        return made

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = self._numbers("beta1", "beta2", "epsilon")
        self._apply("_decoupled_adam_update", index, weight, grad, state, **fixed)


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
        fixed = self._numbers("beta1", "beta2")
        self._apply("_lion_update", index, weight, grad, state, **fixed)
