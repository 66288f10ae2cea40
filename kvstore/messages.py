"""Messages to a store and its instructions: plain values, without the data they are about.

A message names a key and how many values come with it. `StoreState.handle` answers it with
instructions, to be carried out in order; in these, "the merged value" is the one value that came
with the push, or the result of its `Merge`.
"""

from __future__ import annotations

from dataclasses import dataclass

Key = int | str


@dataclass(frozen=True, slots=True)
class Init:
    """Make a key, with one value."""

    key: Key


@dataclass(frozen=True, slots=True)
class Push:
    """Take `parts` values, one from each device, into a key."""

    key: Key
    parts: int
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Pull:
    """Give a key's value to `targets` places."""

    key: Key
    targets: int
    priority: int = 0


@dataclass(frozen=True, slots=True)
class SetUpdater:
    """From now on pushes update the key's value (or, without an updater, replace it)."""

    present: bool


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep a copy of the value that came with the message as the key's own."""

    key: Key


@dataclass(frozen=True, slots=True)
class Merge:
    """Reduce the values that came with the push to one."""

    key: Key
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Update:
    """Apply the updater to the key's value and the merged one."""

    key: Key
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Replace:
    """Make a copy of the merged value the key's own."""

    key: Key
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Send:
    """Copy the key's value to every place that came with the pull."""

    key: Key
    priority: int = 0


Message = Init | Push | Pull | SetUpdater
Instruction = Keep | Merge | Update | Replace | Send
