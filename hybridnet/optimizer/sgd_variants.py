"""Gradient descent with noise, and with a correction for gradients that come late."""

from __future__ import annotations

from typing import Any

from hybridnet import nd
from hybridnet.ndarray import NDArray

from .adaptive import clipped, times
from .optimizer import Index, ListOptimizer, register, zeros_like

__all__ = ["DCASGD", "SGLD"]


@register
class SGLD(ListOptimizer):
    """Langevin dynamics by stochastic gradients (Welling and Teh, 2011): samples a posterior.

    With ``g = clip(rescale_grad * grad)``: ``weight -= lr / 2 * (g + wd * weight)``, plus noise
    from the normal distribution of variance `lr`, by the context's generator.

    Args:
        kwargs: see `Optimizer`.
    """

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Overwrites the weight (or each of a list of them) by one step."""
        for step in self.steps(index, weight, grad, state):
            w, _, _, scalars = step
            lr = times(nd.ones((1,), dtype=w.dtype, ctx=w.context), scalars["lr"])
            force = clipped(step.grad, scalars, self.clip_gradient) + times(w, scalars["wd"])
            noise = nd.random.normal(0, 1, w.shape, dtype=w.dtype, ctx=w.context)
            w.assign(w - nd.broadcast_mul(force, lr / 2) + nd.broadcast_mul(noise, lr.sqrt()))


@register
class DCASGD(ListOptimizer):
    """Gradient descent with a correction for delay (Zheng et al., 2016).

    With ``g = clip(rescale_grad * grad)`` and the weight as it was at the last update:
    ``mom = momentum * mom - lr * (g + wd * weight + lamda * g**2 * (weight - previous))``, then
    ``weight += mom``.

    Args:
        momentum: of the steps.
        lamda: the strength of the correction.
        kwargs: see `Optimizer`.
    """

    def __init__(self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Returns the last step (None without momentum) and a copy of the weight."""
        return (zeros_like(weight) if self.momentum else None, weight.copy())

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        for step in self.steps(index, weight, grad, state):
            w, _, (momentum, previous), scalars = step
            g = clipped(step.grad, scalars, self.clip_gradient)
            late = g.square() * (w - previous) * self.lamda
            moved = times(g + times(w, scalars["wd"]) + late, scalars["lr"])
            change = -moved if momentum is None else momentum * self.momentum - moved
            if momentum is not None:
                momentum.assign(change)
            previous.assign(w)
            w.assign(w + change)
