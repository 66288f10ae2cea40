"""Adam."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybridnet import nd

from .optimizer import Index, ListOptimizer, register

__all__ = ["Adam"]


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
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lazy_update = lazy_update

    def _effective_lrs(self, indices: Sequence[Index], lrs: list[float]) -> list[float]:
        steps = [self._index_update_count[index] for index in indices]
        return [
            lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)
            for lr, t in zip(lrs, steps, strict=True)
        ]

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = {
            "beta1": float(self.beta1),
            "beta2": float(self.beta2),
            "epsilon": float(self.epsilon),
            "clip_gradient": self._clip_parameter(),
            "lazy_update": self.lazy_update,
        }
        for w, g, (mean, var), scalars in self.steps(index, weight, grad, state):
            nd.adam_update(w, g, mean, var, out=w, **fixed, **scalars)
