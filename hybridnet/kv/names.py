"""The servers' names for the keys of a process's stores, of which each has keys of its own."""

from __future__ import annotations

from typing import Final

from hybridnet.kvstore import Key

_MARK: Final = "\x1f"  # a character that no user's key has


def name_of(key: Key, store: int, again: int = 0) -> Key:
    """Returns the name on the servers of a key of a process's n-th store.

    Those of the first store are the keys themselves, as almost all programs have one only.

    Args:
        key: what users call it.
        store: n.
        again: how often its value was given a new place before.
    """
    if store == again == 0:
        return key
    place = f"{store}.{again}" if again else str(store)
    return f"{place}{_MARK}{'i' if isinstance(key, int) else 's'}{key}"


def index_of(name: Key) -> Key:
    """Returns the key that a name stands for."""
    if isinstance(name, int) or _MARK not in name:
        return name
    key = name.partition(_MARK)[2]
    return int(key[1:]) if key[0] == "i" else key[1:]
