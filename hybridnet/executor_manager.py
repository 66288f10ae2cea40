"""`executor_manager`: data-parallel training by hand, as before `Module`.

A manager binds a symbol on several devices, each for some rows of a batch; the caller updates the
weights::

    manager = DataParallelExecutorManager(symbol, [mx.cpu(0), mx.cpu(1)], data_iter, ...)
    manager.set_params(arg_params, aux_params)
    manager.load_data_batch(batch)
    manager.forward(is_train=True)
    manager.backward()

`Module` does all of this and the updates.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError, RefusedError
from hybridnet.executor import Executor
from hybridnet.module.arguments import descriptions, split_rows
from hybridnet.module.moving import load
from hybridnet.ndarray import NDArray

__all__ = ["DataParallelExecutorGroup", "DataParallelExecutorManager"]

#: The name by which detection networks' own training loops import it.
_split_input_slice = split_rows


def _check_arguments(symbol: Any) -> None:
    """Checks that no two arguments, and no two auxiliary states, have one name.

    Raises:
        ParameterError: two have.
    """
    for kind, names in (
        ("arguments", symbol.list_arguments()),
        ("auxiliary states", symbol.list_auxiliary_states()),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ParameterError(
                f"the {kind} of a symbol must have names of their own, got {', '.join(twice)} more "
                f"than once among {', '.join(names)}"
            )


class DataParallelExecutorGroup:
    """The executors of one symbol on several devices.

    Args:
        sym: the network.
        arg_names: its arguments, as `Symbol.list_arguments` gives them.
        param_names: those of them that are parameters, and have gradients.
        ctx: the devices.
        slices: the rows of a batch that each device takes.
        train_data: what has `provide_data` and `provide_label`: an iterator, or a batch.
        shared_group: a group whose parameters, and arrays of data, this one uses.

    Attributes:
        train_execs: the executors.
        data_arrays, label_arrays: for each input and device, its rows and its array.
        param_arrays, grad_arrays, aux_arrays: for each name, the array of each device.

    Raises:
        ParameterError: two arguments have one name.
    """

    def __init__(
        self,
        sym: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: Any,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        _check_arguments(sym)
        self.slices = list(slices)
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in ctx] if shared_group is None else shared_group.shared_data_arrays
        )
        data = descriptions("provide_data", train_data.provide_data)
        labels = descriptions("provide_label", train_data.provide_label or ())
        self.data_names = [desc.name for desc in data]
        self.label_names = [desc.name for desc in labels]
        self.aux_names: list[str] = sym.list_auxiliary_states()
        self.param_idx = [at for at, name in enumerate(arg_names) if name in param_names]
        self.param_names = [arg_names[at] for at in self.param_idx]
        self.train_execs: list[Executor] = []
        for number, (each, rows) in enumerate(zip(ctx, self.slices, strict=True)):
            count = rows.stop - rows.start
            executor = sym.simple_bind(
                each,
                grad_req={
                    name: "write" if name in self.param_names else "null" for name in arg_names
                },
                type_dict={desc.name: desc.dtype for desc in (*data, *labels)},
                shared_arg_names=self.param_names,
                shared_exec=None if shared_group is None else shared_group.train_execs[number],
                shared_buffer=self.shared_data_arrays[number],
                **{desc.name: (count, *desc.shape[1:]) for desc in (*data, *labels)},
            )
            self.train_execs.append(executor)
        self.data_arrays = self._parts(self.data_names)
        self.label_arrays = self._parts(self.label_names)
        execs = self.train_execs
        self.param_arrays = [[each.arg_dict[name] for each in execs] for name in self.param_names]
        self.grad_arrays = [[each.grad_dict[name] for each in execs] for name in self.param_names]
        self.aux_arrays = [[each.aux_dict[name] for each in execs] for name in self.aux_names]

    def _parts(self, names: Sequence[str]) -> list[list[tuple[slice, NDArray]]]:
        pairs = list(zip(self.slices, self.train_execs, strict=True))
        return [[(rows, each.arg_dict[name]) for rows, each in pairs] for name in names]

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch's data and labels to the devices."""
        load(data_batch, "data", self.data_arrays, [0] * len(self.data_arrays))
        load(data_batch, "label", self.label_arrays, [0] * len(self.label_arrays))

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs of what was loaded."""
        for each in self.train_execs:
            each.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the gradients of the parameters."""
        for each in self.train_execs:
            each.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds labels and outputs to a metric.

        Args:
            metric: the metric.
            labels: the arrays of labels of a batch.
            pre_sliced: whether they are a list of such, one for each device.
        """
        for number, (each, rows) in enumerate(zip(self.train_execs, self.slices, strict=True)):
            parts = labels[number] if pre_sliced else [label[rows] for label in labels]
            metric.update(parts, each.outputs)


class DataParallelExecutorManager:
    """Executors on several devices, of one symbol or of one for each bucket.

    Args:
        symbol: the network; of the default bucket, if there are buckets.
        ctx: the devices.
        train_data: the iterator: its shapes, `batch_size` and, for buckets, `default_bucket_key`.
        arg_names: the arguments.
        param_names: the parameters among them.
        aux_names: the auxiliary states.
        work_load_list: the devices' shares of a batch; equal ones by default.
        logger: told about the devices; default the root logger.
        sym_gen: returns the symbol of a bucket, by its key.

    Raises:
        RefusedError: `work_load_list` has not one share for each device.
        ParameterError: a device would have no rows.
    """

    def __init__(
        self,
        symbol: Any,
        ctx: Sequence[Context],
        train_data: Any,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        aux_names: Sequence[str],
        work_load_list: Sequence[float] | None = None,
        logger: Any = None,
        sym_gen: Callable[[Any], Any] | None = None,
    ) -> None:
        (logger or logging).info("Start training with %s", ctx)
        shares = [1] * len(ctx) if work_load_list is None else list(work_load_list)
        if len(shares) != len(ctx):
            raise RefusedError(
                f"DataParallelExecutorManager: work_load_list must have a share for each of the "
                f"{len(ctx)} devices, got {shares}"
            )
        self.slices = split_rows(train_data.batch_size, shares)
        self.symbol = symbol
        self.ctx = list(ctx)
        self.arg_names = list(arg_names)
        self.param_names = list(param_names)
        self.aux_names = list(aux_names)
        self.sym_gen = sym_gen
        self.execgrp = self._group(symbol, train_data, None)
        self.curr_execgrp = self.execgrp
        self.execgrp_bucket: dict[Any, DataParallelExecutorGroup] = {}
        if sym_gen is not None:
            self.execgrp_bucket[train_data.default_bucket_key] = self.execgrp

    def _group(
        self, symbol: Any, shapes: Any, shared: DataParallelExecutorGroup | None
    ) -> DataParallelExecutorGroup:
        return DataParallelExecutorGroup(
            *(symbol, self.arg_names, self.param_names, self.ctx, self.slices, shapes, shared)
        )

    def install_monitor(self, monitor: Any) -> None:
        """Makes a monitor watch all executors.

        Raises:
            NotImplementedError: there are buckets.
        """
        if self.sym_gen is not None:
            raise NotImplementedError(
                "install_monitor: a manager with sym_gen makes its executors as buckets come; use "
                "BucketingModule.install_monitor"
            )
        for each in self.execgrp.train_execs:
            monitor.install(each)

    def set_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Copies parameters and auxiliary states, by name, to all devices."""
        for each in self.execgrp.train_execs:
            each.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]) -> None:
        """Copies parameters and auxiliary states, each the mean of all devices, into these."""
        for names, arrays, targets in (
            (self.execgrp.param_names, self.param_arrays, arg_params),
            (self.execgrp.aux_names, self.aux_arrays, aux_params),
        ):
            for name, copies in zip(names, arrays, strict=True):
                mean: Any = sum(copy.copyto(cpu()) for copy in copies) / len(copies)
                mean.astype(targets[name].dtype).copyto(targets[name])

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """The parameters: for each name the array of each device."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[NDArray | None]]:
        """The parameters' gradients: for each name the array of each device."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """The auxiliary states: for each name the array of each device."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: Any) -> None:
        """Copies a batch to the devices, and makes its bucket the present one."""
        if self.sym_gen is not None:
            key = data_batch.bucket_key
            if key not in self.execgrp_bucket:
                made = self._group(self.sym_gen(key), data_batch, self.execgrp)
                self.execgrp_bucket[key] = made
            self.curr_execgrp = self.execgrp_bucket[key]
        self.curr_execgrp.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Computes the outputs of what was loaded."""
        self.curr_execgrp.forward(is_train=is_train)

    def backward(self) -> None:
        """Computes the gradients of the parameters."""
        self.curr_execgrp.backward()

    def update_metric(self, metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        """Adds labels and outputs to a metric; see `DataParallelExecutorGroup.update_metric`."""
        self.curr_execgrp.update_metric(metric, labels, pre_sliced)
