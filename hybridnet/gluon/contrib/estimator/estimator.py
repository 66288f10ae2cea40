"""`Estimator`: trains a network on a data loader, and tells handlers of each event."""

from __future__ import annotations

import copy
import logging
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from hybridnet.base.context import Context, cpu, gpu
from hybridnet.base.errors import ParameterError
from hybridnet.context import num_gpus
from hybridnet.initializer.base import InitLike
from hybridnet.metric import EvalMetric
from hybridnet.metric import Loss as LossMetric

from ...block import Block
from ...data import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .events import (
    BatchBegin,
    BatchEnd,
    EpochBegin,
    EpochEnd,
    EventHandler,
    TrainBegin,
    TrainEnd,
    as_handlers,
)
from .handlers import GradientUpdateHandler, MetricHandler, StoppingHandler, ValidationHandler
from .logging_handler import LoggingHandler
from .utils import as_metrics, check_known, suggested_metric

__all__ = ["Estimator"]


class Estimator:
    """Trains and evaluates a network::

        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "adam")
        est = Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
        est.fit(train_data, val_data, epochs=3)

    Args:
        net: the network.
        loss: its loss.
        train_metrics: one or several; default the one that goes with the loss, and the loss.
        val_metrics: for evaluations; default as those for training.
        initializer: for parameters without values.
        trainer: default plain gradient descent with a rate of 0.001.
        context: one or several; default the first GPU, or the CPU.
        val_net, val_loss: for evaluations; default `net` and `loss`.
        batch_processor: does what is done with a batch; default a `BatchProcessor`.

    Attributes:
        logger: where handlers log; it writes to the standard output.

    Raises:
        ParameterError: an argument is of another kind.
    """

    logger: logging.Logger | None = None

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        val_metrics: EvalMetric | Sequence[EvalMetric] | None = None,
        initializer: InitLike | None = None,
        trainer: Trainer | None = None,
        context: Context | Sequence[Context] | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: BatchProcessor | None = None,
    ) -> None:
        self.net = net
        self.loss = _checked("loss", loss, Loss, "a gluon.loss.Loss")
        self._train_metrics = as_metrics(train_metrics)
        self._val_metrics = as_metrics(val_metrics)
        self._name_metrics()
        given = self.loss if val_loss is None else val_loss
        self.val_loss = _checked("val_loss", given, Loss, "a gluon.loss.Loss")
        self.val_net = net if val_net is None else val_net
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = _contexts(context)
        self._initialize(initializer)
        self.trainer = self._trainer(trainer)
        self.batch_processor = BatchProcessor() if batch_processor is None else batch_processor
        for name in ("fit_batch", "evaluate_batch"):
            if not callable(getattr(self.batch_processor, name, None)):
                raise ParameterError(
                    f"Estimator: batch_processor must have a method {name}, got {batch_processor!r}"
                )
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0

    def _name_metrics(self) -> None:
        """Adds default metrics, and says in names what each is for."""
        if not self._train_metrics:
            suggested = suggested_metric(self.loss)
            self._train_metrics = [] if suggested is None else [suggested]
            self._train_metrics.append(LossMetric(self.loss.name.rstrip("0123456789")))
        for metric in self._train_metrics:
            metric.name = f"training {metric.name}"
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(metric) for metric in self._train_metrics]
        for metric in self._val_metrics:
            name = metric.name
            if "training" in name:
                metric.name = name.replace("training", "validation")
            else:
                metric.name = f"validation {name}"

    def _initialize(self, initializer: InitLike | None) -> None:
        params = self.net.collect_params().values()
        if not all(param.is_initialized or param.is_deferred for param in params):
            options: dict[str, Any] = {} if initializer is None else {"init": initializer}
            self.net.initialize(ctx=self.context, **options)
        elif initializer is not None:
            warnings.warn(
                "Network already fully initialized, so initializer is not used; "
                "net.initialize(..., force_reinit=True) replaces the values",
                stacklevel=3,
            )

    def _trainer(self, trainer: Trainer | None) -> Trainer:
        if trainer is None:
            warnings.warn(
                "No trainer specified: sgd with a learning rate of 0.001 is taken",
                stacklevel=3,
            )
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        checked: Trainer = _checked("trainer", trainer, Trainer, "a gluon.Trainer")
        return checked

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of evaluations."""
        return self._val_metrics

    def evaluate(
        self,
        val_data: DataLoader,
        batch_axis: int = 0,
        event_handlers: EventHandler | Iterable[EventHandler] | None = None,
    ) -> None:
        """Evaluates the network; `val_metrics` have the results.

        Args:
            val_data: data and labels.
            batch_axis: the axis of the examples.
            event_handlers: told of the epoch and of the batches.

        Raises:
            ParameterError: the data are not from a `DataLoader`, or a handler looks at metrics of
                somebody else.
        """
        _checked("val_data", val_data, DataLoader, "a gluon.data.DataLoader")
        for metric in self.val_metrics:
            metric.reset()
        handlers = as_handlers(event_handlers)
        mixed = bool(handlers)
        if not _has(handlers, MetricHandler):
            handlers.append(MetricHandler(self.val_metrics))
        if not _has(handlers, LoggingHandler):
            handlers.append(LoggingHandler(metrics=self.val_metrics))
        self._sort(handlers, self.val_metrics if mixed else None)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: EventHandler | Iterable[EventHandler] | None = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Trains the network.

        Handlers that are not given are added: updates by gradients, metrics, evaluation, logging,
        and the end.

        Args:
            train_data: data and labels.
            val_data: what to evaluate on after each epoch, or None.
            epochs, batches: how many; one of the two.
            event_handlers: told of events.
            batch_axis: the axis of the examples.

        Raises:
            ParameterError: the data are not from a `DataLoader`, both or none of epochs and batches
                are given, or a handler looks at metrics of somebody else.
        """
        _checked("train_data", train_data, DataLoader, "a gluon.data.DataLoader")
        if (not epochs) == (not batches):
            raise ParameterError(
                f"fit: give epochs or batches, one of the two, got {epochs} and {batches}"
            )
        self.max_epoch, self.max_batch = epochs, batches
        self.batch_axis = batch_axis
        handlers = self._prepare_default_handlers(val_data, event_handlers)
        train_begin, *told, train_end = self._categorize_handlers(handlers)
        for handler in train_begin:
            handler.train_begin(self)
        while not self._epoch(train_data, *told):
            pass
        for handler in train_end:
            handler.train_end(self)

    def _epoch(
        self,
        train_data: DataLoader,
        epoch_begin: list[Any],
        batch_begin: list[Any],
        batch_end: list[Any],
        epoch_end: list[Any],
    ) -> bool:
        """Trains for an epoch, telling handlers; returns whether to end training."""
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in train_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.batch_processor.fit_batch(self, batch, self.batch_axis)
            told = {"batch": batch, "pred": pred, "label": label, "loss": loss}
            # Each is told, also after one that wants to stop.
            stops = [handler.batch_end(self, **told) for handler in batch_end]
            if any(stops):
                break
        stops = [handler.epoch_end(self) for handler in epoch_end]
        return any(stops)

    def _prepare_default_handlers(
        self,
        val_data: DataLoader | None,
        event_handlers: EventHandler | Iterable[EventHandler] | None,
    ) -> list[EventHandler]:
        """Returns the handlers of a training, those that are not given included, in order."""
        handlers = as_handlers(event_handlers)
        mixed = bool(handlers)
        added: list[EventHandler] = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has(handlers, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if not _has(handlers, MetricHandler):
            added.append(MetricHandler(self.train_metrics))
        if val_data is not None and not _has(handlers, ValidationHandler):
            added.append(ValidationHandler(val_data, self.evaluate))
        if not _has(handlers, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        handlers.extend(added)
        self._sort(handlers, [*self.train_metrics, *self.val_metrics] if mixed else None)
        return handlers

    def _categorize_handlers(self, event_handlers: Iterable[EventHandler]) -> tuple[list[Any], ...]:
        """Returns those that are told when training, epoch, batch begin, and when these end."""
        kinds = (TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd)
        return tuple([one for one in event_handlers if isinstance(one, kind)] for kind in kinds)

    def _sort(self, handlers: list[EventHandler], known: list[EvalMetric] | None) -> None:
        """Checks the metrics that handlers look at, and sorts them by priority."""
        for handler in handlers if known is not None else ():
            check_known(handler, known or ())
        handlers.sort(key=lambda handler: getattr(handler, "priority", 0))


def _has(handlers: Iterable[EventHandler], kind: type[EventHandler]) -> bool:
    return any(isinstance(handler, kind) for handler in handlers)


def _checked(name: str, value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind):
        raise ParameterError(f"Estimator: {name} must be {what}, got {type(value).__name__}")
    return value


def _contexts(context: Context | Sequence[Context] | None) -> list[Context]:
    """Returns the contexts to train on."""
    if not context:
        return [gpu(0)] if num_gpus() else [cpu()]
    contexts = [context] if isinstance(context, Context) else context
    if not isinstance(contexts, list) or not all(isinstance(one, Context) for one in contexts):
        raise ParameterError(
            "Estimator: context must be a context, such as cpu(0), or a list of them, got "
            f"{context!r}"
        )
    for one in contexts:
        if one.device_type == "gpu" and one.device_id >= num_gpus():
            raise ParameterError(f"Estimator: context {one} is not there")
    return contexts
