"""The backends of a store of arrays: its values are in this process, or (`remote`) on servers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, final

from hybridnet.base.errors import MXNetError
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock
from hybridnet.kvstore import Key, Kind, Store
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.sparse import RowSparseNDArray
from hybridnet.optimizer import get_updater

from .actions import ArrayActions, Updater


class Backend(ABC):
    """The backend of a `KVStore`: it exchanges and updates arrays that the store has checked.

    Attributes:
        kind: of the store.
        rank: the number of this worker.
        num_workers: how many workers there are.
        distributed: whether there are others, and servers, or could be.
        resumes: of a worker that takes the place of one that was lost: how many pushes of each key
            count already; else 0.
    """

    kind: Kind
    rank: int
    num_workers: int
    distributed: bool
    resumes: int = 0

    @property
    @abstractmethod
    def updater(self) -> Updater | None:
        """The updater that pushes call in this process; None while they do not."""

    @abstractmethod
    def shape(self, key: Key) -> tuple[int, ...] | None:
        """Returns the shape of a key; None if there is no such key."""

    def recalled_shape(self, key: Key) -> tuple[int, ...] | None:
        """Returns the shape of a key that the worker made which this one replaces.

        None where there is no such key, or this worker has made it by now.
        """
        return None

    @abstractmethod
    def init(self, values: Mapping[Key, NDArray]) -> None:
        """Makes keys."""

    @abstractmethod
    def push(self, key: Key, values: Sequence[NDArray], priority: int) -> None:
        """See `KVStore.push`."""

    @abstractmethod
    def pull(self, key: Key, targets: Sequence[NDArray], priority: int) -> None:
        """See `KVStore.pull`."""

    def push_all(self, pairs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Pushes several keys."""
        for key, values in pairs.items():
            self.push(key, values, priority)

    def pull_all(self, pairs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Pulls several keys."""
        for key, targets in pairs.items():
            self.pull(key, targets, priority)

    def push_pull(
        self, key: Key, values: Sequence[NDArray], targets: Sequence[NDArray], priority: int
    ) -> None:
        """A push, and a pull after it."""
        self.push(key, values, priority)
        self.pull(key, targets, priority)

    def push_pull_all(
        self,
        values: Mapping[Key, Sequence[NDArray]],
        targets: Mapping[Key, Sequence[NDArray]],
        priority: int,
    ) -> None:
        """Pushes and pulls several keys."""
        for key, arrays in values.items():
            self.push_pull(key, arrays, targets[key], priority)

    @abstractmethod
    def pull_rows(self, key: Key, target: NDArray, rows: NDArray, priority: int) -> None:
        """Writes rows of a key into a row-sparse array."""

    @abstractmethod
    def set_updater(self, updater: Updater | None) -> None:
        """See `KVStore.set_updater`."""

    @abstractmethod
    def set_optimizer(self, optimizer: Any) -> None:
        """See `KVStore.set_optimizer`."""

    def expect_optimizer(self, optimizer: Any) -> None:  # noqa: B027
        """Says for which optimizer the next keys are made, before it is set. By default, nothing.

        Args:
            optimizer: what servers keep a value in depends on it.
        """

    @property
    @abstractmethod
    def optimizer(self) -> Any:
        """The optimizer that pushes update by; None where there is none."""

    @abstractmethod
    def states_to_bytes(self, dump_optimizer: bool) -> bytes:
        """See `KVStore.states_to_bytes`; there is an optimizer."""

    @abstractmethod
    def states_from_bytes(self, states: bytes) -> None:
        """See `KVStore.states_from_bytes`; there is an optimizer."""

    @abstractmethod
    def set_compression(self, parameters: Mapping[str, Any]) -> None:
        """See `KVStore.set_gradient_compression`."""

    def barrier(self) -> None:  # noqa: B027
        """Waits for the other workers. By default there are none."""


@final
class LocalBackend(Backend):
    """Values in this process: the store of `hybridnet.kvstore` with actions on arrays."""

    rank = 0
    num_workers = 1
    distributed = False

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._actions = ArrayActions(kind)
        self._store: Store[NDArray] = Store(kind, self._actions)
        # Held while keys cross together, which several threads may ask for.
        self._lock = free_in_children(RLock())

    @property
    def updater(self) -> Updater | None:
        """See `Backend.updater`."""
        return self._actions.updater

    def shape(self, key: Key) -> tuple[int, ...] | None:
        """See `Backend.shape`."""
        stored = self._store.get(key)
        return None if stored is None else stored.shape

    def init(self, values: Mapping[Key, NDArray]) -> None:
        """See `Backend.init`."""
        for key, value in values.items():
            self._store.init(key, value)

    def push(self, key: Key, values: Sequence[NDArray], priority: int) -> None:
        """See `Backend.push`."""
        with self._lock:
            self._actions.begin_push(key)
            self._store.push(key, values, priority=priority)

    def pull(self, key: Key, targets: Sequence[NDArray], priority: int) -> None:
        """See `Backend.pull`."""
        with self._lock:
            self._store.pull(key, targets, priority=priority)

    def push_all(self, pairs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """See `Backend.push_all`; what crosses from one device to another does so together."""
        with self._lock:
            if len(pairs) == 1:
                super().push_all(pairs, priority)
                return
            known = {key: x for key, x in pairs.items() if self._store.get(key) is not None}
            try:
                self._actions.begin_pushes(known, priority)
                super().push_all(pairs, priority)
            finally:
                self._actions.end_pushes()

    def pull_all(self, pairs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """See `Backend.pull_all`; what crosses from one device to another does so together."""
        with self._lock:
            self._actions.collect()
            try:
                super().pull_all(pairs, priority)
            finally:
                self._actions.scatter(priority)

    def push_pull_all(
        self,
        values: Mapping[Key, Sequence[NDArray]],
        targets: Mapping[Key, Sequence[NDArray]],
        priority: int,
    ) -> None:
        """See `Backend.push_pull_all`."""
        self.push_all(values, priority)
        self.pull_all(targets, priority)

    def pull_rows(self, key: Key, target: NDArray, rows: NDArray, priority: int) -> None:
        """See `Backend.pull_rows`; rows are taken where the value is, whatever the priority."""
        stored = self._store.get(key)
        assert stored is not None
        target.assign(RowSparseNDArray.rows_of(stored, rows))

    def set_updater(self, updater: Updater | None) -> None:
        """See `Backend.set_updater`."""
        self._actions.updater = updater
        self._store.set_updater(updater is not None)

    def set_optimizer(self, optimizer: Any) -> None:
        """See `Backend.set_optimizer`."""
        self.set_updater(get_updater(optimizer))

    @property
    def optimizer(self) -> Any:
        """See `Backend.optimizer`."""
        return getattr(self.updater, "optimizer", None)

    def states_to_bytes(self, dump_optimizer: bool) -> bytes:
        """See `Backend.states_to_bytes`."""
        updater: Any = self.updater
        states: bytes = updater.get_states(dump_optimizer)
        return states

    def states_from_bytes(self, states: bytes) -> None:
        """See `Backend.states_from_bytes`."""
        updater: Any = self.updater
        updater.set_states(states)

    def set_compression(self, parameters: Mapping[str, Any]) -> None:
        """Not available: within one process nothing is sent over a network.

        Raises:
            MXNetError: always.
        """
        raise MXNetError(
            f"set_gradient_compression: a store of type {self.kind.name!r} sends nothing over a "
            "network and compresses nothing; leave the call out"
        )
