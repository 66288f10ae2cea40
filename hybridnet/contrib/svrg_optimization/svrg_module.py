"""`SVRGModule`: gradients of less variance, by the gradient of all data now and then."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from hybridnet.base.context import Context, cpu
from hybridnet.base.errors import ParameterError
from hybridnet.module import Module
from hybridnet.module.types import Batch, Batches, Description, Groups, Logger, Requests, RowsOf
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.symbol import Symbol

__all__ = ["SVRGModule"]

_HERE = cpu()


class SVRGModule(Module):
    """A module trained by stochastic variance reduced gradients (Johnson and Zhang, 2013).

    Every `update_freq` passes it keeps the parameters, and their gradient by all data. A batch's
    gradient is corrected by how far, with the kept parameters, that of the batch is from that of
    all data.

    Args:
        symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names,
        state_names, group2ctxs, compression_params: as for `Module`.
        update_freq: after how many passes the parameters are kept anew.

    Raises:
        ParameterError: `update_freq` is no whole number from 1 on.
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Sequence[str] | None = ("data",),
        label_names: Sequence[str] | None = ("softmax_label",),
        logger: Logger = logging,
        context: Context | Sequence[Context] = _HERE,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Sequence[str] | None = None,
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups = None,
        compression_params: Mapping[str, str | float] | None = None,
        update_freq: int | None = None,
    ) -> None:
        if not isinstance(update_freq, int) or update_freq < 1:
            raise ParameterError(
                f"SVRGModule: update_freq must be a whole number from 1 on, got {update_freq!r}"
            )
        given = (
            symbol,
            data_names,
            label_names,
            logger,
            context,
            work_load_list,
            fixed_param_names,
            state_names,
            group2ctxs,
            compression_params,
        )
        super().__init__(*given)
        self.update_freq = update_freq
        # The same network with the parameters kept, and their gradient by all data.
        self._mod_aux = Module(*given)
        self._full: dict[str, list[NDArray]] = {}

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
        """See `Module.bind`; the network is bound twice."""
        given = data_shapes, label_shapes, for_training, inputs_need_grad, force_rebind
        super().bind(*given, shared_module, grad_req)
        if for_training and (force_rebind or not self._mod_aux.binded):
            self._mod_aux.bind(*given, grad_req=grad_req)

    def reshape(
        self, data_shapes: Sequence[Description], label_shapes: Sequence[Description] | None = None
    ) -> None:
        """See `Module.reshape`."""
        super().reshape(data_shapes, label_shapes)
        self._mod_aux.reshape(data_shapes, label_shapes)

    def begin_epoch(self, epoch: int, train_data: Batches) -> None:
        """Keeps the parameters, if it is time."""
        if epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
            train_data.reset()

    def update_full_grads(self, train_data: Any) -> None:
        """Keeps the parameters as they are, and computes their gradient by all data.

        Args:
            train_data: the iterator; it is gone through once.
        """
        aux = self._mod_aux
        args, states = self.get_params()
        aux.set_params(args, states)
        group = aux._exec_group
        names = group.learned_names
        total: dict[str, list[NDArray]] = {}
        train_data.reset()
        count, padding = 0, 0
        for batch in train_data:
            with recorder.one_pass():
                aux.forward(batch, is_train=True)
                aux.backward()
                for name, grads in zip(names, group.grad_arrays, strict=True):
                    if grads[0] is not None:
                        before = total.get(name)
                        total[name] = [
                            grad.copy() if before is None else before[device] + grad
                            for device, grad in enumerate(grads)
                        ]
            recorder.mark()
            count, padding = count + 1, batch.pad or 0
        batches = count - padding / train_data.batch_size
        self._full = {}
        for name, parts in total.items():
            mean = sum(part.as_in_context(parts[0].context) for part in parts)
            mean = mean / (batches * len(parts))
            self._full[name] = [mean.as_in_context(part.context) for part in parts]

    def forward(self, data_batch: Batch | list[Batch], is_train: bool | None = None) -> None:
        """See `Module.forward`; in training the kept parameters get the batch, too."""
        training = self.for_training if is_train is None else is_train
        with recorder.one_pass(training):
            super().forward(data_batch, is_train)
            if training and self._full:
                self._mod_aux.forward(data_batch, is_train)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """See `Module.backward`."""
        super().backward(out_grads)
        if self._full:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Corrects the gradients, if parameters are kept, and updates by them."""
        group, kept = self._exec_group, self._mod_aux._exec_group
        for number, name in enumerate(group.learned_names):
            if name in self._full:
                for device, full in enumerate(self._full[name]):
                    grad = group.grad_arrays[number][device]
                    grad += full - kept.grad_arrays[number][device]
        super().update()

    def prepare(self, data_batch: Any, sparse_row_id_fn: RowsOf | None = None) -> None:
        """See `Module.prepare`."""
        super().prepare(data_batch, sparse_row_id_fn)
        self._mod_aux.prepare(data_batch, sparse_row_id_fn)
