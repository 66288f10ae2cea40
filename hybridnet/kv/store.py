"""`KVStore`: what users hold; it looks at what it is given, and a `Backend` does the rest."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.base.files import atomic_write
from hybridnet.base.origins import CallSite, noted_origin
from hybridnet.base.remote import read_file
from hybridnet.kvstore import Key, Kind, find_kind
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import IndexBound
from hybridnet.runtime.asking import INDICES, asks, require_inside

from .actions import Updater
from .backend import Backend, LocalBackend
from .base import KVStoreBase
from .connection import connection
from .failures import translated
from .remote import RemoteBackend

Keys = Key | Sequence[Key]
Arrays = NDArray | Sequence[NDArray] | Sequence[Sequence[NDArray]]

_CAPABILITIES: Final = ("optimizer",)


@final
class KVStore(KVStoreBase):
    """A key-value store of arrays, in this process or on servers; make one with `create`.

    Keys are integers or strings, in one store all of the same type. Every method that takes a key
    takes a list of keys, too, with a list of as many values. A key's value is one NDArray or a list
    of them, one per device; they are summed by a push and all written by a pull.

    Args:
        kind: which kind of store.
    """

    def __init__(self, kind: Kind) -> None:
        self._backend: Backend
        if kind.consistency == "local":
            self._backend = LocalBackend(kind)
        else:
            self._backend = RemoteBackend(kind, *connection.get(kind))

    # -- what it is --------------------------------------------------------------------------

    @property
    def type(self) -> str:
        """The name of its kind, e.g. 'local'."""
        return self._backend.kind.name

    @property
    def rank(self) -> int:
        """The number of this worker among all, from 0."""
        return self._backend.rank

    @property
    def num_workers(self) -> int:
        """The number of workers."""
        return self._backend.num_workers

    @property
    def is_distributed(self) -> bool:
        """Whether the values are on servers, which several workers share."""
        return self._backend.distributed

    @property
    def resumes(self) -> int:
        """The number of pushes of each key that count already after this worker's restart; else 0.

        It goes on with the next: a loop over steps begins with this one.
        """
        return self._backend.resumes

    def recalled_shape(self, key: Key) -> tuple[int, ...] | None:
        """The shape of a key that the worker made which this one replaces (`resumes`).

        Returns:
            It; None where there is no such key, or `init` has made it in this process by now.
        """
        return self._backend.recalled_shape(key)

    @property
    def updater(self) -> Updater | None:
        """The function that pushes call in this process; None while they do not."""
        return self._backend.updater

    @property
    def _updater(self) -> Updater | None:
        return self.updater  # MXNet's name for it, which trainers and tests look at

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

        On servers the array of worker 0 counts; the others give one of the same shape and dtype.

        Raises:
            MXNetError: a key exists, or keys of both types would be in the store.
            ParameterError: a key has several arrays, or something is no key or no array.
        """
        pairs = _pairs("init", key, value)
        for name, values in pairs.items():
            if len(values) != 1:
                raise ParameterError(f"init: key {name!r} needs one array, got {len(values)}")
        with translated():
            self._backend.init({name: values[0] for name, values in pairs.items()})

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
            pairs = {k: xs for k, xs in dense.items() if xs or self._backend.shape(k) is None}
        self._pull(pairs, priority)

    def pushpull(
        self, key: Keys, value: Arrays, out: Arrays | None = None, priority: int = 0
    ) -> None:
        """A push and then a pull into `out`; without `out`, into the arrays pushed."""
        values = _pairs("pushpull", key, value)
        targets = values if out is None else _pairs("pushpull", key, out)
        self._check_shapes("pushpull", values)
        self._check_shapes("pushpull", targets)
        if values.keys() != targets.keys():
            raise ParameterError(
                f"pushpull: value and out must be of the same keys, got {list(values)} and "
                f"{list(targets)}"
            )
        with translated():
            self._backend.push_pull_all(values, targets, priority)

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
            if self._backend.shape(name) is None:
                raise MXNetError(f"row_sparse_pull: key {name!r} was not initialized")
            for target, rows in zip(targets, wanted, strict=True):
                if asks(INDICES):
                    _check_rows(rows, target.shape[0])
                self._backend.pull_rows(name, target, rows, priority)

    def set_gradient_compression(self, compression_params: Any) -> None:
        """Compresses gradients sent to servers to two bits an element; what is left is sent later.

        An element is sent as the threshold, its negative, or 0, and what it was more or less than
        that is added to the next gradient of the key. All workers call it, before they push.

        Args:
            compression_params: ``{"type": "2bit", "threshold": 0.5}``; the threshold is 0.5 by
                default.

        Raises:
            ParameterError: it is something else.
            MXNetError: the store is in this process, and sends nothing.
        """
        self._backend.set_compression(_compression(compression_params))

    # -- updating ----------------------------------------------------------------------------

    def set_updater(self, updater: Updater | None) -> None:
        """Makes pushes call ``updater(key, merged, stored)``; None makes them replace the value.

        It is called in the pushing thread, once for each key of a push, and writes `stored` in
        place; what it raises, the push raises. A store on servers calls it here, too, with the sum
        over all workers and this worker's own copy of the value; every worker must do the same.
        """
        if updater is not None and not callable(updater):
            raise ParameterError(f"set_updater: needs a function, got {type(updater).__name__}")
        self._backend.set_updater(updater)

    _set_updater = set_updater

    def set_optimizer(self, optimizer: Any) -> None:
        """Makes pushes update the keys' values by an optimizer; the store keeps its states.

        Servers get it as a registered name and numbers. All workers call it; worker 0's counts.

        Raises:
            ParameterError: it cannot be sent to servers; the message says why.
        """
        self._backend.set_optimizer(optimizer)

    def expect_optimizer(self, optimizer: Any) -> None:
        """Says for which optimizer the next keys are made, where it will be set only later."""
        self._backend.expect_optimizer(optimizer)

    def save_optimizer_states(
        self, fname: str | os.PathLike[str], dump_optimizer: bool = False
    ) -> None:
        """Writes the optimizer's state (and the optimizer itself) to a file, whole or not at all.

        Those of servers are fetched, with all pushes of this worker so far; one worker is enough.

        Raises:
            MXNetError: `set_optimizer` was not called.
            OSError: the file cannot be written.
        """
        backend = self._with_optimizer("save_optimizer_states")
        with translated():
            states = backend.states_to_bytes(dump_optimizer)
        with atomic_write(fname) as file:
            file.write(states)

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Reads what `save_optimizer_states` has written; where there are servers all workers do.

        Raises:
            MXNetError: `set_optimizer` was not called.
            OSError: the file cannot be read.
        """
        backend = self._with_optimizer("load_optimizer_states")
        with translated():
            backend.states_from_bytes(read_file(fname))

    @property
    def optimizer(self) -> Any:
        """The optimizer that updates the values; None where there is none."""
        return self._backend.optimizer

    def states_to_bytes(self, dump_optimizer: bool = False) -> bytes:
        """Returns the optimizer's states (and the optimizer itself) as bytes.

        Those of servers are fetched, with all pushes of this worker so far; any worker may.

        Raises:
            MXNetError: `set_optimizer` was not called.
        """
        with translated():
            return self._with_optimizer("states_to_bytes").states_to_bytes(dump_optimizer)

    def states_from_bytes(self, states: bytes) -> None:
        """Takes over what `states_to_bytes` returned. Where there are servers all workers call it.

        Keys that are not there yet take theirs over when they are made. A worker that was started
        again changes nothing by it on the servers, which have gone on since.

        Raises:
            MXNetError: `set_optimizer` was not called.
            FormatError: the bytes are damaged.
            ParameterError: they are of another optimizer.
        """
        with translated():
            self._with_optimizer("states_from_bytes").states_from_bytes(states)

    # -- other workers -----------------------------------------------------------------------

    def _barrier(self) -> None:
        """Waits until all workers have come here, and this one's pushes count."""
        self._backend.barrier()

    def set_barrier_before_exit(self, barrier_before_exit: bool = True) -> None:
        """Says whether the end of this process is to wait for the other workers'."""
        connection.barrier_before_exit = bool(barrier_before_exit)

    def get_num_dead_node(self, node_id: int = 0, timeout: float = 60) -> int:
        """Returns how many workers and servers are gone.

        Args:
            node_id: MXNet's number of a group of processes; all of them are counted.
            timeout: is not looked at: who is gone is known within seconds.
        """
        backend = self._backend
        return len(backend.remote.dead_nodes()) if isinstance(backend, RemoteBackend) else 0

    def _send_command_to_servers(self, head: int, body: str) -> None:
        """Sends one of the commands that servers know.

        Raises:
            MXNetError: they do not know it, or the store has no servers.
        """
        backend = self._backend
        if not isinstance(backend, RemoteBackend):
            raise MXNetError(f"_send_command_to_servers: a store of type {self.type!r} has none")
        with translated():
            backend.remote.command(head, body)

    # -- inside ------------------------------------------------------------------------------

    def _push(self, pairs: dict[Key, list[NDArray]], priority: int) -> None:
        self._check_shapes("push", pairs)
        with translated():
            self._backend.push_all(pairs, priority)

    def _pull(self, pairs: dict[Key, list[NDArray]], priority: int) -> None:
        self._check_shapes("pull", pairs)
        with translated():
            self._backend.pull_all(pairs, priority)

    def _check_shapes(self, caller: str, pairs: dict[Key, list[NDArray]]) -> None:
        """Refuses arrays of a wrong shape before anything is done."""
        for key, values in pairs.items():
            shape = self._backend.shape(key)
            if shape is None:
                continue  # the store refuses the key itself
            for value in values:
                if value.shape != shape:
                    raise ShapeError(
                        f"{caller}: the arrays of key {key!r} must have its shape {shape}, "
                        f"got {value.shape}"
                    )

    def _with_optimizer(self, caller: str) -> Backend:
        if self._backend.optimizer is None:
            raise MXNetError(f"{caller}: the store has no optimizer; call set_optimizer first")
        return self._backend


