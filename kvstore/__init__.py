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

import sys
from typing import Any, Final

from .cells import Cell, CellActions
from .errors import DeadNodeError, KVStoreError
from .kinds import Kind, find_kind, known_kinds, register_kind
from .messages import (
    Init,
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
from .state import KeyState, StoreState
from .store import Actions, Store

__all__ = [
    "Actions",
    "Cell",
    "CellActions",
    "DeadNodeError",
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
    "set_front_end",
]

_front_end: Final[dict[str, Any]] = {}


def set_front_end(**names: Any) -> None:
    """Adds names to this module; MXNet's `kvstore` has those of `hybridnet.kv`, which does this."""
    _front_end.update(names)


def __getattr__(name: str) -> Any:
    if not _front_end and not name.startswith("_"):
        # The package that this is part of loads the front end when it is asked for it.
        getattr(sys.modules[__name__.rpartition(".")[0]], "kv", None)
    if name in _front_end:
        return _front_end[name]
    raise AttributeError(f"module 'hybridnet.kvstore' has no attribute {name!r}")
