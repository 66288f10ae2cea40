"""`kv`: key-value stores of arrays, which sum gradients over devices and apply the optimizer.

    store = kv.create("local")
    store.init(0, weight)
    store.set_optimizer(optimizer.SGD(learning_rate=0.1))
    store.push(0, gradient)             # or a list with one gradient per device
    store.pull(0, out=weight)           # or a list with one weight per device

The store is that of `hybridnet.kvstore`, with the actions on arrays of `actions.py`.
"""

from hybridnet import kvstore

from .base import KVStoreBase as KVStoreBase
from .base import TestStore as TestStore
from .horovod import Horovod as Horovod
from .store import KVStore as KVStore
from .store import create as create

__all__ = ["Horovod", "KVStore", "KVStoreBase", "TestStore", "create"]

kvstore.set_front_end(KVStore=KVStore, KVStoreBase=KVStoreBase, TestStore=TestStore, create=create)
