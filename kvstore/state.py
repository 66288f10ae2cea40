"""The store's decisions: messages in, instructions out. No values, no threads, no engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.messages import (
    Init,
    Instruction,
    Keep,
    Key,
    Merge,
    Message,
    Pull,
    Push,
    Replace,
    Send,
    SetUpdater,
    Update,
)

Phase = Literal["absent", "ready"]

#: (phase of the key, message) -> its next phase. What is not here is refused.
_NEXT: Final[dict[tuple[Phase, type[Message]], Phase]] = {
    ("absent", Init): "ready",
    ("ready", Push): "ready",
    ("ready", Pull): "ready",
}


@dataclass(slots=True)
class KeyState:
    """The state of one key."""

    key: Key
    phase: Phase = "absent"
    #: pushes so far: the version of the key's value.
    pushes: int = 0

    def story(self) -> str:
        """Says what has happened to the key."""
        if self.phase == "absent":
            return "which was never initialized"
        return f"which was initialized and has had {self.pushes} pushes"


class StoreState:
    """Decides what each message leads to."""

    def __init__(self) -> None:
        self._keys: dict[Key, KeyState] = {}
        self._has_updater = False

    def handle(self, message: Message) -> list[Instruction]:
        """Takes one message; returns what is to be done, in order.

        Raises:
            KVStoreError: the message must be refused; nothing has changed then.
        """
        if isinstance(message, SetUpdater):
            self._has_updater = message.present
            return []
        state = self._advance(message)
        match message:
            case Init(key):
                return [Keep(key)]
            case Pull(key, _, priority):
                return [Send(key, priority)]
            case Push(key, parts, priority):
                state.pushes += 1
                apply = Update if self._has_updater else Replace
                last = apply(key, priority)
                return [last] if parts == 1 else [Merge(key, priority), last]

    def _advance(self, message: Init | Push | Pull) -> KeyState:
        """Moves the message's key on to its next phase."""
        key = message.key
        name = type(message).__name__.lower()
        state = self._keys.get(key) or KeyState(key)
        following = _NEXT.get((state.phase, type(message)))
        if following is None:
            wanted = "a new key" if isinstance(message, Init) else "an initialized key"
            raise KVStoreError(f"{name} requires {wanted}, got {key!r}, {state.story()}")
        if isinstance(message, Init):
            self._admit(key)
        elif (message.parts if isinstance(message, Push) else message.targets) < 1:
            raise KVStoreError(f"{name} requires at least one value for key {key!r}, got none")
        state.phase = following
        self._keys[key] = state
        return state

    def _admit(self, key: Key) -> None:
        """Refuses a key of another type than the first one's: 3 and "3" are easily confused."""
        first = next(iter(self._keys), key)
        if type(first) is not type(key):
            raise KVStoreError(
                f"init requires keys of one type, all integers or all strings, got {key!r} "
                f"after {first!r}"
            )