def _compression(given: Any) -> dict[str, Any]:
    """Returns the parameters of gradient compression, checked and with their defaults."""
    known = {"type", "threshold"}
    if not isinstance(given, Mapping) or given.get("type") != "2bit" or given.keys() - known:
        raise ParameterError(
            "set_gradient_compression: must be {'type': '2bit', 'threshold': number}, "
            f"got {given!r}"
        )
    threshold = float(given.get("threshold", 0.5))
    if not threshold > 0:
        raise ParameterError(
            f"set_gradient_compression: threshold must be greater than 0, got {threshold}"
        )
    return {"type": "2bit", "threshold": threshold}


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
            these devices. Values that share one device stay there with either.
            'dist_sync' (or 'dist') and 'dist_async' keep values on servers, which update them when
            all workers have pushed, or at each push; 'dist_device_sync' and 'dist_device_async'
            sum on a device before. 'p3' is dist_sync in small parts. See `hybridnet launch`.
            'horovod' adds up those of all processes of a gang (`hybridnet.distributed`). Or the
            name of a class that was registered by `KVStoreBase.register`, in any case of letters.

    Returns:
        A `KVStore`, or a store of the registered class.

    Raises:
        MXNetError: there is no such type, or the run that a distributed store needs.
        TypeError: the name is no string.
    """
    if not isinstance(name, str):
        raise TypeError(f"kv.create: name must be a string, got {type(name).__name__}")
    own = KVStoreBase.kv_registry.get(name.lower())
    if own is not None:
        return own()
    with translated():
        return KVStore(find_kind(name))


def _check_rows(rows: Any, count: int) -> None:
    """Raises OutOfBoundsError where a key has no such row; MXNet has zeros there."""
    bound = IndexBound(0, "row_ids", (count,), (0,))
    require_inside("row_sparse_pull", bound, rows.asnumpy(), CallSite(noted_origin(1)))
