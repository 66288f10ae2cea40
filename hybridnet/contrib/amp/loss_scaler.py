"""`LossScaler`: by what a loss is multiplied, so that gradients stay in float16's range."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, final

from hybridnet import autograd
from hybridnet import ndarray as nd
from hybridnet.base.context import Context
from hybridnet.gluon.parameter import Parameter
from hybridnet.ndarray import NDArray

__all__ = ["LossScaler"]

_FIRST_SCALE: Final = 2.0**16
_LARGEST: Final = 2.0**24
# How many steps without overflow it takes until the scale is doubled.
_STEPS_TO_DOUBLE: Final = 2000


@final
class LossScaler:
    """A scale that is halved when gradients overflow, and doubled when they have not for long."""

    def __init__(self) -> None:
        self._scale = self._next = _FIRST_SCALE
        self._steps = 0

    @property
    def loss_scale(self) -> float:
        """The scale of this step."""
        return self._scale

    def has_overflow(self, params: Iterable[Parameter]) -> bool:
        """Whether a gradient of some parameters is infinite or no number; sets the next scale.

        Waits for the gradients.
        """
        with autograd.pause():
            grads = [grad for p in params if p.grad_req != "null" for grad in p.list_grad()]
            by_place: dict[Context, list[NDArray]] = {}
            for grad in grads:
                by_place.setdefault(grad.context, []).append(grad)
            checks = [
                nd.multi_all_finite(*here, num_arrays=len(here)) for here in by_place.values()
            ]
        overflow = not all(bool(check.asscalar()) for check in checks)
        self._scale = self._next
        if overflow:
            self._next, self._steps = self._scale / 2, 0
            logging.info("AMP: decreasing loss scale to %f", self._next)
        else:
            self._steps += 1
        if self._steps == _STEPS_TO_DOUBLE:
            self._next, self._steps = min(_LARGEST, self._scale * 2), 0
            logging.info("AMP: increasing loss scale to %f", self._next)
        return overflow
