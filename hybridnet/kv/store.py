"""`KVStore`: the store of `hybridnet.kvstore` with the actions on arrays of `actions.py`."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.base.files import atomic_write
from hybridnet.base.remote import read_file
from hybridnet.kvstore import Key, Kind, KVStoreError, Store, find_kind
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.sparse import RowSparseNDArray
from hybridnet.optimizer import get_updater

from .actions import ArrayActions, Updater
from .base import KVStoreBase

__all__ = ["KVStore", "create"]

Keys = Key | Sequence[Key]
Arrays = NDArray | Sequence[NDArray] | Sequence[Sequence[NDArray]]

_CAPABILITIES: Final = ("optimizer",)


@final
class KVStore(KVStoreBase):
    """A key-value store of arrays in this process; make one with `create`.

    Keys are integers or strings, in one store all of the same type. Every method that takes a key
    takes a list of keys, too, with a list of as many values. A key's value is one NDArray or a list
    of them, one per device; they are summed by a push and all written by a pull.

    Args:
        kind: which kind of store.
    """

    def __init__(self, kind: Kind) -> None:
        self._actions = ArrayActions(kind)
        self._store: Store[NDArray] = Store(kind, self._actions)

    # -- what it is --------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """The name of its kind, e.g. 'local'."""
        return self._store.kind.name

    @property
    def rank(self) -> int:
        """The number of this worker among all: 0, as the store lives in one process."""
        return 0

    @property
    def num_workers(self) -> int:
        """The number of workers: 1."""
        return 1

    @property
    def updater(self) -> Updater | None:
        """The function that pushes call; None while they replace the value."""
        return self._actions.updater

    @property
    def _updater(self) -> Updater | None:
        return self._actions.updater  # MXNet's name for it, which trainers and tests look at

    def is_capable(self, capability: str) -> bool:
        """Returns whether the store can do something; 'optimizer': run the optimizer itself.

        Raises:
            ParameterError: there is no such capability.
        """
        if capability.lower() not in _CAPABILITIES:
            known = ", ".join(_CAPABILITIES)
            raise ParameterError(f"is_capable: must be one of {known}, got {capability!r}")
        return True

    # -- values ------------------------------------------------------------------------------

    def init(self, key: Keys, value: Arrays) -> None:
        """Makes keys, each with a copy of one array.

        Raises:
            MXNetError: a key exists, or keys of both types would be in the store.
            ParameterError: a key has several arrays, or something is no key or no array.
        """
        for name, values in _pairs("init", key, value).items():
            if len(values) != 1:
                raise ParameterError(f"init: key {name!r} needs one array, got {len(values)}")
            with _Refusals():
                self._store.init(name, values[0])

    def push(self, key: Keys, value: Arrays, priority: int = 0) -> None:
        """Sums each key's arrays and gives the sum to the updater; without one, keeps the sum.

        Args:
            key: which keys.
            value: for each key an array of its shape, or several on any devices.
            priority: of what must cross between devices; the higher goes first. Training loops
                give ``-i`` for layer ``i``, whose new weights the next pass wants first.

        Raises:
            MXNetError: a key was not initialized.
            ShapeError: an array has not the shape of its key.
        """
        self._push(_pairs("push", key, value), priority)

    def pull(
        self,
        key: Keys,
        out: Arrays | None = None,
        priority: int = 0,
        ignore_sparse: bool = True,
    ) -> None:
        """Writes each key's value into the arrays given for it, casting to their dtype.

        Args:
            key: which keys.
            out: for each key an array of its shape, or several on any devices.
            priority: as in `push`.
            ignore_sparse: leave sparse arrays in `out` as they are, as `row_sparse_pull` is what
                writes these; with False they are written whole.

        Raises:
            MXNetError: a key was not initialized.
            ShapeError: an array has not the shape of its key.
        """
        if out is None:
            raise ParameterError("pull: needs out=, the arrays to write into")
        pairs = _pairs("pull", key, out)
        if ignore_sparse:
            dense = {k: [x for x in xs if x.stype == "default"] for k, xs in pairs.items()}
            pairs = {k: xs for k, xs in dense.items() if xs or self._store.get(k) is None}
        self._pull(pairs, priority)

    def pushpull(
        self, key: Keys, value: Arrays, out: Arrays | None = None, priority: int = 0
    ) -> None:
        """A push and then a pull into `out`; without `out`, into the arrays pushed."""
        values = _pairs("pushpull", key, value)
        targets = values if out is None else _pairs("pushpull", key, out)
        self._push(values, priority)
        self._pull(targets, priority)

    def broadcast(self, key: Keys, value: Arrays, out: Arrays, priority: int = 0) -> None:
        """An init and then a pull into `out`."""
        targets = _pairs("broadcast", key, out)
        self.init(key, value)
        self._pull(targets, priority)

    def row_sparse_pull(
        self, key: Keys, out: Any = None, priority: int = 0, row_ids: Any = None
    ) -> None:
        """Writes some rows of each key's value into row-sparse arrays; the rest of these is 0.

        Args:
            key: which keys.
            out: for each key a row-sparse array of its shape, or several on any devices.
            priority: as in `push`; it has no effect, as rows are taken where the value is.
            row_ids: for each key the rows, any numbers in any order, as an array; or as many
                arrays as there are in `out`.

        Raises:
            MXNetError: a key was not initialized.
            ShapeError: an array has not the shape of its key.
            ParameterError: an array is not row-sparse, or there are not as many `row_ids`.
        """
        if out is None or row_ids is None:
            raise ParameterError(
                "row_sparse_pull: needs out=, row-sparse arrays to write into, and row_ids=, the "
                f"rows, got {out!r} and {row_ids!r}"
            )
        pairs = _pairs("row_sparse_pull", key, out)
        ids = _pairs("row_sparse_pull", key, row_ids)
        self._check_shapes("row_sparse_pull", pairs)
        for name, targets in pairs.items():
            wanted = ids[name] * len(targets) if len(ids[name]) == 1 else ids[name]
            for target in targets:
                if target.stype != "row_sparse" or len(wanted) != len(targets):
                    raise ParameterError(
                        f"row_sparse_pull: key {name!r} needs row_sparse arrays, and one row_ids "
                        f"or as many as these, got an array of storage {target.stype!r} and "
                        f"{len(wanted)} row_ids for {len(targets)} arrays"
                    )
            stored = self._store.get(name)
            if stored is None:
                raise MXNetError(f"row_sparse_pull: key {name!r} was not initialized")
            for target, rows in zip(targets, wanted, strict=True):
                target.assign(RowSparseNDArray.rows_of(stored, rows))

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Not available: within one process nothing is sent over a network.

        Raises:
            MXNetError: always.
        """
        raise MXNetError(
            f"set_gradient_compression: a store of type {self.type!r} sends nothing over a network "
            "and compresses nothing; leave the call out"
        )

    # -- updating ----------------------------------------------------------------------------

    def set_updater(self, updater: Updater | None) -> None:
        """Makes pushes call ``updater(key, merged, stored)``; None makes them replace the value.

        It is called in the pushing thread, once for each key of a push, and writes `stored` in
        place; what it raises, the push raises.
        """
        if updater is not None and not callable(updater):
            raise ParameterError(f"set_updater: needs a function, got {type(updater).__name__}")
        self._actions.updater = updater
        self._store.set_updater(updater is not None)

    _set_updater = set_updater

    def set_optimizer(self, optimizer: Any) -> None:
        """Makes pushes update the keys' values by an optimizer; the store keeps its states."""
        self.set_updater(get_updater(optimizer))

    def save_optimizer_states(
        self, fname: str | os.PathLike[str], dump_optimizer: bool = False
    ) -> None:
        """Writes the optimizer's state (and the optimizer itself) to a file, whole or not at all.

        Raises:
            MXNetError: `set_optimizer` was not called.
            OSError: the file cannot be written.
        """
        states = self._optimizer_updater("save_optimizer_states").get_states(dump_optimizer)
        with atomic_write(fname) as file:
            file.write(states)

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Reads what `save_optimizer_states` has written.

        Raises:
            MXNetError: `set_optimizer` was not called.
            OSError: the file cannot be read.
        """
        self._optimizer_updater("load_optimizer_states").set_states(read_file(fname))

    # -- inside ------------------------------------------------------------------------------

    def _push(self, pairs: dict[Key, list[NDArray]], priority: int) -> None:
        self._check_shapes("push", pairs)
        with _Refusals():
            for key, values in pairs.items():
                self._store.push(key, values, priority=priority)

    def _pull(self, pairs: dict[Key, list[NDArray]], priority: int) -> None:
        self._check_shapes("pull", pairs)
        with _Refusals():
            for key, targets in pairs.items():
                self._store.pull(key, targets, priority=priority)

    def _check_shapes(self, caller: str, pairs: dict[Key, list[NDArray]]) -> None:
        """Refuses arrays of a wrong shape before anything is done."""
        for key, values in pairs.items():
            stored = self._store.get(key)
            if stored is None:
                continue  # the store refuses the key itself
            for value in values:
                if value.shape != stored.shape:
                    raise ShapeError(
                        f"{caller}: the arrays of key {key!r} must have its shape {stored.shape}, "
                        f"got {value.shape}"
                    )

    def _optimizer_updater(self, caller: str) -> Any:
        updater = self.updater
        if not hasattr(updater, "get_states"):
            raise MXNetError(f"{caller}: the store has no optimizer; call set_optimizer first")
        return updater


class _Refusals:
    """Turns the store's refusals into the error type of this package."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, KVStoreError):
            raise MXNetError(str(error)) from None


