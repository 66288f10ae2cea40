"""Optimizers that scale each weight's step by its norm, for large batches."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Unpack

from hybridnet import nd
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import registry
from hybridnet.runtime.traces import host_scalars

from .adaptive import times
from .optimizer import (
    Arrays,
    Index,
    Indices,
    ListOptimizer,
    MomentumOptimizer,
    Multipliers,
    OptimizerOptions,
    RatedOptions,
    States,
    register,
)

__all__ = ["LAMB", "LARS"]


@register
class LAMB(ListOptimizer):
    """Adam's direction, as long as the weight itself times the learning rate (You et al., 2019).

    Args:
        learning_rate: the step size.
        beta1: the decay of the gradient's running mean.
        beta2: the decay of the running mean of its square.
        epsilon: keeps the division finite.
        lower_bound: the least that a weight's norm counts as; None for no limit.
        upper_bound: the most that it counts as; None for no limit.
        bias_correction: whether the running means are corrected for having begun at 0.
        kwargs: see `Optimizer`. With `multi_precision` low-precision weights are updated through
            float32 copies, which MXNet's own operators leave as they were.
    """

    elementwise = False  # norms are those of whole weights
    num_states = 2  # the running means of the gradient and its square

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-6,
        lower_bound: float | None = None,
        upper_bound: float | None = None,
        bias_correction: bool = True,
        **kwargs: Unpack[OptimizerOptions],
    ) -> None:
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1 = beta1
        self.beta2 = beta2
        self.epsilon = epsilon
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound
        self.bias_correction = bias_correction

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        fixed = self._numbers("beta1", "beta2", "epsilon")
        fixed["bias_correction"] = self.bias_correction
        bounds = {
            "lower_bound": -1.0 if self.lower_bound is None else float(self.lower_bound),
            "upper_bound": -1.0 if self.upper_bound is None else float(self.upper_bound),
        }
        steps = list(self.steps(index, weight, grad, state))
        for step, t in zip(steps, self.update_counts(index), strict=True):
            w, g, (mean, var), scalars = step
            lr = scalars.pop("lr")
            moved = nd.lamb_update_phase1(w, g, mean, var, t=t, **fixed, **scalars)
            nd.lamb_update_phase2(w, moved, w.norm(), moved.norm(), out=w, lr=lr, **bounds)


@register
class LARS(MomentumOptimizer):
    """Gradient descent with momentum and a learning rate for each layer (You et al., 2017).

    The rate of a weight is ``lr * eta * |weight| / (|g| + wd * |weight| + eps)`` with g the
    rescaled gradient; `lr` where either norm is 0, and for weights whose names end in ``gamma``,
    ``beta`` or ``bias``.

    Args:
        momentum: of the steps.
        lazy_update: accepted for MXNet's sake; it concerns sparse gradients, and ours are dense.
        eta: the trust coefficient.
        eps: keeps the quotient from dividing by zero.
        momentum_correction: whether the momentum is scaled with the scheduled learning rate when
            that changes (Goyal et al., 2017).
        kwargs: see `Optimizer`.
    """

    elementwise = False
    running = ("last_lr", "cur_lr")
    by_name = True

    def __init__(
        self,
        momentum: float = 0.0,
        lazy_update: bool = True,
        eta: float = 0.001,
        eps: float = 0,
        momentum_correction: bool = True,
        **kwargs: Unpack[RatedOptions],
    ) -> None:
        super().__init__(**kwargs)
        self.momentum = momentum
        self.lazy_update = lazy_update
        self.eta = eta
        self.eps = eps
        self.momentum_correction = momentum_correction
        self.last_lr: float | None = None
        self.cur_lr: float | None = None

    def set_wd_mult(self, args_wd_mult: Multipliers) -> None:
        """Sets factors of the weight decay by name or index.

        Weights whose known name does not end in ``_weight`` do not decay unless given here.
        """
        super().set_wd_mult(args_wd_mult)
        others = (name for name in self.idx2name.values() if not name.endswith("_weight"))
        self.wd_mult = {**dict.fromkeys(others, 0.0), **self.wd_mult}

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        rate = float(self.learning_rate)
        self.last_lr = rate if self.cur_lr is None else self.cur_lr
        self.cur_lr = rate
        return super()._get_lrs(indices)

    def _present_momentum(self) -> list[float]:
        momentum = float(self.momentum)
        if self.momentum_correction and self.last_lr and self.cur_lr is not None:
            momentum *= self.cur_lr / self.last_lr
        return [momentum]

    def _layer_rate(self, index: Index, weight: NDArray, grad: NDArray, scalars: Any) -> NDArray:
        """Returns the learning rate of a weight as an array of one element."""
        unit = nd.ones((1,), ctx=weight.context)
        rate = times(unit, scalars["lr"])
        if str(self.idx2name.get(index, index)).endswith(("gamma", "beta", "bias")):
            return rate
        norms = (nd.multi_sum_sq(array, num_arrays=1) for array in (weight, grad))
        decay = times(unit, scalars["wd"])
        row = registry.get("multi_lars")
        attrs = {
            "eta": float(self.eta),
            "eps": float(self.eps),
            "rescale_grad": scalars["rescale_grad"],
        }
        scaled: NDArray = NDArray.apply_operator(row, (rate, *norms, decay), attrs)
        return scaled

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Overwrites the weight (or each of a list of them) and its state by one step."""
        indices = index if isinstance(index, (list, tuple)) else [index]
        steps = list(self.steps(index, weight, grad, state))
        (momentum,) = host_scalars(functools.partial(self._present_momentum), 1)
        for key, (w, g, s, scalars) in zip(indices, steps, strict=True):
            rate = self._layer_rate(key, w, g, scalars)
            decay = times(nd.ones((1,), ctx=w.context), scalars["wd"])
            fixed = {
                "rescale_grad": scalars["rescale_grad"],
                "clip_gradient": self._clip_parameter(),
                "num_weights": 1,
            }
            if s is None:
                nd.preloaded_multi_sgd_update(w, g, rate, decay, out=w, **fixed)
            else:
                nd.preloaded_multi_sgd_mom_update(
                    w, g, s, rate, decay, out=w, momentum=momentum, **fixed
                )
