"""`Trainer`: applies an optimizer to the parameters of a network."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeGuard

import numpy as np

from hybridnet import kv, optimizer
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.errors import FormatError, MXNetError, ParameterError, RefusedError
from hybridnet.base.files import atomic_write
from hybridnet.base.natural_order import natural_key
from hybridnet.base.remote import PathLike, read_file
from hybridnet.ndarray import NDArray
from hybridnet.optimizer import Updater
from hybridnet.optimizer.renumbering import renumbered
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.traces import init_scope

from . import _changes as changes
from ._parameter import Parameter
from ._parameter_dict import ParameterDict
from ._trained_arrays import TrainedArrays

__all__ = ["StaleGradientError", "Trainer"]


class StaleGradientError(MXNetError, UserWarning):
    """A parameter was to be updated with a gradient that an update has used already."""


class Trainer:
    """Applies an optimizer to parameters, on one device or several.

        with autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(batch_size)

    Args:
        params: what `collect_params` returns, a dict, or a list of parameters. Dicts are taken in
            the natural order of their names (dense9 before dense10), which numbers the
            parameters: the same network is numbered alike in every process.
        optimizer: the name of one, or an instance.
        optimizer_params: its arguments, where it is given by name.
        kvstore: how gradients of several devices are added: 'device', 'local', a `KVStore`, or
            None. Such a name counts with several devices only, or if it is that of a store over
            several processes: 'horovod', or a distributed one ('dist_sync', ...), which adds up the
            gradients of all workers and gives all of them the parameters of worker 0; it is made
            here, and others at the first step.
        compression_params: for a distributed store, see `KVStore.set_gradient_compression`.
        update_on_kvstore: whether the store applies the optimizer; default where there is one.

    Raises:
        ParameterError: `params` are no parameters, or the options do not fit together.
    """

    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | optimizer.Optimizer,
        optimizer_params: Mapping[str, object] | None = None,
        kvstore: str | kv.KVStoreBase | None = "device",
        compression_params: Mapping[str, str | float] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if compression_params and not (
            _names_servers(kvstore) if isinstance(kvstore, str) else _is_distributed(kvstore)
        ):
            raise ParameterError(
                "Trainer: gradient compression is not supported within one process, where nothing "
                f"is sent; it needs a distributed store, got kvstore={kvstore!r}"
            )
        self._params = _as_list(params)
        self._mxnets_orders = _mxnets_orders(params, self._params)
        self._compression = compression_params
        self._optimizer = self._make_optimizer(optimizer, optimizer_params or {})
        self._scale = float(self._optimizer.rescale_grad)
        self._given_store: Any = kvstore
        self._given_update = update_on_kvstore
        self._kvstore: Any = None
        # None while there is no store: none was made yet, or none is needed.
        self._update_on_kvstore: bool | None = None
        # For each parameter that the store has, `times_set` of the value that it holds.
        self._stored: dict[int, int] = {}
        # Those that were taken over from servers; until the first step these have their values.
        self._taken: set[int] = set()
        self._updaters: list[Updater] = []
        self._kv_initialized = False
        # The contexts at the last step, and the last change that they were looked up after.
        self._contexts: list[Context] = []
        self._checked = -1
        # What a step without a store updates; None: it asks the parameters.
        self._arrays: TrainedArrays | None = None
        # What the step under way is about; None outside of a step.
        self._current: Sequence[tuple[int, Parameter]] | None = None
        self._loaded_states: bytes | None = None
        for param in self._params:
            param._set_trainer(self)
        if isinstance(kvstore, str) and _names_servers(kvstore):
            # Not at the first step: which store it is, is known by the order in which they are
            # made, and a worker that was started again has to find it now.
            self._given_store = kvstore = kv.create(kvstore)
        if _is_distributed(kvstore) and kvstore.resumes:
            self._take_over(kvstore)

    def _take_over(self, store: Any) -> None:
        """Gives parameters the values that servers have, in place of a worker that was lost.

        Others have them since their first step; here the first gradient would be that of the
        initial values. Shapes that are not known yet are those that servers have, too.

        Raises:
            MXNetError: workers update, and what this one had is lost.
        """
        if self._given_update is False or not config.update_on_kvstore():
            raise MXNetError(
                f"Trainer: worker {store.rank} was started again, and with update_on_kvstore=False "
                "the parameters were in its process only: have the servers update "
                "(update_on_kvstore=True), or start all workers from a checkpoint (hybridnet "
                "launch --restarts 0)"
            )
        store.expect_optimizer(self._optimizer)
        for number, param in self._learned():
            shape = store.recalled_shape(number)
            if param.stype != "default" or shape is None:
                continue
            if param.is_deferred:
                param.shape = shape
                param.finish_deferred_init()
            if param.is_initialized:
                store.init(number, param.list_values()[0])
                store.pull(number, param.list_data(), priority=-number)
                self._stored[number] = param.times_set
                self._taken.add(number)

    def _make_optimizer(
        self, given: str | optimizer.Optimizer, arguments: Mapping[str, object]
    ) -> optimizer.Optimizer:
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
    def optimizer(self) -> optimizer.Optimizer:
        """The optimizer."""
        return self._optimizer

    @property
    def learning_rate(self) -> float:
        """The learning rate now."""
        rate: float = self._optimizer.learning_rate
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate.

        Raises:
            ParameterError: a scheduler sets it.
        """
        self._optimizer.set_learning_rate(lr)

    # -- a step ------------------------------------------------------------------------------

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Adds up the gradients of all devices and updates the parameters.

        Args:
            batch_size: gradients are divided by it; a number, or an array of one (the tokens in a
                batch, say).
            ignore_stale_grad: leave parameters as they are whose gradient no backward pass has
                written since the last step, instead of raising.

        Raises:
            StaleGradientError: there is such a parameter.
            MXNetError: a parameter has no value yet, or parameters are on different devices.
        """
        self._prepare(_checked(batch_size))
        self._current = self.updated_params(ignore_stale_grad)
        try:
            self._allreduce_grads()
            self._update(ignore_stale_grad)
        finally:
            self._current = None

    def allreduce_grads(self) -> None:
        """Adds up the gradients of all devices, without an update.

        Raises:
            RefusedError: the store does the updates, so that the two cannot be parted.
        """
        self._prepare(None)
        self._refuse_store("allreduce_grads")
        self._allreduce_grads()

    @property
    def _param2idx(self) -> dict[str, int]:
        """The numbers of the parameters by name, as MXNet keeps them."""
        return {param.name: number for number, param in enumerate(self._params)}

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Updates the parameters from gradients that are added up already.

        Args:
            batch_size, ignore_stale_grad: as in `step`.

        Raises:
            StaleGradientError: a gradient has been used already.
            RefusedError: the store does the updates.
        """
        self._prepare(_checked(batch_size))
        self._refuse_store("update")
        self._update(ignore_stale_grad)

    def _refuse_store(self, caller: str) -> None:
        if self._update_on_kvstore:
            raise RefusedError(
                f"{caller}: the key-value store updates the parameters when gradients are added "
                "up; make the Trainer with update_on_kvstore=False"
            )

    def _learned(self) -> list[tuple[int, Parameter]]:
        return [(i, param) for i, param in enumerate(self._params) if param.grad_req != "null"]

    def updated_params(self, ignore_stale: bool) -> Sequence[tuple[int, Parameter]]:
        """Returns the parameters that a step updates, with their numbers.

        Args:
            ignore_stale: see `step`.

        Raises:
            StaleGradientError: see `step`.
        """
        if self._current is not None:
            return self._current
        arrays = self._arrays
        trace = recorder.thread.trace
        if arrays is not None and trace is None:
            are_fresh = arrays.are_fresh()
            if are_fresh:
                return arrays.numbered
            if are_fresh is None:
                self._arrays, self._checked = None, -1  # the next step gathers them anew
        learned = self._learned()
        if trace is not None:
            return learned  # what is fresh is known when the traced function runs
        for _, param in learned:
            param.list_values()  # raises where there is none yet
        chosen = []
        for number, param in learned:
            if param.has_fresh_grads():
                chosen.append((number, param))
            elif not ignore_stale:
                raise StaleGradientError(
                    f"Trainer: the gradient of {param.name!r} was not written by a "
                    "backward pass since the last step; does the loss depend on the parameter? "
                    "ignore_stale_grad=True leaves it as it is"
                )
        return chosen

    # By these two names of MXNet's packages call the parts of a step, and override them (Horovod's
    # trainer adds up the gradients of all processes).

    def _allreduce_grads(self) -> None:
        """Adds up gradients; where the store updates, it does so now."""
        if self._kvstore is None:
            return
        chosen = self._learned() if self._current is None else self._current
        self._taken.clear()
        if chosen and (isinstance(self._kvstore, kv.Horovod) or _is_local(self._kvstore)):
            self._reduce_together(chosen)
            return
        for number, param in chosen:
            fresh = param.has_fresh_grads()
            grads = param.list_grad()
            # What was computed last is needed last: layers near the input have precedence.
            if not isinstance(self._kvstore, kv.KVStore):
                self._share(number, param)
                if self._update_on_kvstore:  # it is given the gradients, and fills the weights
                    out = param.list_data()
                    self._kvstore.pushpull(number, grads, out=out, priority=-number)
                else:
                    self._kvstore.pushpull(number, grads, priority=-number)
            else:
                self._store(number, param)
                self._kvstore.push(number, grads, priority=-number)
                if not self._update_on_kvstore:
                    self._kvstore.pull(number, grads, priority=-number, ignore_sparse=False)
            if not (self._update_on_kvstore or fresh):
                param.note_grads_used()

    def _reduce_together(self, chosen: Sequence[tuple[int, Parameter]]) -> None:
        """Adds up the gradients of all devices, or processes, in one call.

        That costs as much as one of few of them.
        """
        store = self._kvstore
        begin = self._store if isinstance(store, kv.KVStore) else self._share
        for number, param in chosen:
            begin(number, param)
        numbers = [number for number, _ in chosen]
        grads = [param.list_grad() for _, param in chosen]
        if self._update_on_kvstore:
            store.push(numbers, grads)
            return
        stale = [param for _, param in chosen if not param.has_fresh_grads()]
        if isinstance(store, kv.KVStore):
            store.push(numbers, grads)
            store.pull(numbers, grads, ignore_sparse=False)
        else:
            store.pushpull(numbers, grads)
        for param in stale:
            param.note_grads_used()

    def _share(self, number: int, param: Parameter) -> None:
        """Gives a parameter the value that the first of all processes has, once.

        A user's store that cannot do that leaves it as it is.
        """
        can = type(self._kvstore).broadcast is not kv.KVStoreBase.broadcast
        if can and number not in self._stored:
            self._stored[number] = param.times_set
            self._kvstore.broadcast(number, param.list_values()[0], out=param.list_values())

    def _store(self, number: int, param: Parameter) -> None:
        """Puts a parameter's value into the store, if that updates: also one set since."""
        before = self._stored.get(number)
        self._stored[number] = param.times_set
        if before is None:
            self._refuse_lost(number, param)
            # A function that is being traced finds it done, as all its later calls do.
            with init_scope() if _is_distributed(self._kvstore) else contextlib.nullcontext():
                self._kvstore.init(number, param.list_values()[0])
                if _is_distributed(self._kvstore) and param.stype == "default":
                    # All workers go on from the same parameters, those of worker 0.
                    self._kvstore.pull(number, param.list_data(), priority=-number)
        elif self._update_on_kvstore and before != param.times_set:
            self._refuse_reset(param)
            updater = self._kvstore.updater
            self._kvstore.set_updater(None)  # what is pushed now takes the place of what is there
            self._kvstore.push(number, param.list_values()[0])
            self._kvstore.set_updater(updater)

    def _refuse_lost(self, number: int, param: Parameter) -> None:
        """Refuses a gradient of first values where servers have others; see `_take_over`.

        Raises:
            MXNetError: they do.
        """
        store = self._kvstore
        known = _is_distributed(store) and param.stype == "default" and store.resumes
        if known and store.recalled_shape(number) is not None:
            raise MXNetError(
                f"Trainer: worker {store.rank} was started again, and the gradient of "
                f"{param.name!r} is that of its first value, where the servers have another: make "
                "the Trainer after net.initialize(...)"
            )

    def pull_rows(self, param: Parameter, out: Sequence[NDArray], rows: NDArray) -> None:
        """Writes rows of a row-sparse parameter, as the store has them now, into arrays.

        Args:
            param: one of the trainer's.
            out: row-sparse arrays of its shape.
            rows: which rows.
        """
        self._prepare(None)
        number = next(i for i, one in enumerate(self._params) if one is param)
        self._store(number, param)
        self._kvstore.row_sparse_pull(number, out=list(out), row_ids=rows)

    def note_set(self, param: Parameter) -> None:
        """Forgets the store, if it updates: a parameter got another value than the store holds."""
        number = next((i for i, one in enumerate(self._params) if one is param), None)
        if number in self._taken:
            # A checkpoint that the run began with, and that this worker reads again.
            self._given_store.pull(number, param.list_data(), priority=-number)
            self._stored[number] = param.times_set
            return
        if self._update_on_kvstore and number in self._stored:
            self._refuse_reset(param)
            self._reset_kvstore()

    def _refuse_reset(self, param: Parameter) -> None:
        """Refuses a new value for a parameter that servers hold for all workers.

        Raises:
            MXNetError: they do.
        """
        if _is_distributed(self._kvstore):
            raise MXNetError(
                f"Trainer: {param.name!r} cannot get another value, as the servers of a "
                f"{self._kvstore.type!r} store hold and update it for all workers: load parameters "
                "before the first step, or make the Trainer with update_on_kvstore=False"
            )

    def _reset_kvstore(self) -> None:
        """Lets the next step make the store anew, from the parameters as they are then."""
        self._kvstore, self._update_on_kvstore = None, None
        self._kv_initialized = False
        if isinstance(self._given_store, str):
            self._stored = {}

    def _update(self, ignore_stale_grad: bool = False) -> None:
        """Updates parameters from their gradients, or fetches them from the store."""
        chosen = self._current
        if chosen is None:
            chosen = self.updated_params(ignore_stale_grad)
        arrays = self._arrays
        if arrays is not None and chosen is arrays.numbered:
            self._optimizer._set_current_context(0)
            self._updaters[0](arrays.numbers, arrays.grads, arrays.weights)
            arrays.note_used()
            recorder.mark()
            return
        if self._update_on_kvstore:
            self._fetch(chosen)
        elif chosen:
            numbers = [number for number, _ in chosen]
            weights = [param.list_values() for _, param in chosen]
            grads = [param.list_grad() for _, param in chosen]
            for device, updater in enumerate(self._updaters):
                self._optimizer._set_current_context(device)
                updater(
                    numbers,
                    [copies[device] for copies in grads],
                    [copies[device] for copies in weights],
                )
        if recorder.current_trace() is None:
            for _, param in chosen:
                param.note_grads_used()
        recorder.mark()

    def _fetch(self, chosen: Sequence[tuple[int, Parameter]]) -> None:
        """Fetches values from the store that has updated them, of all devices in one call."""
        if not isinstance(self._kvstore, kv.KVStore):
            return  # one of a user's has filled them when it was given the gradients
        # Rows of sparse ones are asked for when they are needed.
        values = {number: param.list_data() for number, param in chosen if param.stype == "default"}
        if values and _is_local(self._kvstore):
            self._kvstore.pull(list(values), list(values.values()))
            return
        for number, arrays in values.items():
            self._kvstore.pull(number, arrays, priority=-number)

    # -- the store and the updaters ----------------------------------------------------------

    def _prepare(self, batch_size: float | None) -> None:
        """Makes the store and the updaters: at the first step, and after parameters were moved."""
        if batch_size is not None:
            self._optimizer.rescale_grad = self._scale / batch_size
        latest = changes.count.number
        if self._kv_initialized and self._checked == latest:
            return
        contexts = self._common_contexts()
        if not self._kv_initialized or contexts != self._contexts:
            if self._kv_initialized and _is_distributed(self._kvstore):
                raise MXNetError(
                    "Trainer: parameters that a distributed store holds stay on the contexts that "
                    f"they are on, {self._contexts}; move them before the first step"
                )
            self._start(contexts)
        self._checked = latest
        local = self._kvstore is None and len(contexts) == 1
        self._arrays = TrainedArrays.of(self._learned()) if local else None

    def _start(self, contexts: list[Context]) -> None:
        """Makes the store and the updaters for parameters on `contexts`, and keeps the states."""
        states = self._get_states() if self._kv_initialized else self._loaded_states
        self._loaded_states = None
        self._make_store(len(contexts) > 1)
        if not self._update_on_kvstore:
            self._updaters = [optimizer.get_updater(self._optimizer) for _ in contexts]
        if states is not None:
            self._set_states(states)
        self._contexts = contexts
        self._kv_initialized = True

    def _common_contexts(self) -> list[Context]:
        """Returns the contexts of the parameters, which must be the same for all."""
        found: list[Context] | None = None
        for param in self._params:
            contexts = param.list_ctx()
            if found is not None and contexts != found:
                raise MXNetError(
                    f"Trainer: all parameters must be on the same contexts, but {param.name!r} is "
                    f"on {contexts}, and others are on {found}"
                )
            found = contexts
        return found or []

    @property
    def _params_to_init(self) -> list[Parameter]:
        """The parameters that the store will get when they have a value."""
        every = [param for param in self._params if not self._kv_initialized or param.is_deferred]
        return every if self._kvstore is not None or not self._kv_initialized else []

    def _init_kvstore(self) -> None:
        """Makes the store and the updaters now, and not at the first step."""
        self._start(self._common_contexts())

    def _make_store(self, several: bool) -> None:
        store = self._given_store
        sparse = next((param for param in self._params if param.stype != "default"), None)
        if sparse is not None and (store is None or self._given_update is False):
            raise ParameterError(
                f"Trainer: {sparse.name!r} has a value of storage {sparse.stype!r}, which a "
                "key-value store must hold and update; give one, and leave update_on_kvstore out"
            )
        own = isinstance(store, str) and not _spans_processes(store)
        if store is None or (own and not several and sparse is None):
            if self._given_update:
                raise ParameterError(
                    "Trainer: update_on_kvstore=True requires a key-value store; with one device "
                    "give one: kvstore=kv.create('local')"
                )
            self._kvstore, self._update_on_kvstore = None, None
            return
        if isinstance(store, str):
            store, self._stored = kv.create(store), {}
        self._kvstore = store
        if self._compression:
            store.set_gradient_compression(self._compression)
        self._update_on_kvstore = self._updates(store, sparse is not None)
        if self._update_on_kvstore:
            self._kvstore.set_optimizer(self._optimizer)

    def _updates(self, store: Any, sparse_value: bool) -> bool:
        """Whether the store is to apply the optimizer: as asked, else what suits it."""
        sparse_grads = any(param.grad_stype != "default" for param in self._params)
        if _is_distributed(store):
            return self._updates_on_servers(store, sparse_value or sparse_grads)
        if store.is_capable("optimizer"):
            if sparse_value or self._given_update is not None:
                return sparse_value or bool(self._given_update)
            # Sparse gradients are few rows: to send these is less than to send dense weights.
            return config.update_on_kvstore() and not sparse_grads
        if self._given_update or sparse_value:
            raise ParameterError(
                f"Trainer: the store {store.type!r} applies no optimizer; give "
                "update_on_kvstore=False, and dense parameters"
            )
        return False

    def _updates_on_servers(self, store: Any, sparse: bool) -> bool:
        """Whether a distributed store is to apply the optimizer."""
        asynchronous = "async" in store.type
        if self._given_update is False and (sparse or asynchronous):
            why = "adds up no rounds" if asynchronous else "sends sparse gradients to be applied"
            raise ParameterError(
                f"Trainer: update_on_kvstore=False requires dense gradients and a synchronous "
                f"store, got {store.type!r}, which {why}; leave it out"
            )
        if self._given_update is None:
            return sparse or asynchronous or config.update_on_kvstore()
        return self._given_update

    # -- states ------------------------------------------------------------------------------

    def save_states(self, fname: PathLike) -> None:
        """Saves the optimizer and its states; the file appears whole or not at all.

        Servers of a distributed store are asked for theirs; one of the workers saves.

        Raises:
            ParameterError: the optimizer holds something that cannot be saved.
            OSError: the file cannot be written.
        """
        states = self.states_to_bytes()
        with atomic_write(fname) as file:
            file.write(states)

    def load_states(self, fname: PathLike) -> None:
        """Loads what `save_states` has written, here or in MXNet, the optimizer's settings too.

        Of the workers of a distributed store all do.

        Raises:
            FormatError: the file is damaged.
            OSError: it cannot be read.
        """
        states = read_file(fname)
        try:
            self.states_from_bytes(states)
        except FormatError as error:
            raise FormatError(f"{fname}: {error}") from error

    def states_to_bytes(self, apart: dict[str, NDArray] | None = None) -> bytes:
        """Returns the optimizer and its states, as `save_states` writes them.

        Args:
            apart: gets the states on a mesh, which are not in the bytes then; see `take_states`.

        Raises:
            ParameterError: the optimizer holds something that cannot be saved.
        """
        self._prepare(None)
        return self._get_states(apart)

    def take_states(self, arrays: Mapping[str, NDArray]) -> None:
        """Takes over states that `states_to_bytes` has set apart, after those in the bytes.

        Raises:
            FormatError: one is missing.
        """
        self._prepare(None)
        for updater in self._updaters:
            updater.take(arrays)

    def param_of(self, number: str) -> Parameter | None:
        """Returns the parameter of a number, as names of states have it; None: there is none."""
        known = number.isdecimal() and int(number) < len(self._params)
        return self._params[int(number)] if known else None

    def states_from_bytes(self, states: bytes) -> None:
        """Takes over what `states_to_bytes` returned, the optimizer's settings too.

        Raises:
            FormatError: the bytes are damaged.
        """
        if not self._kv_initialized and all(
            p.is_initialized or p.is_deferred for p in self._params
        ):
            self._prepare(None)  # now, for the first step may be traced
        if self._kv_initialized:
            self._set_states(states)
            return
        optimizer.get_updater(optimizer.create("sgd")).set_states(states)  # raises if damaged
        self._loaded_states = states

    def _get_states(self, apart: dict[str, NDArray] | None = None) -> bytes:
        if self._update_on_kvstore and _is_distributed(self._kvstore):
            fetched: bytes = self._kvstore.states_to_bytes(dump_optimizer=True)
            return fetched
        updater = self._kvstore.updater if self._update_on_kvstore else self._updaters[0]
        states: bytes = updater.get_states(dump_optimizer=True, apart=apart)
        return states

    def _set_states(self, states: bytes) -> None:
        shapes = [param.shape for param in self._params]
        states = renumbered(states, self._optimizer, shapes, self._mxnets_orders)
        if self._update_on_kvstore and _is_distributed(self._kvstore):
            self._kvstore.states_from_bytes(states)
            self._optimizer = self._kvstore.optimizer
            return
        updaters = [self._kvstore.updater] if self._update_on_kvstore else self._updaters
        for updater in updaters:
            updater.set_states(states)
        self._optimizer = updaters[0].optimizer
        for updater in updaters:
            updater.optimizer = self._optimizer


