"""`gluon.loss`: losses, one number for each example."""

from __future__ import annotations

from typing import Any

from .block import HybridBlock

__all__ = [
    "L1Loss",
    "L2Loss",
    "Loss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
]


class Loss(HybridBlock):
    """Base of the losses.

    Args:
        weight: a factor on the loss, or None.
        batch_axis: the axis of the examples; the loss is averaged over all others.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _average(self, F: Any, loss: Any, sample_weight: Any, weight: float | None) -> Any:
        """Weights by those of the examples (broadcast) and of the loss; averages each example's."""
        if sample_weight is not None:
            loss = F.broadcast_mul(loss, sample_weight)
        loss = loss if weight is None else loss * weight
        return F.mean(loss, axis=self._batch_axis, exclude=True)


class L2Loss(Loss):
    """½ · weight · (pred - label)², averaged over all axes but the batch's.

    Args:
        weight: a factor.
        batch_axis: the axis of the examples.

    Inputs pred and label of one size, and optionally sample_weight, which is broadcast; output
    (batch,).
    """

    def __init__(self, weight: float = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Computes the loss."""
        loss = F.square(F.reshape_like(label, pred) - pred)
        weight = None if self._weight is None else self._weight / 2
        return self._average(F, loss, sample_weight, weight)


class L1Loss(Loss):
    """weight · |pred - label|, averaged over all axes but the batch's; arguments as `L2Loss`."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Computes the loss."""
        loss = F.abs(F.reshape_like(label, pred) - pred)
        return self._average(F, loss, sample_weight, self._weight)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """The cross-entropy of independent yes/no labels.

    Args:
        from_sigmoid: whether pred are probabilities already (else logits, which is more exact).
        weight: a factor.
        batch_axis: the axis of the examples.

    Inputs pred and label (0 or 1) of one size, optionally sample_weight and pos_weight (a factor on
    the positive part), which are broadcast; output (batch,).
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None
    ) -> Any:
        """Computes the loss."""
        label = F.reshape_like(label, pred)
        if self._from_sigmoid:
            eps = 1e-12
            positive = F.log(pred + eps) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + eps) * (1.0 - label))
        else:
            # log(1 + exp(-|x|)) never overflows.
            soft = F.Activation(-F.abs(pred), act_type="softrelu")
            if pos_weight is None:
                loss = F.relu(pred) - pred * label + soft
            else:
                factor = 1 + F.broadcast_mul(pos_weight - 1, label)
                loss = pred - pred * label + factor * (soft + F.relu(-pred))
        return self._average(F, loss, sample_weight, self._weight)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """The cross-entropy of one label out of several: -log softmax(pred)[label].

    Args:
        axis: the axis of the classes.
        sparse_label: whether labels are class numbers (else probabilities of each class).
        from_logits: whether pred are log-probabilities already.
        weight: a factor.
        batch_axis: the axis of the examples.

    Inputs pred (batch, ..., classes, ...), label without the class axis (or like pred), and
    optionally sample_weight, which is broadcast; output (batch,).
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Computes the loss."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * F.reshape_like(label, pred), axis=self._axis, keepdims=True)
        return self._average(F, loss, sample_weight, self._weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss
