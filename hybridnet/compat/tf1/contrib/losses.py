"""``tf.contrib.losses``: those of `tf.losses`, by their older names and orders of arguments."""

from __future__ import annotations

from typing import Any

from .. import losses
from ..graph.tensor import Tensor
from ..losses import add_loss as add_loss
from ..losses import get_losses as get_losses
from ..losses import get_regularization_losses as get_regularization_losses
from ..losses import get_total_loss as get_total_loss

__all__ = [
    "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
    "get_regularization_losses", "get_total_loss", "hinge_loss", "log_loss", "mean_squared_error",
    "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]  # fmt: skip


def compute_weighted_loss(losses_: Any, weights: Any = 1.0, scope: Any = None) -> Tensor:
    """Returns the mean of losses times weights, over those that count; see `tf.losses`."""
    return losses.compute_weighted_loss(losses_, weights, scope)


def absolute_difference(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Tensor:
    """As `tf.losses.absolute_difference`, with the predictions first."""
    return losses.absolute_difference(labels, predictions, weights, scope)


def mean_squared_error(
    predictions: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None
) -> Tensor:
    """As `tf.losses.mean_squared_error`, with the predictions first."""
    return losses.mean_squared_error(labels, predictions, weights, scope)


def log_loss(
    predictions: Any, labels: Any = None, weights: Any = 1.0, epsilon: float = 1e-7,
    scope: Any = None,
) -> Tensor:  # fmt: skip
    """As `tf.losses.log_loss`, with the predictions first."""
    return losses.log_loss(labels, predictions, weights, epsilon, scope)


def hinge_loss(logits: Any, labels: Any = None, weights: Any = 1.0, scope: Any = None) -> Tensor:
    """As `tf.losses.hinge_loss`, with the logits first."""
    return losses.hinge_loss(labels, logits, weights, scope)


def cosine_distance(
    predictions: Any, labels: Any = None, axis: Any = None, weights: Any = 1.0, scope: Any = None,
    dim: Any = None,
) -> Tensor:  # fmt: skip
    """As `tf.losses.cosine_distance`, with the predictions first; `dim` is the older `axis`."""
    return losses.cosine_distance(
        labels, predictions, axis=dim if axis is None else axis, weights=weights, scope=scope
    )


def sigmoid_cross_entropy(
    logits: Any, multi_class_labels: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: Any = None,
) -> Tensor:  # fmt: skip
    """As `tf.losses.sigmoid_cross_entropy`, with the logits first."""
    return losses.sigmoid_cross_entropy(multi_class_labels, logits, weights, label_smoothing, scope)


def softmax_cross_entropy(
    logits: Any, onehot_labels: Any, weights: Any = 1.0, label_smoothing: float = 0,
    scope: Any = None,
) -> Tensor:  # fmt: skip
    """As `tf.losses.softmax_cross_entropy`, with the logits first."""
    return losses.softmax_cross_entropy(onehot_labels, logits, weights, label_smoothing, scope)


def sparse_softmax_cross_entropy(
    logits: Any, labels: Any, weights: Any = 1.0, scope: Any = None
) -> Tensor:
    """As `tf.losses.sparse_softmax_cross_entropy`, with the logits first."""
    return losses.sparse_softmax_cross_entropy(labels, logits, weights, scope)