def _spans_processes(store: str) -> bool:
    """Whether a store of this name adds up values of several processes."""
    return _names_servers(store) or store.lower() == "horovod"


def _names_servers(store: str) -> bool:
    """Whether a store of this name has its values on servers."""
    return "dist" in store.lower() or store.lower() == "p3"


def _is_distributed(store: object) -> TypeGuard[kv.KVStore]:
    """Whether a store has its values on servers."""
    return isinstance(store, kv.KVStore) and store.is_distributed


def _is_local(store: object) -> TypeGuard[kv.KVStore]:
    """Whether a store has its values in this process."""
    return isinstance(store, kv.KVStore) and not store.is_distributed


def _checked(batch_size: object) -> float:
    """Returns the size of a batch, which gradients are divided by; an array is waited for."""
    if type(batch_size) is int and batch_size > 0:  # as at nearly all steps
        return float(batch_size)
    if isinstance(batch_size, NDArray) and batch_size.size == 1:
        batch_size = batch_size.asscalar()
    elif isinstance(batch_size, np.ndarray) and batch_size.size == 1:
        batch_size = batch_size.item()
    if isinstance(batch_size, Real) and float(batch_size) > 0:
        return float(batch_size)
    raise ParameterError(f"Trainer: batch_size must be a number > 0, got {batch_size!r}")


def _as_list(
    params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
) -> list[Parameter]:
    if isinstance(params, (ParameterDict, Mapping)):
        listed = [params[name] for name in sorted(params, key=lambda name: natural_key(str(name)))]
    elif isinstance(params, (list, tuple)):
        listed = list(params)
    else:
        raise ParameterError(
            "Trainer: params must be what collect_params() returns, a dict or a list, got "
            f"{type(params).__name__}"
        )
    for param in listed:
        if not isinstance(param, Parameter):
            raise ParameterError(f"Trainer: needs Parameters, got {type(param).__name__}")
    return list(dict.fromkeys(listed))


def _mxnets_orders(
    params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
    listed: Sequence[Parameter],
) -> list[list[int]]:
    """Returns the orders in which MXNet may have numbered parameters; see `renumbered`.

    Args:
        params: as a trainer is given them.
        listed: the same as it numbers them.
    """
    if not isinstance(params, (ParameterDict, Mapping)):
        return [list(range(len(listed)))]
    numbers = {param: number for number, param in enumerate(listed)}
    orders = [params[name] for name in sorted(params)], params.values()
    return [[numbers[param] for param in dict.fromkeys(order)] for order in orders]
