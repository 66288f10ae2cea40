"""`Updater`: an optimizer with the states of the weights it has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, final

from hybridnet.base.array_owners import owns_arrays
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.base.mesh import Mesh
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.placed import lying_as
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.traces import init_scope

from ._states import dump_states, is_mxnets, load_states
from .mxnet_states import counts_of, read_mxnet_states
from .optimizer import (
    Arrays,
    Index,
    Indices,
    Optimizer,
    State,
    is_low_precision,
)
from .restoring import Assign, assign_all, assign_known, restored_optimizer

__all__ = ["Updater", "get_updater"]

#: What stands in bytes for an array on a mesh, before its name.
_ON_MESH: Final = "array on a mesh: "


@owns_arrays
@final
class Updater:
    """Applies an optimizer to weights; makes the state of each when it first sees it.

    Args:
        optimizer: what does the updates.

    Attributes:
        optimizer: the same.
        states: what it remembers of each weight, by index.
        states_synced: whether a state is known to be where its weight is, by index.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Index, State] = {}
        self.states_synced: dict[Index, bool] = {}

    def __call__(self, index: Indices, grad: Arrays, weight: Arrays) -> None:
        """Updates a weight in place, or each of a list.

        Args:
            index: the weight's key, or a list of keys.
            grad: its gradient, or a list.
            weight: the weight, or a list.
        """
        together = isinstance(index, (list, tuple))
        lists: Any = (index, grad, weight) if together else ([index], [grad], [weight])
        indices, grads, weights = lists
        ready = self.states_synced
        for i, w in zip(indices, weights, strict=True):
            if not ready.get(i):
                self._prepare(i, w)
        optimizer = self.optimizer
        if optimizer.aggregate_num:  # then it is given lists, also of one, as by MXNet
            states = [self.states[i] for i in indices]
            optimizer.update_multi_precision(list(indices), weights, grads, states)
            return
        for i, g, w in zip(indices, grads, weights, strict=True):
            optimizer.update_multi_precision(i, w, g, self.states[i])

    def _prepare(self, index: Index, weight: NDArray) -> None:
        """Makes a weight's state, or brings one that was loaded to where the weight is."""
        trace = recorder.current_trace()
        # A traced function that takes a first step must not begin with new states at every call.
        with init_scope():
            if index in self.states:
                state = self.sync_state_context(self.states[index], weight.context)
            else:
                if trace is not None and weight.storage.owner is trace:
                    self._refuse_copy(index, weight)
                state = self.optimizer.create_state_multi_precision(index, weight)
            if isinstance(weight.context, Mesh):
                state = _lying_as(state, weight)
        self.states[index] = state
        self.states_synced[index] = True

    def _refuse_copy(self, index: Index, weight: NDArray) -> None:
        if self.optimizer.multi_precision and is_low_precision(weight):
            raise MXNetError(
                f"the first update of the {weight.dtype.__name__} weight {index!r} must be able to "
                "read it, to make its float32 copy, but here it is an argument of a traced "
                "function; let the function find it outside, or update it once before"
            )

    def sync_state_context(self, state: State, context: Context) -> State:
        """Returns a state with its arrays on a context."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(item, context) for item in state)
        return state

    def named_arrays(self) -> list[tuple[str, NDArray]]:
        """Returns the arrays of the states, each with the name of its weight."""
        optimizer, found = self.optimizer, []
        for index, state in list(self.states.items()):
            param = optimizer.param_dict.get(index)
            name = optimizer.idx2name.get(index, index) if param is None else param.name
            found += [(f"state of {name}", array) for array in _arrays(state)]
        return found

    def get_states(
        self, dump_optimizer: bool = False, apart: dict[str, NDArray] | None = None
    ) -> bytes:
        """Returns the states, and what updates change in the optimizer itself, as bytes.

        The latter are how often each weight has been updated, and `Optimizer.running`.

        They are a safetensors file, not the pickle that MXNet makes of them.

        Args:
            dump_optimizer: put in the optimizer's settings too.
            apart: gets the states that are on a mesh, by ``number/place``, which are not in the
                bytes then; see `take`.

        Raises:
            ParameterError: a state or setting is neither array, number, string nor a tuple, list
                or dict of these.
        """
        whole = {
            "states": self.states if apart is None else _without(self.states, apart),
            "counts": self.optimizer._all_index_update_counts,
            "num_update": self.optimizer.num_update,
            "running": {name: getattr(self.optimizer, name) for name in self.optimizer.running},
            "optimizer": _settings(self.optimizer) if dump_optimizer else None,
        }
        return dump_states(whole)

    def set_states(self, states: bytes) -> None:
        """Restores what `get_states` returned, the optimizer too if that was put in.

        Args:
            states: from `get_states`, of hybridnet or of MXNet 1.x. MXNet's are pickles, of which
                nothing is run: see `read_mxnet_states`. Without the optimizer MXNet's do not say
                how often weights have been updated, and the counts stay as they are.

        Raises:
            FormatError: the bytes are damaged, or hold something else.
        """
        if is_mxnets(states):
            whole = read_mxnet_states(states)
            settings = whole["optimizer"]
            if settings is not None and not _are_counts(*counts_of(settings)):
                raise FormatError("optimizer states: the optimizer's counts are no dicts by index")
            self._adopt(whole["states"], settings, assign_known)
            self.optimizer._set_current_context(self.optimizer._device)
            return
        ctx = current_context()
        whole = load_states(states, lambda host: array(host, ctx, host.dtype))
        try:
            restored, counts = whole["states"], whole["counts"]
            num_update, running = whole["num_update"], whole["running"]
            settings = whole["optimizer"]
        except (TypeError, KeyError) as error:
            raise FormatError(f"optimizer states: a part is missing: {error}") from None
        if not isinstance(restored, dict) or not _are_counts(counts, num_update):
            raise FormatError("optimizer states: the states or counts are no dicts by index")
        if not _are_numbers(running):
            raise FormatError("optimizer states: what updates change is no dict of numbers by name")
        self._adopt(restored, settings, assign_all)
        optimizer = self.optimizer
        for name in optimizer.running:
            setattr(optimizer, name, running.get(name, getattr(optimizer, name)))
        optimizer._all_index_update_counts = counts
        optimizer._set_current_context(optimizer._device)
        optimizer.num_update = num_update

    def take(self, arrays: Mapping[str, NDArray]) -> None:
        """Takes over states that `get_states` has set apart.

        Raises:
            FormatError: one is missing.
        """
        self.states = {key: _with(state, arrays) for key, state in self.states.items()}

    def _adopt(self, states: dict[Index, State], settings: Any, assign: Assign) -> None:
        """Takes over states, and an optimizer like the one saved, if there was one."""
        if settings is not None:
            self.optimizer = restored_optimizer(self.optimizer, settings, assign)
        self.states = states
        self.states_synced = dict.fromkeys(states, False)


def _arrays(state: State) -> list[NDArray]:
    """Returns the arrays in a state."""
    if isinstance(state, NDArray):
        return [state]
    parts = state if isinstance(state, (tuple, list)) else ()
    return [array for part in parts for array in _arrays(part)]


def _without(states: Mapping[Index, State], apart: dict[str, NDArray]) -> dict[Index, Any]:
    """Returns states with words in the places of arrays on meshes, which a dict gets."""

    def replaced(state: State, where: str) -> Any:
        if isinstance(state, NDArray) and isinstance(state.context, Mesh):
            apart[where] = state
            return f"{_ON_MESH}{where}"
        if isinstance(state, (tuple, list)):
            return type(state)(replaced(x, f"{where}/{i}") for i, x in enumerate(state))
        return state

    return {key: replaced(state, str(key)) for key, state in states.items()}


def _with(state: Any, arrays: Mapping[str, NDArray]) -> Any:
    """Returns a state with arrays in the places of the words that `_without` left."""
    if isinstance(state, str) and state.startswith(_ON_MESH):
        name = state.removeprefix(_ON_MESH)
        if name not in arrays:
            raise FormatError(f"optimizer states: the array {name!r} is missing")
        return arrays[name]
    if isinstance(state, (tuple, list)):
        return type(state)(_with(x, arrays) for x in state)
    return state


def _lying_as(state: State, weight: NDArray) -> State:
    """Returns a state whose arrays of the weight's shape lie on the mesh as the weight does."""
    if isinstance(state, (tuple, list)):
        return type(state)(_lying_as(item, weight) for item in state)
    if isinstance(state, NDArray) and state.shape == weight.shape:
        placed: NDArray = lying_as(state, weight)
        return placed
    return state


def get_updater(optimizer: Optimizer) -> Updater:
    """Returns a function ``updater(index, grad, weight)`` that updates weights in place."""
    return Updater(optimizer)


#: Attributes that are saved apart, or belong to whoever trains.
_APART: Final = ("lr_scheduler", "param_dict", "_rescale_trace")


def _are_counts(counts: object, num_update: object) -> bool:
    return (
        type(num_update) is int
        and isinstance(counts, dict)
        and all(
            type(device) is int
            and isinstance(of_device, dict)
            and all(type(count) is int for count in of_device.values())
            for device, of_device in counts.items()
        )
    )


def _are_numbers(running: object) -> bool:
    return isinstance(running, dict) and all(type(x) in (int, float) for x in running.values())


def _settings(optimizer: Optimizer) -> dict[str, Any]:
    """Returns an optimizer's class and attributes as plain values."""
    attributes = {k: v for k, v in optimizer.__getstate__().items() if k not in _APART}
    scheduler = optimizer.lr_scheduler
    return {
        "name": type(optimizer).__name__,
        "attributes": attributes,
        "scheduler": None if scheduler is None else [type(scheduler).__name__, vars(scheduler)],
    }
