"""Values on servers: two levels, first the devices of this process, then the network.

A push adds up what the devices bring by recorded operators, as a store in one process does; the sum
goes to the servers from an engine's thread, with the caller's priority, as soon as it is there. A
pull makes arrays whose values are pending until they have come. The user's thread waits for `init`,
`set_optimizer` and barriers only, as in MXNet.

Order. Calls for one key reach `RemoteStore` in the order in which they were made: each is a task
that writes the key's Var. A push's task ends when it was handed over, so that a pull need not wait
for its acknowledgement, which would cost a round trip; that has a task of its own, by which an
error reaches whoever waits for everything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, MutableMapping, MutableSet, Sequence
from typing import Any, Final, final
from weakref import WeakKeyDictionary

import numpy as np

from hybridnet import engine
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Splits
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.kvstore import Init, Key, Kind, Pull, Push, StoreState
from hybridnet.kvstore.drivers.remote_store import Completion, Done, RemoteStore
from hybridnet.ndarray import NDArray, zeros
from hybridnet.ndarray.copies import aligned
from hybridnet.ndarray.placed import splits_held
from hybridnet.ndarray.sparse import RowSparseNDArray
from hybridnet.ops.core import registry
from hybridnet.runtime.contexts import check_device, put, spread
from hybridnet.runtime.recording import Storage, Value, in_place, recorder
from hybridnet.runtime.tasks import push_async_task
from hybridnet.runtime.traces import host_scalars
from hybridnet.tracing import py_func, world

from .actions import ArrayActions, Updater
from .backend import Backend
from .failures import translated
from .handover import Acknowledgement, ends_task
from .names import index_of, name_of
from .sent_optimizer import SentOptimizer, are_same
from .server_states import KeyStates, join_states, read_states, split_states, write_states
from .server_updates import OptimizerUpdates

_TOKEN: Final = tensor_type((0,), np.dtype(np.bool_))
_WAIT_FOR_UPDATER: Final = (
    "a {kind} store requires an optimizer on the servers, as there is no round after which a sum "
    "would be complete: call kv.set_optimizer(...) in every worker, or give the Trainer "
    "update_on_kvstore=True, or use dist_sync"
)


@final
class _Key:
    """A key, and what this process knows of it.

    Args:
        name: what the servers call it.
        kind: the type of its value here.
        is_rows: whether the servers have it as a table of rows.
    """

    __slots__ = (
        "again", "is_rows", "kind", "last", "loads", "mine", "name", "order", "pushed", "sent",
    )  # fmt: skip

    def __init__(self, name: Key, kind: TensorType, is_rows: bool) -> None:
        self.name = name
        self.kind = kind
        self.is_rows = is_rows
        #: how often it was given a new place on the servers.
        self.again = 0
        #: how often states of it were loaded.
        self.loads = 0
        #: written by everything that is handed over for the key.
        self.order = engine.new_variable()
        #: stands for the end of the last push.
        self.pushed: Value | None = None
        #: that push; None where its end is that of a pull.
        self.last: Acknowledgement | None = None
        #: the end of the last push of a traced function.
        self.sent: Completion | None = None
        #: the value in this process, where an updater of this process updates it.
        self.mine: NDArray | None = None


@final
class RemoteBackend(Backend):
    """Values on servers.

    Args:
        kind: of the store.
        remote: this process's connection.
        staleness: by how many pushes a worker may be ahead, in an asynchronous store.
        number: of this store among those of the process, from 0; in all workers the same.
        stores: those of the process that are in use; this one becomes one of them.
    """

    distributed = True

    def __init__(
        self,
        kind: Kind,
        remote: RemoteStore,
        staleness: int | None,
        number: int,
        stores: MutableSet[RemoteBackend],
    ) -> None:
        self.kind = kind
        self._staleness = staleness if kind.consistency == "async" else None
        self._number = number
        self._stores = stores
        self.remote = remote
        self.rank = remote.rank
        self.num_workers = remote.num_workers
        self.resumes = remote.resumes
        #: it replaces a worker that died, and is still before its first push.
        self._begins_again = remote.resumes > 0
        self._actions = ArrayActions(kind)
        self._state = StoreState()
        self._keys: dict[Key, _Key] = {}
        self._sent = SentOptimizer()
        #: states that were loaded for keys that are not there yet.
        self._loaded: dict[Key, KeyStates] = {}
        #: how arrays lie on meshes into which values were pulled.
        self._lies: MutableMapping[Storage, Splits | None] = WeakKeyDictionary()
        #: where traced functions push and pull.
        self._traced: set[Context] = set()
        #: how often the optimizer's numbers changed before a call of a traced function; and how it
        #: was sent then, by that count, until the function has sent it.
        self._changes = 0
        self._unsent: dict[int, tuple[str, Mapping[str, Any]]] = {}
        #: whether new keys are to be on one server each, and not in parts.
        self._keeps_whole = False
        self._compression: Mapping[str, Any] | None = None
        self._configure()
        stores.add(self)

    # -- what is done with pushes --------------------------------------------------------------

    @property
    def updater(self) -> Updater | None:
        """See `Backend.updater`."""
        return self._actions.updater

    def set_updater(self, updater: Updater | None) -> None:
        """Makes this process update its own copy of each value by the sum of all workers' pushes.

        Every worker must do the same, so that all have the same values.
        """
        if updater is not None and self.resumes:
            raise MXNetError(
                f"set_updater: worker {self.rank} was started again, and what an updater of its "
                "process keeps has died with that; have the servers update (set_optimizer), or "
                "start all workers from a checkpoint (hybridnet launch --restarts 0)"
            )
        self._actions.updater = updater
        if updater is not None and self._sent.optimizer is not None:
            self._sent.take(None)
            self._configure()

    def set_optimizer(self, optimizer: Any) -> None:
        """Makes the servers update by an optimizer, which is sent by name and numbers."""
        self._actions.updater = None
        self._sent.take(optimizer)
        self.expect_optimizer(optimizer)
        if self._keeps_whole:
            self._make_whole()
        self._configure()

    def expect_optimizer(self, optimizer: Any) -> None:
        """See `Backend.expect_optimizer`.

        A worker that was started again sends its optimizer at its first step, before which its
        program may have changed the rate: that is a change, of which servers may not know.
        """
        self._keeps_whole = not optimizer.elementwise
        if self._begins_again and self._sent.optimizer is None:
            self._sent.begin(optimizer)

    def _make_whole(self) -> None:
        """Gives the keys that the servers have in parts a place as wholes.

        Programs that set the optimizer before they make their keys need it not.
        """
        cut = [one for one in self._keys.values() if one.is_rows or self.remote.is_cut(one.name)]
        if not cut:
            return
        self.barrier()
        for known in cut:
            value = np.zeros(known.kind.shape, known.kind.dtype)
            with translated():
                if self.rank == 0:  # whose value counts
                    self.remote.pull(known.name, value)
                known.again += 1
                known.name = name_of(index_of(known.name), self._number, known.again)
                self.remote.init(known.name, value, is_whole=True, store=self._number)
            known.is_rows = False

    @property
    def optimizer(self) -> Any:
        """See `Backend.optimizer`."""
        if self._sent.optimizer is None:
            return getattr(self.updater, "optimizer", None)
        return self._sent.optimizer

    def states_to_bytes(self, dump_optimizer: bool) -> bytes:
        """See `Backend.states_to_bytes`."""
        updater: Any = self.updater
        if updater is not None:
            here: bytes = updater.get_states(dump_optimizer)
            return here
        self.wait()
        updates = self._updates()
        found = {}
        for key, known in self._keys.items():
            raw = self.remote.states(known.name)
            found[key] = join_states(updates, self.remote.parts(known.name), raw)
        return write_states(self._sent.optimizer, found, dump_optimizer)

    def states_from_bytes(self, states: bytes) -> None:
        """See `Backend.states_from_bytes`."""
        updater: Any = self.updater
        if updater is not None:
            updater.set_states(states)
            return
        made, self._loaded = read_states(self._sent.optimizer, states)
        self.wait()
        if made is not self._sent.optimizer:
            self.set_optimizer(made)
        for key in list(self._keys):
            self._restore(key)

    def _updates(self) -> OptimizerUpdates:
        """Returns the optimizer as the servers have it."""
        _, form = self._sent.form
        return OptimizerUpdates(form)

    def _restore(self, key: Key) -> None:
        """Gives the servers the states of a key that were loaded, if any were.

        In a synchronous store no round can close between the first and the last of its parts, as
        this worker pushes to none of them. Otherwise all workers wait for each other, under names
        of the key's own: one that was started again may come here by another way.
        """
        given, known = self._loaded.pop(key, None), self._keys[key]
        if given is None:
            return
        known.loads += 1
        waits = self.kind.consistency == "async"
        where = f"{known.name} {known.loads}"
        if waits:
            self.remote.barrier(f"load {where}")
        try:
            if self.rank == 0:
                parts = self.remote.parts(known.name)
                now = [data for _, data in self.remote.states(known.name)]
                raw = split_states(self._updates(), parts, now, given)
                self.remote.put_states(known.name, raw, given.updates, known.loads)
        finally:
            if waits:
                self.remote.barrier(f"loaded {where}")

    def set_compression(self, parameters: Mapping[str, Any]) -> None:
        """Sets how pushes are compressed."""
        self._compression = dict(parameters)
        self._configure()

    def _configure(
        self,
        configuration: tuple[str, Mapping[str, Any]] | None = None,
        *,
        changes: bool = False,
    ) -> None:
        """Says what is done with pushes; by default as it was noted last.

        Of a synchronous store it holds from the next round on, as all that this worker has pushed
        counts before it is said: worker 0 says it, and the others push nothing until it holds.

        Args:
            configuration: name and numbers of the optimizer.
            changes: see `RemoteStore.configure`.
        """
        name, parameters = configuration or self._sent.form
        if self.kind.consistency == "sync":
            self.wait()
        with translated():
            self.remote.configure(
                name,
                parameters,
                consistency=self.kind.consistency,
                compression=self._compression,
                staleness=self._staleness,
                store=self._number,
                changes=changes,
            )
        self._sent.note_scale(*self.remote.optimizer(self._number))

    def _follow_optimizer(self) -> None:
        """Sends the optimizer again if its numbers were changed, between two rounds of all.

        Where there are no rounds it stays as it was sent, as in MXNet. A worker that was started
        again has made its changes of before at once, and servers know them.
        """
        if self._is_changed():
            self._tell_change(self._sent.now)
            self._sent.note()
            self._sent.note_scale(*self.remote.optimizer(self._number))

    def _tell_change(self, form: tuple[str, Mapping[str, Any]]) -> None:
        """Sends another form of the optimizer."""
        known = self.remote.optimizer(self._number)
        if not (self._begins_again and are_same(form, known)):
            self._configure(form, changes=True)

    def _is_changed(self) -> bool:
        """Whether the optimizer's numbers are others than were noted, and servers are to know."""
        return self.kind.consistency == "sync" and self._sent.is_changed

    # -- values --------------------------------------------------------------------------------

    def shape(self, key: Key) -> tuple[int, ...] | None:
        """See `Backend.shape`."""
        known = self._keys.get(key)
        return None if known is None else known.kind.shape

    def recalled_shape(self, key: Key) -> tuple[int, ...] | None:
        """See `Backend.recalled_shape`."""
        return self.remote.recalled_shape(name_of(key, self._number))

    def init(self, values: Mapping[Key, NDArray]) -> None:
        """See `Backend.init`; the value of worker 0 counts. Waits until the keys are there."""
        waits = []
        with translated():
            for key, value in values.items():
                self._state.handle(Init(key))
                whole = self._keeps_whole
                is_rows = value.stype == "row_sparse" and not whole
                name = name_of(key, self._number)
                known = self._keys[key] = _Key(name, value.type, is_rows)
                host = value.asnumpy()
                waits.append(Completion())
                there = np.ascontiguousarray(host, known.kind.dtype)
                self.remote.init(
                    name, there, is_rows=is_rows, is_whole=whole, store=self._number,
                    done=waits[-1],
                )  # fmt: skip
            for one in waits:
                one.wait()
            for key in values:
                self._restore(key)

    def push(self, key: Key, values: Sequence[NDArray], priority: int) -> None:
        """See `Backend.push`."""
        known = self._admit(Push(key, len(values), priority))
        if recorder.current_trace() is not None:
            self._push_traced(known, self._merged(key, known, values, priority), priority)
            return
        if self._actions.updater is not None:
            self._update_here(key, known, values, priority)
            return
        merged = self._merged(key, known, values, priority)
        if isinstance(merged, RowSparseNDArray):
            reads = merged.parts()
            send: Callable[..., None] = functools.partial(self._hand_over_rows, known)
        else:
            reads = (merged,)
            send = self.remote.push
        self._push_by(send, key, known, [one.read() for one in reads], priority)

    def pull(self, key: Key, targets: Sequence[NDArray], priority: int) -> None:
        """See `Backend.pull`."""
        known = self._admit(Pull(key, len(targets), priority))
        if recorder.current_trace() is not None:
            self._pull_traced(known, targets, priority)
            return
        if self._actions.updater is not None:
            self._actions.send(key, self._mine(key, known), targets, priority)
            return
        ask = functools.partial(self.remote.pull, known.name, priority=priority)
        self._receive(key, known, ask, (), targets, priority)

    def push_pull(
        self, key: Key, values: Sequence[NDArray], targets: Sequence[NDArray], priority: int
    ) -> None:
        """See `Backend.push_pull`; the value comes with the answer to the push."""
        known = self._keys.get(key)
        stored = any(value.stype != "default" for value in values)
        here = self._actions.updater is not None or recorder.current_trace() is not None
        if known is None or known.is_rows or stored or here:
            super().push_pull(key, values, targets, priority)
            return
        self._admit(Push(key, len(values), priority))
        merged = self._merged(key, known, values, priority)

        def ask(value: Any, out: Any, done: Done) -> None:
            self.remote.push_pull(known.name, value, out, priority=priority, done=done)

        self._receive(key, known, ask, (merged.read(),), targets, priority)

    def pull_rows(self, key: Key, target: NDArray, rows: NDArray, priority: int) -> None:
        """See `Backend.pull_rows`."""
        known = self._admit(Pull(key, 1, priority))
        ctx = target.context
        if not known.is_rows or self._actions.updater is not None:
            whole = zeros(known.kind.shape, ctx, known.kind.dtype)
            self.pull(key, [whole], priority)
            target.assign(RowSparseNDArray.rows_of(whole, rows))
            return
        check_device(ctx)
        last = known.last
        count, *rest = known.kind.shape
        room = min(rows.size, count)
        types = (
            tensor_type((room,), np.dtype(np.int64)),
            tensor_type((room, *rest), known.kind.dtype),
        )

        def ask(done: Callable[[Any], None], ids: NumpyArray) -> None:
            wanted = np.unique(ids.astype(np.int64))
            wanted = wanted[(wanted >= 0) & (wanted < count)]
            places, out = (aligned(one.shape, one.dtype) for one in types)
            places[: len(wanted)], places[len(wanted) :] = wanted, count
            out[len(wanted) :] = 0
            ended = ends_task(done, lambda: put(ctx, [places, out]), after=last)
            if len(wanted) == 0:
                ended(None)
                return
            self.remote.row_sparse_pull(
                known.name, wanted, out[: len(wanted)], priority=priority, done=ended
            )

        found = self._task(key, known, ask, [rows.read()], types, priority, "pull rows of")
        places, data = (NDArray.from_value(value, ctx) for value in found)
        target.assign(RowSparseNDArray.of(data, [places], known.kind.shape, exact=False))
        recorder.mark()

    # -- others --------------------------------------------------------------------------------

    def barrier(self) -> None:
        """Waits until all workers have come here, and this one's pushes count.

        Those of the other stores, too: what came before is the same in all workers then, by which
        barriers are known.
        """
        for store in list(self._stores):
            store.wait()
        with translated():
            self.remote.barrier()

    def wait(self) -> None:
        """Waits until all pushes of this store so far are acknowledged.

        Raises:
            MXNetError: one of them failed.
        """
        for ctx in self._traced:
            world(ctx).wait_to_read()  # until traced functions have sent what they send
        for known in self._keys.values():
            if known.pushed is not None:
                recorder.ready_array(known.pushed)
            if known.sent is not None:
                known.sent.wait()

    # -- traced functions ----------------------------------------------------------------------

    def _push_traced(self, known: _Key, merged: NDArray, priority: int) -> None:
        """Makes a push part of a traced function: host code, in program order, at each call."""

        def send(value: Any, changes: Any) -> Any:
            unsent = self._unsent.pop(int(changes[0]), None)
            if unsent is not None:  # all that was pushed counts already, as it was pulled
                self._tell_change(unsent)
            self._begins_again = False
            own = np.array(value, order="C")  # it may have to be sent again
            known.sent = Completion()
            self.remote.push(known.name, own, priority=priority, done=known.sent)
            return np.zeros(1, np.bool_)

        self._traced.add(merged.context.computes_on)
        # The function's pushes may come after Python has changed the optimizer once more: what it
        # is at the call is noted there.
        (count,) = host_scalars(self._note_change, 1)
        zero = zeros((1,), merged.context)
        changes = NDArray.apply_operator(registry.get("_plus_scalar"), (zero,), {"scalar": count})
        py_func(send, [merged, changes], (1,), np.bool_)

    def _note_change(self) -> list[float]:
        """Notes at a call of a traced function what the optimizer is; returns how often it was."""
        if self._is_changed():
            self._sent.note()
            self._changes += 1
            self._unsent[self._changes] = self._sent.form
        return [float(self._changes)]

    def _pull_traced(self, known: _Key, targets: Sequence[NDArray], priority: int) -> None:
        """Makes a pull part of a traced function; it waits there."""

        def fetch() -> Any:
            out = aligned(known.kind.shape, known.kind.dtype)
            wait = Completion()
            self.remote.pull(known.name, out, priority=priority, done=wait)
            with translated():
                wait.wait()
            return out

        for target in targets:
            self._traced.add(target.context.computes_on)
            with target.context:
                target.assign(py_func(fetch, [], known.kind.shape, known.kind.dtype))

    # -- inside --------------------------------------------------------------------------------

    def _admit(self, message: Push | Pull) -> _Key:
        """Returns what is known of a message's key, or refuses it."""
        traced = recorder.current_trace() is not None
        known = self._keys.get(message.key)
        if traced and (self.updater is not None or (known is not None and known.is_rows)):
            raise MXNetError(
                f"a {self.kind.name} store sends dense values from within a traced function "
                "(hn.function), for the servers to update or add up; where it has an updater of "
                "this process, or a row-sparse key, call trainer.step, or push and pull, after the "
                "function"
            )
        with translated():
            self._state.handle(message)
        if isinstance(message, Push):
            if self.kind.consistency == "async" and self._sent.optimizer is None:
                raise MXNetError("push: " + _WAIT_FOR_UPDATER.format(kind=self.kind.name))
            if not traced:
                self._follow_optimizer()
                self._begins_again = False
        return self._keys[message.key]

    def _merged(self, key: Key, known: _Key, values: Sequence[NDArray], priority: int) -> NDArray:
        """Returns one array, of the key's dtype there, for those of the devices."""
        merged = values[0]
        self._actions.begin_push(key)
        if len(values) > 1:
            merged = self._actions.merge(key, values, priority)
        if merged.stype != "default" and not known.is_rows:
            merged = merged.tostype("default")
        # Trainers set the scale anew when a batch has another size; servers have the first one.
        scale = self._sent.rescaled
        if scale != 1.0:
            merged = merged * scale
        return merged.astype(known.kind.dtype, copy=False).detach()

    def _update_here(self, key: Key, known: _Key, values: Sequence[NDArray], priority: int) -> None:
        """Updates this process's copy by the sum over all workers."""
        mine = self._mine(key, known)
        merged = self._merged(key, known, values, priority)
        total = zeros(known.kind.shape, mine.context, known.kind.dtype)

        def ask(value: Any, out: Any, done: Done) -> None:
            self.remote.push_pull(known.name, value, out, priority=priority, done=done)

        dense = merged.tostype("default") if merged.stype != "default" else merged
        self._receive(key, known, ask, (dense.read(),), [total], priority)
        self._actions.update(key, total, mine, priority)

    def _mine(self, key: Key, known: _Key) -> NDArray:
        if known.mine is None:
            known.mine = zeros(known.kind.shape, dtype=known.kind.dtype)
            ask = functools.partial(self.remote.pull, known.name)
            self._receive(key, known, ask, (), [known.mine], 0)
        return known.mine

    def _receive(
        self,
        key: Key,
        known: _Key,
        ask: Callable[..., None],
        reads: Sequence[Value],
        targets: Sequence[NDArray],
        priority: int,
    ) -> None:
        """Asks the servers for a key's value, and writes it to arrays when it has come.

        Args:
            key: the key.
            known: what is known of it.
            ask: called as ``ask(*arrays, out, done=done)`` when the arrays of `reads` are there. It
                writes the value to `out` and then calls `done`.
            reads: the Values that are sent with the question.
            targets: the arrays to which the value is written.
            priority: of the task; higher ones come first.
        """
        ctx = targets[0].context.computes_on
        check_device(ctx)
        splits = self._splits(targets[0])
        if reads:  # they come with a push of its own
            known.last = None
        last = known.last

        def start(done: Callable[[Any], None], *arrays: Any) -> None:
            out = aligned(known.kind.shape, known.kind.dtype)
            ask(*arrays, out, done=ends_task(done, lambda: _placed(out, ctx, splits), arrays, last))

        (value,) = self._task(key, known, start, reads, (known.kind,), priority, "pull")
        if reads:
            known.pushed = value  # it comes with the answer to a push
        first = targets[0]
        if splits is not None and first.type is known.kind:
            with in_place:  # it lies as what it replaces
                first.write(value)
            targets = targets[1:]
        if targets:
            self._actions.send(key, NDArray.from_value(value, ctx), targets, priority)
        recorder.mark()

    def _splits(self, target: NDArray) -> Splits | None:
        """Returns how a value that replaces an array's must lie; None where the array is no mesh's.

        It is asked once for each array, which stays as it lies: a step would wait here for the
        value that the step before has asked for.
        """
        if type(target.context) is not Mesh or target.offset is not None:
            return None
        storage = target.storage
        if storage not in self._lies:
            self._lies[storage] = splits_held(target)
        return self._lies[storage]

    def _push_by(
        self,
        send: Callable[..., None],
        key: Key,
        known: _Key,
        reads: Sequence[Value],
        priority: int,
    ) -> None:
        """Hands arrays over when they are there; `known.pushed` stands for the acknowledgement."""
        acknowledged = known.last = Acknowledgement()

        def start(done: Callable[[Any], None], *arrays: Any) -> None:
            acknowledged.held = (reads, arrays)  # as long as they may have to be sent again
            send(known.name, *arrays, priority=priority, done=acknowledged)
            done((True,))

        (handed_over,) = self._task(key, known, start, reads, (_TOKEN,), priority, "push")
        (known.pushed,) = push_async_task(
            lambda done, _: acknowledged.tell(done),
            [handed_over],
            (_TOKEN,),
            priority=priority,
            name=f"kv push {key}: acknowledged",
        )

    def _hand_over_rows(
        self, known: _Key, name: Key, data: Any, places: Any, *, priority: int, done: Done
    ) -> None:
        """Hands over the rows that a row-sparse array stores, but not the room that it has."""
        stored = places < known.kind.shape[0]
        rows = np.ascontiguousarray(places[stored])
        values = np.ascontiguousarray(data[stored])
        self.remote.push_rows(name, rows, values, priority=priority, done=done)

    def _task(
        self,
        key: Key,
        known: _Key,
        start: Callable[..., None],
        reads: Sequence[Value],
        types: Sequence[TensorType],
        priority: int,
        what: str,
    ) -> list[Value]:
        def guarded(done: Callable[[Any], None], *arrays: Any) -> None:
            with translated():
                start(done, *arrays)

        made = push_async_task(
            guarded,
            reads,
            tuple(types),
            writes=(known.order,),
            priority=priority,
            name=f"kv {what} {key}",
        )
        recorder.mark()
        return made


def _placed(out: NumpyArray, ctx: Context, splits: Splits | None) -> Sequence[DeviceArray]:
    """Puts a value that has come on its context; on a mesh each device gets its part."""
    if splits is None or not isinstance(ctx, Mesh):
        return put(ctx, [out])
    return (spread(out, ctx, splits),)
