"""`BatchProcessor`: what is done with a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet import autograd
from hybridnet.base.context import Context
from hybridnet.ndarray import NDArray

from ...utils import split_and_load

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Runs a network and its loss on a batch; derive from it to do something else with one."""

    def _get_data_and_label(
        self, batch: Sequence[NDArray], ctx: Sequence[Context], batch_axis: int = 0
    ) -> tuple[list[NDArray], list[NDArray]]:
        """Returns the data and the labels of a batch, each a part for every context."""
        data, label = batch[0], batch[1]
        return tuple(  # type: ignore[return-value]
            split_and_load(one, ctx_list=ctx, batch_axis=batch_axis) for one in (data, label)
        )

    def evaluate_batch(
        self, estimator: Any, val_batch: Sequence[NDArray], batch_axis: int = 0
    ) -> tuple[list[NDArray], list[NDArray], list[NDArray], list[NDArray]]:
        """Predicts a batch.

        Args:
            estimator: has the network `val_net`, the loss `val_loss`, and the contexts.
            val_batch: data and labels.
            batch_axis: the axis of the examples.

        Returns:
            Data, labels, predictions and losses: lists of one part for each context.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        loss = [estimator.val_loss(*both) for both in zip(pred, label, strict=True)]
        return data, label, pred, loss

    def fit_batch(
        self, estimator: Any, train_batch: Sequence[NDArray], batch_axis: int = 0
    ) -> tuple[list[NDArray], list[NDArray], list[NDArray], list[NDArray]]:
        """Predicts a batch and computes gradients; a handler updates the parameters by them.

        Args:
            estimator: has the network `net`, the loss `loss`, and the contexts.
            train_batch: data and labels.
            batch_axis: the axis of the examples.

        Returns:
            Data, labels, predictions and losses: lists of one part for each context.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(*both) for both in zip(pred, label, strict=True)]
        for part in loss:
            part.backward()
        return data, label, pred, loss
