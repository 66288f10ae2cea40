"""The handlers that every training has: gradients are applied, metrics updated, and it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hybridnet.metric import EvalMetric, Loss

from ...data import DataLoader
from .events import BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin
from .utils import as_metrics

__all__ = ["GradientUpdateHandler", "MetricHandler", "StoppingHandler", "ValidationHandler"]


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends training after a number of epochs or batches.

    Args:
        max_epoch, max_batch: how many; those of the estimator take their place as it begins.
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch = max_epoch
        self.max_batch = max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Counts from 0."""
        self.max_epoch = estimator.max_epoch
        self.max_batch = estimator.max_batch
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: object, **kwargs: object) -> bool:
        """Returns whether that was the last one."""
        self.current_batch += 1
        self.stop_training |= self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> bool:
        """Returns whether that was the last one."""
        self.current_epoch += 1
        self.stop_training |= self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Updates metrics after each batch, and resets them as an epoch begins.

    Args:
        metrics: one or several; a `metric.Loss` gets the losses, others labels and predictions.
        priority: before which other handlers; those that show metrics come later.
    """

    def __init__(
        self, metrics: EvalMetric | Sequence[EvalMetric] | None, priority: float = -1000
    ) -> None:
        self.metrics = as_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Resets the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Any, *args: object, **kwargs: Any) -> None:
        """Updates the metrics."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Evaluates the network after some epochs or batches.

    Args:
        val_data: a `DataLoader`.
        eval_fn: ``eval_fn(val_data, batch_axis, event_handlers)``, such as `Estimator.evaluate`.
        epoch_period, batch_period: after how many of each; None: not by these.
        priority: before which other handlers.
        event_handlers: for the evaluation.
    """

    def __init__(
        self,
        val_data: DataLoader,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: EventHandler | Iterable[EventHandler] | None = None,
    ) -> None:
        self.val_data = val_data
        self.eval_fn = eval_fn
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Counts from 0."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Evaluates, if it is time to."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._evaluate(estimator)

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Evaluates, if it is time to."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._evaluate(estimator)

    def _evaluate(self, estimator: Any) -> None:
        self.eval_fn(
            val_data=self.val_data,
            batch_axis=estimator.batch_axis,
            event_handlers=self.event_handlers,
        )


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters after each batch, by as many examples as there are losses.

    Args:
        priority: before which other handlers.
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Any, *args: object, **kwargs: Any) -> None:
        """Takes a step of the trainer."""
        loss = kwargs["loss"]
        parts = loss if isinstance(loss, list) else [loss]
        estimator.trainer.step(sum(part.shape[0] for part in parts))
