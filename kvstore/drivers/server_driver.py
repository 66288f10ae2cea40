"""The driver of a server: parts with sums, values and states, kept where a kill leaves them."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet import engine
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.driver import Driver
from hybridnet.kvstore.drivers.plans import identity_of, plan_of
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import make_folder
from hybridnet.kvstore.protocol.server import ServerMachine
from hybridnet.kvstore.protocol.words import (
    Adopt,
    Applied,
    Arrived,
    Broke,
    Commit,
    Content,
    Copy,
    Execute,
    Executed,
    Fold,
    InitPart,
    Install,
    KeySpec,
    PartId,
    PartStates,
    PartValue,
    Peer,
    Post,
    PullPart,
    PushPart,
    PutStates,
    Refused,
    Remember,
    ServerMemory,
    StoreSettings,
)
from hybridnet.kvstore.storage.contained import write_below
from hybridnet.kvstore.storage.dtypes import Array
from hybridnet.kvstore.storage.pushed import Given, PartChecks
from hybridnet.kvstore.storage.stored_parts import PartStore, open_parts
from hybridnet.kvstore.storage.updates import Assign, Updates, find_updates
from hybridnet.kvstore.transport.interface import Transport
from hybridnet.kvstore.transport.json_words import read_word, write_word
from hybridnet.kvstore.transport.mapped_lane import LEAST, server_folder
from hybridnet.kvstore.transport.wire import Buffer, Payload, WireError

_MEMORY: Final = "memory.json"
_MOST_UPDATES: Final = 1 << 62
_THRESHOLD: Final = 0.5  # of 2-bit compression, where nobody says another
#: Characters of JSON in an answer to "keys", but for one key that is longer.
_MOST_KEYS_TEXT: Final = 32 << 10
#: What brings bytes of a part, or names rows of one.
_CHECKED: Final = (PushPart, PullPart, InitPart, Copy, PutStates)
_NOTHING: Final = (None, None, False)  # to be sent with a message


@final
class ServerDriver(Driver):
    """Runs a server's machine.

    Args:
        cluster: what this process is.
        transport: it listens.
        folder: of this server's files; None: nothing is kept.
        imports: modules that register optimizers.
    """

    _machine: ServerMachine

    def __init__(
        self, cluster: Cluster, transport: Transport, folder: Path | None, imports: Sequence[str]
    ) -> None:
        plan = plan_of(cluster)
        self._cluster, self._folder, self._imports = cluster, folder, tuple(imports)
        stores = [] if folder is None else open_parts(folder, keeps_sum=plan.standby)
        self._parts: dict[PartId, PartStore] = {one.stored.part.id: one for one in stores}
        memory = None if folder is None else _recall(folder / _MEMORY)
        me = identity_of(cluster, transport.address)
        machine = ServerMachine(plan, me, memory, [one.stored for one in stores])
        super().__init__(machine, transport, plan)
        self._stores: dict[int, _Store] = {}  # what they were told to do with pushes
        self._checks = PartChecks(cluster.state_folder)
        for one in stores:
            self._checks.add(one.stored.part, one.stored.spec)

    def close(self, linger: float = 0.0) -> None:
        """Closes the transport; when the run is over, nobody asks for this server's files again.

        That it is over says the scheduler alone, over the connection that this process has opened
        to it (`rules`); files of a server that ends for another reason stay.
        """
        super().close(linger)
        if self._folder is not None and self.finished is not None and not self.finished.code:
            shutil.rmtree(self._folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # others of the run have theirs there
                self._folder.parent.rmdir()

    # -- what comes in -----------------------------------------------------------------------

    def _wants(self, peer: Peer) -> bool:
        return self._plan.standby and peer.role == "server" and peer != self._machine.me.peer

    def _prepare(self, event: Arrived) -> Arrived | None:
        """Makes arrays of payloads; refuses what does not fit its part."""
        message = event.message
        kind = type(message)
        if kind not in _CHECKED:
            return event
        assert isinstance(message, _CHECKED)
        payload = None if isinstance(message, PullPart) else message.payload
        if payload is not None:
            self.bytes_received += payload.size
        try:
            if isinstance(message, PutStates):
                self._check_states(message)
            self._checks.check(message, event.source, event.generation)
        except WireError as error:
            self.refused += 1
            if not isinstance(message, Copy):
                refusal = Refused(message.ticket, "wrong", str(error))
                self._post(Post(event.source, refusal))
            return None
        return event

    def _check_states(self, message: PutStates) -> None:
        """Refuses states that are not those of this server's optimizer."""
        if not (0 <= message.updates < _MOST_UPDATES and 0 < message.number < _MOST_UPDATES):
            raise WireError(
                f"states have had 0 to {_MOST_UPDATES} updates, got {message.updates}, and "
                f"come for the {message.number}-th time"
            )
        store = self._parts.get(message.part)
        if store is None:
            return  # the machine says so
        wanted = sum(one.nbytes for one in store.all_arrays)
        found = 0 if message.payload is None else message.payload.size
        if wanted != found:
            raise WireError(
                f"states of part {message.part} must have {wanted} bytes, as its optimizer has "
                f"them, got {found}"
            )

    # -- what goes out -----------------------------------------------------------------------

    def _data(self, post: Post) -> tuple[Payload | None, Buffer | None, bool]:
        message = post.message
        if isinstance(message, (Applied, PartValue)):
            if message.payload is None:
                return _NOTHING
            store = self._parts[message.part]
            previous = message.payload is Content.PREVIOUS
            if isinstance(message, PartValue) and message.rows is not None:
                wanted = message.rows.numbers
                table = store.previous[0] if previous else store.value
                return Payload.of(_bytes(table[wanted - store.first])), _bytes(wanted), False
            return self._value_of(store, post.to, previous)
        if isinstance(message, PartStates):
            return self._copy_of(self._parts[message.part], message.payload)
        if isinstance(message, Copy):
            return self._copy_of(self._parts[message.part.id], message.payload, message.previous)
        return _NOTHING

    def _value_of(
        self, store: PartStore, to: Peer, previous: bool
    ) -> tuple[Payload | None, Buffer | None, bool]:
        if previous and store.is_rows:
            return Payload.of(_bytes(store.previous[0])), None, False
        copy = self._store_of(store.spec).is_async
        shared = store.previous_shared if previous else store.shared
        if shared.shared >= LEAST and not copy and store.path is not None and self._is_near(to):
            return shared, None, True
        # Two commits later the memory is another value's; by then every worker of a synchronous
        # store has had this one, as it has pushed twice since. What was there before is asked for
        # by a worker that the next commit waits for.
        return Payload.of(store.previous_bytes if previous else store.value_bytes), None, copy

    def _copy_of(
        self, store: PartStore, content: Content, both: bool = False
    ) -> tuple[Payload | None, Buffer | None, bool]:
        if content is not Content.MERGED:
            arrays = store.previous if content is Content.PREVIOUS else store.all_arrays
            before = store.previous if both else ()
            return Payload.of(*map(_bytes, (*arrays, *before))), None, True
        rows, total = store.merged()
        return Payload.of(_bytes(total)), None if rows is None else _bytes(rows), True

    # -- actions -----------------------------------------------------------------------------

    def _act(self, action: Any) -> str:
        match action:
            case Fold():
                rows = action.rows
                numbers = None if rows is None else rows.numbers
                store = self._parts[action.part]
                values = action.payload.values(self._store_of(store.spec).threshold)
                store.fold(values, numbers, first=action.first)
            case Commit():
                return self._try(action.part, self._commit, action)
            case Install():
                return self._try(action.part.id, self._install, action)
            case Remember(memory):
                if self._folder is not None:
                    _replace(self._folder / _MEMORY, write_word(memory))
            case Adopt(settings):
                self._adopt(settings)
            case Execute():
                self._execute(action)
            case _:
                raise TypeError(f"a server does not carry out {type(action).__name__}")
        return ""

    def _try(self, part: PartId, act: Callable[..., None], *args: Any) -> str:
        """Does something to a part; the machine hears of it if it fails. Returns why it did."""
        try:
            act(*args)
        except Exception as error:  # whatever an optimizer raises
            store = self._parts.get(part)
            what = _said(error)
            self.handle(Broke(part, None if store is None else store.record, what))
            return what
        return ""

    def _commit(self, action: Commit) -> None:
        store = self._parts[action.part]
        store.commit(action.record, self._store_of(store.spec).updates, action.scale)

    def _install(self, action: Install) -> None:
        part = action.part.id
        old = self._parts.get(part)
        given: Given = action.payload
        rules = self._store_of(action.spec)
        store = PartStore.create(
            self._folder, action.part, action.name, action.spec, action.record,
            rules.name, rules.updates,
            given.now if action.previous else given.full if action.full else given.values(0.0),
            previous=given.previous if action.previous else None,
            serial=1 if old is None else old.serial + 1, keeps_sum=self._plan.standby,
        )  # fmt: skip
        if old is not None:
            old.remove()
        self._parts[part] = store
        self._checks.add(action.part, action.spec)

    def _adopt(self, settings: StoreSettings) -> None:
        """Takes a store's optimizer; one that cannot be had fails every commit, with its reason."""
        threshold = float(json.loads(settings.codec or "{}").get("threshold", _THRESHOLD))
        is_async = settings.consistency == "async"
        name = _name_of(settings.optimizer)
        try:
            updates = self._find(settings.optimizer)
        except Exception as error:  # whatever a user's module raises
            failing = _Failing(_said(error))
            self._stores[settings.store] = _Store(name, failing, threshold, is_async)
            return
        self._stores[settings.store] = _Store(name, updates, threshold, is_async)
        for part, store in list(self._parts.items()):
            if store.spec.store == settings.store:
                self._try(part, store.adopt, name, updates)

    def _store_of(self, spec: KeySpec) -> _Store:
        return self._stores.get(spec.store, _NEW_STORE)

    def _find(self, text: str) -> Updates:
        if not text:
            return Assign({})
        given = json.loads(text)
        name, parameters = given["name"], given.get("parameters", {})
        try:
            factory = find_updates(name)
        except KVStoreError:
            # Modules that register optimizers load much: not before one is asked for.
            for module in self._imports:
                importlib.import_module(module)
            factory = find_updates(name)
        return factory(parameters)

    def _execute(self, action: Execute) -> None:
        command = _COMMANDS.get(action.name)
        failed, body = True, f"a server knows the commands {', '.join(_COMMANDS)}"
        if command is None:
            body += f", got {action.name!r}"
        else:
            try:
                failed, body = False, command(self, action.body)
            except Exception as error:  # of the file system, say
                body = f"{action.name}: {type(error).__name__}: {error}"
        self.handle(Executed(action.worker, action.ticket, body, failed))

    def snapshot(self, name: str) -> str:
        """Writes values and states of all parts to a file; returns its path.

        Raises:
            KVStoreError: the name leads out of the folder for snapshots.
            OSError: it cannot be written.
        """
        arrays = {}
        for (key, index), store in sorted(self._parts.items()):
            stored = store.stored
            for place, array in enumerate(store.all_arrays):
                arrays[f"{key}/{index}/{place}"] = array
            about: dict[str, Any] = {"name": stored.name, "shape": list(stored.spec.shape)}
            about |= {"first": stored.part.first, "last": stored.part.last}
            about |= {"round": stored.record.round}
            arrays[f"{key}/{index}/about"] = np.array(json.dumps(about))
        return str(
            write_below(
                self._cluster.snapshots or Path.cwd(),
                f"{name}.server-{self._machine.me.peer.rank}.npz",
                lambda file: np.savez(file, **arrays),  # type: ignore[arg-type]
            )
        )

    def keys(self, first: str) -> str:
        """Returns the keys, from a number on, that this server answers for parts of.

        Returns:
            JSON: a list of [number, name, spec, how many parts], ascending, and the number to go on
            with; None where there are no more.
        """
        found: dict[int, list[Any]] = {}
        room = _MOST_KEYS_TEXT
        for (key, _), store in sorted(self._parts.items()):
            stored = store.stored
            if key < int(first) or not self._machine.answers_for(stored.part.shard):
                continue
            if key not in found:
                one = [key, stored.name, asdict(stored.spec), 0]
                room -= len(json.dumps(one)) + 4
                if room < 0 and found:
                    return json.dumps([list(found.values()), key])
                found[key] = one
            found[key][-1] += 1
        return json.dumps([list(found.values()), None])


