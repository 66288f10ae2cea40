"""Optimizers whose step adapts to each element's past gradients, apart from Adam."""

from __future__ import annotations

from typing import Any, Unpack

from hybridnet.ndarray import NDArray
from hybridnet.ops.core import registry

from .optimizer import (
    Arrays,
    Index,
    Indices,
    ListOptimizer,
    OptimizerOptions,
    RatedOptions,
    States,
    register,
    zeros_like,
)

__all__ = ["AdaDelta", "AdaGrad", "Ftrl", "RMSProp", "clipped", "times"]


@register
class AdaGrad(ListOptimizer):
    """AdaGrad (Duchi, Hazan and Singer, 2011).

    With ``g = clip(rescale_grad * grad)``: ``history += g**2``, then
    ``weight -= lr * (g / sqrt(history + eps) + wd * weight)``.

    Args:
        eps: keeps the division finite.
        kwargs: see `Optimizer`.
    """

    def __init__(self, eps: float = 1e-7, **kwargs: Unpack[RatedOptions]) -> None:
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """Returns the sum of squares, zeros of the weight's shape and dtype."""
        return zeros_like(weight)

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        epsilon, clip = float(self.float_stable_eps), self._clip_parameter()
        fixed = {"epsilon": epsilon, "clip_gradient": clip}
        self._apply("_sparse_adagrad_update", index, weight, grad, state, **fixed)


@register
class AdaDelta(ListOptimizer):
    """AdaDelta (Zeiler, 2012), which has no learning rate.

    With ``g = clip(rescale_grad * grad)``: ``acc_g = rho * acc_g + (1 - rho) * g**2``,
    ``delta = sqrt(acc_delta + epsilon) / sqrt(acc_g + epsilon) * g``,
    ``acc_delta = rho * acc_delta + (1 - rho) * delta**2``, ``weight -= delta + wd * weight``.

    Args:
        rho: the decay of both running means.
        epsilon: keeps the division finite, and starts the steps.
        kwargs: see `Optimizer`.
    """

    num_states = 2  # the running means of the squares of gradients and steps

    def __init__(
        self, rho: float = 0.90, epsilon: float = 1e-5, **kwargs: Unpack[RatedOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.rho = rho
        self.epsilon = epsilon

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        rho, epsilon = self.rho, self.epsilon
        for w, g, (acc_g, acc_delta), scalars in self.steps(index, weight, grad, state):
            g = clipped(g, scalars, self.clip_gradient)
            acc_g.assign(acc_g * rho + g.square() * (1 - rho))
            delta = (acc_delta + epsilon).sqrt() / (acc_g + epsilon).sqrt() * g
            acc_delta.assign(acc_delta * rho + delta.square() * (1 - rho))
            w.assign(w - delta - times(w, scalars["wd"]))


@register
class RMSProp(ListOptimizer):
    """RMSProp (Tieleman and Hinton, 2012), or its centered form (Graves, 2013).

    With ``g = clip(rescale_grad * grad + wd * weight)``: ``n = gamma1 * n + (1 - gamma1) * g**2``,
    then ``weight -= lr * g / sqrt(n + epsilon)``. The centered form subtracts the square of the
    gradient's running mean from n, and has momentum `gamma2`.

    Args:
        learning_rate: the step size.
        gamma1: the decay of the running means.
        gamma2: the momentum of the centered form.
        epsilon: keeps the division finite.
        centered: whether to take the centered form.
        clip_weights: the limit for the absolute value of each weight; None or 0 for no limit.
        kwargs: see `Optimizer`.
    """

    def __init__(
        self,
        learning_rate: float = 0.001,
        gamma1: float = 0.9,
        gamma2: float = 0.9,
        epsilon: float = 1e-8,
        centered: bool = False,
        clip_weights: float | None = None,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.epsilon = epsilon
        self.centered = centered
        self.clip_weights = clip_weights

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray, ...]:
        """Returns the running means (and, centered, the last step): zeros like the weight."""
        return tuple(zeros_like(weight) for _ in range(3 if self.centered else 1))

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = self._numbers("gamma1", "epsilon")
        fixed["clip_weights"] = float(self.clip_weights or -1.0)
        if self.centered:
            fixed["gamma2"] = float(self.gamma2)
        name = "rmspropalex_update" if self.centered else "rmsprop_update"
        self._apply(name, index, weight, grad, state, **fixed)


@register
class Ftrl(ListOptimizer):
    """Follow the regularized leader (McMahan et al., "Ad click prediction", 2013, algorithm 1).

    With ``g = clip(rescale_grad * grad)``:
    ``z += g - (sqrt(n + g**2) - sqrt(n)) * weight / lr``, ``n += g**2``, then the weight is
    ``(sign(z) * lamda1 - z) / ((beta + sqrt(n)) / lr + wd)`` where ``|z| > lamda1``, else 0.

    Args:
        lamda1: the L1 regularization.
        learning_rate: the step size.
        beta: smooths the first steps.
        kwargs: see `Optimizer`.
    """

    num_states = 2  # z and n

    def __init__(
        self,
        lamda1: float = 0.01,
        learning_rate: float = 0.1,
        beta: float = 1,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lamda1 = lamda1
        self.beta = beta

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = self._numbers("lamda1", "beta")
        self._apply("ftrl_update", index, weight, grad, state, **fixed)


def times(x: NDArray, number: Any) -> NDArray:
    """Returns an array times a number, which a trace may not know yet."""
    product: NDArray = NDArray.apply_operator(registry.get("_mul_scalar"), (x,), {"scalar": number})
    return product


def clipped(grad: NDArray, scalars: dict[str, Any], clip: float | None) -> NDArray:
    """Returns the rescaled gradient, limited to the absolute value `clip`."""
    rescaled = times(grad, scalars["rescale_grad"])
    return rescaled.clip(-clip, clip) if clip else rescaled
