"""Losses of how far predictions are from numbers."""

from __future__ import annotations

from typing import Unpack

from ..types import BlockNames, Data, Operators
from .base import Loss, reshape_like

__all__ = ["HuberLoss", "L1Loss", "L2Loss"]


class L2Loss(Loss):
    """½ · weight · (pred - label)², averaged over all axes but the batch's.

    Args:
        weight: a factor.
        batch_axis: the axis of the examples.

    Inputs pred and label of one size, and optionally sample_weight, which is broadcast; output
    (batch,).
    """

    def __init__(
        self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        loss = F.square(reshape_like(F, label, pred) - pred)
        weight = None if self._weight is None else self._weight / 2
        return self._average(F, loss, sample_weight, weight)


class L1Loss(Loss):
    """weight · |pred - label|, averaged over all axes but the batch's; arguments as `L2Loss`."""

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        loss = F.abs(reshape_like(F, label, pred) - pred)
        return self._average(F, loss, sample_weight, self._weight)


class HuberLoss(Loss):
    """L2 near to the label and L1 further away, averaged over all axes but the batch's.

    With d = abs(pred - label): d²/(2 rho) where d <= rho, and d - rho/2 else.

    Args:
        rho: where one becomes the other.
        weight: a factor, or None.
        batch_axis: the axis of the examples.

    Inputs pred and label of one size, and optionally sample_weight, which is broadcast; output
    (batch,).
    """

    def __init__(
        self,
        rho: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        d = F.abs(reshape_like(F, label, pred) - pred)
        loss = F.where(d > self._rho, d - 0.5 * self._rho, (0.5 / self._rho) * F.square(d))
        return self._average(F, loss, sample_weight, self._weight)
