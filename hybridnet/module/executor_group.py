"""`DataParallelExecutorGroup`: a symbol bound on several devices, each with some rows."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError
from hybridnet.executor import Executor
from hybridnet.io import DataDesc
from hybridnet.metric import EvalMetric
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.symbol import Symbol

from .arguments import as_groups, descriptions, require, split_rows
from .moving import joined, load, rows_of
from .types import Batch, Description, Groups, Logger, MonitorLike, Requests

__all__ = ["DataParallelExecutorGroup"]


class DataParallelExecutorGroup:
    """The executors of one symbol on several devices.

    Args:
        symbol: the network.
        contexts: the devices.
        workload: their shares of each batch.
        data_shapes: descriptions of the data: of whole batches.
        label_shapes: descriptions of the labels, or None.
        param_names: the arguments that are parameters.
        for_training: whether `backward` is to be called.
        inputs_need_grad: whether data has gradients, too.
        shared_group: a group whose parameters, and arrays of data, this one uses.
        logger: kept for MXNet's programs.
        fixed_param_names: parameters that have no gradients.
        grad_req: 'write', 'add' or 'null' for the parameters; or as for `Symbol.bind`.
        state_names: arguments that are states: neither data nor parameters.
        group2ctxs: where groups of nodes are; see `as_groups`.

    Attributes:
        execs: the executors.
        learned_names: the parameters, in the order of the symbol's arguments.
        batch_size: rows of a whole batch.
        slices: which of them each device takes.
        data_arrays, label_arrays: for each input and device, its rows and its array.
        param_arrays, grad_arrays, aux_arrays, state_arrays, input_grad_arrays: for each name, the
            array of each device.
        shared_data_arrays: for each device, the arrays by name that groups share.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Context],
        workload: Sequence[float],
        data_shapes: Iterable[Description],
        label_shapes: Iterable[Description] | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DataParallelExecutorGroup | None = None,
        logger: Logger = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Requests = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
    ) -> None:
        self.symbol = symbol
        self.contexts = list(contexts)
        self.workload = list(workload)
        self.logger = logger
        self.param_names = list(param_names)
        self.fixed_param_names = list(fixed_param_names or ())
        self.state_names = list(state_names or ())
        self.arg_names: list[str] = symbol.list_arguments()
        self.aux_names: list[str] = symbol.list_auxiliary_states()
        self.output_names: list[str] = symbol.list_outputs()
        self.num_outputs = len(self.output_names)
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self.group2ctxs = as_groups(group2ctxs, len(self.contexts))
        self.output_layouts = [
            DataDesc.get_batch_axis(symbol[number].attr("__layout__"))
            for number in range(self.num_outputs)
        ]
        self.shared_data_arrays: list[dict[str, NDArray]] = (
            [{} for _ in self.contexts] if shared_group is None else shared_group.shared_data_arrays
        )
        data = descriptions("data_shapes", data_shapes)
        labels = None if label_shapes is None else descriptions("label_shapes", label_shapes)
        self.grad_req = self._requests(grad_req, [desc.name for desc in data])
        self.execs: list[Executor] = []
        # The executors of the first shapes, from which those of others are made.
        self._first: list[Executor] = []
        self.batch_size = 0
        self.bind_exec(data, labels, shared_group)

    # -- binding -----------------------------------------------------------------------------

    def _requests(self, grad_req: Requests, data_names: Sequence[str]) -> dict[str, str]:
        """Returns 'write', 'add' or 'null' for each argument."""
        if not self.for_training:
            return dict.fromkeys(self.arg_names, "null")
        if isinstance(grad_req, (list, tuple)):
            if len(grad_req) != len(self.arg_names):
                raise ParameterError(
                    f"grad_req must have one entry for each of {', '.join(self.arg_names)}, got "
                    f"{len(grad_req)}"
                )
            return dict(zip(self.arg_names, grad_req, strict=True))
        if not isinstance(grad_req, (str, Mapping)):
            raise ParameterError(
                f"grad_req must be a str, a list or a dict, got {type(grad_req).__name__}"
            )
        request = grad_req if isinstance(grad_req, str) else "write"
        learned = set(self.param_names) - set(self.fixed_param_names)
        learned.update(data_names if self.inputs_need_grad else ())
        found = {name: request if name in learned else "null" for name in self.arg_names}
        return found if isinstance(grad_req, str) else {**found, **grad_req}

    def decide_slices(self, data_shapes: Sequence[DataDesc]) -> list[int]:
        """Cuts batches for the devices; returns the axis of rows of each input, or -1.

        Raises:
            ParameterError: the inputs have not the same number of rows.
        """
        axes = [DataDesc.get_batch_axis(desc.layout) for desc in data_shapes]
        for desc, axis in zip(data_shapes, axes, strict=True):
            if axis < 0:
                continue
            rows = desc.shape[axis]
            if self.batch_size == 0:
                self.batch_size = rows
                self.slices = split_rows(rows, self.workload)
            elif rows != self.batch_size:
                raise ParameterError(
                    f"all inputs must have the same number of rows, {self.batch_size}, got "
                    f"{desc.name} of shape {tuple(desc.shape)}"
                )
        return axes

    def bind_exec(
        self,
        data_shapes: Sequence[DataDesc],
        label_shapes: Sequence[DataDesc] | None,
        shared_group: DataParallelExecutorGroup | None = None,
        reshape: bool = False,
    ) -> None:
        """Binds the symbol on each device, for the rows that it takes.

        Args:
            data_shapes, label_shapes: descriptions of a whole batch.
            shared_group: a group whose parameters these executors use.
            reshape: whether they are to be made from those that there are.
        """
        self.batch_size = 0
        self.slices = [slice(number, number + 1) for number in range(len(self.contexts))]
        self.data_layouts = self.decide_slices(data_shapes)
        self.label_layouts = self.decide_slices(label_shapes or ())
        for number in range(len(self.contexts)):
            descs = self._rows_of(data_shapes, self.data_layouts, number)
            descs += self._rows_of(label_shapes or (), self.label_layouts, number)
            if reshape:
                shapes = {desc.name: desc.shape for desc in descs}
                self.execs[number] = self._first[number].reshape(allow_up_sizing=True, **shapes)
            else:
                self.execs.append(self._bind(number, descs, shared_group))
        self.data_shapes, self.label_shapes = list(data_shapes), label_shapes
        self.data_names = [desc.name for desc in data_shapes]
        self.label_names = [desc.name for desc in label_shapes or ()]
        self._collect_arrays()

    def _rows_of(
        self, descs: Sequence[DataDesc], axes: Sequence[int], number: int
    ) -> list[DataDesc]:
        """Returns descriptions of what one device takes."""
        rows, parts = self.slices[number], []
        for desc, axis in zip(descs, axes, strict=True):
            shape = list(desc.shape)
            if axis >= 0:
                shape[axis] = rows.stop - rows.start
            parts.append(DataDesc(desc.name, tuple(shape), desc.dtype, desc.layout))
        return parts

    def _bind(
        self,
        number: int,
        descs: Sequence[DataDesc],
        shared_group: DataParallelExecutorGroup | None,
    ) -> Executor:
        attrs = self.symbol.attr_dict()
        executor: Executor = self.symbol.simple_bind(
            self.contexts[number],
            grad_req=self.grad_req,
            type_dict={
                desc.name: desc.dtype
                for desc in descs
                if attrs.get(desc.name, {}).get("__dtype__", "-1") == "-1"
            },
            group2ctx=self.group2ctxs[number],
            shared_arg_names=self.param_names,
            shared_exec=None if shared_group is None else shared_group.execs[number],
            shared_buffer=self.shared_data_arrays[number],
            **{desc.name: desc.shape for desc in descs},
        )
        return executor

    def _collect_arrays(self) -> None:
        """Finds the arrays of each kind in the executors."""
        execs = self.execs

        def arguments(names: Iterable[str]) -> list[list[NDArray]]:
            return [[each.arg_dict[name] for each in execs] for name in names]

        def parts(names: Iterable[str]) -> list[list[tuple[slice, NDArray]]]:
            return [
                [
                    (rows, each.arg_dict[name])
                    for rows, each in zip(self.slices, execs, strict=True)
                    if name in each.arg_dict  # labels of a network without loss are not
                ]
                for name in names
            ]

        def gradients(names: Iterable[str]) -> list[list[NDArray | None]]:
            return [[each.grad_dict[name] for each in execs] for name in names]

        # In the order of the symbol's arguments, as their numbers are those of the optimizer.
        self.learned_names = [name for name in self.arg_names if name in self.param_names]
        self.data_arrays = parts(self.data_names)
        self.label_arrays = parts(self.label_names)
        self.state_arrays = arguments(self.state_names)
        self.param_arrays = arguments(self.learned_names)
        self.grad_arrays = gradients(self.learned_names) if self.for_training else []
        self.input_grad_arrays = gradients(self.data_names) if self.inputs_need_grad else []
        self.aux_arrays = [[each.aux_dict[name] for each in execs] for name in self.aux_names]

    @property
    def num_bytes(self) -> int:
        """The bytes of all arrays that the executors hold; those shared are counted, too."""
        arrays = (
            array
            for each in self.execs
            for array in (*each.arg_arrays, *each.aux_arrays, *each.grad_arrays)
        )
        return sum(x.size * x.dtype().itemsize for x in arrays if x is not None)

    def reshape(
        self, data_shapes: Sequence[DataDesc], label_shapes: Sequence[DataDesc] | None
    ) -> None:
        """Binds anew for other shapes; parameters stay."""
        if data_shapes == self.data_shapes and label_shapes == self.label_shapes:
            return
        if not self._first:
            self._first = list(self.execs)
        self.bind_exec(data_shapes, label_shapes, reshape=True)

    # -- parameters and states ---------------------------------------------------------------

    def set_params(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra: bool = False,
    ) -> None:
        """Copies parameters and auxiliary states to all devices.

        Raises:
            ParameterError: the symbol has no such name, and `allow_extra` is False.
        """
        for each in self.execs:
            args, states = arg_params, aux_params or {}
            if self.for_training:
                args, states = _copies(args), _copies(states)
            each.copy_params_from(args, states, allow_extra_params=allow_extra)

    def get_params(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray]
    ) -> None:
        """Copies parameters and auxiliary states, each the mean of all devices, into these."""
        for names, arrays, targets in (
            (self.learned_names, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        ):
            for name, copies in zip(names, arrays, strict=True):
                mean: Any = copies[0].copy() if self.for_training else copies[0]
                if len(copies) > 1:
                    mean = sum(copy.copyto(cpu()) for copy in copies) / len(copies)
                mean.astype(targets[name].dtype, copy=False).copyto(targets[name])

    def get_states(self, merge_multi_context: bool = True) -> list[list[NDArray]]:
        """Returns for each state the array of each device.

        Raises:
            ParameterError: `merge_multi_context` is not False.
        """
        if merge_multi_context:
            raise ParameterError(
                "get_states: states are of each device; pass merge_multi_context=False"
            )
        return self.state_arrays

    def set_states(
        self, states: Sequence[Sequence[NDArray]] | None = None, value: float | None = None
    ) -> None:
        """Sets the states: each to its own arrays, one for each device, or all to one number.

        Raises:
            ParameterError: not just one of the two was given.
        """
        if (states is None) == (value is None):
            raise ParameterError("set_states: needs either states or value")
        if states is None:
            for copies in self.state_arrays:
                for state in copies:
                    state[:] = value
            return
        for given, copies in zip(states, self.state_arrays, strict=True):
            for source, state in zip(given, copies, strict=True):
                source.copyto(state)

    # -- computing ---------------------------------------------------------------------------

    def forward(self, data_batch: Batch | list[Batch], is_train: bool | None = None) -> None:
        """Copies a batch to the devices, and computes the outputs.

        Args:
            data_batch: has `data`, and maybe `label`; or a list of such, one for each device.
            is_train: whether it is for training; default `for_training`.
        """
        training = self.for_training if is_train is None else is_train
        with recorder.one_pass(training):
            load(data_batch, "data", self.data_arrays, self.data_layouts)
            first = data_batch[0] if isinstance(data_batch, list) else data_batch
            if self.label_arrays and getattr(first, "label", None):
                load(data_batch, "label", self.label_arrays, self.label_layouts)
            for each in self.execs:
                each.forward(is_train=training)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Computes gradients.

        Args:
            out_grads: gradients of the outputs, of the whole batch: one array or a list; None for
                ones.

        Raises:
            MXNetError: the group is not for training.
        """
        require(self.for_training, "backward", "bind it with for_training=True")
        given = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads or ())
        for each, rows, ctx in zip(self.execs, self.slices, self.contexts, strict=True):
            parts = [
                rows_of(grad, axis, rows).as_in_context(ctx)
                for grad, axis in zip(given, self.output_layouts, strict=False)
            ]
            each.backward(out_grads=parts or None)

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """Returns name and shape of each output, of a whole batch."""
        shapes = []
        for name, output, axis in zip(
            self.output_names, self.execs[0].outputs, self.output_layouts, strict=True
        ):
            shape = list(output.shape)
            if axis >= 0 and len(self.execs) > 1:
                shape[axis] = sum(each.output_dict[name].shape[axis] for each in self.execs)
            shapes.append((name, tuple(shape)))
        return shapes

    def get_outputs(
        self, merge_multi_context: bool = True, begin: int = 0, end: int | None = None
    ) -> list[Any]:
        """Returns outputs: of the whole batch, or else for each the array of each device.

        Args:
            merge_multi_context: whether to join what the devices have.
            begin, end: which outputs; default all.
        """
        numbers = range(self.num_outputs)[begin:end]
        outputs = [[each.outputs[number] for each in self.execs] for number in numbers]
        if not merge_multi_context:
            return outputs
        return joined(outputs, [self.output_layouts[number] for number in numbers])

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Returns gradients of the data, as `get_outputs` does outputs; None for 'null' ones.

        Raises:
            MXNetError: the group was not bound with inputs_need_grad=True.
        """
        require(self.inputs_need_grad, "get_input_grads", "bind it with inputs_need_grad=True")
        if not merge_multi_context:
            return self.input_grad_arrays
        found = [[grad for grad in grads if grad is not None] for grads in self.input_grad_arrays]
        return [
            joined([grads], [axis])[0] if grads else None
            for grads, axis in zip(found, self.data_layouts, strict=True)
        ]

    def update_metric(self, eval_metric: EvalMetric, labels: Any, pre_sliced: bool = False) -> None:
        """Adds labels and outputs to a metric.

        Args:
            eval_metric: the metric.
            labels: the arrays of labels of a batch.
            pre_sliced: whether they are a list of such, one for each device.
        """
        for number, (each, rows) in enumerate(zip(self.execs, self.slices, strict=True)):
            if pre_sliced:
                parts = labels[number]
            else:
                pairs = zip(labels, self.label_layouts, strict=False)
                parts = [rows_of(label, axis, rows) for label, axis in pairs]
            eval_metric.update_dict(
                dict(zip(self.label_names, parts, strict=False)), each.output_dict
            )

    def install_monitor(self, mon: MonitorLike) -> None:
        """Makes a monitor watch all executors."""
        for each in self.execs:
            mon.install(each)


def _copies(values: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """Returns copies with memory of their own.

    An array that was assigned shares its buffer with the source until one of the two is written to.
    The first training step could not reuse such a buffer for its result, so that it would need
    another program than all later steps.
    """
    return {
        name: value.copy() if isinstance(value, NDArray) else value
        for name, value in values.items()
    }
