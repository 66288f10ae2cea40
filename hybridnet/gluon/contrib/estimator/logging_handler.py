"""`LoggingHandler`: says how training goes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.metric import EvalMetric

from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd
from .utils import as_metrics

__all__ = ["LoggingHandler"]


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs metrics and times by the estimator's logger.

    Reading a metric waits for the batches before, so every so many batches costs less than each.

    Args:
        log_interval: 'epoch', or after how many batches, too.
        metrics: one or several.
        priority: before which other handlers; it is the last, so that all is known.

    Raises:
        ParameterError: the interval is something else.
    """

    def __init__(
        self,
        log_interval: int | str = "epoch",
        metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        priority: float = float("inf"),
    ) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ParameterError(
                "LoggingHandler: log_interval must be a number of batches or 'epoch', got "
                f"{log_interval!r}"
            )
        self.metrics = as_metrics(metrics)
        self.priority = priority
        self.log_interval = log_interval
        self._restart()

    def _restart(self) -> None:
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0

    def _values(self) -> str:
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Says how long training will go on, and by what."""
        self.train_start = time.time()
        self._restart()
        estimator.logger.info(
            "Training begin: using optimizer %s with current learning rate %.4f ",
            type(estimator.trainer.optimizer).__name__,
            estimator.trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)

    def train_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Says how long it took, and what came out."""
        estimator.logger.info(
            "Train finished using total %ds with %d epochs. %s",
            time.time() - self.train_start,
            self.current_epoch,
            self._values(),
        )

    def batch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Notes the time."""
        self.batch_start = time.time()

    def batch_end(self, estimator: Any, *args: object, **kwargs: Any) -> None:
        """Says how it goes, if it is time to."""
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                estimator.logger.info(
                    "[Epoch %d][Batch %d][Samples %s] time/interval: %.3fs %s",
                    self.current_epoch,
                    self.batch_index,
                    self.processed_samples,
                    self.log_interval_time,
                    self._values(),
                )
                self.log_interval_time = 0.0
        self.batch_index += 1

    def epoch_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Says that an epoch or an evaluation begins."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info(
                "[Epoch %d] Begin, current learning rate: %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Says how long it took, and what came out."""
        estimator.logger.info(
            "[Epoch %d] Finished in %.3fs, %s",
            self.current_epoch,
            time.time() - self.epoch_start,
            self._values(),
        )
        self.current_epoch += 1
        self.batch_index = 0
