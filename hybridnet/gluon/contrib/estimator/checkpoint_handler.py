"""`CheckpointHandler`: saves parameters and trainer as training goes on, and goes on from there."""

from __future__ import annotations

import math
import os
import re
import warnings
from typing import Any

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.metric import EvalMetric

from ...block import HybridBlock
from .better import Better
from .events import BatchEnd, EpochEnd, TrainBegin

__all__ = ["CheckpointHandler"]


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves ``prefix-epoch3batch40.params`` and ``.states`` after some epochs or batches.

    Of a hybridized network the symbol is saved once, too: ``prefix-symbol.json``.

    Args:
        model_dir: the folder; made if there is none.
        model_prefix: the beginning of the names.
        monitor: the metric by which the best is chosen.
        verbose: above 0: log what is saved.
        save_best: also keep ``prefix-best.params``, of the best value of `monitor`.
        mode: 'max', 'min', or 'auto': more is better of an accuracy or F1, less of all else.
        epoch_period, batch_period: after how many of each to save; None: not by these.
        max_checkpoints: how many are kept; the oldest goes first.
        resume_from_checkpoint: whether to go on from the latest one in the folder.

    Raises:
        ParameterError: the best is to be saved, and `monitor` is no metric.
    """

    def __init__(
        self,
        model_dir: str,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        os.makedirs(model_dir, exist_ok=True)
        self.monitor = monitor
        self.verbose = verbose
        self.model_dir = model_dir
        self.model_prefix = model_prefix
        self.save_best = save_best
        self.epoch_period = epoch_period
        self.batch_period = batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.trained_epoch = self.trained_batch = -1
        self.current_batch = self.current_epoch = 0
        self._better: Better | None = None
        if save_best:
            if not isinstance(monitor, EvalMetric):
                raise ParameterError(
                    "CheckpointHandler: to save the best, monitor must be one metric of "
                    f"estimator.train_metrics or estimator.val_metrics, got {monitor!r}"
                )
            self._better = Better("CheckpointHandler", monitor, mode)
            self.best = self._better.worst

    def train_begin(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Counts from 0, or goes on from the latest checkpoint.

        Raises:
            ParameterError: there is one of all epochs or batches, or it counts the other kind.
        """
        self.current_epoch = self.current_batch = 0
        if self._better is not None:
            self.best = self._better.worst
        if self.resume_from_checkpoint:
            by_batch, by_epoch = bool(self.batch_period), bool(self.epoch_period)
            if (estimator.max_batch and (by_epoch or not by_batch)) or (
                estimator.max_epoch and (by_batch or not by_epoch)
            ):
                raise ParameterError(
                    "CheckpointHandler: to resume, save by what training is counted by: "
                    "epoch_period for fit(epochs=...), batch_period for fit(batches=...), and None "
                    "for the other"
                )
            self._resume(estimator)

    def batch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Saves, if it is time to."""
        if self.current_batch == 0:
            self._save_symbol(estimator)
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save(estimator)
        self.current_batch += 1

    def epoch_end(self, estimator: Any, *args: object, **kwargs: object) -> None:
        """Saves, if it is time to."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save(estimator)
        self.current_epoch += 1

    def _path(self, name: str) -> str:
        return os.path.join(self.model_dir, name)

    def _save(self, estimator: Any) -> None:
        epoch, batch = self.current_epoch, self.current_batch
        if self.resume_from_checkpoint:
            epoch += self.trained_epoch + 1
            # After an epoch its last batch is counted already.
            batch += self.trained_batch + (0 if estimator.max_epoch else 1)
        name = f"{self.model_prefix}-epoch{epoch}batch{batch}"
        self._save_under(estimator, name)
        self.saved_checkpoints.append(name)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            old = self.saved_checkpoints.pop(0)
            for kind in (".params", ".states"):
                if os.path.exists(self._path(old + kind)):
                    os.remove(self._path(old + kind))
        if self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: trained total %d batches, saving model at %s with "
                "prefix: %s",
                self.current_epoch,
                self.current_batch + 1,
                self.model_dir,
                name,
            )
        if self._better is not None:
            self._save_best(estimator, self._better)

    def _save_best(self, estimator: Any, better: Better) -> None:
        assert self.monitor is not None
        name, value = self.monitor.get()
        if math.isnan(value):
            warnings.warn(
                f"CheckpointHandler: {name} was not updated; monitor must be one metric of "
                "estimator.train_metrics or estimator.val_metrics",
                RuntimeWarning,
                stacklevel=2,
            )
        elif better(value, self.best):
            if self.verbose > 0:
                estimator.logger.info(
                    "[Epoch %d] CheckpointHandler: %s improved from %0.5f to %0.5f, updating best "
                    "model at %s",
                    self.current_epoch,
                    name,
                    self.best,
                    value,
                    self.model_dir,
                )
            self._save_under(estimator, f"{self.model_prefix}-best")
            self.best = value
        elif self.verbose > 0:
            estimator.logger.info(
                "[Epoch %d] CheckpointHandler: %s did not improve from %0.5f, skipping updating "
                "best model",
                self.current_epoch,
                name,
                self.best,
            )

    def _save_under(self, estimator: Any, name: str) -> None:
        estimator.net.save_parameters(self._path(f"{name}.params"))
        estimator.trainer.save_states(self._path(f"{name}.states"))

    def _save_symbol(self, estimator: Any) -> None:
        net, path = estimator.net, self._path(f"{self.model_prefix}-symbol.json")
        if isinstance(net, HybridBlock) and net._active:
            net._as_symbol().save(path)
        else:
            estimator.logger.info(
                "CheckpointHandler: %s is not saved, since the network is not hybridized", path
            )

    def _found(self) -> list[tuple[int, int]]:
        """Returns epoch and batch of each checkpoint in the folder, the latest last."""
        pattern = re.compile(re.escape(self.model_prefix) + r"-epoch(.*)batch(.*)\.params")
        found = []
        for name in os.listdir(self.model_dir):
            match = pattern.fullmatch(name)
            if match is None:
                continue
            if not (match[1].isdigit() and match[2].isdigit()):
                raise FormatError(
                    f"CheckpointHandler: {self._path(name)} must be named like "
                    f"{self.model_prefix}-epoch3batch40.params"
                )
            found.append((int(match[1]), int(match[2])))
        return sorted(found)

    def _resume(self, estimator: Any) -> None:
        found = self._found()
        unit = "epochs" if estimator.max_epoch else "batches"
        wanted = estimator.max_epoch or estimator.max_batch
        if not found:
            self.trained_epoch = self.trained_batch = -1
            estimator.logger.info(
                "CheckpointHandler: No checkpoint found, training from scratch for %d %s",
                wanted,
                unit,
            )
            return
        self.saved_checkpoints = [
            f"{self.model_prefix}-epoch{epoch}batch{batch}" for epoch, batch in found
        ]
        self.trained_epoch, self.trained_batch = found[-1]
        trained = self.trained_epoch if estimator.max_epoch else self.trained_batch
        left = wanted - trained - 1
        if left < 1:
            raise ParameterError(
                f"CheckpointHandler: the checkpoint in {self.model_dir} is of all {wanted} {unit} "
                "already; ask for more, or pass resume_from_checkpoint=False to begin anew"
            )
        if estimator.max_epoch:
            estimator.max_epoch = left
        else:
            estimator.max_batch = left
        path = self._path(self.saved_checkpoints[-1])
        estimator.net.load_parameters(f"{path}.params", ctx=estimator.context)
        estimator.trainer.load_states(f"{path}.states")
        estimator.logger.warning(
            "CheckpointHandler: Checkpoint resumed from epoch %d batch %d, continue to train for "
            "%d %s",
            self.trained_epoch,
            self.trained_batch,
            left,
            unit,
        )
