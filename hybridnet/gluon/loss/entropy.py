"""Losses of how probable the labels are by the predictions."""

from __future__ import annotations

import math
from typing import Unpack

from hybridnet.base.errors import ParameterError

from ..types import BlockNames, Data, Operators
from .base import Loss, apply_weighting, reshape_like

__all__ = [
    "KLDivLoss",
    "LinearCrossEntropyLoss",
    "LogisticLoss",
    "PoissonNLLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
]


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
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Operators[Data],
        pred: Data,
        label: Data,
        sample_weight: Data | None = None,
        pos_weight: Data | None = None,
    ) -> Data:
        """Computes the loss."""
        label = reshape_like(F, label, pred)
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
        smoothing: how much of a label is spread over all classes, from 0 to 1 (Szegedy et al.
            2016).

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
        smoothing: float = 0.0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        _check_smoothing(type(self).__name__, smoothing)
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits
        self._smoothing = smoothing

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * reshape_like(F, label, pred), axis=self._axis, keepdims=True)
        if self._smoothing:
            spread = -F.mean(pred, axis=self._axis, keepdims=True)
            loss = (1 - self._smoothing) * loss + self._smoothing * spread
        return self._average(F, loss, sample_weight, self._weight)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


def _check_smoothing(name: str, smoothing: float) -> None:
    if not 0 <= smoothing <= 1:
        raise ParameterError(f"{name}: smoothing must be from 0 to 1, got {smoothing}")


class LinearCrossEntropyLoss(Loss):
    """The softmax cross-entropy of a dense layer's outputs, which need not be kept.

    With a large vocabulary scores take more memory than the network; here some rows of them are
    there at a time. ``loss(net.features(tokens), net.output.weight.data(), labels)``.

    Args:
        smoothing: how much of a label is spread over all classes, from 0 to 1.
        ignore_label: a label whose positions have no loss; None: there is none.
        weight: a factor.
        batch_axis: the axis of the examples, the first.

    Inputs: hidden states (batch, ..., units), the weight (classes, units) and labels (batch, ...);
    output (batch,), the mean over all positions, ignored ones as 0.
    """

    def __init__(
        self,
        smoothing: float = 0.0,
        ignore_label: int | None = None,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        _check_smoothing(type(self).__name__, smoothing)
        super().__init__(weight, batch_axis, **kwargs)
        self._smoothing = smoothing
        self._ignore_label = ignore_label

    def hybrid_forward(self, F: Operators[Data], pred: Data, weight: Data, label: Data) -> Data:
        """Computes the loss."""
        loss = F.contrib.linear_cross_entropy(
            F.reshape(pred, shape=(-1, 0), reverse=True),
            weight,
            F.reshape(label, shape=(-1,)),
            smoothing=self._smoothing,
            ignore_label=self._ignore_label,
        )
        return self._average(F, reshape_like(F, loss, label), None, self._weight)


class KLDivLoss(Loss):
    """The divergence of Kullback and Leibler: the sum of label (log label - log pred).

    Args:
        from_logits: whether pred are log-probabilities (else scores, of which softmax makes them).
        axis: the axis of the classes.
        weight: a factor, or None.
        batch_axis: the axis of the examples; the loss is summed over all others.

    Inputs pred and label, probabilities, of one shape, and optionally sample_weight, which is
    broadcast; output (batch,).
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class LogisticLoss(Loss):
    """log(1 + exp(-pred label)), averaged over all axes but the batch's.

    Args:
        weight: a factor, or None.
        batch_axis: the axis of the examples.
        label_format: 'signed' for labels -1 and 1, 'binary' for 0 and 1.

    Inputs pred (any numbers) and label of one size, and optionally sample_weight, which is
    broadcast; output (batch,).
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ParameterError(
                f"LogisticLoss: label_format must be 'signed' or 'binary', got {label_format!r}"
            )
        self._label_format = label_format

    def hybrid_forward(
        self, F: Operators[Data], pred: Data, label: Data, sample_weight: Data | None = None
    ) -> Data:
        """Computes the loss."""
        label = reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        soft = F.Activation(-F.abs(pred), act_type="softrelu")
        return self._average(F, F.relu(pred) - pred * label + soft, sample_weight, self._weight)


class PoissonNLLLoss(Loss):
    """Minus the logarithm of the probability of counts, by Poisson's distribution.

    Args:
        weight: a factor, or None.
        from_logits: whether pred is the logarithm of the expected count.
        batch_axis: the axis of the examples.
        compute_full: add what does not depend on pred, by Stirling's formula for counts above 1.

    Inputs pred and target of one size, and optionally sample_weight, which is broadcast, and
    epsilon, which is added before a logarithm; output (1,), the mean over everything.
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self,
        F: Operators[Data],
        pred: Data,
        target: Data,
        sample_weight: Data | None = None,
        epsilon: float = 1e-08,
    ) -> Data:
        """Computes the loss."""
        target = reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            # Of counts up to 1 nothing is used, and 0 has no logarithm.
            count = F.broadcast_maximum(target, F.ones_like(target))
            rest = count * F.log(count) - count + 0.5 * F.log(2 * math.pi * count)
            loss = loss + rest * (target > 1)
        return F.mean(apply_weighting(F, loss, self._weight, sample_weight))
