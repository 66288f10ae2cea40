"""`LBSGD`: gradient descent that emulates large batches, and warms up its learning rate."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

from hybridnet import nd
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.traces import host_scalars, init_scope

from .adaptive import times
from .optimizer import (
    Index,
    Optimizer,
    is_low_precision,
    register,
    zeros_like,
)

__all__ = ["LBSGD"]

#: Strategy -> how much of the way to the full rate has been made, by the share of the warm-up.
_WARM_UPS: Final[dict[str, Callable[[float], float]]] = {
    "linear": lambda share: share,
    "power2": lambda share: share * share,
    "sqrt": math.sqrt,
}
#: A layer's factor by `lars` is kept between these.
_LEAST_FACTOR: Final = 0.01
_GREATEST_FACTOR: Final = 100.0


@register
class LBSGD(Optimizer):
    """Gradient descent for large batches: several gradients make one step, at a rate of its own.

    The mean of `batch_scale` gradients in a row is one gradient of `SGD`; between these steps
    weights stay as they are. The learning rate is multiplied: by a number that grows during the
    warm-up from 1 to `batch_scale` (Goyal et al., 2017), or, with ``'lars'``, layer by layer by
    ``sqrt(|weight|**2 / (|g|**2 + wd * |weight|**2))``, at least 0.01 and at most 100 (after You et
    al., 2017).

    Args:
        momentum: the share of the last step that is taken again.
        multi_precision: keep a float32 copy of each float16 or bfloat16 weight and update that.
        warmup_strategy: ``'linear'``, ``'power2'`` or ``'sqrt'`` in the share of the warm-up that
            is over, ``'lars'``, or any other text for a factor of 1 until the warm-up ends.
        warmup_epochs: how long the warm-up takes.
        batch_scale: how many gradients make a step, and what the rate is multiplied with at last.
        updates_per_epoch: gradients, not steps.
        begin_epoch: what training goes on from, where it is resumed.
        num_epochs: is remembered; nothing depends on it.
        kwargs: see `Optimizer`.

    Raises:
        ParameterError: `batch_scale` is less than 1.
    """

    def __init__(
        self,
        momentum: float = 0.0,
        multi_precision: bool = False,
        warmup_strategy: str = "linear",
        warmup_epochs: int = 5,
        batch_scale: int = 1,
        updates_per_epoch: int = 32,
        begin_epoch: int = 0,
        num_epochs: int = 60,
        **kwargs: Any,
    ) -> None:
        super().__init__(multi_precision=multi_precision, **kwargs)
        if batch_scale < 1:
            raise ParameterError(f"LBSGD: batch_scale must be 1 or more, got {batch_scale!r}")
        self.momentum = momentum
        self.warmup_strategy = warmup_strategy
        self.warmup_epochs = warmup_epochs
        self.batch_scale = batch_scale
        self.updates_per_epoch = updates_per_epoch
        self.init_updates = begin_epoch * updates_per_epoch
        self.num_epochs = num_epochs
        #: The gradients since the last step, added up; by the weight's key.
        self.cumgrads: dict[Index, NDArray] = {}

    def create_state(self, index: Index, weight: NDArray) -> Any:
        """Returns the momentum, None if there is none.

        Of a low-precision weight with `multi_precision` it is ``(momentum, float32 copy)``.
        """
        low = self.multi_precision and is_low_precision(weight)
        master = weight.astype("float32") if low else weight
        momentum = zeros_like(master) if self.momentum else None
        return (momentum, master) if low else momentum

    def update(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        """Adds a gradient to those before it, and overwrites the weight if a step is due."""
        numbers = host_scalars(functools.partial(self._count, index), 4)
        rescale, rate, decay, due = numbers
        if self.batch_scale == 1:
            self._step(weight, grad, state, rescale, rate, decay)
            return
        summed = self._sum(index, grad)
        total = summed + grad
        momentum, master = state if isinstance(state, tuple) else (state, None)
        parts = [part for part in (weight, momentum, master) if part is not None]
        before = [part.copy() for part in parts]
        self._step(weight, total / self.batch_scale, state, rescale, rate, decay)
        for part, old in zip(parts, before, strict=True):
            part.assign(nd.where(times(nd.ones_like(old), due), part, old))
        summed.assign(nd.where(times(nd.ones_like(total), due), nd.zeros_like(total), total))

    def check_servers(self) -> None:
        """See `Optimizer.check_servers`: the sums of gradients are no states.

        Raises:
            ParameterError: `batch_scale` is not 1.
        """
        if self.batch_scale != 1:
            raise ParameterError(
                f"LBSGD on parameter servers requires batch_scale=1, got {self.batch_scale}: the "
                "gradients that it adds up are kept where it runs; let the workers add them up "
                "(grad_req='add'), or update there (update_on_kvstore=False)"
            )

    def _count(self, index: Index) -> list[float]:
        """Counts a gradient; returns the factor of gradients, rate, decay, and 1 if a step is due.

        The scheduler is asked first: MXNet counts afterwards here.
        """
        rate, decay = self._get_lr(index), self._get_wd(index)
        self._update_count(index)
        seen = self._index_update_count[index] - self.begin_num_update + self.init_updates
        if self.warmup_strategy != "lars":
            rate *= self._warm_up(seen)
        return [self.rescale_grad, rate, decay, float(seen % self.batch_scale == 0)]

    def _warm_up(self, seen: int) -> float:
        """Returns what the learning rate is multiplied with after so many gradients."""
        length = self.warmup_epochs * self.updates_per_epoch
        if seen >= length:
            return float(self.batch_scale)
        progress = _WARM_UPS.get(self.warmup_strategy)
        if progress is None or length <= 1:
            return 1.0
        return 1.0 + (self.batch_scale - 1) * progress(seen / length)

    def _sum(self, index: Index, grad: NDArray) -> NDArray:
        if index not in self.cumgrads:
            with init_scope():  # it outlives the trace that meets it first
                self.cumgrads[index] = zeros_like(grad)
        return self.cumgrads[index]

    def _step(
        self, weight: NDArray, grad: NDArray, state: Any, rescale: Any, rate: Any, decay: Any
    ) -> None:
        """Overwrites a weight, its momentum and its float32 copy by a step of `SGD`."""
        unit = nd.ones((1,), ctx=weight.context)
        rates, decays = times(unit, rate), times(unit, decay)
        if self.warmup_strategy == "lars":
            rates = rates * _layer_factor(weight, grad, decays)
        fixed = {
            "rescale_grad": rescale,
            "clip_gradient": self._clip_parameter(),
            "num_weights": 1,
            "out": weight,
        }
        precise = isinstance(state, tuple)
        momentum, master = state if precise else (state, None)
        arrays = [a for a in (weight, grad, momentum, master, rates, decays) if a is not None]
        kind = "mp_sgd" if precise else "sgd"
        if momentum is None:
            getattr(nd, f"preloaded_multi_{kind}_update")(*arrays, **fixed)
        else:
            update = getattr(nd, f"preloaded_multi_{kind}_mom_update")
            update(*arrays, momentum=float(self.momentum), **fixed)


def _layer_factor(weight: NDArray, grad: NDArray, decay: NDArray) -> NDArray:
    """Returns ``|weight| / sqrt(|grad|**2 + decay * |weight|**2)``, an array of one element."""
    of_weight, of_grad = (nd.multi_sum_sq(array, num_arrays=1) for array in (weight, grad))
    factor = (of_weight / (of_grad + decay * of_weight + 1e-18)).sqrt()
    limited: NDArray = factor.clip(_LEAST_FACTOR, _GREATEST_FACTOR)
    return limited
