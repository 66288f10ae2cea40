"""The driver of a worker: whole keys become parts on the way out, and parts keys on the way in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np

import hybridnet.kvstore.traffic as traffic
from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.drivers.driver import Driver
from hybridnet.kvstore.drivers.exchanges import Exchanges
from hybridnet.kvstore.drivers.plans import identity_of, plan_of
from hybridnet.kvstore.errors import DeadNodeError, KVStoreError
from hybridnet.kvstore.own_folder import is_own_folder
from hybridnet.kvstore.protocol.words import (
    Applied,
    Arrived,
    Begin,
    Deliver,
    Done,
    InitPart,
    Part,
    PartId,
    PartStates,
    PartValue,
    Peer,
    Post,
    PullPart,
    PushPart,
    PutStates,
    Raise,
    View,
)
from hybridnet.kvstore.protocol.worker import WorkerMachine
from hybridnet.kvstore.storage.dtypes import Array
from hybridnet.kvstore.storage.two_bit import quantize
from hybridnet.kvstore.transport.interface import Transport
from hybridnet.kvstore.transport.mapped_lane import (
    LEAST,
    FileCache,
    LanePlace,
    OutLane,
    server_folder,
    value_path,
)
from hybridnet.kvstore.transport.wire import Buffer, Payload, WireError

#: What is called when a call is complete: with None, or with what went wrong.
Callback = Callable[[BaseException | None], None]


@final
@dataclass(slots=True, eq=False)
class Outgoing:
    """The data that a call sends: a key or rows of one.

    Attributes:
        array: flat, one piece of memory; of a table two-dimensional, its rows or those named.
        rows: (n,) int64, which they are; None: all.
        packed: by a part's index its 2-bit bytes.
        places: by a part's index where in a mapped file they are.
    """

    array: Array
    rows: Array | None = None
    packed: dict[int, Array] = field(default_factory=dict)
    places: dict[int, LanePlace] = field(default_factory=dict)

    def of(self, part: Part) -> Array:
        """The values of a part."""
        if self.rows is None:
            return self.array[part.first : part.last]
        return self.array[_range(self.rows, part)]


@final
@dataclass(slots=True, eq=False)
class Waiting:
    """A call that is not complete.

    Attributes:
        done: called once when it is.
        sent: what it sends.
        out: what it reads into; flat, of a table two-dimensional.
        rows: that it reads; None: all.
        answers: to a command.
        states: by a part's index how many updates its optimizer has counted, and the bytes of its
            value and states; None: they are not asked for.
    """

    done: Callback
    sent: Outgoing | None = None
    out: Array | None = None
    rows: Array | None = None
    answers: list[str] = field(default_factory=list)
    states: dict[int, tuple[int, Array]] | None = None


def _range(rows: Array, part: Part) -> slice:
    """Returns the positions of a part's rows among ascending row numbers."""
    first, last = np.searchsorted(rows, (part.first, part.last))
    return slice(int(first), int(last))


