"""`Loss`, the base of the losses, and what they share."""

from __future__ import annotations

from typing import Unpack

from hybridnet.base.errors import ParameterError

from ..block import HybridBlock
from ..types import BlockNames, Data, Operators

__all__ = ["Loss", "apply_weighting", "reshape_like"]


def apply_weighting(
    F: Operators[Data], loss: Data, weight: float | None = None, sample_weight: Data | None = None
) -> Data:
    """Multiplies a loss by weights.

    Args:
        F: `nd` or `sym`.
        loss: an array or symbol.
        weight: a factor, or None.
        sample_weight: an array or symbol that is broadcast, or None.

    Raises:
        ParameterError: `weight` is no number.
    """
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is None:
        return loss
    if not isinstance(weight, (int, float)) and not hasattr(weight, "__float__"):
        raise ParameterError(f"loss: weight must be a number, got {weight!r}")
    return loss * weight


def reshape_like(F: Operators[Data], x: Data, y: Data) -> Data:
    """Returns x in the shape of y."""
    return F.reshape_like(x, y)


class Loss(HybridBlock):
    """Base of the losses.

    Args:
        weight: a factor on the loss, or None.
        batch_axis: the axis of the examples; the loss is averaged over all others.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _average(
        self, F: Operators[Data], loss: Data, sample_weight: Data | None, weight: float | None
    ) -> Data:
        """Weights by those of the examples (broadcast) and of the loss; averages each example's."""
        loss = apply_weighting(F, loss, weight, sample_weight)
        return F.mean(loss, axis=self._batch_axis, exclude=True)
