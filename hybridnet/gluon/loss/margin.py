"""Losses of what is on the wrong side of a margin, and of pairs that belong together."""

from __future__ import annotations

from typing import Unpack

from hybridnet.base.errors import ShapeError
from hybridnet.ndarray import NDArray

from ..types import BlockNames, Data, Operators
from .base import Loss, apply_weighting, reshape_like
from .entropy import KLDivLoss

__all__ = ["CosineEmbeddingLoss", "HingeLoss", "SDMLLoss", "SquaredHingeLoss", "TripletLoss"]


class HingeLoss(Loss):
    """max(0, margin - pred label), averaged over all axes but the batch's.

    Args:
        margin: how far on its label's side a prediction should be.
        weight: a factor, or None.
        batch_axis: the axis of the examples.

    Inputs pred and label (-1 or 1) of one size, and optionally sample_weight, which is broadcast;
    output (batch,).
    """

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _short(self, F: Operators[Data], pred: Data, label: Data) -> Data:
        """Returns how much is missing to the margin."""
        return F.relu(self._margin - pred * reshape_like(F, label, pred))

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        return self._average(F, self._short(F, pred, label), sample_weight, self._weight)


class SquaredHingeLoss(HingeLoss):
    """max(0, margin - pred label)², averaged over all axes but the batch's; as `HingeLoss`."""

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        loss = F.square(self._short(F, pred, label))
        return self._average(F, loss, sample_weight, self._weight)


class TripletLoss(Loss):
    """max(0, |pred - positive|² - |pred - negative|² + margin) (Schroff et al. 2015).

    Args:
        margin: how much nearer the positive example should be than the negative one.
        weight: a factor, or None.
        batch_axis: the axis of the examples; squares are summed over all others.

    Inputs pred, positive and negative of one size; output (batch,).
    """

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, positive: Data, negative: Data
    ) -> Data:
        """Computes the loss."""
        near = F.square(reshape_like(F, positive, pred) - pred)
        far = F.square(reshape_like(F, negative, pred) - pred)
        loss = F.sum(near - far, axis=self._batch_axis, exclude=True)
        return apply_weighting(F, F.relu(loss + self._margin), self._weight)


class CosineEmbeddingLoss(Loss):
    """1 - cos(a, b) for pairs that belong together, max(0, cos(a, b) - margin) for others.

    Args:
        weight: a factor, or None.
        batch_axis: the axis of the examples.
        margin: the cosine up to which vectors count as different.

    Inputs input1 and input2 (batch, size), label (batch,), 1 or -1, and optionally sample_weight,
    which is broadcast; output (batch, 1).
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        margin: float = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self,
        F: Operators[Data],
        input1: Data,
        input2: Data,
        label: Data,
        sample_weight: Data | None = None,
    ) -> Data:
        """Computes the loss."""
        input1 = reshape_like(F, input1, input2)
        label = label.reshape((-1, 1))
        cosine = self._cosine_similarity(F, input1, input2)
        together = (1 - cosine) * (label == 1)
        apart = F.relu((label == -1) * (cosine - self._margin))
        return apply_weighting(F, together + apart, self._weight, sample_weight)

    def _cosine_similarity(self, F: Operators[Data], x: Data, y: Data, axis: int = -1) -> Data:
        """Returns the cosines of the angles between vectors, (batch, 1)."""
        lengths = F.norm(x, axis=axis) * F.norm(y, axis=axis)
        product = F.sum(x * y, axis=axis).reshape((-1, 1))
        return product / F.maximum(lengths, 1e-12).reshape((-1, 1))


class SDMLLoss(Loss):
    """Smoothed deep metric learning: each pair against all others in the batch.

    The softmax of minus the squared distances should be the pairs that belong together, smoothed
    (Bonadiman et al., "Large scale question paraphrase retrieval", 2019).

    Args:
        smoothing_parameter: the probability that is spread over the pairs that do not, below 1.
        weight: kept, without meaning, as in MXNet.
        batch_axis: the axis of the examples.

    Inputs x1 and x2 (batch, size), of which rows of one number belong together; output (batch,).
    """

    def __init__(
        self,
        smoothing_parameter: float = 0.3,
        weight: float | None = 1.0,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Operators[NDArray], x1: NDArray, x2: NDArray) -> NDArray:
        """Computes the loss; on arrays, since it needs to know the size of the batch."""
        if x1.shape != x2.shape or len(x1.shape) != 2:
            raise ShapeError(
                f"SDMLLoss: x1 and x2 must have one shape (batch, size), got {x1.shape} and "
                f"{x2.shape}"
            )
        batch = x1.shape[0]
        apart = F.square(F.broadcast_sub(x1.expand_dims(1), x2.expand_dims(0))).sum(axis=2)
        own, other = 1 - self.smoothing_parameter, self.smoothing_parameter / max(batch - 1, 1)
        wanted = F.one_hot(F.arange(batch), batch, on_value=own, off_value=other)
        return self.kl_loss(F.log_softmax(-apart, axis=1), wanted.astype(x1.dtype))
