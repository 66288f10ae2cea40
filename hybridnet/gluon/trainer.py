"""`Trainer`: applies an optimizer to the parameters of a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridnet import kv, optimizer
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.files import atomic_write
from hybridnet.runtime import recorder

from .parameter import Parameter, ParameterDict

__all__ = ["Trainer"]


class Trainer:
    """Applies an optimizer to parameters, on one device or several.

    Args:
        params: what `collect_params` returns, a dict, or a list of parameters.
        optimizer: the name of one, or an instance.
        optimizer_params: its arguments, where it is given by name.
        kvstore: how gradients of several devices are added: 'device', 'local', a `KVStore`, or
            None.
        compression_params: must be None.
        update_on_kvstore: whether the store applies the optimizer; default where there is one.

    Raises:
        ParameterError: `params` are no parameters.
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: Any,
        optimizer_params: dict[str, Any] | None = None,
        kvstore: Any = "device",
        compression_params: Any = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if compression_params:
            raise ParameterError("Trainer: gradient compression is not supported yet")
        values = params.values() if isinstance(params, (ParameterDict, Mapping)) else params
        self._params: list[Parameter] = list(values)
        for one in self._params:
            if not isinstance(one, Parameter):
                raise ParameterError(f"Trainer: needs Parameters, got {type(one).__name__}")
        self._optimizer = self._make_optimizer(optimizer, optimizer_params or {})
        self._scale = float(self._optimizer.rescale_grad)
        self._kvstore_kind = kvstore
        self._update_on_kvstore = update_on_kvstore
        self._kvstore: Any = None
        self._updaters: list[Any] = []
        self._ready = False
        self._loaded_states: bytes | None = None

    def _make_optimizer(self, given: Any, arguments: dict[str, Any]) -> Any:
        by_number = dict(enumerate(self._params))
        if isinstance(given, optimizer.Optimizer):
            if arguments:
                raise ParameterError(
                    "Trainer: optimizer_params must be None with an optimizer object"
                )
            given.param_dict = by_number
            return given
        return optimizer.create(given, param_dict=by_number, **arguments)

    @property
    def optimizer(self) -> Any:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        rate: float = self._optimizer.learning_rate
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate, where no scheduler does."""
        self._optimizer.set_learning_rate(lr)

    # -- a step ------------------------------------------------------------------------------

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Adds up the gradients of all devices and updates the parameters.

        Args:
            batch_size: gradients are divided by it.
            ignore_stale_grad: accepted; every gradient is used as it is.
        """
        self._start(batch_size)
        self._reduce()
        self._apply()

    def allreduce_grads(self) -> None:
        """Adds up the gradients of all devices, without an update.

        Raises:
            MXNetError: the store does the updates, so that the two cannot be parted.
        """
        self._start(None)
        if self._kvstore is not None and self._update_on_kvstore:
            raise MXNetError("allreduce_grads: make the Trainer with update_on_kvstore=False")
        self._reduce()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Updates the parameters from gradients that are added up already."""
        self._start(batch_size)
        if self._kvstore is not None and self._update_on_kvstore:
            raise MXNetError("update: make the Trainer with update_on_kvstore=False")
        self._apply()

    def _start(self, batch_size: int | None) -> None:
        if batch_size is not None:
            self._optimizer.rescale_grad = self._scale / batch_size
        if not self._ready:
            self._prepare()

    def _learned(self) -> list[tuple[int, Parameter]]:
        return [(i, one) for i, one in enumerate(self._params) if one.grad_req != "null"]

    def _prepare(self) -> None:
        """Sets up the store and the updaters, once the parameters have values."""
        contexts = [one.list_ctx() for one in self._params]
        if any(ctx != contexts[0] for ctx in contexts):
            raise MXNetError("Trainer: all parameters must be on the same contexts")
        several = bool(contexts) and len(contexts[0]) > 1
        store = self._kvstore_kind
        if store is not None and (several or not isinstance(store, str)):
            self._kvstore = kv.create(store) if isinstance(store, str) else store
            if self._update_on_kvstore is None:
                self._update_on_kvstore = True
            if self._update_on_kvstore:
                self._kvstore.set_optimizer(self._optimizer)
            for number, one in self._learned():
                self._kvstore.init(number, one.list_data()[0])
        else:
            self._update_on_kvstore = False
        if not self._update_on_kvstore:
            count = len(contexts[0]) if contexts else 1
            self._updaters = [optimizer.get_updater(self._optimizer) for _ in range(count)]
        self._ready = True
        if self._loaded_states is not None:
            self._set_states(self._loaded_states)
            self._loaded_states = None

    def _reduce(self) -> None:
        if self._kvstore is None:
            return
        for number, one in self._learned():
            # What was computed last is needed last: layers near the input have precedence.
            self._kvstore.push(number, one.list_grad(), priority=-number)
            if not self._update_on_kvstore:
                self._kvstore.pull(number, one.list_grad(), priority=-number)

    def _apply(self) -> None:
        for number, one in self._learned():
            if self._kvstore is not None and self._update_on_kvstore:
                self._kvstore.pull(number, one.list_data(), priority=-number)
                continue
            for updater, weight, grad in zip(
                self._updaters, one.list_data(), one.list_grad(), strict=True
            ):
                updater(number, grad, weight)
        recorder.mark()

    # -- states ------------------------------------------------------------------------------

    def save_states(self, fname: Any) -> None:
        """Saves the optimizer's states; the file appears whole or not at all."""
        self._start(None)
        updater = self._kvstore.updater if self._update_on_kvstore else self._updaters[0]
        with atomic_write(fname) as file:
            file.write(updater.get_states(dump_optimizer=False))

    def load_states(self, fname: Any) -> None:
        """Loads what `save_states` has written.

        Raises:
            FormatError: the file is damaged.
        """
        with open(fname, "rb") as file:
            states = file.read()
        if self._ready:
            self._set_states(states)
        else:
            self._loaded_states = states

    def _set_states(self, states: bytes) -> None:
        updaters = [self._kvstore.updater] if self._update_on_kvstore else self._updaters
        for updater in updaters:
            updater.set_states(states)
