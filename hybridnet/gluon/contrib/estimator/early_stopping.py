"""`EarlyStoppingHandler`: ends training that makes nothing better."""

from __future__ import annotations

import math
import warnings
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.metric import CompositeEvalMetric, EvalMetric

from .better import Better
from .events import EpochEnd, TrainBegin, TrainEnd

__all__ = ["EarlyStoppingHandler"]


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training once a metric has not got better for some epochs.

    Args:
        monitor: one of the estimator's metrics.
        min_delta: by how much it must be better.
        patience: how many epochs may pass without.
        mode: 'max', 'min', or 'auto': more is better of an accuracy or F1, less of all else.
        baseline: what the metric must be better than at first; default any value.

    Raises:
        ParameterError: `monitor` is no single metric.
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        if not isinstance(monitor, EvalMetric) or isinstance(monitor, CompositeEvalMetric):
            raise ParameterError(
                "EarlyStoppingHandler: monitor must be one metric of estimator.train_metrics or "
                f"estimator.val_metrics, got {monitor!r}"
            )
        self.monitor = monitor
        self.baseline = baseline
        self.patience = patience
        self.min_delta = min_delta
        self._better = Better("EarlyStoppingHandler", monitor, mode)
        self._restart()

    def _restart(self) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = self._better.worst if self.baseline is None else self.baseline

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Begins anew."""
        self._restart()

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> bool:
        """Returns whether to end training."""
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"EarlyStoppingHandler: {name} was not updated; monitor must be one metric of "
                "estimator.train_metrics or estimator.val_metrics",
                RuntimeWarning,
                stacklevel=2,
            )
        elif self._better(value, self.best, self.min_delta):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Says that it was ended, if it was."""
        if self.stopped_epoch > 0:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving",
                self.stopped_epoch,
                self.monitor.get()[0],
            )