#: What workers may ask servers to do, beside the store's own.
_COMMANDS: Final[Mapping[str, Callable[[ServerDriver, str], str]]] = {
    "snapshot": ServerDriver.snapshot,
    "keys": ServerDriver.keys,
}


@final
class _Failing(Updates):
    """Stands for an optimizer that cannot be had."""

    def __init__(self, sentence: str) -> None:
        self._sentence = sentence

    def states(self, part: Any) -> Sequence[tuple[tuple[int, ...], np.dtype[Any]]]:
        return ()

    def update(
        self, part: Any, number: int, gradient: Array, old: Sequence[Array],
        new: Sequence[Array], rows: Array | None = None,
    ) -> None:  # fmt: skip
        raise KVStoreError(self._sentence)


@final
@dataclass(frozen=True, slots=True)
class _Store:
    """A store of the workers, and what is done with its pushes.

    Attributes:
        name: of the optimizer; see `_name_of`.
        updates: that optimizer.
        threshold: of 2-bit compression.
        is_async: each push is an update.
    """

    name: str
    updates: Updates
    threshold: float
    is_async: bool


_NEW_STORE: Final = _Store("", Assign({}), _THRESHOLD, False)


def _said(error: Exception) -> str:
    """Returns what workers are told of an error in a user's optimizer: its line, too."""
    place = engine.resolve_origin(engine.raised_origin(error))
    where = f"; raised at {place[0]}:{place[1]}" if place else ""
    return f"{type(error).__name__}: {error}{where}"


