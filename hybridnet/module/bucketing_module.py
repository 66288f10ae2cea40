"""`BucketingModule`: networks of several lengths that share their parameters."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from hybridnet import ndarray as nd
from hybridnet import symbol as sym
from hybridnet.base.context import Context
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.initializer.base import Filler
from hybridnet.metric import EvalMetric
from hybridnet.name import NameManager
from hybridnet.ndarray import NDArray
from hybridnet.saved_model import load_params
from hybridnet.symbol import Symbol

from .arguments import check_names, require
from .base_module import UNIFORM, BaseModule
from .module import CPU, Module
from .types import (
    Batch,
    Description,
    Groups,
    Labels,
    Logger,
    ModuleOptions,
    MonitorLike,
    OptimizerLike,
    Options,
    Requests,
    RowsOf,
    StoreLike,
)

__all__ = ["BucketingModule"]

#: Returns for a bucket's key the symbol, the names of its data, and those of its labels.
Maker = Callable[[Any], tuple[Any, Sequence[str] | None, Sequence[str] | None]]


class BucketingModule(BaseModule):
    """A module for each bucket, as that of sentences of some length, with the same parameters.

    A batch's `bucket_key` says which it is for. The module of `default_bucket_key`, which should be
    the largest, owns the parameters.

    Args:
        sym_gen: gets a bucket's key and returns the symbol, the names of its data, and those of its
            labels.
        default_bucket_key: the key of the bucket that is bound first.
        logger, context, work_load_list, fixed_param_names, state_names, group2ctxs,
        compression_params: as for `Module`.

    Raises:
        ParameterError: `default_bucket_key` was not given, or the symbol has no such arguments.
    """

    def __init__(
        self,
        sym_gen: Maker,
        default_bucket_key: Hashable = None,
        logger: Logger = logging,
        context: Context | Sequence[Context] = CPU,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
        compression_params: Mapping[str, str | float] | None = None,
    ) -> None:
        super().__init__(logger)
        if default_bucket_key is None:
            raise ParameterError("BucketingModule: needs default_bucket_key=, the largest bucket's")
        self._default_bucket_key = default_bucket_key
        self._sym_gen = sym_gen
        self._options: ModuleOptions = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
        }
        symbol, data_names, label_names = self._call_sym_gen(default_bucket_key)
        check_names(symbol, list(data_names or ()), "data", True)
        check_names(symbol, list(label_names or ()), "label", False)
        check_names(symbol, list(state_names or ()), "state", True)
        check_names(symbol, list(fixed_param_names or ()), "fixed_param", True)
        self._buckets: dict[Hashable, Module] = {}
        self._curr_module: Any = None
        self._curr_bucket_key: Hashable = None
        self._params_dirty = False
        self._monitor: Any = None
        self._grad_req: Requests = "write"

    def _call_sym_gen(
        self, key: Hashable
    ) -> tuple[Symbol, Sequence[str] | None, Sequence[str] | None]:
        # With a manager of its own, so that nodes without names have the same in each bucket.
        with NameManager():
            return self._sym_gen(key)

    def _make(self, key: Hashable) -> Module:
        symbol, data_names, label_names = self._call_sym_gen(key)
        return Module(symbol, data_names, label_names, **self._options)

    # -- what it is --------------------------------------------------------------------------

    @property
    def symbol(self) -> Any:
        """The symbol of the present bucket."""
        require(self.binded, "symbol", "bind it")
        return self._curr_module.symbol

    @property
    def data_names(self) -> Sequence[str]:
        """The names of the data."""
        if self.binded:
            return self._curr_module.data_names  # type: ignore[no-any-return]
        return list(self._call_sym_gen(self._default_bucket_key)[1] or ())

    @property
    def output_names(self) -> Sequence[str]:
        """The names of the outputs."""
        if self.binded:
            return self._curr_module.output_names  # type: ignore[no-any-return]
        names: list[str] = self._call_sym_gen(self._default_bucket_key)[0].list_outputs()
        return names

    @property
    def data_shapes(self) -> Any:
        """Descriptions of the data of the present bucket."""
        require(self.binded, "data_shapes", "bind it")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> Any:
        """Descriptions of the labels of the present bucket, or None."""
        require(self.binded, "label_shapes", "bind it")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> Any:
        """Names and shapes of the outputs of the present bucket."""
        require(self.binded, "output_shapes", "bind it")
        return self._curr_module.output_shapes

    # -- parameters --------------------------------------------------------------------------

    def get_params(self) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns parameters and auxiliary states by name; see `Module.get_params`."""
        require(self.params_initialized, "get_params", "initialize its parameters")
        self._curr_module._params_dirty = self._params_dirty
        params: tuple[dict[str, NDArray], dict[str, NDArray]] = self._curr_module.get_params()
        self._params_dirty = False
        return params

    def init_params(
        self,
        initializer: Filler | None = UNIFORM,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """See `BaseModule.init_params`."""
        if self.params_initialized and not force_init:
            return
        require(self.binded, "init_params", "bind it")
        self._curr_module.init_params(
            initializer=initializer,
            arg_params=arg_params,
            aux_params=aux_params,
            allow_missing=allow_missing,
            force_init=force_init,
            allow_extra=allow_extra,
        )
        self._params_dirty = False
        self.params_initialized = True

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """See `BaseModule.set_params`."""
        if not allow_missing:
            super().set_params(arg_params, aux_params, False, force_init, allow_extra)
            return
        if self.params_initialized and not force_init:
            warnings.warn(
                "set_params: the parameters have values already and stay as they are; "
                "force_init=True gives them new ones",
                stacklevel=2,
            )
            return
        require(self.binded, "set_params", "bind it")
        self._curr_module.set_params(arg_params, aux_params, True, True, allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """See `Module.get_states`."""
        self._require_ready("get_states")
        states: list[list[NDArray]] = self._curr_module.get_states(merge_multi_context)
        return states

    def set_states(
        self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None
    ) -> None:
        """See `Module.set_states`."""
        self._require_ready("set_states")
        self._curr_module.set_states(states, value)

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
        """Binds the default bucket; see `BaseModule.bind`.

        Raises:
            ParameterError: there is a `shared_module`, which is for modules of one bucket.
        """
        saved = self.get_params() if self.params_initialized else None
        if force_rebind:
            self.binded, self._curr_module, self._curr_bucket_key = False, None, None
            self._buckets = {}
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None:
            raise ParameterError("bind: a BucketingModule takes no shared_module")
        key = self._default_bucket_key
        module = self._buckets.get(key) or self._make(key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self._grad_req = grad_req
        self._curr_module = self._buckets[key] = module
        self._curr_bucket_key = key
        self.binded = True
        if saved is not None:
            self.set_params(*saved)

    def switch_bucket(
        self,
        bucket_key: Hashable,
        data_shapes: Sequence[Description],
        label_shapes: Sequence[Description] | None = None,
    ) -> None:
        """Makes another bucket the present one, and binds it if that was not done.

        Args:
            bucket_key: its key.
            data_shapes: descriptions of its data.
            label_shapes: descriptions of its labels, or None.

        Raises:
            MXNetError: the module is not bound.
        """
        require(self.binded, "switch_bucket", "bind it")
        module = self._buckets.get(bucket_key)
        if module is None:
            module = self._make(bucket_key)
        if not module.binded:
            module.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=self._buckets[self._default_bucket_key],
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._buckets[bucket_key] = module
        self._curr_module, self._curr_bucket_key = module, bucket_key

    def init_optimizer(
        self,
        kvstore: StoreLike = "local",
        optimizer: OptimizerLike = "sgd",
        optimizer_params: Options = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Makes one optimizer for all buckets; see `Module.init_optimizer`."""
        self._require_ready("init_optimizer")
        if self.optimizer_initialized and not force_init:
            self.logger.warning("optimizer already initialized, ignoring.")
            return
        self._curr_module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        for module in self._buckets.values():
            if module is not self._curr_module:
                module.borrow_optimizer(self._curr_module)
        self.optimizer_initialized = True

    def install_monitor(self, mon: MonitorLike) -> None:
        """Makes a `Monitor` watch all buckets, also those to come."""
        require(self.binded, "install_monitor", "bind it")
        self._monitor = mon
        for module in self._buckets.values():
            module.install_monitor(mon)

    # -- computing ---------------------------------------------------------------------------

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowsOf | None = None) -> None:
        """Binds the bucket of a batch that will come next; see `Module.prepare`."""
        self._require_ready("prepare")
        present = self._curr_module, self._curr_bucket_key
        self._switch_for(data_batch)
        self._curr_module.prepare(data_batch, sparse_row_id_fn=sparse_row_id_fn)
        self._curr_module, self._curr_bucket_key = present

    def _switch_for(self, batch: Any) -> None:
        self.switch_bucket(batch.bucket_key, batch.provide_data, batch.provide_label)

    def forward(self, data_batch: Batch | list[Batch], is_train: bool | None = None) -> None:
        """Switches to the batch's bucket, and computes its outputs."""
        self._require_ready("forward")
        self._switch_for(data_batch)
        self._curr_module.forward(data_batch, is_train=is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """See `BaseModule.backward`."""
        self._require_ready("backward")
        self._curr_module.backward(out_grads=out_grads)

    def update(self) -> None:
        """See `Module.update`."""
        require(self.optimizer_initialized, "update", "call init_optimizer")
        self._params_dirty = True
        self._curr_module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """See `BaseModule.get_outputs`."""
        self._require_ready("get_outputs")
        outputs: list[Any] = self._curr_module.get_outputs(merge_multi_context)
        return outputs

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """See `BaseModule.get_input_grads`."""
        self._require_ready("get_input_grads")
        grads: list[Any] = self._curr_module.get_input_grads(merge_multi_context)
        return grads

    def update_metric(
        self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False
    ) -> None:
        """See `BaseModule.update_metric`."""
        self._require_ready("update_metric")
        self._curr_module.update_metric(eval_metric, labels, pre_sliced)

    def symbols(self) -> dict[Any, Symbol]:
        """Returns the symbol of each bucket that there is, by its key."""
        return {key: module.symbol for key, module in self._buckets.items()}

    def with_symbols(
        self,
        symbols: Mapping[Any, Any],
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray],
    ) -> BucketingModule:
        """Returns a module like this one, to be bound, with other symbols and parameters."""
        return BucketingModule.load_dict(
            symbols,
            self._sym_gen,
            self._default_bucket_key,
            arg_params,
            aux_params,
            **self._options,
        )

    # -- checkpoints -------------------------------------------------------------------------

    def save_checkpoint(self, prefix: str, epoch: int, remove_amp_cast: bool = False) -> None:
        """Writes the parameters, the symbol of each bucket, and ``prefix.buckets``, their keys.

        Args:
            prefix: the beginning of the files' names.
            epoch: the number in that of the parameters.
            remove_amp_cast: as in `Symbol.save`.

        Raises:
            MXNetError: no bucket was bound.
            ParameterError: a bucket's key is no whole number.
        """
        require(self._buckets, "save_checkpoint", "bind it")
        keys = [key for key in self._buckets if isinstance(key, (int, np.integer))]
        if len(keys) < len(self._buckets):
            raise ParameterError(
                f"save_checkpoint: keys must be whole numbers, got {list(self._buckets)}"
            )
        self.save_params(f"{prefix}-{epoch:04d}.params")
        for key in keys:
            symbol = self._call_sym_gen(key)[0]
            symbol.save(f"{prefix}-{key}-symbol.json", remove_amp_cast)
        nd.save(f"{prefix}.buckets", nd.array([int(key) for key in keys], dtype=np.int32))

    @staticmethod
    def load(
        prefix: str,
        epoch: int,
        sym_gen: Maker | None = None,
        default_bucket_key: Hashable = None,
        **kwargs: Unpack[ModuleOptions],
    ) -> BucketingModule:
        """Returns a module of what `save_checkpoint` wrote, to be bound.

        Args:
            prefix: the beginning of the files' names.
            epoch: the number in that of the parameters.
            sym_gen, default_bucket_key, kwargs: arguments of `BucketingModule`.

        Raises:
            FormatError: a file is damaged.
            OSError: one cannot be read.
        """
        loaded = nd.load(f"{prefix}.buckets")
        if not isinstance(loaded, list) or len(loaded) != 1:
            raise FormatError(f"{prefix}.buckets: holds no keys of buckets")
        keys = [int(key) for key in loaded[0].asnumpy()]
        symbols = {key: sym.load(f"{prefix}-{key}-symbol.json") for key in keys}
        args, states = load_params(prefix, epoch)
        return BucketingModule.load_dict(
            symbols, sym_gen, default_bucket_key, args, states, **kwargs
        )

    @staticmethod
    def load_dict(
        sym_dict: Mapping[Any, Any] | None = None,
        sym_gen: Maker | None = None,
        default_bucket_key: Hashable = None,
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        **kwargs: Unpack[ModuleOptions],
    ) -> BucketingModule:
        """Returns a module of symbols and parameters, to be bound.

        Args:
            sym_dict: the symbol of each bucket by its key.
            sym_gen, default_bucket_key, kwargs: arguments of `BucketingModule`.
            arg_params: the parameters by name.
            aux_params: the auxiliary states by name.

        Raises:
            ParameterError: one of these was not given.
        """
        if sym_dict is None or sym_gen is None or arg_params is None or aux_params is None:
            raise ParameterError(
                "BucketingModule: needs sym_dict (or files of it), sym_gen, arg_params and "
                "aux_params"
            )
        made = BucketingModule(sym_gen, default_bucket_key, **kwargs)
        for key, symbol in sym_dict.items():
            _, data_names, label_names = made._call_sym_gen(key)
            made._buckets[key] = Module(symbol, data_names, label_names, **made._options)
        if default_bucket_key not in made._buckets:
            made._buckets[default_bucket_key] = made._make(default_bucket_key)
        made._curr_module = made._buckets[default_bucket_key]
        made._curr_module.take_params(arg_params, aux_params)
        made.params_initialized = True
        return made
