"""``tf.contrib.seq2seq``: the loss of sequences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..dtypes import int32
from ..graph import Tensor, convert_to_tensor, name_scope
from ..operations import add, cast, divide, reduce_sum, reshape, shape
from ..operations.nn.entropy import sparse_softmax_cross_entropy_with_logits

__all__ = ["sequence_loss"]

#: What is added to a sum of weights, which may be 0.
_LITTLE = 1e-12


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the mean of the steps' losses, each times its weight.

    Args:
        logits: (batch, steps, classes).
        targets: (batch, steps), whole numbers.
        weights: (batch, steps); a step that does not count has 0.
        average_across_timesteps: whether the steps become one mean.
        average_across_batch: whether the sequences do.
        softmax_loss_function: of `labels` and `logits`, in the place of the cross entropy.

    Returns:
        One number; (batch,) or (steps,) where the others are not averaged, and (batch, steps)
        where none are.

    Raises:
        ValueError: the dimensions are not these.
    """
    logits, targets, weights = map(convert_to_tensor, (logits, targets, weights))
    ranks = {"Logits": (logits, 3), "Targets": (targets, 2), "Weights": (weights, 2)}
    for what, (tensor, wanted) in ranks.items():
        if tensor.shape.ndims != wanted:
            raise ValueError(f"{what} must be a tensor of {wanted} dimensions, got {tensor.shape}")
    loss = softmax_loss_function or sparse_softmax_cross_entropy_with_logits
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        sizes: Any = shape(logits)
        size = logits.shape.as_list()[2]
        rows = reshape(logits, [-1, sizes[2] if size is None else size])
        losses = loss(labels=reshape(targets, [-1]), logits=rows)
        flat = reshape(weights, [-1])
        losses = losses * cast(flat, losses.dtype)
        if average_across_timesteps and average_across_batch:
            return divide(reduce_sum(losses), add(reduce_sum(flat), _LITTLE))
        losses = reshape(losses, cast(sizes[:2], int32))
        losses.set_shape(logits.shape[:2])
        if not (average_across_timesteps or average_across_batch):
            return losses
        axis = 1 if average_across_timesteps else 0
        total = add(reduce_sum(weights, axis=axis), _LITTLE)
        return divide(reduce_sum(losses, axis=axis), total)