@final
class WorkerDriver(Driver):
    """Runs a worker's machine.

    Args:
        cluster: what this process is.
        transport: is connected to the scheduler.

    Attributes:
        begun: what the worker knows since it may begin; None: it may not yet.
        calls: by number, those that are not complete.
    """

    _machine: WorkerMachine

    def __init__(self, cluster: Cluster, transport: Transport) -> None:
        plan = plan_of(cluster)
        machine = WorkerMachine(plan, identity_of(cluster))
        super().__init__(machine, transport, plan)
        self.begun: Begin | None = None
        self.calls: dict[int, Waiting] = {}
        self.pushed = self.pulled = 0
        self._folder = cluster.state_folder
        self._lane: OutLane | None = None
        self._files = FileCache(lambda key: value_path(self._folder, *key))
        self._exchanges = Exchanges()

    def _wants(self, peer: Peer) -> bool:
        return peer.role == "server"

    def _sees(self, peer: Peer) -> bool:
        # A server that keeps its values in memory only has none; another user may have made one.
        return super()._sees(peer) and is_own_folder(server_folder(self._folder, peer.rank))

    def _near_folder(self, peer: Peer) -> Path | None:
        return server_folder(self._folder, peer.rank) if self._is_near(peer) else None

    def _prepare(self, event: Arrived) -> Arrived | None:
        if traffic.observer is None:
            return self._take_out(event)
        payload = getattr(event.message, "payload", None)
        prepared = self._take_out(event)
        if prepared is not None:
            self._exchanges.answered(self._machine.me.peer, prepared.message, payload)
        return prepared

    def _take_out(self, event: Arrived) -> Arrived | None:
        """Puts the bytes of a message in the place of what it says of them."""
        message = event.message
        if isinstance(message, PartStates) and message.payload is None:
            self.refused += 1
            return None
        if isinstance(message, (Applied, PartStates, PartValue)) and message.payload is not None:
            payload: Payload = message.payload
            self.bytes_received += payload.size
            # A mapped value is read at once: two commits later the memory is another value's.
            try:
                message.payload = self._bytes(event.source, message.part, payload)
            except WireError:
                self.refused += 1
                return None
        return event

    def _bytes(self, source: Peer, part: PartId, payload: Payload) -> Buffer:
        if not payload.lane:
            return payload.joined()
        return self._files.view((source.rank, part, payload.lane), payload.frames[0])

    @property
    def machine(self) -> WorkerMachine:
        """The machine, which decides."""
        return self._machine

    @property
    def view(self) -> View:
        """The state of all processes, as the scheduler has told it."""
        return self._view

    def _data(self, post: Post) -> tuple[Payload | None, Buffer | None, bool]:
        payload, rows, copy = self._given(post)
        self._exchanges.posted(post, payload, rows)
        return payload, rows, copy

    def _given(self, post: Post) -> tuple[Payload | None, Buffer | None, bool]:
        """Returns what the call gave that a message is for."""
        message = post.message
        if isinstance(message, PushPart):
            return self._pushed(message, post.to)
        if isinstance(message, PullPart):
            if message.rows is None:
                return None, None, False
            rows = message.rows[_range(message.rows, self._machine.part(message.part))]
            self.pulled += 1
            return None, _view(rows), True
        if isinstance(message, InitPart):
            if message.payload is None:
                return None, None, False
            given: Outgoing = message.payload
            return Payload.of(_view(given.of(message.part))), None, False
        if isinstance(message, PutStates):
            return Payload.of(_view(message.payload[message.part[1]])), None, False
        return None, None, False

    def _pushed(self, message: PushPart, to: Peer) -> tuple[Payload | None, Buffer | None, bool]:
        self.pushed += 1
        given: Outgoing = message.payload
        part = self._machine.part(message.part)
        rows = None
        if given.rows is not None:
            rows = _view(given.rows[_range(given.rows, part)])
        codec = int(bool(given.packed))
        data = given.packed[part.index] if codec else given.of(part)
        if data.nbytes >= LEAST and self._is_near(to):
            place = self._put(given, part, data)
            return Payload((place.span,), codec, place.lane, data.nbytes), rows, True
        return Payload.of(_view(data), codec=codec), rows, False

    def _put(self, given: Outgoing, part: Part, data: Array) -> LanePlace:
        """Puts values into a mapped file, once: they are sent again from there."""
        found = given.places.get(part.index)
        if found is None:
            if self._lane is None:
                me = self._machine.me
                # Of a predecessor: who needs its files has them mapped.
                for rest in self._folder.glob(f"lane-worker{me.peer.rank}.*"):
                    rest.unlink(missing_ok=True)
                self._lane = OutLane(self._folder, me.peer, me.generation)
            found = given.places[part.index] = self._lane.put(_bytes(data))
        return found

    @staticmethod
    def compress(given: Outgoing, parts: Sequence[Part], residual: Array, threshold: float) -> None:
        """Makes 2-bit bytes of a push, part by part; the residual takes up the rest."""
        for part in parts:
            values = given.of(part)
            given.packed[part.index] = quantize(values, residual[part.first : part.last], threshold)

    def _act(self, action: Any) -> str:
        match action:
            case Deliver():
                self._deliver(action)
            case Done():
                self._complete(action.call, None)
            case Begin():
                self.begun = action
            case Raise(call, code, sentence):
                kind = DeadNodeError if code == "dead" else KVStoreError
                self._complete(call, kind(sentence))
            case _:
                raise TypeError(f"a worker does not carry out {type(action).__name__}")
        return ""

    def _deliver(self, action: Deliver) -> None:
        waiting = self.calls.get(action.call)
        if waiting is None:
            return
        if action.part is None:
            waiting.answers.append(str(action.payload))
            return
        if waiting.states is not None:
            states = np.frombuffer(action.payload, np.uint8)
            waiting.states[action.part[1]] = (action.round, states)
            return
        if waiting.out is None:
            return
        part = self._machine.part(action.part)
        if waiting.rows is None:
            there = waiting.out[part.first : part.last]
        else:
            there = waiting.out[_range(waiting.rows, part)]
        if there.nbytes != len(action.payload):
            what = f"{there.nbytes} bytes of part {action.part} were asked for, and others came"
            self._complete(action.call, KVStoreError(what))
        elif there.nbytes:
            np.copyto(there.reshape(-1), np.frombuffer(action.payload, there.dtype))

    def _complete(self, call: int, error: BaseException | None) -> None:
        waiting = self.calls.pop(call, None)
        if waiting is None:
            return
        if waiting.sent is not None and self._lane is not None and error is None:
            # What failed may still be read by a server: its places are not used again.
            for place in waiting.sent.places.values():
                self._lane.release(place)
        waiting.done(error)

    def fail_all(self, error: BaseException) -> None:
        """Fails all calls: nothing is handled any more."""
        for call in list(self.calls):
            self._complete(call, error)

    def close(self, linger: float = 0.0) -> None:
        """Closes the transport, and removes what was put into files."""
        super().close(linger)
        if self._lane is not None:
            self._lane.close()


def _bytes(array: Array) -> Array:
    """The bytes of an array as (n,) uint8; what is flat is one piece of memory (`Outgoing`)."""
    flat = array if array.ndim == 1 else np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8)


def _view(array: Array) -> memoryview:
    return _bytes(array).data
