"""`kv`: key-value stores of arrays, which sum gradients over devices and apply the optimizer.

    store = kv.create("local")
    store.init(0, weight)
    store.set_optimizer(optimizer.SGD(learning_rate=0.1))
    store.push(0, gradient)             # or a list with one gradient per device
    store.pull(0, out=weight)           # or a list with one weight per device

A store in this process is that of `hybridnet.kvstore`, with the actions on arrays of `actions.py`;
a distributed one sends what its devices have summed to servers (`remote.py`).
"""

from hybridnet import kvstore

from .base import KVStoreBase as KVStoreBase
from .base import TestStore as TestStore
from .horovod import Horovod as Horovod
from .server import KVStoreServer as KVStoreServer
from .store import KVStore as KVStore
from .store import create as create

__all__ = ["Horovod", "KVStore", "KVStoreBase", "KVStoreServer", "TestStore", "create"]

kvstore.set_front_end(
    KVStore=KVStore,
    KVStoreBase=KVStoreBase,
    KVStoreServer=KVStoreServer,
    TestStore=TestStore,
    create=create,
)
