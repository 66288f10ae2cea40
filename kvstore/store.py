"""A store: the state machine decides, its actions carry out.

The store knows nothing of what the values are. Its actions do: `CellActions` runs plain callables
as engine tasks; the front end for arrays brings its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar, final

from hybridnet.kvstore.kinds import Kind
from hybridnet.kvstore.messages import (
    Init,
    Instruction,
    Keep,
    Key,
    Merge,
    Pull,
    Push,
    Replace,
    Send,
    SetUpdater,
    Update,
)
from hybridnet.kvstore.state import StoreState

V = TypeVar("V")


class Actions(ABC, Generic[V]):
    """Operations on values of type V: opaque handles, whose content may be pending.

    Every action returns at once. What must come first (a push before a later pull of its key) is
    the handles' affair: an action on a handle follows the earlier ones on it. Of the actions that
    can go ahead, those with the higher priority do.
    """

    @abstractmethod
    def keep(self, key: Key, value: V) -> V:
        """Returns a copy of the first value of a key."""

    @abstractmethod
    def merge(self, key: Key, values: Sequence[V], priority: int) -> V:
        """Returns the sum of several values; they stay as they are."""

    @abstractmethod
    def update(self, key: Key, merged: V, stored: V, priority: int) -> V:
        """Applies the updater; returns the key's handle, the same or a new one."""

    @abstractmethod
    def replace(self, key: Key, merged: V, stored: V, priority: int) -> V:
        """Copies the merged value to the key's; returns the key's handle, the same or a new one."""

    @abstractmethod
    def send(self, key: Key, stored: V, targets: Sequence[V], priority: int) -> None:
        """Copies the key's value to each target."""


@final
class Store(Generic[V]):
    """Keys and their values, in one process.

    Args:
        kind: which kind of store this is.
        actions: what to do with the values.
    """

    def __init__(self, kind: Kind, actions: Actions[V]) -> None:
        self.kind = kind
        self._actions = actions
        self._state = StoreState()
        self._stored: dict[Key, V] = {}

    def set_updater(self, present: bool) -> None:
        """Says whether the actions have an updater: pushes then update instead of replacing."""
        self._state.handle(SetUpdater(present))

    def init(self, key: Key, value: V) -> None:
        """Makes a key.

        Raises:
            KVStoreError: it exists, or the store's other keys are of another type.
        """
        self._carry_out(self._state.handle(Init(key)), (value,))

    def push(self, key: Key, values: Sequence[V], *, priority: int = 0) -> None:
        """Sums the values and updates the key's value with the sum, or replaces it by the sum.

        Raises:
            KVStoreError: there is no such key, or no value.
        """
        self._carry_out(self._state.handle(Push(key, len(values), priority)), values)

    def pull(self, key: Key, targets: Sequence[V], *, priority: int = 0) -> None:
        """Copies the key's value, as it is after the pushes so far, to each target.

        Raises:
            KVStoreError: there is no such key, or no target.
        """
        self._carry_out(self._state.handle(Pull(key, len(targets), priority)), targets)

    def get(self, key: Key) -> V | None:
        """Returns the handle of a key's own value, not to be written; None if there is no key."""
        return self._stored.get(key)

    def _carry_out(self, instructions: Iterable[Instruction], values: Sequence[V]) -> None:
        actions, stored = self._actions, self._stored
        merged = values[0]
        for instruction in instructions:
            match instruction:
                case Keep(key):
                    stored[key] = actions.keep(key, merged)
                case Merge(key, priority):
                    merged = actions.merge(key, values, priority)
                case Update(key, priority):
                    stored[key] = actions.update(key, merged, stored[key], priority)
                case Replace(key, priority):
                    stored[key] = actions.replace(key, merged, stored[key], priority)
                case Send(key, priority):
                    actions.send(key, stored[key], values, priority)
