"""`KVStoreBase`: what a key-value store must do, so that a `Trainer` can use it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar, final

from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

__all__ = ["KVStoreBase", "TestStore"]

_Class = TypeVar("_Class", bound=type)


class KVStoreBase:
    """A store that others write: a subclass, registered, is made by ``kv.create`` by its name.

        @kv.KVStoreBase.register
        class Mean(kv.KVStoreBase):
            ...

        gluon.Trainer(params, "sgd", kvstore=kv.create("mean"))

    A trainer needs `broadcast` and `pushpull`; what a store cannot do it leaves as it is here.
    """

    OPTIMIZER: ClassVar[str] = "optimizer"
    #: The registered classes, by their names in small letters.
    kv_registry: ClassVar[dict[str, type]] = {}

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Makes a key with a value, and writes this value into every array of `out`."""
        raise self._cannot("broadcast")

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Adds up a key's arrays and writes the sum into `out`, or else into these arrays."""
        raise self._cannot("pushpull")

    def set_optimizer(self, optimizer: Any) -> None:
        """Makes the store update values by an optimizer."""
        raise self._cannot("set_optimizer")

    def is_capable(self, capability: str) -> bool:
        """Whether the store can do something; 'optimizer': update values."""
        raise self._cannot("is_capable")

    def save_optimizer_states(self, fname: Any, dump_optimizer: bool = False) -> None:
        """Writes the states of the optimizer that it updates with."""
        raise self._cannot("save_optimizer_states")

    def load_optimizer_states(self, fname: Any) -> None:
        """Reads what `save_optimizer_states` has written."""
        raise self._cannot("load_optimizer_states")

    @property
    def type(self) -> str:
        """The name that it is made by."""
        raise self._cannot("type")

    @property
    def rank(self) -> int:
        """The number of this worker among all."""
        raise self._cannot("rank")

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        raise self._cannot("num_workers")

    def _cannot(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} defines no {method}")

    @staticmethod
    def register(klass: _Class) -> _Class:
        """Makes a class known to ``kv.create``, by its name in small letters; a decorator.

        A later class of the same name takes the place of the one before, with a warning.
        """
        if not isinstance(klass, type):
            raise ParameterError(f"KVStoreBase.register: needs a class, got {klass!r}")
        name = klass.__name__.lower()
        before = KVStoreBase.kv_registry.get(name)
        if before is not None and before is not klass:
            warnings.warn(
                f"KVStoreBase.register: {klass.__module__}.{klass.__name__} takes the name of "
                f"{before.__module__}.{before.__name__}",
                stacklevel=2,
            )
        KVStoreBase.kv_registry[name] = klass
        return klass


@final
@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store without memory: it adds up what it is given, and cannot update.

    So it is a store as simple as can be, for tests of programs that use one.
    """

    __test__ = False  # no class of tests

    def broadcast(self, key: Any, value: NDArray, out: Any, priority: int = 0) -> None:
        """See `KVStoreBase.broadcast`."""
        for array in _as_list(out):
            array[:] = value

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """See `KVStoreBase.pushpull`."""
        first, *rest = _as_list(value)
        total = first.copy()
        for array in rest:
            total += array.as_in_context(first.context)
        for array in _as_list(value if out is None else out):
            array[:] = total

    def is_capable(self, capability: str) -> bool:
        """See `KVStoreBase.is_capable`."""
        if capability.lower() != self.OPTIMIZER:
            raise ParameterError(f"is_capable: must be {self.OPTIMIZER!r}, got {capability!r}")
        return False

    @property
    def type(self) -> str:
        """The name that it is made by."""
        return "teststore"

    @property
    def rank(self) -> int:
        """The number of this worker: 0."""
        return 0

    @property
    def num_workers(self) -> int:
        """The number of workers: 1."""
        return 1


def _as_list(arrays: Any) -> Sequence[NDArray]:
    return arrays if isinstance(arrays, (list, tuple)) else [arrays]
