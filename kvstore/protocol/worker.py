"""A worker: calls of its user become messages, which are said until they are answered.

What is not acknowledged stays with the driver and is sent again, so that no killed server loses a
push; servers know pushes by their numbers, so that none counts twice.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, Final, final

from hybridnet.kvstore.protocol.calls import Calls, SliceCall, SlicedKey, resume_at
from hybridnet.kvstore.protocol.liveness import LossWatch
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.passed_barriers import PassedBarriers
from hybridnet.kvstore.protocol.requests import Request, Requests
from hybridnet.kvstore.protocol.slices import Slices
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Applied,
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

#: What users call the calls that are carried out part by part.
_WHAT: Final = {
    CallPush: "push",
    CallPull: "pull",
    CallStates: "save_optimizer_states",
    CallRestore: "load_optimizer_states",
}
#: Whose settings and first values count.
_FIRST_WORKER: Final = Peer("worker", 0)
#: How many settings of a store there may be between two pushes to it.
_BETWEEN: Final = 1 << 20


@final
class WorkerMachine(Machine):
    """The decisions of a worker process.

    Args:
        plan: the run's.
        me: this process.
    """

    def __init__(self, plan: RunPlan, me: ProcessIdentity) -> None:
        super().__init__(plan, me)
        self._open = False
        self._early: list[Any] = []
        self._calls = Calls(self._out, self._leave_if_done)
        self._requests = Requests(plan, self._out, self._moment, me.generation)
        self._slices = Slices(plan, self._out, self._requests, self._calls)
        self._barriers = PassedBarriers()
        self._watch = LossWatch()
        #: by store: the number of the settings that were asked for last, and whether it has rounds.
        self._configured: dict[int, int] = {}
        self._is_sync: dict[int, bool] = {}
        self._pushed: set[int] = set()  # stores of which this process has pushed a key
        self._heights: dict[Hashable, tuple[int, bool]] = {}
        self._trouble: tuple[Code, str] | None = None
        self._leaving: CallLeave | None = None
        self._on = {
            CallConfigure: self._call_configure,
            CallInit: self._call_init,
            CallPush: self._call_push,
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
        return self._slices.part(part)

    def key_number(self, name: Name) -> int:
        """The number of a key, which is the same in all workers."""
        return self._slices.keys[name].number

    def pushes_of(self, name: Name) -> int:
        """The number of pushes of a key; see `Slices.pushes_of`."""
        return self._slices.pushes_of(name)

    @property
    def pushes_on_the_way(self) -> int:
        """The number of pushes of parts that no server has received; at most `RunPlan.window`."""
        return self._slices.on_the_way

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
        self._calls.begin(event.call, answers)
        return True

    def _call_configure(self, event: CallConfigure) -> None:
        if self._begin_call(event, 1):
            store = event.settings.store
            self._is_sync[store] = event.settings.consistency == "sync"
            self._barriers.is_sync = any(self._is_sync.values())
            if not event.changes and self._begins_again(store):
                self._calls.answered(event.call)
                return
            barrier = self._barriers.goes_on() if event.changes and self._is_sync[store] else None
            if barrier is not None:  # others may wait there, and this process here for them
                self._come_to(*barrier, None)
            number = self._configured[store] = self._next_number(store)
            mine = self.me.peer.rank == 0
            settings = replace(event.settings, number=number) if mine else None
            message = Configure(store, number, settings)
            self._requests.ask_scheduler(("configure", store, number), message, event.call)

    def _begins_again(self, store: int) -> bool:
        """Whether this process replaces one that pushed to a store, and has not done so yet."""
        if not self._slices.resumes or store in self._pushed:
            return False
        known = self._slices.pushes_to if self._is_sync[store] else self._configured.get
        return bool(known(store))

    def _next_number(self, store: int) -> int:
        """The number of the settings that a worker asks for.

        Where there are rounds it tells how many pushes came before, which are as many in all
        workers: a process that replaces one need not know how often there were others, and whether
        those that it finds in force come before its next push or after it. Elsewhere it cannot know
        that, and waits for none that are still to come, but the first.
        """
        number = self._configured.get(store, 0) + 1
        if self._is_sync[store]:
            return max(number, self._slices.pushes_to(store) * _BETWEEN + 1)
        if self._slices.resumes and self.me.peer.rank:
            return max(1, min(number, self._requests.view.settings_of(store).number))
        return number

    def _call_init(self, event: CallInit) -> None:
        if self._open and event.name in self._slices.keys:
            what = f"init requires a new key, got {event.name!r}, which was initialized"
            self._out.append(Raise(event.call, "wrong", what))
            return
        parts = self._slices.divide(event)
        if self._begin_call(event, len(parts)):
            mine = self.me.peer.rank == 0
            self._slices.make(event, parts, event.payload if mine else None)

    def _begin_slices(self, event: SliceCall) -> SlicedKey | None:
        """Notes a call that is carried out slice by slice; returns its key if it can begin now."""
        key = self._slices.keys.get(event.name)
        if self._open and key is None:
            what = _WHAT[type(event)]
            what = f"{what} requires an initialized key, got {event.name!r}, which never was"
            self._out.append(Raise(event.call, "wrong", what))
            return None
        return key if self._begin_call(event, len(key.slices) if key else 0) else None

    def _call_slices(self, event: SliceCall) -> None:
        key = self._begin_slices(event)
        if key is not None:
            self._slices.begin(key, event)

    def _call_push(self, event: CallPush) -> None:
        key = self._begin_slices(event)
        if key is not None:
            store = key.spec.store
            self._pushed.add(store)
            key.pushes += 1
            # Workers need not push equally often where there are no rounds.
            barrier = self._barriers.pushed(key.pushes) if self._is_sync.get(store, True) else None
            if barrier is not None:
                self._come_to(*barrier, None)
            self._slices.begin(key, event)

    def _call_barrier(self, event: CallBarrier) -> None:
        if self._begin_call(event, 1):
            self._come_to(*self._barriers.following(event.name), event.call)

    def _come_to(self, name: str, count: int, call: int | None) -> None:
        self._barriers.counts[name] = count
        self._requests.ask_scheduler(("barrier", name, count), Barrier(name, count), call)

    def _call_command(self, event: CallCommand) -> None:
        requests = self._requests
        servers = sorted({place.primary for place in requests.view.places})
        if self._begin_call(event, len(servers)):
            for rank in servers:
                ticket = requests.new_ticket()
                message = Command(ticket, event.name, event.body)
                requests.ask(Request(ticket, message, event.call, peer=requests.servers[rank]))

    def _call_leave(self, event: CallLeave) -> None:
        if self._trouble is not None:
            self._post(SCHEDULER, Left())
            self._out.append(Done(event.call))
            self._close(*self._trouble)
        elif not self._open:
            self._early.append(event)
        else:
            self._leaving = event
            self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self._leaving is not None and not self._calls and ("left",) not in self._requests:
            self._requests.ask_scheduler(("left",), Left(self._leaving.waits), None)

    # -- answers -------------------------------------------------------------------------------

    def _initialized(self, source: Peer, generation: int, message: Initialized) -> None:
        request = self._requests.find(message.ticket)
        if request is not None and self._slices.is_unsure(message.number):
            assert isinstance(request.message, InitPart)
            what = (
                f"worker {self.me.peer.rank} was started again, and key {request.message.name!r} "
                f"has had {message.number} pushes of it, where others have had "
                f"{self._slices.high}: whether the last of them was in the step that it does again "
                "cannot be told; start from a checkpoint, or push every key in every step"
            )
            self._fail_call(request.call or 0, "lost", what)
        else:
            self._slices.initialized(message)

    def _applied(self, source: Peer, generation: int, message: Applied) -> None:
        self._slices.applied(message)

    def _kept(self, source: Peer, generation: int, message: Kept) -> None:
        self._slices.kept(message)

    def _missing(self, source: Peer, generation: int, message: Missing) -> None:
        self._slices.missing(message)

    def _value(self, source: Peer, generation: int, message: PartValue) -> None:
        found = (message.part, message.payload, message.rows, message.round)
        self._slices.pulled(message.ticket, *found)

    def _states(self, source: Peer, generation: int, message: PartStates) -> None:
        found = (message.part, message.payload, None, message.updates)
        self._slices.pulled(message.ticket, *found)

    def _states_put(self, source: Peer, generation: int, message: StatesPut) -> None:
        self._slices.states_put(message)

    def _configured_now(self, source: Peer, generation: int, message: Configured) -> None:
        if self._requests.view.settings_of(message.store).number < message.number:
            return  # who called looks them up; it is asked again
        request = self._requests.answered(("configure", message.store, message.number))
        if request is not None:
            self._calls.answered(request.call)

    def _barrier_done(self, source: Peer, generation: int, message: BarrierDone) -> None:
        request = self._requests.answered(("barrier", message.name, message.count))
        if request is not None:
            passed = self._barriers.passed
            passed[message.name] = max(message.count, passed.get(message.name, 0))
            self._calls.answered(request.call)

    def _command_done(self, source: Peer, generation: int, message: CommandDone) -> None:
        request = self._requests.answered(message.ticket)
        if request is not None and request.call in self._calls:
            self._out.append(Deliver(request.call or 0, None, message.body))
            self._calls.answered(request.call)

    def _refused(self, source: Peer, generation: int, message: Refused) -> None:
        request = self._requests.find(message.ticket)
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
        if self._requests.answered(("left",)) is not None and self._leaving is not None:
            self._out.append(Done(self._leaving.call))
            self._close("", "")

    def _stop(self, source: Peer, generation: int, message: Stop) -> None:
        self._fail_all("left", message.reason or "the run was stopped")
        self._close("", message.reason)

    # -- who is there --------------------------------------------------------------------------

    def _begin(self) -> None:
        self._hello()

    def _hello(self) -> None:
        me = self.me
        view = self._requests.view if self._requests.view.number else None
        message = Hello(
            me.name,
            me.peer,
            me.generation,
            me.address,
            me.host,
            view,
            barriers=tuple(self._barriers.counts.items()),
            passed=tuple(self._barriers.passed.items()),
        )
        self._requests.ask_scheduler(("hello",), message, None)

    def _who(self, source: Peer, generation: int, message: WhoAreYou) -> None:
        self._hello()

    def _welcome(self, source: Peer, generation: int, message: Welcome) -> None:
        if message.name != self.me.name:
            return
        self._requests.answered(("hello",))
        first = not self._requests.view.number
        if first:
            self._barriers.before = message.before
        self.me = replace(self.me, peer=message.peer)
        self._see(message.view)
        if self._closed:
            return
        self._post(SCHEDULER, Seen(self._requests.view.number))
        if first:
            for shard in range(self.plan.shards):
                ticket = self._requests.new_ticket()
                self._requests.ask_shard(shard, ticket, Join(ticket, shard), None)

    def _joined(self, source: Peer, generation: int, message: Joined) -> None:
        if self._requests.answered(message.ticket) is None or self._open:
            return
        self._heights[message.ticket] = (message.high, message.below)
        if len(self._heights) < self.plan.shards:
            return
        high, resumes = resume_at(list(self._heights.values()))
        self._slices.high, self._slices.resumes = high, resumes
        self._barriers.resumes = resumes
        if resumes:
            known = self._requests.view.settings
            self._configured = {
                one.store: one.number for one in known if one.consistency == "async"
            }
        self._open = True
        rank, workers = self.me.peer.rank, self.plan.workers
        self._out.append(Begin(rank, workers, resumes, self._requests.view))
        early, self._early = self._early, []
        for event in early:
            self._on[type(event)](event)

    def _peers(self, source: Peer, generation: int, message: Peers) -> None:
        if self._requests.view.number:
            self._see(message.view)
            if not self._closed:
                self._post(SCHEDULER, Seen(self._requests.view.number))

    def _see(self, view: View) -> None:
        """Goes by a newer view: what is on its way to servers that changed is sent again."""
        old = self._requests.view
        if view.number <= old.number:
            return
        self._requests.view = view
        mine = view.find(self.me.peer)
        alive = (self.me.generation, False)
        if mine is not None and (mine.generation, mine.state == "gone") > alive:
            what = f"{self.me.peer.role} {self.me.peer.rank} was replaced or declared dead"
            self._fail_all("stale", what)
            self._close("stale", what)
            return
        if old.number:
            self._slices.send_again(self._changed(old, view))
        for state in view.peers:
            if state.state == "lost":
                self._watch.expect(state.peer)
        self._mourn(view)

    def _changed(self, old: View, view: View) -> set[Peer]:
        """The servers that have to be told again what they were told."""
        servers = set()
        for before, place in zip(old.places, view.places, strict=True):
            server = self._requests.servers[place.primary]
            was, now = old.find(server), view.find(server)
            if before.primary != place.primary or was is None or now is None:
                servers.add(server)
            elif was.generation != now.generation:
                servers.add(server)
                self._watch.forget(server)
        return servers

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
            elif state.peer == _FIRST_WORKER:
                self._watch.lose(state.peer, self._now, state.reason)

    def _lost(self, event: PeerLost) -> None:
        state = self._requests.view.find(event.peer)
        returns = state is not None and state.state == "lost"
        self._watch.lose(event.peer, self._now, event.reason, returns=returns)

    def _up(self, event: PeerUp) -> None:
        self._watch.forget(event.peer)
        if event.peer == SCHEDULER and self._requests.view.number:
            self._hello()
        self._slices.send_again({event.peer})

    # -- failing -------------------------------------------------------------------------------

    def _fail_call(self, call: int, code: Code, sentence: str) -> None:
        if not self._calls.drop(call):
            return
        self._slices.drop(call)
        self._out.append(Raise(call, code, sentence))
        self._slices.send_pushes()
        self._leave_if_done()

    def _fail_peer(self, peer: Peer, sentence: str) -> None:
        calls = {one.call for one in self._requests.every() if self._needs(one, peer)}
        for call in sorted(call for call in calls if call is not None):
            self._fail_call(call, "dead", sentence)

    def _needs(self, request: Request, peer: Peer) -> bool:
        """Whether a request waits for a peer; for worker 0, that is for its settings or values."""
        if peer == _FIRST_WORKER:
            return isinstance(request.message, (InitPart, Configure))
        return self._requests.target(request) == peer

    def _fail_all(self, code: Code, sentence: str) -> None:
        self._trouble = (code, sentence)
        leaving = [event for event in self._early if isinstance(event, CallLeave)]
        early = [event.call for event in self._early if not isinstance(event, CallLeave)]
        calls = (*self._calls.drop_all(), *early)
        self._out.extend(Raise(call, code, sentence) for call in calls)
        if self._leaving is not None:
            self._post(SCHEDULER, Left())
            self._out.append(Done(self._leaving.call))
            self._leaving = None
            self._close("", "")  # all its calls were complete
        self._early.clear()
        for request in self._requests.every():
            if request.key != ("hello",):
                self._requests.answered(request.key)
                self._slices.undo(request)
        for event in leaving:
            self._call_leave(event)

    def _close(self, code: Any, sentence: str) -> None:
        if self._closed:
            return
        self._closed = True
        self._out.append(Finish(code, sentence))

    # -- time ----------------------------------------------------------------------------------

    def _tick(self) -> None:
        self._requests.say_due()
        patience = self.plan.patience
        for peer in self._watch.due(patience.deadline, self._now, patience.restart):
            loss = self._watch.find(peer)
            assert loss is not None
            if peer == SCHEDULER and self._leaving is not None and ("left",) in self._requests:
                self._out.append(Done(self._leaving.call))
                self._close("", "")
                return
            since = self._now - loss.since
            what = f"{peer.role} {peer.rank} is gone since {since:.1f} s ({loss.reason})"
            self._fail_peer(peer, what)

    def _deadline(self) -> float:
        again = self._requests.next
        if not self._watch:
            return again
        patience = self.plan.patience
        return min(again, self._watch.next(patience.deadline, self._now, patience.restart))
