"""Metrics of predicted classes and of their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybridnet import nd
from hybridnet.base.defaults import with_defaults
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

from .base import Arrays, EvalMetric, Tally, alias, check_rows, pairs, register

__all__ = [
    "Accuracy",
    "CrossEntropy",
    "NegativeLogLikelihood",
    "Perplexity",
    "TopKAccuracy",
]

Names = Sequence[str] | None


@alias("acc")
@register
class Accuracy(EvalMetric):
    """The share of right predictions.

    Predictions are classes, of the labels' shape; or scores of classes, where the greatest along
    `axis` is meant.

    Args:
        axis: along which the classes' scores lie.
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            given = pred.shape
            if pred.shape != label.shape:
                pred = pred.argmax(axis=self.axis)
            if pred.size != label.size:
                raise ShapeError(
                    f"{self.name}: requires one prediction for each label, got labels of shape "
                    f"{label.shape} and predictions of shape {given} (axis {self.axis} is classes)"
                )
            right = (_classes(pred) == _classes(label)).sum()
            self._add(right, pred.size, pred.context)


@alias("top_k_accuracy", "top_k_acc")
@register
class TopKAccuracy(EvalMetric):
    """The share of labels that are among the `top_k` classes of the greatest scores.

    Of equal scores that of the lower class comes first. Predictions are (batch, classes).

    Args:
        top_k: how many; at least 2.
        name, output_names, label_names: see `EvalMetric`. ``_<top_k>`` is added to the name.
    """

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        if top_k < 2:
            raise ParameterError(
                f"TopKAccuracy: top_k must be at least 2, got {top_k}; see Accuracy"
            )
        self.top_k = top_k
        self.name += f"_{top_k}"

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            check_rows(self.name, label, pred)
            best = nd.topk(pred, axis=1, k=min(self.top_k, pred.shape[1]), dtype="int32")
            found = nd.broadcast_equal(best, _classes(label).reshape(-1, 1)).sum()
            self._add(found, label.size, pred.context)


class _LogLikelihood(EvalMetric):
    """The mean of ``-log(probability of the label + eps)``."""

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "likelihood",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        self._misplaced = Tally()
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch: labels (batch,), probabilities (batch, classes).

        As in MXNet a negative label counts from the last class. A label that is no class is
        reported by `get`, for here its value is not known yet.
        """
        for label, pred in pairs(labels, preds):
            check_rows(self.name, label, pred)
            classes, count = _classes(label), pred.shape[1]
            outside = (classes < -count) + (classes >= count)
            probability = nd.pick(_wide(pred), classes, axis=1, mode="wrap")
            self._misplaced.add(outside.sum(), pred.context)
            self._add(-(probability + self.eps).log().sum(), label.size, pred.context)

    def reset(self) -> None:
        """Resets the statistics."""
        super().reset()
        self._misplaced.set(0)

    def _value(self, total: float, count: float) -> float:
        misplaced = self._misplaced.read()
        if misplaced:
            raise ParameterError(
                f"{self.name}: every label must be one of the classes that there are "
                f"probabilities for, but {misplaced:.0f} were not"
            )
        return super()._value(total, count)


@alias("ce")
@register
@with_defaults(name="cross-entropy")
class CrossEntropy(_LogLikelihood):
    """The mean of ``-log(probability of the label + eps)``; probabilities are (batch, classes).

    Args:
        eps: keeps the logarithm finite.
        name, output_names, label_names: see `EvalMetric`.
    """


@alias("nll_loss")
@register
@with_defaults(name="nll-loss")
class NegativeLogLikelihood(_LogLikelihood):
    """The same as `CrossEntropy`, under another name.

    Args:
        eps: keeps the logarithm finite.
        name, output_names, label_names: see `EvalMetric`.
    """


@register
class Perplexity(EvalMetric):
    """The exponential of the mean of ``-log(probability of the label)``.

    Probabilities below 1e-10 count as that. Labels have the shape of the predictions without
    `axis`, or are as many.

    Args:
        ignore_label: a label that is left out; None for none.
        axis: along which the classes' probabilities lie.
        name, output_names, label_names: see `EvalMetric`.
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Names = None,
        label_names: Names = None,
    ) -> None:
        super().__init__(
            name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True
        )
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Arrays, preds: Arrays) -> None:
        """Takes in a batch; see `EvalMetric.update`."""
        for label, pred in pairs(labels, preds):
            shape = list(pred.shape)
            del shape[self.axis]
            if label.size != math.prod(shape):
                raise ShapeError(
                    f"{self.name}: requires a label for each prediction, got labels of shape "
                    f"{label.shape} and predictions of shape {pred.shape} (axis {self.axis} is "
                    "classes)"
                )
            classes = label.astype("int32").reshape(shape)
            logs = nd.maximum(nd.pick(_wide(pred), classes, axis=self.axis), 1e-10).log()
            count: Any = label.size
            if self.ignore_label is not None:
                kept = classes != self.ignore_label
                logs = logs * kept.astype(logs.dtype)
                count = kept.astype("int64").sum()
            self._add(-logs.sum(), count, pred.context)

    def _value(self, total: float, count: float) -> float:
        return math.exp(total / count)


def _classes(data: NDArray) -> NDArray:
    """Returns class numbers as int32, in one dimension."""
    return data.astype("int32", copy=False).reshape(-1)


def _wide(data: NDArray) -> NDArray:
    """Returns probabilities in a dtype whose sums are worth something."""
    narrow = data.inferred_dtype in (as_dtype("float16"), as_dtype("bfloat16"))
    return data.astype("float32") if narrow else data
