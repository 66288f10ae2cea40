"""A worker: calls of its user become messages, which are said until they are answered.

What is not acknowledged stays with the driver and is sent again, so that no killed server loses a
push; servers know pushes by their numbers, so that none counts twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from math import inf
from typing import Any, Final, final

from hybridnet.kvstore.protocol.calls import OpenCall, Request, Slice, SlicedKey, resume_at
from hybridnet.kvstore.protocol.liveness import LossWatch, Repeats
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.parts import PushQueue, parts_of
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Applied,
    AskPart,
    Barrier,
    BarrierDone,
    Begin,
    CallBarrier,
    CallCommand,
    CallConfigure,
    CallInit,
    CallLeave,
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    Code,
    Command,
    CommandDone,
    Configure,
    Configured,
    Deliver,
    Done,
    Finish,
    Hello,
    Initialized,
    InitPart,
    Join,
    Joined,
    Kept,
    Left,
    Message,
    Missing,
    Name,
    Part,
    PartId,
    PartStates,
    PartValue,
    Peer,
    PeerLost,
    Peers,
    PeerUp,
    ProcessIdentity,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    Raise,
    Refused,
    RunPlan,
    Seen,
    StatesPut,
    Stop,
    View,
    Welcome,
    WhoAreYou,
)

__all__ = ["WorkerMachine"]

#: Calls that are carried out part by part, and what users call them.
SliceCall = CallPush | CallPull | CallStates | CallRestore
_WHAT: Final = {
    CallPush: "push",
    CallPull: "pull",
    CallStates: "save_optimizer_states",
    CallRestore: "load_optimizer_states",
}
_TICKETS: Final = 1 << 32
#: Tickets of two generations of a worker must differ, as answers to the older one still come.
_GENERATIONS: Final = 1 << 8

#: How far a predecessor may have been ahead of what its servers said of it.
_AGAIN: Final = 2
#: The name of barriers that come after a push, and how many there may be between two pushes.
_AFTER_PUSHES: Final = "@"
_BETWEEN: Final = 1 << 20
#: Whose settings and first values count.
_FIRST: Final = Peer("worker", 0)


@final
class WorkerMachine(Machine):
    """The decisions of a worker process.

    Args:
        plan: the run's.
        me: this process.
    """

    def __init__(self, plan: RunPlan, me: ProcessIdentity) -> None:
        super().__init__(plan, me)
        self._view = View(0)
        self._open = False
        self._early: list[Any] = []
        self._keys: dict[Name, SlicedKey] = {}
        self._loads = [0] * plan.shards  # bytes of values; every worker counts the same
        self._parts: dict[PartId, Part] = {}
        self._calls: dict[int, OpenCall] = {}
        self._requests: dict[Hashable, Request] = {}
        self._repeats: Repeats[Hashable] = Repeats(plan.patience)
        self._queue = PushQueue(plan.window)
        self._watch = LossWatch()
        self._barriers: dict[str, int] = {}
        self._is_sync = True
        self._pushes = 0  # of the key that this process has pushed most
        self._before = 0  # barriers that come before the first push
        self._configured = 0
        self._heights: dict[Hashable, tuple[int, bool]] = {}
        self._high = self._resumes = 0
        self._trouble: tuple[Code, str] | None = None
        self._leaving: int | None = None
        self._ticket = (me.generation % _GENERATIONS) * (_TICKETS // _GENERATIONS)
        self._servers = tuple(Peer("server", rank) for rank in range(plan.servers))
        self._on = {
            CallConfigure: self._call_configure,
            CallInit: self._call_init,
            CallPush: self._call_slices,
            CallPull: self._call_slices,
            CallStates: self._call_slices,
            CallRestore: self._call_slices,
            CallBarrier: self._call_barrier,
            CallCommand: self._call_command,
            CallLeave: self._call_leave,
            PeerLost: self._lost,
            PeerUp: self._up,
        }
        self._told = {
            Welcome: self._welcome,
            WhoAreYou: self._who,
            Peers: self._peers,
            Configured: self._configured_now,
            BarrierDone: self._barrier_done,
            Left: self._left,
            Stop: self._stop,
            Joined: self._joined,
            Initialized: self._initialized,
            Applied: self._applied,
            Kept: self._kept,
            Missing: self._missing,
            PartValue: self._value,
            PartStates: self._states,
            StatesPut: self._states_put,
            CommandDone: self._command_done,
            Refused: self._refused,
        }

    def part(self, part: PartId) -> Part:
        """The whole part of an id."""
        return self._parts[part]

    @property
    def pushes_on_the_way(self) -> int:
        """How many pushes of parts no server has received yet; at most `RunPlan.window`."""
        return self._queue.on_the_way

    # -- what a user calls -------------------------------------------------------------------

    def _begin_call(self, event: Any, answers: int) -> bool:
        """Takes down a call; whether it may go on now."""
        if self._trouble is not None:
            self._out.append(Raise(event.call, *self._trouble))
            return False
        if not self._open:
            self._early.append(event)
            return False
        if self._leaving is not None:
            what = "a call requires a worker that has not left"
            self._out.append(Raise(event.call, "wrong", what))
            return False
        self._calls[event.call] = OpenCall(event.call, answers)
        return True

    def _call_configure(self, event: CallConfigure) -> None:
        if self._begin_call(event, 1):
            self._is_sync = event.settings.consistency == "sync"
            self._configured += 1
            mine = self.me.peer.rank == 0
            settings = replace(event.settings, number=self._configured) if mine else None
            message = Configure(self._configured, settings)
            self._ask_scheduler(("configure", self._configured), message, event.call)

    def _call_init(self, event: CallInit) -> None:
        if self._open and event.name in self._keys:
            what = f"init requires a new key, got {event.name!r}, which was initialized"
            self._out.append(Raise(event.call, "wrong", what))
            return
        number = len(self._keys)
        parts = parts_of(number, event.name, event.spec, self.plan, self._loads)
        if not self._begin_call(event, len(parts)):
            return
        for part in parts:
            share = (part.last - part.first) / max(1, event.spec.rows or event.spec.size)
            self._loads[part.shard] += round(share * event.spec.size * event.spec.item)
        slices = tuple(Slice(part) for part in parts)
        self._keys[event.name] = SlicedKey(number, event.spec, slices)
        payload = event.payload if self.me.peer.rank == 0 else None
        for part, one in zip(parts, slices, strict=True):
            self._parts[part.id] = part
            ticket = self._new_ticket()
            message = InitPart(ticket, part, event.name, event.spec, payload)
            self._ask_shard(part.shard, ticket, message, event.call, one)

    def _call_slices(self, event: SliceCall) -> None:
        key = self._keys.get(event.name)
        if self._open and key is None:
            what = _WHAT[type(event)]
            what = f"{what} requires an initialized key, got {event.name!r}, which never was"
            self._out.append(Raise(event.call, "wrong", what))
        elif self._begin_call(event, len(key.slices) if key else 0):
            assert key is not None
            if isinstance(event, CallPush):
                self._count_push(key)
            for one in key.slices:
                one.waiting.append(event)
                self._advance(one)
            self._send_pushes()

    def _call_barrier(self, event: CallBarrier) -> None:
        if self._begin_call(event, 1):
            self._come_to(*self._next_barrier(event.name), event.call)

    def _next_barrier(self, name: str) -> tuple[str, int]:
        """The name of the barrier that this worker comes to, and the how-manieth time it is.

        A worker that was started again goes on in the middle of its program, and has not been at
        the barriers before. So those without a name are known, in a synchronous store, by how many
        pushes came before, which are as many in all workers, and by their order since then. Before
        its first push it comes to those of the program's beginning, then to those of the middle;
        where nothing is left to push it takes the next one for the one that followed the last push.
        """
        count = self._barriers.get(name, 0) + 1
        first = not self._pushes and (not self._resumes or count <= self._before)
        if name or not self._is_sync or first:
            return name, count
        so_far = (self._resumes + self._pushes) * _BETWEEN
        return _AFTER_PUSHES, max(so_far, self._barriers.get(_AFTER_PUSHES, 0)) + 1

    def _come_to(self, name: str, count: int, call: int | None) -> None:
        self._barriers[name] = count
        self._ask_scheduler(("barrier", name, count), Barrier(name, count), call)

    def _count_push(self, key: SlicedKey) -> None:
        """Counts the pushes of a key; the first says that no barrier before it is come to."""
        key.pushes += 1
        if self._is_sync and not self._pushes and self._resumes:
            self._come_to(_AFTER_PUSHES, (self._resumes + 1) * _BETWEEN, None)
        self._pushes = max(self._pushes, key.pushes)

    def _call_command(self, event: CallCommand) -> None:
        servers = sorted({place.primary for place in self._view.places})
        if self._begin_call(event, len(servers)):
            for rank in servers:
                ticket = self._new_ticket()
                message = Command(ticket, event.name, event.body)
                self._ask(Request(ticket, message, event.call, peer=self._servers[rank]))

    def _call_leave(self, event: CallLeave) -> None:
        if self._trouble is not None:
            self._post(SCHEDULER, Left())
            self._out.append(Done(event.call))
            self._close(*self._trouble)
        elif not self._open:
            self._early.append(event)
        else:
            self._leaving = event.call
            self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self._leaving is not None and not self._calls and ("left",) not in self._requests:
            self._ask_scheduler(("left",), Left(), None)

    # -- messages that want an answer ----------------------------------------------------------

    def _new_ticket(self) -> int:
        base = self._ticket - self._ticket % (_TICKETS // _GENERATIONS)
        self._ticket = base + (self._ticket + 1) % (_TICKETS // _GENERATIONS)
        while self._ticket in self._requests:
            self._ticket = base + (self._ticket + 1) % (_TICKETS // _GENERATIONS)
        return self._ticket

    def _ask_scheduler(self, key: Hashable, message: Message, call: int | None) -> None:
        self._ask(Request(key, message, call, peer=SCHEDULER))

    def _ask_shard(
        self, shard: int, ticket: int, message: Message, call: int | None, one: Slice | None = None
    ) -> None:
        self._ask(Request(ticket, message, call, shard, slice=one))

    def _ask(self, request: Request) -> None:
        self._requests[request.key] = request
        self._say(request)

    def _say(self, request: Request) -> None:
        self._repeats.add(request.key, self._now)
        self._post(self._target(request), request.message)

    def _target(self, request: Request) -> Peer:
        if request.shard >= 0:
            return self._servers[self._view.places[request.shard].primary]
        assert request.peer is not None
        return request.peer

    def _answered(self, key: Hashable) -> Request | None:
        """Takes a request off, if its answer is still waited for."""
        request = self._requests.pop(key, None)
        if request is not None:
            self._repeats.drop(key)
        return request

    def _one_less(self, call: int | None) -> None:
        """A call has had one of its answers."""
        known = self._calls.get(call) if call is not None else None
        if known is None:
            return
        known.left -= 1
        if not known.left:
            del self._calls[known.call]
            self._out.append(Done(known.call))
            self._leave_if_done()

    # -- pushes and pulls of a part ------------------------------------------------------------

    def _advance(self, one: Slice) -> None:
        """Begins what may begin."""
        while one.ready and one.waiting:
            event = one.waiting[0]
            if isinstance(event, CallPull):
                self._begin_pull(one, event.call, event.rows, event.priority)
            elif isinstance(event, CallStates):
                self._begin_states(one, event)
            elif one.pushing or one.pulling:
                return
            elif isinstance(event, CallRestore):
                self._begin_restore(one, event)
            else:
                self._begin_push(one, event)
            one.waiting.popleft()

    def _begin_push(self, one: Slice, event: CallPush) -> None:
        one.number += 1
        one.pushing = True
        ticket = self._new_ticket()
        message = PushPart(
            ticket,
            one.part.id,
            one.number,
            event.payload,
            event.rows,
            event.wants_value,
            self.plan.window > 0,
            event.priority,
        )
        request = Request(ticket, message, event.call, one.part.shard, slice=one, sent=False)
        self._requests[ticket] = request
        self._queue.add(ticket, event.priority)

    def _begin_pull(self, one: Slice, call: int, rows: Any, priority: int) -> None:
        one.pulling += 1
        ticket = self._new_ticket()
        message = PullPart(ticket, one.part.id, one.number, rows, priority)
        self._ask_shard(one.part.shard, ticket, message, call, one)

    def _begin_states(self, one: Slice, event: CallStates) -> None:
        one.pulling += 1
        ticket = self._new_ticket()
        message = PullStates(ticket, one.part.id, one.number)
        self._ask_shard(one.part.shard, ticket, message, event.call, one)

    def _begin_restore(self, one: Slice, event: CallRestore) -> None:
        """Puts states in their place; the next push waits for that, as for a push."""
        one.pushing = True
        ticket = self._new_ticket()
        message = PutStates(ticket, one.part.id, event.number, event.updates, event.payload)
        self._ask_shard(one.part.shard, ticket, message, event.call, one)

    def _send_pushes(self) -> None:
        for ticket in self._queue.take():
            request = self._requests[ticket]
            request.sent = True
            self._say(request)

    def _push_again(self, request: Request) -> None:
        """A push must be sent whole once more, in its turn."""
        request.kept = request.sent = False
        assert isinstance(request.message, PushPart)
        self._repeats.drop(request.key)
        self._queue.add(request.message.ticket, request.message.priority)

    def _applied(self, source: Peer, generation: int, message: Applied) -> None:
        request = self._answered(message.ticket)
        if request is None or request.slice is None:
            return
        one, push = request.slice, request.message
        assert isinstance(push, PushPart)
        self._queue.arrived(message.ticket)
        one.pushing = False
        if one.number > self._high + _AGAIN:
            # Rounds closed without this worker. Before that it does again what counts already.
            one.number = max(one.number, message.number)
        if push.wants_value and message.payload is None:
            self._begin_pull(one, request.call or 0, push.rows, push.priority)
        else:
            if push.wants_value and request.call in self._calls:
                deliver = Deliver(request.call or 0, one.part.id, message.payload)
                self._out.append(deliver)
            self._one_less(request.call)
        self._advance(one)
        self._send_pushes()

    def _kept(self, source: Peer, generation: int, message: Kept) -> None:
        request = self._requests.get(message.ticket)
        if request is not None and request.sent:
            request.kept = True
            self._repeats.slow_down(message.ticket, self._now)
            self._queue.arrived(message.ticket)
            self._send_pushes()

    def _missing(self, source: Peer, generation: int, message: Missing) -> None:
        request = self._requests.get(message.ticket)
        if request is not None and request.sent:
            self._push_again(request)
            self._send_pushes()

    def _value(self, source: Peer, generation: int, message: PartValue) -> None:
        found = (message.part, message.payload, message.rows, message.round)
        self._pulled(message.ticket, *found)

    def _states(self, source: Peer, generation: int, message: PartStates) -> None:
        self._pulled(message.ticket, message.part, message.payload, None, message.updates)

    def _pulled(self, ticket: int, part: PartId, payload: Any, rows: Any, number: int) -> None:
        """What a server was asked for has come."""
        request = self._answered(ticket)
        if request is None or request.slice is None:
            return
        request.slice.pulling -= 1
        if request.call in self._calls:
            self._out.append(Deliver(request.call or 0, part, payload, rows, number))
        self._one_less(request.call)
        self._advance(request.slice)
        self._send_pushes()

    def _states_put(self, source: Peer, generation: int, message: StatesPut) -> None:
        request = self._answered(message.ticket)
        if request is None or request.slice is None:
            return
        request.slice.pushing = False
        self._one_less(request.call)
        self._advance(request.slice)
        self._send_pushes()

    # -- other answers -------------------------------------------------------------------------

    def _initialized(self, source: Peer, generation: int, message: Initialized) -> None:
        request = self._answered(message.ticket)
        if request is None or request.slice is None:
            return
        one, base = request.slice, message.number
        # What a predecessor pushed of the step that is made again does not count twice.
        again = self._high - 1 <= base <= self._high + _AGAIN
        one.number = min(base, self._resumes) if again else base
        one.ready = True
        self._one_less(request.call)
        self._advance(one)
        self._send_pushes()

    def _configured_now(self, source: Peer, generation: int, message: Configured) -> None:
        request = self._answered(("configure", message.number))
        if request is not None:
            self._one_less(request.call)

    def _barrier_done(self, source: Peer, generation: int, message: BarrierDone) -> None:
        request = self._answered(("barrier", message.name, message.count))
        if request is not None:
            self._one_less(request.call)

    def _command_done(self, source: Peer, generation: int, message: CommandDone) -> None:
        request = self._answered(message.ticket)
        if request is not None and request.call in self._calls:
            self._out.append(Deliver(request.call or 0, None, message.body))
            self._one_less(request.call)

    def _refused(self, source: Peer, generation: int, message: Refused) -> None:
        request = self._requests.get(message.ticket)
        if message.code == "stale" and (request is not None or not message.ticket):
            self._fail_all("stale", message.sentence)
            self._close("stale", message.sentence)
            return
        if not message.ticket:
            self._fail_all(message.code, message.sentence)
            if not self._open:
                self._close(message.code, message.sentence)
            return
        if request is not None and request.call is not None:
            self._fail_call(request.call, message.code, message.sentence)

    def _left(self, source: Peer, generation: int, message: Left) -> None:
        if self._answered(("left",)) is not None:
            self._out.append(Done(self._leaving or 0))
            self._close("", "")

    def _stop(self, source: Peer, generation: int, message: Stop) -> None:
        self._fail_all("left", message.reason or "the run was stopped")
        self._close("", message.reason)

    # -- who is there --------------------------------------------------------------------------

    def _begin(self) -> None:
        self._hello()

    def _hello(self) -> None:
        me = self.me
        view = self._view if self._view.number else None
        barriers = tuple(self._barriers.items())
        message = Hello(me.name, me.peer, me.generation, me.address, me.host, view, False, barriers)
        self._ask_scheduler(("hello",), message, None)

    def _who(self, source: Peer, generation: int, message: WhoAreYou) -> None:
        self._hello()

    def _welcome(self, source: Peer, generation: int, message: Welcome) -> None:
        if message.name != self.me.name:
            return
        self._answered(("hello",))
        first = not self._view.number
        if first:
            self._before = message.before
        self.me = replace(self.me, peer=message.peer)
        self._see(message.view)
        if self._closed:
            return
        self._post(SCHEDULER, Seen(self._view.number))
        if first:
            for shard in range(self.plan.shards):
                ticket = self._new_ticket()
                self._ask_shard(shard, ticket, Join(ticket), None)

    def _joined(self, source: Peer, generation: int, message: Joined) -> None:
        if self._answered(message.ticket) is None or self._open:
            return
        self._heights[message.ticket] = (message.high, message.below)
        if len(self._heights) < self.plan.shards:
            return
        self._high, self._resumes = resume_at(list(self._heights.values()))
        self._open = True
        rank, workers = self.me.peer.rank, self.plan.workers
        self._out.append(Begin(rank, workers, self._resumes, self._view))
        early, self._early = self._early, []
        for event in early:
            self._on[type(event)](event)

    def _peers(self, source: Peer, generation: int, message: Peers) -> None:
        if self._view.number:
            self._see(message.view)
            if not self._closed:
                self._post(SCHEDULER, Seen(self._view.number))

    def _see(self, view: View) -> None:
        """Goes by a newer view: what is on its way to servers that changed is sent again."""
        old = self._view
        if view.number <= old.number:
            return
        self._view = view
        mine = view.find(self.me.peer)
        alive = (self.me.generation, False)
        if mine is not None and (mine.generation, mine.state == "gone") > alive:
            what = f"{self.me.peer.role} {self.me.peer.rank} was replaced or declared dead"
            self._fail_all("stale", what)
            self._close("stale", what)
            return
        if old.number:
            self._send_again(self._changed(old, view))
        self._mourn(view)

    def _changed(self, old: View, view: View) -> set[Peer]:
        """The servers that have to be told again what they were told."""
        servers = set()
        for before, place in zip(old.places, view.places, strict=True):
            server = self._servers[place.primary]
            was, now = old.find(server), view.find(server)
            if before.primary != place.primary or was is None or now is None:
                servers.add(server)
            elif was.generation != now.generation:
                servers.add(server)
                self._watch.forget(server)
        return servers

    def _send_again(self, peers: set[Peer]) -> None:
        if not peers:
            return
        for request in list(self._requests.values()):
            if request.sent and self._target(request) in peers:
                if isinstance(request.message, PushPart):
                    self._push_again(request)
                else:
                    self._say(request)
        self._send_pushes()

    def _mourn(self, view: View) -> None:
        """Fails what those who are gone would have to answer."""
        if any(place.lost for place in view.places):
            what = "a server lost its state, and had no standby that was ready"
            self._fail_all("lost", f"{what}; start from a checkpoint")
        for state in view.peers:
            if state.state != "gone":
                continue
            role, rank = state.peer
            where = f"{role} {rank} on host {state.host or '?'}"
            what = f"{where} is gone ({state.reason}) and did not come back"
            needed = any(place.primary == rank for place in view.places)
            if role == "worker":
                needed = self.plan.on_loss == "fail"
            if needed:
                self._fail_all("dead", what)
            elif state.peer == _FIRST:
                self._watch.lose(state.peer, self._now, state.reason)

    def _lost(self, event: PeerLost) -> None:
        self._watch.lose(event.peer, self._now, event.reason)

    def _up(self, event: PeerUp) -> None:
        self._watch.forget(event.peer)
        if event.peer == SCHEDULER and self._view.number:
            self._hello()
        self._send_again({event.peer})

    # -- failing -------------------------------------------------------------------------------

    def _fail_call(self, call: int, code: Code, sentence: str) -> None:
        if self._calls.pop(call, None) is None:
            return
        for key, request in list(self._requests.items()):
            if request.call == call:
                self._answered(key)
                self._undo(request)
        for state in self._keys.values():
            for one in state.slices:
                kept = [event for event in one.waiting if event.call != call]
                if len(kept) < len(one.waiting):
                    one.waiting.clear()
                    one.waiting.extend(kept)
                self._advance(one)
        self._out.append(Raise(call, code, sentence))
        self._send_pushes()
        self._leave_if_done()

    def _undo(self, request: Request) -> None:
        """The slice of a request that failed is free again."""
        one, message = request.slice, request.message
        if isinstance(message, PushPart):
            self._queue.arrived(message.ticket)
            if one is not None and one.pushing:
                one.pushing = False
                one.number -= 1
        elif isinstance(message, (PullPart, PullStates)) and one is not None:
            one.pulling -= 1
        elif isinstance(message, PutStates) and one is not None:
            one.pushing = False

    def _fail_peer(self, peer: Peer, sentence: str) -> None:
        calls = {one.call for one in self._requests.values() if self._needs(one, peer)}
        for call in sorted(call for call in calls if call is not None):
            self._fail_call(call, "dead", sentence)

    def _needs(self, request: Request, peer: Peer) -> bool:
        """Whether a request waits for a peer; for worker 0, that is for its settings or values."""
        if peer == _FIRST:
            return isinstance(request.message, (InitPart, Configure))
        return self._target(request) == peer

    def _fail_all(self, code: Code, sentence: str) -> None:
        self._trouble = (code, sentence)
        leaving = [event for event in self._early if isinstance(event, CallLeave)]
        early = [event.call for event in self._early if not isinstance(event, CallLeave)]
        self._out.extend(Raise(call, code, sentence) for call in (*self._calls, *early))
        if self._leaving is not None:
            self._post(SCHEDULER, Left())
            self._out.append(Done(self._leaving))
            self._leaving = None
            self._close("", "")  # all its calls were complete
        self._calls.clear()
        self._early.clear()
        for request in list(self._requests.values()):
            if request.key != ("hello",):
                self._answered(request.key)
                self._undo(request)
        for event in leaving:
            self._call_leave(event)

    def _close(self, code: Any, sentence: str) -> None:
        if self._closed:
            return
        self._closed = True
        self._out.append(Finish(code, sentence))

    # -- time ----------------------------------------------------------------------------------

    def _tick(self) -> None:
        for key in self._repeats.due(self._now):
            request = self._requests[key]
            message = request.message
            if isinstance(message, PushPart):
                message = AskPart(message.ticket, message.part, message.number)
            self._post(self._target(request), message)
        deadline = self.plan.patience.deadline
        for peer in self._watch.due(deadline, self._now):
            loss = self._watch.find(peer)
            assert loss is not None
            if peer == SCHEDULER and self._leaving is not None and ("left",) in self._requests:
                self._out.append(Done(self._leaving))
                self._close("", "")
                return
            since = self._now - loss.since
            what = f"{peer.role} {peer.rank} is gone since {since:.1f} s ({loss.reason})"
            self._fail_peer(peer, what)

    def _deadline(self) -> float:
        patience = self.plan.patience
        lost = self._watch.next(patience.deadline, self._now) if self._watch else inf
        return min(self._repeats.next, lost)
