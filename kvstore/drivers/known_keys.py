"""The keys of a worker's store, and whether what its callers give fits them."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.messages import Key
from hybridnet.kvstore.protocol.parts import parts_of
from hybridnet.kvstore.protocol.words import KeySpec, RunPlan
from hybridnet.kvstore.storage.dtypes import DTYPES, Array, dtype_of


@dataclass(slots=True, eq=False)
class KnownKey:
    """A key as the callers know it.

    Attributes:
        spec: what it holds.
        dtype: of its values.
        recalled: a process that this one replaces made it, and this one has not yet.
    """

    spec: KeySpec
    dtype: np.dtype[Any]
    recalled: bool = False


@final
class KnownKeys:
    """The keys that were initialised here.

    All methods but the first take the name of what the caller does, for messages, and the key; and
    raise `KVStoreError` where there is no such key, or what is given does not fit it.
    """

    def __init__(self) -> None:
        self._keys: dict[Key, KnownKey] = {}

    def new(self, key: Key, value: Array, is_rows: bool, is_whole: bool, store: int) -> KnownKey:
        """Takes in a key; the arguments are those of `RemoteStore.init`.

        Raises:
            KVStoreError: the key exists, or its values are of another kind.
        """
        known = self._keys.get(key)
        if known is not None and not known.recalled:
            raise KVStoreError(f"init requires a new key, got {key!r}, which was initialized")
        if value.dtype.name not in DTYPES:
            raise KVStoreError(
                f"init requires values of {', '.join(DTYPES)} for key {key!r}, got {value.dtype}"
            )
        if is_rows and (not value.ndim or not value.size):
            raise KVStoreError(f"init requires rows for key {key!r}, got shape {value.shape}")
        spec = KeySpec(
            value.size, value.shape[0] if is_rows else 0, value.itemsize, value.dtype.name,
            value.shape, is_whole, store,
        )  # fmt: skip
        if known is None:
            known = self._keys[key] = KnownKey(spec, dtype_of(spec.dtype))
        elif known.spec != spec:
            raise KVStoreError(
                f"init requires the keys of the process that this one replaces, got {key!r} of "
                f"shape {spec.shape} and {spec.dtype}, which was {known.spec.shape} and "
                f"{known.spec.dtype}"
            )
        return known

    def recall(self, key: Key, spec: KeySpec) -> None:
        """Takes in a key of the process that this one replaces."""
        self._keys[key] = KnownKey(spec, dtype_of(spec.dtype), recalled=True)

    def recalled_shape(self, key: Key) -> tuple[int, ...] | None:
        """The shape of such a key, until it is made here, too."""
        known = self._keys.get(key)
        return known.spec.shape if known is not None and known.recalled else None

    def find(self, what: str, key: Key) -> KnownKey:
        """Returns what is known of a key."""
        known = self._keys.get(key)
        if known is None:
            raise KVStoreError(
                f"{what} requires an initialized key, got {key!r}, which was never initialized"
            )
        return known

    def fitting(self, what: str, key: Key, value: Array) -> KeySpec:
        """Returns what a key holds, if an array fits it."""
        known = self.find(what, key)
        spec = known.spec
        if value.size != spec.size or value.dtype != known.dtype:
            raise KVStoreError(
                f"{what} requires an array of shape {spec.shape} and {spec.dtype} for key {key!r}, "
                f"got {value.shape} and {value.dtype}"
            )
        if not value.flags.c_contiguous:
            raise KVStoreError(f"{what} requires a C-contiguous array for key {key!r}")
        return spec

    def fitting_rows(self, what: str, key: Key, rows: Array, values: Array) -> KeySpec:
        """Returns what a table holds, if rows of these numbers and values are some of it."""
        known = self.find(what, key)
        spec = known.spec
        if not spec.rows:
            raise KVStoreError(
                f"{what} requires a table of rows, but key {key!r} was initialized as a dense one"
            )
        wanted = (len(rows), *spec.shape[1:])
        if values.size != int(np.prod(wanted)) or values.dtype != known.dtype:
            raise KVStoreError(
                f"{what} requires an array of shape {wanted} and {spec.dtype} for key {key!r}, got "
                f"{values.shape} and {values.dtype}"
            )
        inside = not len(rows) or (rows[0] >= 0 and rows[-1] < spec.rows)
        if rows.dtype != np.int64 or not inside or bool(np.any(np.diff(rows) <= 0)):
            raise KVStoreError(
                f"{what} requires int64 rows, ascending, each once, below {spec.rows}, for key "
                f"{key!r}"
            )
        return spec


def flat(array: Array, spec: KeySpec) -> Array:
    """A view of an array: flat, of a table one row a row."""
    return array.reshape(spec.rows, -1) if spec.rows else array.reshape(-1)


def keys_of_servers(
    ask: Callable[[int], Sequence[str]], plan: RunPlan
) -> Iterator[tuple[Key, KeySpec]]:
    """Yields the keys that all their servers have, in the order in which they were made.

    Args:
        ask: returns what each server answers to "keys" from a number on.
        plan: how the run's keys are cut into parts.
    """
    specs: dict[int, tuple[Key, KeySpec]] = {}
    parts: Counter[int] = Counter()
    first: int | None = 0
    while first is not None:
        found = [json.loads(one) for one in ask(first)]
        first = min((one for _, one in found if one is not None), default=None)
        for number, name, spec, count in (one for keys, _ in found for one in keys):
            if first is None or number < first:  # else they come once more
                specs[number] = name, KeySpec(**{**spec, "shape": tuple(spec["shape"])})
                parts[number] += count
    for number in itertools.count():
        name, spec = specs.get(number, ("", KeySpec(0)))
        if number not in specs or parts[number] < len(parts_of(0, name, spec, plan)):
            return  # it was being made, and so was what follows
        yield name, spec