def _pairs(caller: str, key: Any, value: Any) -> dict[Key, list[NDArray]]:
    """Returns each key's arrays; those of a key that is named several times come together."""
    keys: Sequence[Any] = [key]
    values: Any = [value]
    if isinstance(key, (list, tuple)):
        keys, values = key, value
        if not isinstance(values, (list, tuple)) or len(values) != len(keys):
            got = len(values) if isinstance(values, (list, tuple)) else type(values).__name__
            raise ParameterError(
                f"{caller}: a list of {len(keys)} keys needs a list of as many values, got {got}"
            )
    pairs: dict[Key, list[NDArray]] = {}
    for name, arrays in zip(keys, values, strict=True):
        pairs.setdefault(_as_key(caller, name), []).extend(_as_arrays(caller, name, arrays))
    return pairs


def _as_key(caller: str, key: Any) -> Key:
    if isinstance(key, str):
        return key
    try:
        return operator.index(key)
    except TypeError:
        raise ParameterError(
            f"{caller}: a key must be an integer or a string, got {type(key).__name__}"
        ) from None


def _as_arrays(caller: str, key: Any, arrays: Any) -> Iterator[NDArray]:
    for array in arrays if isinstance(arrays, (list, tuple)) else [arrays]:
        if not isinstance(array, NDArray):
            raise ParameterError(
                f"{caller}: the values of key {key!r} must be NDArrays, got {type(array).__name__}"
            )
        yield array


def create(name: str = "local") -> Any:
    """Makes a store.

    Args:
        name: 'local' sums values from several devices in host memory, 'device' on the first of
            these devices. Values that share one device stay there with either. 'horovod' adds up
            those of all processes of a gang (`hybridnet.distributed`). Or the name of a class that
            was registered by `KVStoreBase.register`, in any case of letters.

    Returns:
        A `KVStore`, or a store of the registered class.

    Raises:
        MXNetError: there is no such type.
        TypeError: the name is no string.
    """
    if not isinstance(name, str):
        raise TypeError(f"kv.create: name must be a string, got {type(name).__name__}")
    own = KVStoreBase.kv_registry.get(name.lower())
    if own is not None:
        return own()
    with _Refusals():
        return KVStore(find_kind(name))
