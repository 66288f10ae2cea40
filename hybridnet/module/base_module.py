"""`BaseModule`: what all modules share: training, scoring and predicting with an iterator."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet import ndarray
from hybridnet.base.errors import FormatError, ParameterError, ShapeError
from hybridnet.base.remote import PathLike
from hybridnet.initializer import Uniform
from hybridnet.initializer.base import Filler
from hybridnet.io import DataBatch
from hybridnet.metric import EvalMetric
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.saved_model import by_kind

from .arguments import as_list, as_metric, require
from .types import (
    Batch,
    Batches,
    Callbacks,
    Description,
    EpochCallback,
    Labels,
    Logger,
    MetricLike,
    MonitorLike,
    OptimizerLike,
    Options,
    Requests,
    RowsOf,
    StoreLike,
)

__all__ = ["UNIFORM", "BaseModule", "BatchEndParam"]

#: Parameters, or auxiliary states, by name.
Arrays = Mapping[str, NDArray]
#: What fills parameters by default.
UNIFORM: Final = Uniform(0.01)
_RATE: Final = (("learning_rate", 0.01),)


class BatchEndParam(NamedTuple):
    """The argument of the callbacks after a batch.

    Attributes:
        epoch: the number of the pass over the data.
        nbatch: the number of the batch in it.
        eval_metric: the metric.
        locals: the variables of the loop that calls: 'self' is the module.
    """

    epoch: int
    nbatch: int
    eval_metric: EvalMetric
    locals: dict[str, Any] | None


class BaseModule:
    """A network with parameters, an optimizer and data: first bound, then given values, then used.

    Subclasses define what is computed and how; this class has the loops over data.

    Args:
        logger: where the loops write; default the root logger.

    Attributes:
        binded: whether it is bound to shapes.
        for_training: whether it is for training.
        inputs_need_grad: whether gradients of the data are computed.
        params_initialized: whether parameters have values.
        optimizer_initialized: whether there is an optimizer.
    """

    def __init__(self, logger: Logger = logging) -> None:
        self.logger = logger
        self.binded = False
        self.for_training = False
        self.inputs_need_grad = False
        self.params_initialized = False
        self.optimizer_initialized = False
        self._symbol: Any = None
        self._total_exec_bytes = 0

    # -- loops over data ---------------------------------------------------------------------

    def forward_backward(self, data_batch: Batch | list[Batch]) -> None:
        """Computes outputs, and gradients with loss layers at the end."""
        self.forward(data_batch, is_train=True)
        self.backward()

    def score(
        self,
        eval_data: Batches,
        eval_metric: MetricLike,
        num_batch: int | None = None,
        batch_end_callback: Callbacks = None,
        score_end_callback: Callbacks = None,
        reset: bool = True,
        epoch: int = 0,
        sparse_row_id_fn: RowsOf | None = None,
    ) -> list[tuple[str, float]]:
        """Predicts, and compares with the labels.

        Args:
            eval_data: an iterator over batches.
            eval_metric: a metric, or the name of one.
            num_batch: how many batches; default all.
            batch_end_callback: called with a `BatchEndParam` after each batch; or several.
            score_end_callback: called likewise at the end.
            reset: whether to begin at the beginning of the data.
            epoch: what callbacks are told.
            sparse_row_id_fn: see `prepare`.

        Returns:
            Name and value of the metric, or of each that it has.

        Raises:
            MXNetError: the module is not bound, or has no parameters.
        """
        self._require_ready("score")
        if reset:
            eval_data.reset()
        eval_metric = as_metric(eval_metric)
        eval_metric.reset()
        count = 0
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            self._score_batch(eval_metric, eval_batch)
            count = nbatch + 1
            if batch_end_callback is not None:
                told = BatchEndParam(epoch, nbatch, eval_metric, locals())
                for callback in as_list(batch_end_callback):
                    callback(told)
        for callback in as_list(score_end_callback):
            callback(BatchEndParam(epoch, count, eval_metric, locals()))
        found: list[tuple[str, float]] = eval_metric.get_name_value()
        return found

    def _score_batch(self, eval_metric: EvalMetric, batch: Any) -> None:
        if isinstance(batch, list):
            self.update_metric(eval_metric, [part.label for part in batch], pre_sliced=True)
        else:
            self.update_metric(eval_metric, batch.label)

    def iter_predict(
        self,
        eval_data: Batches,
        num_batch: int | None = None,
        reset: bool = True,
        sparse_row_id_fn: RowsOf | None = None,
    ) -> Iterator[tuple[list[NDArray], int, Any]]:
        """Yields outputs, without what fills up batches, number and batch, for each batch.

        Args:
            eval_data: an iterator over batches.
            num_batch: how many batches; default all.
            reset: whether to begin at the beginning of the data.
            sparse_row_id_fn: see `prepare`.

        Raises:
            MXNetError: the module is not bound, or has no parameters.
        """
        self._require_ready("iter_predict")
        if reset:
            eval_data.reset()
        for nbatch, eval_batch in enumerate(eval_data):
            if nbatch == num_batch:
                break
            self.prepare(eval_batch, sparse_row_id_fn=sparse_row_id_fn)
            self.forward(eval_batch, is_train=False)
            pad = eval_batch.pad or 0
            yield [out[: out.shape[0] - pad] for out in self.get_outputs()], nbatch, eval_batch

    def predict(
        self,
        eval_data: Batches | NDArray | np.ndarray,
        num_batch: int | None = None,
        merge_batches: bool = True,
        reset: bool = True,
        always_output_list: bool = False,
        sparse_row_id_fn: RowsOf | None = None,
    ) -> Any:
        """Returns what the network says of data.

        Args:
            eval_data: an iterator over batches; or one array, a batch itself.
            num_batch: how many batches; default all.
            merge_batches: whether to join the batches' outputs.
            reset: whether to begin at the beginning of the data.
            always_output_list: whether a single joined output is a list, too.
            sparse_row_id_fn: see `prepare`.

        Returns:
            Each output, joined: (rows, ...), one alone without a list; or a list of the outputs of
            each batch. Of one array the first output.

        Raises:
            MXNetError: the module is not bound, or has no parameters.
            ParameterError: the data are neither array nor iterator.
            ShapeError: the batches have not the same number of outputs.
        """
        self._require_ready("predict")
        if isinstance(eval_data, (NDArray, np.ndarray)):
            given = eval_data if isinstance(eval_data, NDArray) else ndarray.array(eval_data)
            self.forward(DataBatch([given]))
            return self.get_outputs()[0]
        if not hasattr(eval_data, "__iter__") or not hasattr(eval_data, "reset"):
            raise ParameterError(
                f"predict: eval_data must be an array or a DataIter, got {type(eval_data).__name__}"
            )
        # Copies, as the next batch is written to the same arrays.
        batches = [
            [out.copy() for out in outputs]
            for outputs, _, _ in self.iter_predict(eval_data, num_batch, reset, sparse_row_id_fn)
        ]
        if not batches or not merge_batches:
            return batches
        counts = {len(outputs) for outputs in batches}
        if len(counts) > 1:
            raise ShapeError(
                f"predict: batches have {sorted(counts)} outputs and cannot be joined (is it a "
                "network of several lengths?); pass merge_batches=False"
            )
        whole = [ndarray.concatenate(list(parts)) for parts in zip(*batches, strict=True)]
        return whole[0] if len(whole) == 1 and not always_output_list else whole

    def fit(
        self,
        train_data: Batches,
        eval_data: Batches | None = None,
        eval_metric: MetricLike = "acc",
        epoch_end_callback: EpochCallback | Sequence[EpochCallback] | None = None,
        batch_end_callback: Callbacks = None,
        kvstore: StoreLike = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Options = _RATE,
        eval_end_callback: Callbacks = None,
        eval_batch_end_callback: Callbacks = None,
        initializer: Filler | None = UNIFORM,
        arg_params: Arrays | None = None,
        aux_params: Arrays | None = None,
        allow_missing: bool = False,
        force_rebind: bool = False,
        force_init: bool = False,
        begin_epoch: int = 0,
        num_epoch: int | None = None,
        validation_metric: MetricLike | None = None,
        monitor: MonitorLike | None = None,
        sparse_row_id_fn: RowsOf | None = None,
    ) -> None:
        """Trains: binds, initializes, and goes over the data again and again.

        Forward, backward, update and metric of a batch are recorded together and launched as one
        program; nothing waits for it before somebody reads a value, as `Speedometer` does.

        Args:
            train_data: an iterator over batches.
            eval_data: data to be scored after each pass, or None.
            eval_metric: a metric, or the name of one.
            epoch_end_callback: called with the number of the pass, the symbol, the parameters and
                the auxiliary states after each pass; or several.
            batch_end_callback: called with a `BatchEndParam` after each batch; or several.
            kvstore: see `init_optimizer`.
            optimizer: see `init_optimizer`.
            optimizer_params: see `init_optimizer`.
            eval_end_callback: called after each scoring; see `score`.
            eval_batch_end_callback: called after each of its batches.
            initializer: see `init_params`.
            arg_params: parameters to begin with.
            aux_params: auxiliary states to begin with.
            allow_missing: see `init_params`.
            force_rebind: whether to bind anew what is bound.
            force_init: whether to initialize anew what has values.
            begin_epoch: the number of the first pass: after a checkpoint, its number.
            num_epoch: the number of the pass to stop before.
            validation_metric: the metric for `eval_data`; default `eval_metric`.
            monitor: a `Monitor` that watches.
            sparse_row_id_fn: see `prepare`.

        Raises:
            ParameterError: `num_epoch` was not given.
        """
        arguments = dict(locals())
        if num_epoch is None:
            raise ParameterError("fit: needs num_epoch=, the number of the pass to stop before")
        given: Any = train_data
        self.bind(
            data_shapes=given.provide_data,
            label_shapes=given.provide_label,
            for_training=True,
            force_rebind=force_rebind,
        )
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
        )
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        validation_metric = eval_metric if validation_metric is None else validation_metric
        eval_metric = as_metric(eval_metric)
        for epoch in range(begin_epoch, num_epoch):
            started = time.time()
            self.begin_epoch(epoch, train_data)
            arguments.update(eval_metric=eval_metric, epoch=epoch)
            for name, value in self._fit_epoch(arguments):
                self.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
            self.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - started)
            arg_params, aux_params = self.get_params()
            self.set_params(arg_params, aux_params)  # the devices' states become the same
            for callback in as_list(epoch_end_callback):
                callback(epoch, self.symbol, arg_params, aux_params)
            if eval_data is not None:
                callbacks = (eval_end_callback, eval_batch_end_callback)
                self._validate(eval_data, validation_metric, callbacks, epoch)
            train_data.reset()

    def _validate(
        self, data: Batches, metric: MetricLike, callbacks: tuple[Callbacks, Callbacks], epoch: int
    ) -> None:
        """Scores validation data after a pass and logs the results.

        Args:
            data: an iterator over batches.
            metric: the metric.
            callbacks: what is called at the end of the scoring, and after each of its batches.
            epoch: the number of the pass.
        """
        at_end, after_batch = callbacks
        scored = self.score(
            data,
            metric,
            score_end_callback=at_end,
            batch_end_callback=after_batch,
            epoch=epoch,
        )
        for name, value in scored:
            self.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)

    def _fit_epoch(self, arguments: dict[str, Any]) -> list[tuple[str, float]]:
        """Takes the steps of a pass over the data.

        Args:
            arguments: of `fit`, and the number of the pass; callbacks are told of them.

        Returns:
            Name and value of each metric, of the whole pass.
        """
        epoch, eval_metric, monitor = (
            arguments[name] for name in ("epoch", "eval_metric", "monitor")
        )
        eval_metric.reset()
        batches = iter(arguments["train_data"])
        data_batch, nbatch = next(batches, None), 0
        values: list[tuple[str, float]] = []
        while data_batch is not None:
            if monitor is not None:
                monitor.tic()
            with recorder.one_pass():
                self.forward_backward(data_batch)
                self.update()
                self._score_batch(eval_metric, data_batch)
            recorder.mark()  # the device begins while the next batch is fetched
            upcoming = next(batches, None)
            if upcoming is not None:
                self.prepare(upcoming, sparse_row_id_fn=arguments["sparse_row_id_fn"])
            if monitor is not None:
                monitor.toc_print()
            if upcoming is None:
                values = eval_metric.get_global_name_value()
            for callback in as_list(arguments["batch_end_callback"]):
                callback(BatchEndParam(epoch, nbatch, eval_metric, {**arguments, **locals()}))
            data_batch, nbatch = upcoming, nbatch + 1
        return values

    def begin_epoch(self, epoch: int, train_data: Batches) -> None:
        """Is called by `fit` before each pass over the data; subclasses may do something then.

        Args:
            epoch: the number of the pass.
            train_data: the iterator, at its beginning, where it is to be left.
        """

    def _require_ready(self, what: str) -> None:
        require(self.binded and self.params_initialized, what, "bind it and initialize parameters")

    # -- what it is --------------------------------------------------------------------------

    @property
    def symbol(self) -> Any:
        """The network."""
        return self._symbol

    @property
    def data_names(self) -> Sequence[str]:
        """The names of the data that it needs."""
        raise self._abstract("data_names")

    @property
    def output_names(self) -> Sequence[str]:
        """The names of its outputs."""
        raise self._abstract("output_names")

    @property
    def data_shapes(self) -> Sequence[Description]:
        """Descriptions of the data that it is bound for."""
        raise self._abstract("data_shapes")

    @property
    def label_shapes(self) -> Sequence[Description] | None:
        """Descriptions of the labels that it is bound for, or None."""
        raise self._abstract("label_shapes")

    @property
    def output_shapes(self) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Names and shapes of its outputs."""
        raise self._abstract("output_shapes")

    def _abstract(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} must define {name}")

    # -- parameters --------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns parameters and auxiliary states, each by name."""
        raise self._abstract("get_params")

    def init_params(
        self,
        initializer: Filler | None = UNIFORM,
        arg_params: Arrays | None = None,
        aux_params: Arrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Gives parameters and auxiliary states their first values.

        Args:
            initializer: fills what is not given.
            arg_params: parameters by name; None has all filled.
            aux_params: auxiliary states by name; None has all filled.
            allow_missing: whether some may be missing in these.
            force_init: whether to do it when it was done before.
            allow_extra: whether there may be others in these.
        """
        raise self._abstract("init_params")

    def set_params(
        self,
        arg_params: Arrays,
        aux_params: Arrays,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Sets parameters and auxiliary states.

        Args:
            arg_params: parameters by name.
            aux_params: auxiliary states by name.
            allow_missing: whether some may be missing, which stay as they are.
            force_init: whether to do it when they have values.
            allow_extra: whether there may be others in these.
        """
        self.init_params(
            initializer=None,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )

    def save_params(self, fname: PathLike) -> None:
        """Writes parameters and auxiliary states to a file, in MXNet's format."""
        arg_params, aux_params = self.get_params()
        arrays = {f"arg:{name}": value for name, value in arg_params.items()}
        arrays.update({f"aux:{name}": value for name, value in aux_params.items()})
        ndarray.save(fname, arrays)

    def load_params(self, fname: PathLike) -> None:
        """Reads parameters and auxiliary states from a file.

        Raises:
            FormatError: the file is damaged, or holds something else.
        """
        loaded = ndarray.load(fname)
        if not isinstance(loaded, dict):
            raise FormatError(f"{fname}: holds arrays without names, so no parameters")
        self.set_params(*by_kind(str(fname), loaded))

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """Returns the states, for modules that have some."""
        self._require_ready("get_states")
        if merge_multi_context:
            raise ParameterError("get_states: states are of each device: merge_multi_context=False")
        return []

    def set_states(
        self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None
    ) -> None:
        """Sets the states, for modules that have some."""
        self._require_ready("set_states")
        if states or value:
            raise ParameterError(f"set_states: {type(self).__name__} has no states")

    def install_monitor(self, mon: MonitorLike) -> None:
        """Makes a `Monitor` watch what is computed."""
        raise self._abstract("install_monitor")

    # -- computing ---------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowsOf | None = None) -> None:
        """Gets ready for a batch that will come next.

        Args:
            data_batch: the batch.
            sparse_row_id_fn: gives for a batch the rows of row-sparse parameters that it needs, by
                the parameter's name; where a store has them, these rows are fetched.
        """
        if sparse_row_id_fn is not None:
            warnings.warn(
                f"prepare: {type(self).__name__} has no row-sparse parameters to fetch, and does "
                "not call sparse_row_id_fn",
                stacklevel=2,
            )

    def forward(self, data_batch: Batch | list[Batch], is_train: bool | None = None) -> None:
        """Computes the outputs for a batch.

        Args:
            data_batch: has lists of arrays `data`, and `label` where that is needed.
            is_train: whether it is for training; default `for_training`.
        """
        raise self._abstract("forward")

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Computes gradients.

        Args:
            out_grads: gradients of the outputs; not needed where these are loss layers.
        """
        raise self._abstract("backward")

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns the outputs.

        Args:
            merge_multi_context: whether to join what several devices have; else each is a list.
        """
        raise self._abstract("get_outputs")

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns gradients of the data, as `get_outputs` does outputs."""
        raise self._abstract("get_input_grads")

    def update(self) -> None:
        """Updates parameters by their gradients."""
        raise self._abstract("update")

    def update_metric(
        self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False
    ) -> None:
        """Adds the outputs to a metric.

        Args:
            eval_metric: the metric.
            labels: the labels of the batch.
            pre_sliced: whether they are lists of each device's.
        """
        raise self._abstract("update_metric")

    # -- getting ready -----------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Sequence[Description],
        label_shapes: Sequence[Description] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: Requests = "write",
    ) -> None:
        """Makes the arrays that it computes with.

        Args:
            data_shapes: descriptions of the data: `DataDesc`, or name and shape.
            label_shapes: descriptions of the labels, or None.
            for_training: whether there are gradients.
            inputs_need_grad: whether of the data, too.
            force_rebind: whether to do it when it was done before.
            shared_module: a module whose parameters this one uses.
            grad_req: 'write', 'add' or 'null': for all, in order, or by name.
        """
        raise self._abstract("bind")

    def init_optimizer(
        self,
        kvstore: StoreLike = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Options = _RATE,
        force_init: bool = False,
    ) -> None:
        """Makes the optimizer.

        Args:
            kvstore: what adds up gradients of several devices: a store, its name, or None.
            optimizer: an optimizer, or the name of one.
            optimizer_params: its arguments, where it is given by name.
            force_init: whether to do it when it was done before.
        """
        raise self._abstract("init_optimizer")
