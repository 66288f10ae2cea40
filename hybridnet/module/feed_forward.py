"""`FeedForward`: the estimator of programs from before modules; users find it in `model`."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hybridnet import ndarray as nd
from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError
from hybridnet.callback import LogValidationMetricsCallback
from hybridnet.initializer.base import Filler
from hybridnet.io import DataIter, NDArrayIter
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.saved_model import load_checkpoint, save_checkpoint
from hybridnet.symbol import Symbol

from .arguments import as_list, as_metric, descriptions, require
from .base_module import UNIFORM, BatchEndParam
from .bucketing_module import BucketingModule
from .module import Module
from .types import (
    Callbacks,
    EpochCallback,
    Logger,
    MetricLike,
    MonitorLike,
    OptimizerLike,
    StoreLike,
)

__all__ = ["FeedForward"]

_LOG: Final = LogValidationMetricsCallback()


class FeedForward:
    """A symbol that is fitted to arrays or iterators; `Module` has taken its place.

    Args:
        symbol: the network; or a function that gets a bucket's key and returns it.
        ctx: a device, or several; default the CPU.
        num_epoch: how often `fit` goes over the data.
        epoch_size: how many batches are once; default all.
        optimizer: an optimizer, or the name of one.
        initializer: fills parameters that are not given.
        numpy_batch_size: rows of a batch where data are arrays.
        arg_params: parameters to begin with.
        aux_params: auxiliary states to begin with.
        allow_extra_params: whether there may be others in these.
        begin_epoch: the number of the first pass.
        kwargs: arguments of the optimizer, where it is given by name.
    """

    def __init__(
        self,
        symbol: Symbol | Callable[[Any], Symbol],
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: OptimizerLike = "sgd",
        initializer: Filler | None = UNIFORM,
        numpy_batch_size: int = 128,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
        begin_epoch: int = 0,
        **kwargs: Any,
    ) -> None:
        warnings.warn(
            "FeedForward is kept for old programs; use mx.mod.Module",
            DeprecationWarning,
            stacklevel=2,
        )
        self.symbol = symbol if isinstance(symbol, Symbol) else None
        self.sym_gen = None if isinstance(symbol, Symbol) else symbol
        self.ctx = [ctx or cpu()] if ctx is None or isinstance(ctx, Context) else list(ctx)
        self.num_epoch = num_epoch
        self.epoch_size = epoch_size
        self.optimizer = optimizer
        self.initializer = initializer
        self.numpy_batch_size = numpy_batch_size
        self.arg_params = arg_params
        self.aux_params = aux_params
        self.allow_extra_params = allow_extra_params
        self.begin_epoch = begin_epoch
        self.kwargs = kwargs
        # What predicts, for the shapes of the last data.
        self._pred_exec: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pred_exec": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # -- training ----------------------------------------------------------------------------

    def fit(
        self,
        X: DataIter | NDArray | np.ndarray,
        y: NDArray | np.ndarray | None = None,
        eval_data: Any = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: EpochCallback | Sequence[EpochCallback] | None = None,
        batch_end_callback: Callbacks = None,
        kvstore: StoreLike = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        monitor: MonitorLike | None = None,
        eval_end_callback: Callbacks = _LOG,
        eval_batch_end_callback: Callbacks = None,
    ) -> None:
        """Trains.

        Args:
            X: an iterator over batches, or an array.
            y: the labels, where `X` is an array.
            eval_data: an iterator, or a pair of arrays, to be scored after each pass.
            eval_metric: a metric, or the name of one.
            epoch_end_callback, batch_end_callback: as for `Module.fit`; batches count from 1.
            kvstore: what adds up gradients of several devices: a store, its name, or None.
            logger: where it writes; default the root logger.
            work_load_list: the devices' shares of a batch.
            monitor: a `Monitor` that watches.
            eval_end_callback, eval_batch_end_callback: called after a scoring, and its batches.

        Raises:
            ParameterError: data or labels are not of these kinds, or `num_epoch` was not given.
        """
        arguments = dict(locals())
        if self.num_epoch is None:
            raise ParameterError("FeedForward: needs num_epoch= to fit")
        logger = logger or logging
        data = self._init_iter(X, y, True)
        checked = self._init_eval_iter(eval_data)
        eval_metric = as_metric(eval_metric)
        module = self._make_module(data, kvstore, logger, work_load_list)
        if monitor is not None:
            module.install_monitor(monitor)
        arguments.update(logger=logger, data=data, eval_metric=eval_metric, module=module)
        data.reset()
        for epoch in range(self.begin_epoch, self.num_epoch):
            started = time.time()
            self._fit_epoch({**arguments, "epoch": epoch})
            logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            self.arg_params, self.aux_params = module.get_params()
            for callback in as_list(epoch_end_callback):
                callback(epoch, self.symbol, self.arg_params, self.aux_params)
            if checked is not None:
                module.score(
                    checked,
                    eval_metric,
                    batch_end_callback=eval_batch_end_callback,
                    score_end_callback=eval_end_callback,
                    epoch=epoch,
                )
        self._pred_exec = None

    def _fit_epoch(self, arguments: dict[str, Any]) -> None:
        """Takes `epoch_size` steps; by default one for each batch of the data.

        Args:
            arguments: of `fit`, with what it has made of them; callbacks are told of them.
        """
        epoch, data, module, eval_metric, monitor = (
            arguments[name] for name in ("epoch", "data", "module", "eval_metric", "monitor")
        )
        eval_metric.reset()
        nbatch, ended = 0, False
        while not ended:
            for data_batch in data:
                if monitor is not None:
                    monitor.tic()
                with recorder.one_pass():
                    module.forward_backward(data_batch)
                    module.update()
                    module.update_metric(eval_metric, data_batch.label)
                recorder.mark()
                if monitor is not None:
                    monitor.toc_print()
                nbatch += 1
                for callback in as_list(arguments["batch_end_callback"]):
                    seen = {**arguments, **locals()}
                    callback(BatchEndParam(epoch, nbatch, eval_metric, seen))
                if nbatch == self.epoch_size:
                    break
            else:
                arguments["logger"].info("Epoch[%d] Resetting Data Iterator", epoch)
                data.reset()
            ended = self.epoch_size is None or nbatch >= self.epoch_size

    def _make_module(
        self, data: Any, kvstore: StoreLike, logger: Logger, work_load_list: Sequence[float] | None
    ) -> Module | BucketingModule:
        data_shapes = descriptions("provide_data", data.provide_data)
        label_shapes = descriptions("provide_label", data.provide_label)
        names = [desc.name for desc in data_shapes], [desc.name for desc in label_shapes]
        options: dict[str, Any] = {
            "logger": logger,
            "context": self.ctx,
            "work_load_list": work_load_list,
        }
        make = self.sym_gen
        module: Module | BucketingModule
        if make is None:
            assert self.symbol is not None
            module = Module(self.symbol, *names, **options)
        else:
            key = data.default_bucket_key
            module = BucketingModule(lambda key: (make(key), *names), key, **options)
            self.symbol = make(key)
        module.bind(data_shapes, label_shapes)
        module.init_params(
            self.initializer,
            arg_params=self.arg_params,
            aux_params=self.aux_params,
            allow_missing=True,
            allow_extra=self.allow_extra_params,
        )
        settings = {"rescale_grad": 1.0 / data.batch_size, **self.kwargs}
        module.init_optimizer(kvstore, self.optimizer, settings)
        return module

    @staticmethod
    def create(
        symbol: Symbol | Callable[[Any], Symbol],
        X: DataIter | NDArray | np.ndarray,
        y: NDArray | np.ndarray | None = None,
        ctx: Context | Sequence[Context] | None = None,
        num_epoch: int | None = None,
        epoch_size: int | None = None,
        optimizer: OptimizerLike = "sgd",
        initializer: Filler | None = UNIFORM,
        eval_data: Any = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: EpochCallback | Sequence[EpochCallback] | None = None,
        batch_end_callback: Callbacks = None,
        kvstore: StoreLike = "local",
        logger: Logger | None = None,
        work_load_list: Sequence[float] | None = None,
        eval_end_callback: Callbacks = _LOG,
        eval_batch_end_callback: Callbacks = None,
        **kwargs: Any,
    ) -> FeedForward:
        """Returns a fitted estimator; the arguments are those of the class and of `fit`."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            X,
            y,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            logger,
            work_load_list,
            None,
            eval_end_callback,
            eval_batch_end_callback,
        )
        return model

    # -- using -------------------------------------------------------------------------------

    def predict(
        self,
        X: DataIter | NDArray | np.ndarray,
        num_batch: int | None = None,
        return_data: bool = False,
        reset: bool = True,
    ) -> Any:
        """Returns the outputs as NumPy arrays, on the first device.

        Args:
            X: an iterator over batches, or an array.
            num_batch: how many batches; default all.
            return_data: whether data and labels are returned, too.
            reset: whether to begin at the beginning of the data.

        Returns:
            Each output, joined, one alone without a list; then data and labels in the same way.
        """
        data = self._init_iter(X, None, False)
        executor = self._predictor(data, reset)
        outputs: list[list[np.ndarray]] = []
        given: list[list[np.ndarray]] = []
        labels: list[list[np.ndarray]] = []
        for number, batch in enumerate(data):
            if number == num_batch:
                break
            rows = data.batch_size - (batch.pad or 0)
            made = executor.forward(False, **_named(data, batch))
            outputs.append([out[:rows].asnumpy() for out in made])
            if return_data:
                given.append([x[:rows].asnumpy() for x in batch.data])
                labels.append([x[:rows].asnumpy() for x in batch.label or ()])
        if not return_data:
            return _whole(outputs)
        return _whole(outputs), _whole(given), _whole(labels)

    def score(
        self,
        X: DataIter | NDArray | np.ndarray,
        eval_metric: MetricLike = "acc",
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        reset: bool = True,
    ) -> Any:
        """Returns a metric's value of what is predicted, on the first device.

        Args:
            X: an iterator over batches with labels.
            eval_metric: the metric, or the name of one.
            num_batch: how many batches; default all.
            batch_end_callback: called with a `BatchEndParam` after each batch; or several.
            reset: whether to begin at the beginning of the data.
        """
        eval_metric = as_metric(eval_metric)
        data: Any = self._init_iter(X, None, False)
        executor = self._predictor(data, reset)
        for number, batch in enumerate(data):
            if number == num_batch:
                break
            eval_metric.update(batch.label, executor.forward(False, **_named(data, batch)))
            for callback in as_list(batch_end_callback):
                callback(BatchEndParam(0, number, eval_metric, locals()))
        return eval_metric.get()[1]

    def _predictor(self, data: Any, reset: bool) -> Any:
        """Returns an executor for such data."""
        require(self.arg_params is not None and self.symbol is not None, "predict", "fit it")
        assert self.symbol is not None and self.arg_params is not None
        if reset:
            data.reset()
        descs = descriptions("provide_data", data.provide_data)
        held = None if self._pred_exec is None else self._pred_exec.arg_dict
        if held is None or any(held[desc.name].shape != tuple(desc.shape) for desc in descs):
            types = {name: value.dtype for name, value in self.arg_params.items()}
            types.update({desc.name: desc.dtype for desc in descs})
            names = self.symbol.list_arguments()
            self._pred_exec = self.symbol.simple_bind(
                self.ctx[0],
                grad_req="null",
                type_dict={name: dtype for name, dtype in types.items() if name in names},
                **{desc.name: desc.shape for desc in descs},
            )
            self._pred_exec.copy_params_from(
                self.arg_params, self.aux_params, allow_extra_params=self.allow_extra_params
            )
        return self._pred_exec

    # -- files -------------------------------------------------------------------------------

    def save(self, prefix: str, epoch: int | None = None, remove_amp_cast: bool = True) -> None:
        """Writes a checkpoint; see `save_checkpoint`.

        Args:
            prefix: the beginning of the files' names.
            epoch: the number in them; default `num_epoch`.
            remove_amp_cast: as in `Symbol.save`.
        """
        number = self.num_epoch if epoch is None else epoch
        require(number is not None and self.arg_params is not None, "save", "fit it, or give epoch")
        assert number is not None and self.arg_params is not None
        states = self.aux_params or {}
        save_checkpoint(prefix, number, self.symbol, self.arg_params, states, remove_amp_cast)

    @staticmethod
    def load(
        prefix: str, epoch: int, ctx: Context | Sequence[Context] | None = None, **kwargs: Any
    ) -> FeedForward:
        """Returns an estimator of a checkpoint.

        Args:
            prefix: the beginning of the files' names.
            epoch: the number in them.
            ctx: where it computes.
            kwargs: arguments of `FeedForward`.
        """
        symbol, args, states = load_checkpoint(prefix, epoch)
        return FeedForward(
            symbol, ctx, arg_params=args, aux_params=states, begin_epoch=epoch, **kwargs
        )

    # -- data --------------------------------------------------------------------------------

    def _init_iter(self, X: Any, y: Any, is_train: bool) -> DataIter:
        if not isinstance(X, (np.ndarray, NDArray)):
            if not isinstance(X, DataIter):
                raise ParameterError(
                    f"FeedForward: X must be a DataIter or an array, got {type(X).__name__}"
                )
            return X
        if y is None and is_train:
            raise ParameterError("FeedForward: needs y=, the labels, where X is an array")
        labels = nd.zeros((X.shape[0],)) if y is None else y
        if not isinstance(labels, (np.ndarray, NDArray)):
            raise ParameterError(f"FeedForward: y must be an array, got {type(y).__name__}")
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.reshape((-1,))
        if labels.shape != X.shape[:1]:
            raise ParameterError(
                f"FeedForward: y must have a label for each of {X.shape[0]} rows, got {y.shape}"
            )
        handle = "roll_over" if is_train else "pad"
        rows = min(X.shape[0], self.numpy_batch_size)
        return NDArrayIter(X, labels, rows, shuffle=is_train, last_batch_handle=handle)

    def _init_eval_iter(self, given: Any) -> DataIter | None:
        if given is None or isinstance(given, DataIter):
            return given
        if not isinstance(given, (tuple, list)) or len(given) != 2 or given[0] is None:
            raise ParameterError(
                f"FeedForward: eval_data must be a DataIter or a pair of arrays, got {given!r}"
            )
        if given[1] is None and isinstance(given[0], DataIter):
            return given[0]
        X, y = (np.array(part) if isinstance(part, list) else part for part in given)
        return self._init_iter(X, y, True)


def _named(data: Any, batch: Any) -> dict[str, Any]:
    return {desc[0]: value for desc, value in zip(data.provide_data, batch.data, strict=True)}


def _whole(batches: list[list[np.ndarray]]) -> Any:
    """Returns what batches have, joined; one array alone without a list."""
    joined = [np.concatenate(parts) for parts in zip(*batches, strict=True)]
    return joined[0] if len(joined) == 1 else joined
