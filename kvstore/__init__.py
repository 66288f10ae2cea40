"""The parameter server: keys, aggregation, updating, consistency. It knows no arrays.

    from hybridnet import kvstore

    actions = kvstore.CellActions(reduce=sum, copy=copy.copy)
    store = kvstore.Store(kvstore.find_kind("local"), actions)
    grad, out = kvstore.Cell(np.ones(3)), kvstore.Cell()
    store.init("w", kvstore.Cell(np.zeros(3)))
    store.push("w", [grad, grad])
    store.pull("w", [out])
    out.get()                                   # 2, 2, 2

`StoreState` decides what a message leads to, `Store` has it carried out by `Actions`. The store
for arrays is `hybridnet.kv`; MXNet's programs find it here too, as `kvstore.create`.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from hybridnet.kvstore.cells import Cell as Cell
from hybridnet.kvstore.cells import CellActions as CellActions
from hybridnet.kvstore.errors import KVStoreError as KVStoreError
from hybridnet.kvstore.kinds import Kind as Kind
from hybridnet.kvstore.kinds import find_kind as find_kind
from hybridnet.kvstore.kinds import known_kinds as known_kinds
from hybridnet.kvstore.kinds import register_kind as register_kind
from hybridnet.kvstore.messages import Init as Init
from hybridnet.kvstore.messages import Keep as Keep
from hybridnet.kvstore.messages import Key as Key
from hybridnet.kvstore.messages import Merge as Merge
from hybridnet.kvstore.messages import Pull as Pull
from hybridnet.kvstore.messages import Push as Push
from hybridnet.kvstore.messages import Replace as Replace
from hybridnet.kvstore.messages import Send as Send
from hybridnet.kvstore.messages import SetUpdater as SetUpdater
from hybridnet.kvstore.messages import Update as Update
from hybridnet.kvstore.state import KeyState as KeyState
from hybridnet.kvstore.state import StoreState as StoreState
from hybridnet.kvstore.store import Actions as Actions
from hybridnet.kvstore.store import Store as Store

__all__ = [
    "Actions",
    "Cell",
    "CellActions",
    "Init",
    "KVStoreError",
    "Keep",
    "Key",
    "KeyState",
    "Kind",
    "Merge",
    "Pull",
    "Push",
    "Replace",
    "Send",
    "SetUpdater",
    "Store",
    "StoreState",
    "Update",
    "find_kind",
    "known_kinds",
    "register_kind",
]

#: MXNet's module `kvstore` is `hybridnet.kv`, which stands above this package and is not needed by
#: it; a program that writes `mx.kvstore.create` gets it from there.
_ARRAY_STORE: Final = ("KVStore", "create")


def __getattr__(name: str) -> Any:
    if name in _ARRAY_STORE:
        return getattr(importlib.import_module("hybridnet.kv"), name)
    raise AttributeError(f"module 'hybridnet.kvstore' has no attribute {name!r}")
