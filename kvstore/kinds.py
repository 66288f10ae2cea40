"""The kinds of store, by name: where the values of a key come together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from hybridnet.kvstore.errors import KVStoreError


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of store.

    Attributes:
        name: what users write in `create(name)`.
        merges_on: where values from several devices are summed and the key's own value is kept:
            in host memory ("cpu"), or on the first of these devices ("device").
        consistency: "local": all is in this process. Else values are on servers, which update them
            when all workers have pushed ("sync"), or at each push ("async").
        small_parts: values go to servers in small parts, the urgent ones first.
    """

    name: str
    merges_on: Literal["cpu", "device"]
    consistency: Literal["local", "sync", "async"] = "local"
    small_parts: bool = False


_kinds: Final[dict[str, Kind]] = {}


def register_kind(kind: Kind) -> Kind:
    """Makes a kind known.

    Raises:
        KVStoreError: the name is taken.
    """
    if kind.name in _kinds:
        raise KVStoreError(f"register_kind requires a new name, got {kind.name!r}")
    _kinds[kind.name] = kind
    return kind


def find_kind(name: str) -> Kind:
    """Returns the kind of this name, in any case of letters.

    Raises:
        KVStoreError: there is none; the message lists those that exist.
    """
    kind = _kinds.get(name.lower())
    if kind is None:
        raise KVStoreError(f"a store's type must be one of {', '.join(_kinds)}, got {name!r}")
    return kind


def known_kinds() -> list[str]:
    """Returns the names of all kinds, in the order of registration."""
    return list(_kinds)


register_kind(Kind("local", merges_on="cpu"))
register_kind(Kind("device", merges_on="device"))
# MXNet's longer names for the same two.
register_kind(Kind("local_update_cpu", merges_on="cpu"))
register_kind(Kind("local_allreduce_cpu", merges_on="cpu"))
register_kind(Kind("local_allreduce_device", merges_on="device"))
# On servers: what MXNet calls so, with the same meaning in each of its spellings.
register_kind(Kind("dist", merges_on="cpu", consistency="sync"))
register_kind(Kind("dist_sync", merges_on="cpu", consistency="sync"))
register_kind(Kind("dist_async", merges_on="cpu", consistency="async"))
register_kind(Kind("dist_device_sync", merges_on="device", consistency="sync"))
register_kind(Kind("dist_sync_device", merges_on="device", consistency="sync"))
register_kind(Kind("dist_device_async", merges_on="device", consistency="async"))
register_kind(Kind("dist_async_device", merges_on="device", consistency="async"))
register_kind(Kind("p3", merges_on="cpu", consistency="sync", small_parts=True))