def _name_of(optimizer: str) -> str:
    """Returns what tells optimizers apart whose states are not each other's."""
    if not optimizer:
        return ""
    given = json.loads(optimizer)
    # A module may register one name for many optimizers, and have theirs as a parameter.
    inner = given.get("parameters", {}).get("optimizer", "")
    return f"{given['name']} {inner}".strip()


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _replace(path: Path, data: bytes) -> None:
    """Writes a file that is there as a whole or as it was."""
    early = path.with_name(f"{path.name}.new")
    early.write_bytes(data)
    os.replace(early, path)


def _recall(path: Path) -> ServerMemory | None:
    return read_word(ServerMemory, path.read_bytes()) if path.exists() else None


def server_driver(cluster: Cluster, transport: Transport, imports: Sequence[str]) -> ServerDriver:
    """Makes the driver of a server, with what its predecessor left.

    Raises:
        KVStoreError: its files are damaged, or cannot be made.
    """
    if not cluster.mapped or cluster.rank is None:
        if cluster.mapped:
            print(
                "hybridnet: this server keeps its values in memory only, for it has no number: "
                "set DMLC_SERVER_ID in each server",
                file=sys.stderr,
            )
        return ServerDriver(cluster, transport, None, imports)
    make_folder(cluster.state_folder)
    folder = server_folder(cluster.state_folder, cluster.rank)
    make_folder(folder)
    if cluster.token is None and cluster.generation == 0:
        # Without a token two runs cannot be told apart: what is there may be another's.
        for rest in folder.iterdir():
            rest.unlink()
    transport.listen_locally(folder)
    return ServerDriver(cluster, transport, folder, imports)
