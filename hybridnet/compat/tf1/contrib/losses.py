"""``tf.contrib.losses``: those of `tf.losses`, by their older names and orders of arguments."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from .. import losses
from ..graph import Tensor, described
from ..losses import add_loss, get_losses, get_regularization_losses, get_total_loss

__all__ = [
    "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance", "get_losses",
    "get_regularization_losses", "get_total_loss", "hinge_loss", "log_loss", "mean_squared_error",
    "sigmoid_cross_entropy", "softmax_cross_entropy", "sparse_softmax_cross_entropy",
]  # fmt: skip


def compute_weighted_loss(losses_: Any, weights: Any = 1.0, scope: Any = None) -> Tensor:
    """Returns the mean of losses times weights, over those that count; see `tf.losses`."""
    return losses.compute_weighted_loss(losses_, weights, scope)


def _older(
    function: Callable[..., Tensor], first: str, *second: str, **optional: Any
) -> Callable[..., Tensor]:
    """Returns a loss whose arguments are these, in this order."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    listed = [Parameter(one, kind) for one in (first, *second)]
    listed += [Parameter(one, kind, default=value) for one, value in optional.items()]
    whole = Signature(listed, return_annotation="Tensor")

    def loss(*args: Any, **keywords: Any) -> Tensor:
        given = whole.bind(*args, **keywords)
        given.apply_defaults()
        return function(**given.arguments)

    loss.__signature__ = whole  # type: ignore[attr-defined]
    name = function.__name__
    return described(loss, name, f"As `tf.losses.{name}`, with the {first} first.")


absolute_difference = _older(
    losses.absolute_difference, "predictions", labels=None, weights=1.0, scope=None
)
mean_squared_error = _older(
    losses.mean_squared_error, "predictions", labels=None, weights=1.0, scope=None
)
log_loss = _older(
    losses.log_loss, "predictions", labels=None, weights=1.0, epsilon=1e-7, scope=None
)
hinge_loss = _older(losses.hinge_loss, "logits", labels=None, weights=1.0, scope=None)
sigmoid_cross_entropy = _older(
    losses.sigmoid_cross_entropy, "logits", "multi_class_labels", weights=1.0, label_smoothing=0,
    scope=None,
)  # fmt: skip
softmax_cross_entropy = _older(
    losses.softmax_cross_entropy, "logits", "onehot_labels", weights=1.0, label_smoothing=0,
    scope=None,
)  # fmt: skip
sparse_softmax_cross_entropy = _older(
    losses.sparse_softmax_cross_entropy, "logits", "labels", weights=1.0, scope=None
)


def cosine_distance(
    predictions: Any, labels: Any = None, axis: Any = None, weights: Any = 1.0, scope: Any = None,
    dim: Any = None,
) -> Tensor:  # fmt: skip
    """As `tf.losses.cosine_distance`, with the predictions first; `dim` is the older `axis`."""
    return losses.cosine_distance(
        labels, predictions, axis=dim if axis is None else axis, weights=weights, scope=scope
    )
