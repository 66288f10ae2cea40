"""Gradient descent: plain, with momentum, Nesterov's, by sign, noisy, late; and one for tests."""

from __future__ import annotations

from typing import Any, Unpack

from hybridnet import nd
from hybridnet.ndarray import NDArray

from .adaptive import clipped, times
from .optimizer import (
    Arrays,
    Index,
    Indices,
    ListOptimizer,
    MomentumOptimizer,
    Optimizer,
    OptimizerOptions,
    RatedOptions,
    States,
    register,
    zeros_like,
)

__all__ = ["DCASGD", "NAG", "SGD", "SGLD", "Signum", "Test", "ccSGD"]


@register
class SGD(MomentumOptimizer):
    """Stochastic gradient descent, with momentum if asked for.

    With ``g = clip(rescale_grad * grad) + wd * weight``: ``m = momentum * m - lr * g``, then
    ``weight += m``. Without momentum there is no state, and ``weight -= lr * g``.

    Args:
        momentum: the share of the last step that is taken again.
        lazy_update: by a row-sparse gradient, update only the rows that it holds.
        kwargs: see `Optimizer`.
    """

    master_first = False
    plain, with_momentum = "sgd_update", "sgd_mom_update"

    def __init__(
        self, momentum: float = 0.0, lazy_update: bool = True, **kwargs: Unpack[RatedOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Overwrites the weight (or each of a list of them) and its momentum by one step."""
        common = {"clip_gradient": self._clip_parameter(), "lazy_update": self.lazy_update}
        self._step(index, weight, grad, state, common, {})


@register
class ccSGD(SGD):
    """`SGD` by the name that it had before MXNet 0.9."""


@register
class NAG(MomentumOptimizer):
    """Stochastic gradient descent with Nesterov's accelerated gradient.

    With ``g = clip(rescale_grad * grad) + wd * weight``: ``m = momentum * m - lr * g``, then
    ``weight += momentum * m - lr * g``. Without momentum it is `SGD`.

    MXNet 1.9 computes ``wd * weight`` for m from the weight it has just overwritten; here both uses
    of it are of the old weight.

    Args:
        momentum: the share of the last step that is taken again.
        kwargs: see `Optimizer`.
    """

    master_first = False
    plain, with_momentum = "sgd_update", "nag_mom_update"

    def __init__(self, momentum: float = 0.0, **kwargs: Unpack[RatedOptions]) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its momentum by one step."""
        self._step(index, weight, grad, state, {"clip_gradient": self._clip_parameter()}, {})


@register
class Signum(MomentumOptimizer):
    """Descent by the sign of the momentum, or of the gradient (Bernstein et al., "signSGD", 2018).

    With ``g = clip(rescale_grad * grad) + wd * weight``:
    ``m = momentum * m - (1 - momentum) * g``, then
    ``weight = (1 - lr * wd_lh) * weight + lr * sign(m)``. Without momentum
    ``weight = (1 - lr * wd) * weight - lr * sign(grad)``.

    Args:
        learning_rate: the step size.
        momentum: the decay of the gradient's running mean.
        wd_lh: weight decay apart from the gradient (Loshchilov and Hutter, 2019).
        kwargs: see `Optimizer`.
    """

    plain, with_momentum = "signsgd_update", "signum_update"

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.9,
        wd_lh: float = 0.0,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum = momentum
        self.wd_lh = wd_lh

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its momentum by one step."""
        common = {"clip_gradient": self._clip_parameter()}
        self._step(index, weight, grad, state, common, {"wd_lh": float(self.wd_lh)})


@register
class SGLD(ListOptimizer):
    """Langevin dynamics by stochastic gradients (Welling and Teh, 2011): samples a posterior.

    With ``g = clip(rescale_grad * grad)``: ``weight -= lr / 2 * (g + wd * weight)``, plus noise
    from the normal distribution of variance `lr`, by the context's generator.

    Args:
        kwargs: see `Optimizer`.
    """

    draws = True

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
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

    def __init__(
        self, momentum: float = 0.0, lamda: float = 0.04, **kwargs: Unpack[OptimizerOptions]
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lamda = lamda

    def create_state(self, index: Index, weight: NDArray) -> tuple[NDArray | None, NDArray]:
        """Returns the last step (None without momentum) and a copy of the weight."""
        return (zeros_like(weight) if self.momentum else None, weight.copy())

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
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


@register
class Test(Optimizer):
    """Adds the rescaled gradient to the weight, and keeps a copy of it: for testing what calls it.

    Args:
        kwargs: see `Optimizer`.
    """

    elementwise = True
    # What pytest asks of classes whose name begins with Test.
    __test__ = False

    def create_state(self, index: Index, weight: NDArray) -> NDArray:
        """Returns zeros of the weight's shape and dtype."""
        return zeros_like(weight)

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Adds the gradient to the weight and copies it to the state."""
        for w, g, s, scalars in self.steps(index, weight, grad, state):
            nd.sgd_update(w, g, out=w, lr=-1.0, wd=0.0, rescale_grad=scalars["rescale_grad"])
            s.assign(w)
