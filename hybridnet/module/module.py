"""`Module`: a symbol that is trained, on one device or several."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, Unpack

from hybridnet import ndarray as nd
from hybridnet import optimizer as opt
from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError
from hybridnet.base.files import atomic_write
from hybridnet.base.remote import read_file
from hybridnet.initializer.base import Filler
from hybridnet.io import DataDesc
from hybridnet.metric import EvalMetric
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.saved_model import load_checkpoint
from hybridnet.symbol import Symbol

from .arguments import (
    batch_shapes,
    check_names,
    described_as,
    matched_descriptions,
    require,
)
from .base_module import UNIFORM, BaseModule
from .executor_group import DataParallelExecutorGroup
from .first_values import fill_values
from .stores import (
    create_store,
    fill_store,
    made_optimizer,
    rows_of_update,
    update_by_store,
    update_by_updater,
)
from .types import (
    Batch,
    Description,
    Groups,
    Labels,
    Logger,
    MonitorLike,
    NamedModuleOptions,
    OptimizerLike,
    Options,
    Requests,
    RowsOf,
    StoreLike,
)

__all__ = ["CPU", "Module"]

#: Where modules are by default.
CPU: Final = cpu()


class Module(BaseModule):
    """A symbol with parameters, bound on one device or on several that share each batch.

        mod = mx.mod.Module(symbol, data_names=["data"], label_names=["softmax_label"])
        mod.fit(train_data, optimizer_params={"learning_rate": 0.1}, num_epoch=5)

    Args:
        symbol: the network.
        data_names: the arguments that are data.
        label_names: the arguments that are labels.
        logger: where the loops write; default the root logger.
        context: a device, or several.
        work_load_list: the devices' shares of a batch; default equal ones.
        fixed_param_names: parameters that are not learned.
        state_names: arguments that are states: neither data nor parameters; see `set_states`.
        group2ctxs: ``ctx_group`` -> where the nodes of that group are: a dict, whose values may be
            lists of a context for each device, or such a dict for each device.
        compression_params: for a distributed store, see `KVStore.set_gradient_compression`.

    Raises:
        ParameterError: the symbol has no such arguments.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Logger = logging,
        context: Context | Sequence[Context] = CPU,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
        compression_params: Mapping[str, str | float] | None = None,
    ) -> None:
        super().__init__(logger)
        self._symbol = symbol
        self._context = [context] if isinstance(context, Context) else list(context)
        self._work_load_list = list(work_load_list or [1] * len(self._context))
        if len(self._work_load_list) != len(self._context):
            raise ParameterError(
                f"Module: work_load_list must have a number for each of {len(self._context)} "
                f"contexts, got {work_load_list!r}"
            )
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._data_names = list(data_names or ())
        self._label_names = list(label_names or ())
        self._state_names = list(state_names or ())
        self._fixed_param_names = list(fixed_param_names or ())
        check_names(symbol, self._data_names, "data", True)
        check_names(symbol, self._label_names, "label", False)
        check_names(symbol, self._state_names, "state", True)
        check_names(symbol, self._fixed_param_names, "fixed_param", True)
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        self._param_names = [name for name in symbol.list_arguments() if name not in inputs]
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        # Values on the host, which are those of the devices unless `_params_dirty`.
        self._arg_params: dict[str, NDArray] = {}
        self._aux_params: dict[str, NDArray] = {}
        self._params_dirty = False
        self._exec_group: Any = None
        self._data_shapes: list[DataDesc] = []
        self._label_shapes: list[DataDesc] | None = None
        self._grad_req: Requests = "write"
        self._optimizer: Any = None
        self._kvstore: Any = None
        self._update_on_kvstore = False
        self._updater: Any = None
        self._preload_opt_states: str | None = None

    # -- checkpoints -------------------------------------------------------------------------

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        load_optimizer_states: bool = False,
        **kwargs: Unpack[NamedModuleOptions],
    ) -> Module:
        """Returns a module of a checkpoint, to be bound.

        Args:
            prefix: the beginning of the files' names.
            epoch: the number in them.
            load_optimizer_states: whether the optimizer goes on where it was.
            kwargs: arguments of `Module`.

        Raises:
            FormatError: a file is damaged.
            OSError: one cannot be read.
        """
        symbol, args, states = load_checkpoint(prefix, epoch)
        made = Module(symbol, **kwargs)
        made.take_params(args, states)
        if load_optimizer_states:
            made._preload_opt_states = f"{prefix}-{epoch:04d}.states"
        return made

    def take_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Takes over values that it is to have once it is bound; these arrays become its own."""
        self._arg_params, self._aux_params = dict(arg_params), dict(aux_params)
        self.params_initialized = True

    def save_checkpoint(
        self,
        prefix: str,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Writes ``prefix-symbol.json`` and ``prefix-0005.params``, and maybe ``.states``.

        Args:
            prefix: the beginning of the names.
            epoch: the number in them.
            save_optimizer_states: whether to write what the optimizer remembers.
            remove_amp_cast: as in `Symbol.save`.

        Raises:
            OSError: a file cannot be written.
        """
        self._symbol.save(f"{prefix}-symbol.json", remove_amp_cast)
        name = f"{prefix}-{epoch:04d}.params"
        self.save_params(name)
        logging.info('Saved checkpoint to "%s"', name)
        if save_optimizer_states:
            name = f"{prefix}-{epoch:04d}.states"
            self.save_optimizer_states(name)
            logging.info('Saved optimizer state to "%s"', name)

    # -- what it is --------------------------------------------------------------------------

    @property
    def data_names(self) -> list[str]:
        """The names of the data."""
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """The names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return list(self._output_names)

    @property
    def data_shapes(self) -> list[DataDesc]:
        """Descriptions of the data that it is bound for."""
        require(self.binded, "data_shapes", "bind it")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        """Descriptions of the labels that it is bound for, or None."""
        require(self.binded, "label_shapes", "bind it")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Names and shapes of the outputs, of a whole batch."""
        require(self.binded, "output_shapes", "bind it")
        shapes: list[tuple[str, tuple[int, ...]]] = self._exec_group.get_output_shapes()
        return shapes

    # -- parameters --------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns parameters and auxiliary states by name, on the host: of devices the mean."""
        require(self.params_initialized, "get_params", "initialize its parameters")
        if self._params_dirty:
            self._sync_params_from_devices()
        return self._arg_params, self._aux_params

    def _sync_params_from_devices(self) -> None:
        self._exec_group.get_params(self._arg_params, self._aux_params)
        if self._update_on_kvstore:
            for name, value in self._arg_params.items():
                if value.stype == "row_sparse":
                    rows = nd.arange(0, value.shape[0], dtype="int64")
                    self._kvstore.row_sparse_pull(name, value, row_ids=rows)
        self._params_dirty = False

    def init_params(
        self,
        initializer: Filler | None = UNIFORM,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """See `BaseModule.init_params`.

        Values that the symbol does not have are passed over, with `allow_extra` and without, as by
        MXNet: those of a trained network serve a part of it.

        Raises:
            MXNetError: it is not bound, or a value is missing.
        """
        if self.params_initialized and not force_init:
            warnings.warn(
                "init_params: the parameters have values already and stay as they are; "
                "force_init=True gives them new ones",
                stacklevel=2,
            )
            return
        require(self.binded, "init_params", "bind it")
        attrs = self._symbol.attr_dict()
        for held, given in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            fill_values(held, given, attrs, initializer, allow_missing)
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(self._arg_params, self._aux_params)

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """See `BaseModule.set_params`.

        Raises:
            MXNetError: it is not bound, or a value is missing.
            ParameterError: with `allow_missing`, a value is given that the symbol does not have.
        """
        if not allow_missing:
            super().set_params(arg_params, aux_params, False, force_init, allow_extra)
            return
        require(self.binded, "set_params", "bind it")
        if self.params_initialized and not force_init:
            warnings.warn(
                "set_params: the parameters have values already and stay as they are; "
                "force_init=True gives them new ones",
                stacklevel=2,
            )
            return
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    # -- binding -----------------------------------------------------------------------------

    def bind(
        self,
        data_shapes: Sequence[Description],
        label_shapes: Sequence[Description] | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: Requests = "write",
    ) -> None:
        """See `BaseModule.bind`; parameters that have values keep them.

        Raises:
            ParameterError: the descriptions are not of the module's inputs.
            MXNetError: `shared_module` is not bound and initialized, or has fewer devices.
        """
        if force_rebind:
            if self.binded and self.params_initialized:
                self.get_params()  # what is on the devices would be lost
            self.binded, self._exec_group = False, None
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ParameterError("bind: inputs_need_grad=True needs for_training=True")
        shared = None if shared_module is None else self._group_of(shared_module)
        data, labels = matched_descriptions(
            self._data_names, self._label_names, data_shapes, label_shapes
        )
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            data,
            labels,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared,
            self.logger,
            self._fixed_param_names,
            grad_req,
            self._state_names,
            self._group2ctxs,
        )
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        self._data_shapes, self._label_shapes = data, labels
        self._total_exec_bytes = self._exec_group.num_bytes
        self.binded = True
        if shared_module is not None:
            self._share_params(shared_module)
        elif self.params_initialized:
            self._exec_group.set_params(self._arg_params, self._aux_params)
        else:
            group = self._exec_group
            self._arg_params = _zeros(group.learned_names, group.param_arrays)
            self._aux_params = _zeros(self._aux_names, group.aux_arrays)

    def _group_of(self, shared_module: Module) -> DataParallelExecutorGroup:
        """Returns the executors of another module, with which this one is to share arrays.

        Raises:
            MXNetError: it is not bound and initialized, or has fewer devices.
        """
        ready = shared_module.binded and shared_module.params_initialized
        require(ready, "bind", "bind and initialize shared_module")
        group: DataParallelExecutorGroup = shared_module._exec_group
        enough = len(group.execs) >= len(self._context)
        require(enough, "bind", "give shared_module all contexts")
        return group

    def _share_params(self, shared_module: Module) -> None:
        """Takes over another module's parameters, and its optimizer if it has one."""
        self.params_initialized = True
        self._arg_params = shared_module._arg_params
        self._aux_params = shared_module._aux_params
        if shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)

    def reshape(
        self, data_shapes: Sequence[Description], label_shapes: Sequence[Description] | None = None
    ) -> None:
        """Binds anew for other shapes; parameters stay.

        Raises:
            MXNetError: it is not bound.
        """
        require(self.binded, "reshape", "bind it")
        self._data_shapes, self._label_shapes = matched_descriptions(
            self._data_names, self._label_names, data_shapes, label_shapes
        )
        self._exec_group.reshape(self._data_shapes, self._label_shapes)

    # -- the optimizer -----------------------------------------------------------------------

    def init_optimizer(
        self,
        kvstore: StoreLike = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Options = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """See `BaseModule.init_optimizer`; gradients are divided by the number of rows of a batch.

        Raises:
            MXNetError: it is not bound, or its parameters have no values.
            ParameterError: `optimizer` is neither a name nor an optimizer.
        """
        self._require_ready("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring...")
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        group, count = self._exec_group, len(self._context)
        store, on_store = create_store(kvstore, count, self._arg_params)
        names = group.learned_names
        numbered = [name for name in names for _ in range(1 if on_store else count)]
        self._optimizer = made_optimizer(
            optimizer,
            dict(optimizer_params),
            self._symbol,
            dict(enumerate(numbered)),
            1.0 / rows_of_update(group.batch_size, store),
        )
        self._kvstore, self._update_on_kvstore, self._updater = store, on_store, None
        if store is not None:
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(self._optimizer)
            fill_store(store, group.param_arrays, self._arg_params, names, on_store)
        if not on_store:
            self._updater = opt.get_updater(self._optimizer)
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: Module) -> None:
        """Updates by another module's optimizer, whose parameters this module uses.

        Raises:
            MXNetError: the other has none.
        """
        require(
            shared_module.optimizer_initialized, "borrow_optimizer", "init the other's optimizer"
        )
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self.optimizer_initialized = True

    def save_optimizer_states(self, fname: str) -> None:
        """Writes what the optimizer remembers to a file, whole or not at all.

        Raises:
            MXNetError: there is no optimizer.
            OSError: the file cannot be written.
        """
        require(self.optimizer_initialized, "save_optimizer_states", "call init_optimizer")
        if self._update_on_kvstore:
            self._kvstore.save_optimizer_states(fname)
            return
        states = self._updater.get_states()
        with atomic_write(fname) as file:
            file.write(states)

    def load_optimizer_states(self, fname: str) -> None:
        """Reads what `save_optimizer_states` has written.

        Raises:
            MXNetError: there is no optimizer.
            FormatError: the file is damaged.
            OSError: it cannot be read.
        """
        require(self.optimizer_initialized, "load_optimizer_states", "call init_optimizer")
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
        else:
            self._updater.set_states(read_file(fname))

    # -- computing ---------------------------------------------------------------------------

    def forward(self, data_batch: Batch | list[Batch], is_train: bool | None = None) -> None:
        """See `BaseModule.forward`; a batch of another shape than bound has it bound anew.

        Args:
            data_batch: a batch; or a list of them, one of the same shape for each device.
            is_train: whether it is for training; default `for_training`.

        Raises:
            MXNetError: it is not bound, or its parameters have no values.
        """
        self._require_ready("forward")
        shapes = batch_shapes(data_batch)
        if shapes != [tuple(desc.shape) for desc in self._data_shapes]:
            self.reshape(*described_as(data_batch, shapes, self._data_shapes, self._label_shapes))
        self._exec_group.forward(data_batch, is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """See `BaseModule.backward`."""
        self._require_ready("backward")
        self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Updates parameters by their gradients; what has been recorded since forward starts.

        Raises:
            MXNetError: there is no optimizer.
        """
        require(self.optimizer_initialized, "update", "call init_optimizer")
        self._params_dirty = True
        group = self._exec_group
        arrays = group.param_arrays, group.grad_arrays
        if self._update_on_kvstore:
            update_by_store(*arrays, self._kvstore, group.learned_names)
        else:
            update_by_updater(
                *arrays, self._updater, len(self._context), self._kvstore, group.learned_names
            )
        recorder.end_pass()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """See `BaseModule.get_outputs`."""
        self._require_ready("get_outputs")
        outputs: list[Any] = self._exec_group.get_outputs(merge_multi_context)
        return outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """See `BaseModule.get_input_grads`."""
        self._require_ready("get_input_grads")
        grads: list[Any] = self._exec_group.get_input_grads(merge_multi_context)
        return grads

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """Returns for each state the array of each device; pass merge_multi_context=False."""
        self._require_ready("get_states")
        states: list[list[NDArray]] = self._exec_group.get_states(merge_multi_context)
        return states

    def set_states(
        self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None
    ) -> None:
        """Sets the states.

        Args:
            states: for each state an array of each device, as `get_outputs` returns them with
                merge_multi_context=False.
            value: a number for all.
        """
        self._require_ready("set_states")
        self._exec_group.set_states(states, value)

    def update_metric(
        self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False
    ) -> None:
        """See `BaseModule.update_metric`."""
        require(self.binded, "update_metric", "bind it")
        self._exec_group.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: MonitorLike) -> None:
        """See `BaseModule.install_monitor`."""
        require(self.binded, "install_monitor", "bind it")
        self._exec_group.install_monitor(mon)

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowsOf | None = None) -> None:
        """Fetches from the store the rows of row-sparse parameters that a batch needs.

        Args:
            data_batch: the batch.
            sparse_row_id_fn: gives for a batch the rows by the parameter's name.
        """
        require(self.binded, "prepare", "bind it")
        if sparse_row_id_fn is None:
            return
        if not self._update_on_kvstore:
            warnings.warn(
                "prepare: no store updates the parameters, so there are no rows to fetch, and "
                "sparse_row_id_fn is not called",
                stacklevel=2,
            )
            return
        names = self._exec_group.learned_names
        for name, rows in sparse_row_id_fn(data_batch).items():
            number = names.index(name)
            copies = self._exec_group.param_arrays[number]
            if copies[0].stype != "row_sparse":
                warnings.warn(f"prepare: {name} is not row-sparse; all is there", stacklevel=2)
                continue
            self._kvstore.row_sparse_pull(name, copies, row_ids=rows, priority=-number)


def _zeros(names: Sequence[str], arrays: Sequence[Sequence[NDArray]]) -> dict[str, NDArray]:
    """Returns arrays on the host like those of the first device."""
    return {
        name: nd.empty(copies[0].shape, cpu(), copies[0].dtype, copies[0].stype)
        for name, copies in zip(names, arrays, strict=True)
    }
