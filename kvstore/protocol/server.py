"""A server: answers for some shards, follows others, and puts down who may speak for a rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, final

from hybridnet.kvstore.protocol.liveness import Repeats
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.rounds import HeldPart, Rounds
from hybridnet.kvstore.protocol.standby import Leader, follow, tell
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Adopt,
    AskCopy,
    AskPart,
    Broke,
    Command,
    CommandDone,
    Copied,
    Copy,
    Execute,
    Executed,
    Finish,
    Hello,
    InitPart,
    Install,
    Join,
    Joined,
    Message,
    PartId,
    PartRecord,
    Peer,
    PeerLost,
    Peers,
    PeerUp,
    Post,
    ProcessIdentity,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    Refused,
    Remember,
    RunPlan,
    Seen,
    ServerMemory,
    ShardPlace,
    Stop,
    StoredPart,
    View,
    Welcome,
    WhoAreYou,
)

#: So many messages that come before the scheduler's Welcome wait for it; workers repeat the rest.
_MAX_EARLY: Final = 4096
#: Answers to commands that are kept for those who ask again.
_COMMANDS: Final = 64

_FROM_WORKERS: Final = frozenset(
    (PushPart, PullPart, PullStates, PutStates, AskPart, InitPart, Join, Command)
)


@final
class ServerMachine(Machine):
    """The decisions of a server process.

    Args:
        plan: the run's.
        me: this process.
        memory: from the disk; None: it is empty.
        parts: from the disk.
    """

    def __init__(
        self,
        plan: RunPlan,
        me: ProcessIdentity,
        memory: ServerMemory | None = None,
        parts: Sequence[StoredPart] = (),
    ) -> None:
        super().__init__(plan, me)
        self._fresh = memory is None
        self._view = (memory and memory.view) or View(0)
        known = memory.generations if memory is not None else ()
        self._fences = [*known, *(0 for _ in range(plan.workers - len(known)))]
        self._parts = {
            one.part.id: HeldPart(
                one.part, one.name, one.spec, one.record, has_previous=one.has_previous
            )
            for one in parts
        }
        self._unborn: dict[PartId, dict[int, int]] = {}
        self._joining: dict[tuple[int, int], int] = {}  # by rank and shard, tickets that wait
        self._rounds = Rounds(plan, self._out, self._committed)
        self._leader = Leader(plan.patience, self._out, self._settle, self._rounds.settings)
        self._repeats: Repeats[str] = Repeats(plan.patience)
        self._welcomed = False
        self._early: list[tuple[Peer, int, Message]] = []
        self._commands: dict[tuple[int, int], CommandDone | Refused | None] = {}
        self._on = {
            Broke: self._broke,
            Executed: self._executed,
            PeerLost: lambda event: None,
            PeerUp: self._up,
        }
        self._told = {
            Welcome: self._welcome,
            WhoAreYou: self._who,
            Peers: self._peers,
            Stop: self._stop,
            Refused: self._refused,
            Join: self._join,
            InitPart: self._init,
            PushPart: self._push,
            AskPart: self._about_part,
            PullPart: self._about_part,
            PullStates: self._about_part,
            PutStates: self._about_part,
            Command: self._command,
            Copy: self._copy,
            AskCopy: self._ask_copy,
            Copied: self._copied,
        }

    # -- the run -----------------------------------------------------------------------------

    def _begin(self) -> None:
        self._adopt(self._view)
        self._hello()

    def _hello(self) -> None:
        self._repeats.add("hello", self._now)
        self._say_hello()

    def _say_hello(self) -> None:
        me = self.me
        view = self._view if self._view.number else None
        self._post(
            SCHEDULER,
            Hello(me.name, me.peer, me.generation, me.address, me.host, view, self._fresh),
        )

    def _who(self, source: Peer, generation: int, message: WhoAreYou) -> None:
        self._hello()

    def _up(self, event: PeerUp) -> None:
        if event.peer == SCHEDULER:
            self._hello()

    def _welcome(self, source: Peer, generation: int, message: Welcome) -> None:
        if message.name != self.me.name:
            return
        self._repeats.drop("hello")
        self.me = replace(self.me, peer=message.peer)
        if self._welcomed:
            self._see(message.view)
            return
        self._welcomed = True
        self._fresh = False
        known, self._view = self._view, View(0)
        self._see(message.view if message.view.number > known.number else known)
        early, self._early = self._early, []
        for source, generation, waiting in early:
            if not self._closed:
                self._receive(source, generation, waiting)

    def _peers(self, source: Peer, generation: int, message: Peers) -> None:
        if self._welcomed:
            self._see(message.view)

    def _refused(self, source: Peer, generation: int, message: Refused) -> None:
        if source == SCHEDULER and not message.ticket:
            self._close(message.code, message.sentence)

    def _stop(self, source: Peer, generation: int, message: Stop) -> None:
        self._close(message.code, message.reason)

    def _close(self, code: Any, sentence: str) -> None:
        self._closed = True
        self._out.append(Finish(code, sentence))

    # -- views -------------------------------------------------------------------------------

    def _see(self, view: View) -> None:
        """Goes by a newer view, and says so when it is put down."""
        old = self._view
        if view.number > old.number:
            mine = view.find(self.me.peer)
            alive = (self.me.generation, False)
            if mine is not None and (mine.generation, mine.state == "gone") > alive:
                self._close("stale", f"server {mine.peer.rank} was replaced or declared dead")
                return
            self._view = view
            for state in view.peers:
                if state.peer.role == "worker":
                    least = state.generation + (state.state == "gone")
                    rank = state.peer.rank
                    self._fences[rank] = max(self._fences[rank], least)
            self._remember()
            self._adopt(view)
            self._count_members(view)
            for shard, place in enumerate(view.places):
                before = old.places[shard] if old.places else None
                self._take_place(shard, before, place, old)
        self._post(SCHEDULER, Seen(self._view.number))

    def _adopt(self, view: View) -> None:
        for settings in view.settings:
            if settings.number > self._rounds.settings[settings.store].number:
                self._rounds.adopt(settings, self._parts.values())
                self._out.append(Adopt(settings))

    def _count_members(self, view: View) -> None:
        left = (one.peer.rank for one in view.peers if one.state == "left")
        self._rounds.left = frozenset(left)
        everybody = frozenset(range(self.plan.workers))
        shrinks = self.plan.on_loss == "shrink"
        members = view.members() if shrinks else everybody - self._rounds.left
        if members != self._rounds.members:
            self._rounds.members = members
            for held in self._parts.values():
                if self.answers_for(held.part.shard):
                    self._rounds.look_again(held)
                    self._rounds.proceed(held)

    def _take_place(
        self, shard: int, before: ShardPlace | None, place: ShardPlace, old: View
    ) -> None:
        """Goes from its place in a shard to the next one: nobody, standby, primary."""
        me = self.me.peer.rank
        was, leads = before is not None and before.primary == me, place.primary == me
        parts = [held for held in self._parts.values() if held.part.shard == shard]
        if was and not leads:
            self._leader.end(shard, parts)
            for held in parts:
                held.forget()
            for key in [one for one in self._joining if one[1] == shard]:
                del self._joining[key]
        if not leads:
            return
        if place.standby is None:
            self._leader.end(shard, parts)
            for held in parts:
                if not held.settled:
                    self._settle(held)
        elif before is None or (place.since, place.standby) != (before.since, before.standby):
            self._leader.begin(shard, place, parts, self._now)
        else:
            peer = Peer("server", place.standby)
            known, state = old.find(peer), self._view.find(peer)
            if known and state and known.generation != state.generation:
                self._leader.again(parts, place, self._now)

    def _remember(self) -> None:
        self._out.append(Remember(ServerMemory(self._view, tuple(self._fences))))

    def answers_for(self, shard: int) -> bool:
        """Whether this server is the one that workers ask about a shard."""
        places = self._view.places
        return 0 <= shard < len(places) and places[shard].primary == self.me.peer.rank

    # -- workers -----------------------------------------------------------------------------

    def _receive(self, source: Peer, generation: int, message: Message) -> None:
        if not self._welcomed and not isinstance(message, (Welcome, WhoAreYou, Refused, Stop)):
            if len(self._early) < _MAX_EARLY:
                self._early.append((source, generation, message))
            return
        if type(message) in _FROM_WORKERS and not self._admit(source, generation, message):
            return
        super()._receive(source, generation, message)

    def _admit(self, source: Peer, generation: int, message: Any) -> bool:
        """Only the newest process of a rank speaks for it."""
        role, rank = source
        if role != "worker" or not 0 <= rank < self.plan.workers:
            return False
        fence = self._fences[rank]
        if generation < fence:
            what = f"worker {rank} of generation {generation} was replaced or declared dead"
            refusal = Refused(message.ticket, "stale", what)
            self._out.append(Post(source, refusal, generation))
            return False
        if generation > fence:
            self._fences[rank] = generation
            self._remember()
        return True

    def _join(self, source: Peer, generation: int, message: Join) -> None:
        if not self.answers_for(message.shard):
            return  # the worker knows a newer or an older view, and asks again
        self._joining[source.rank, message.shard] = message.ticket
        self._answer_joins(message.shard)

    def _answer_joins(self, shard: int) -> None:
        """Says how far a shard is, when all that is there may be seen."""
        parts = [held for held in self._parts.values() if held.part.shard == shard]
        if not all(held.settled for held in parts):
            return
        for rank, asked in list(self._joining):
            if asked == shard:
                heights = {self._rounds.number(held, rank) for held in parts}
                high = max(heights, default=0)
                below = high - 1 in heights if high else bool(heights)
                ticket = self._joining.pop((rank, asked))
                self._post(Peer("worker", rank), Joined(ticket, high, below))

    def _settle(self, held: HeldPart) -> None:
        """Lets what was committed last be seen."""
        self._rounds.settle(held)
        if self._joining:
            self._answer_joins(held.part.shard)

    def _init(self, source: Peer, generation: int, message: InitPart) -> None:
        part, rank = message.part, source.rank
        if not self.answers_for(part.shard):
            return
        held = self._parts.get(part.id)
        if held is None and message.payload is None:
            self._unborn.setdefault(part.id, {})[rank] = message.ticket
            return
        if held is None:
            record = PartRecord(0, (0,) * self.plan.workers)
            held = self._parts[part.id] = HeldPart(part, message.name, message.spec, record)
            self._out.append(Install(part, message.name, message.spec, record, message.payload))
            held.inits.update(self._unborn.pop(part.id, {}))
            self._committed(held)
        if (held.name, held.part, held.spec) != (message.name, part, message.spec):
            what = (
                f"init requires the same keys in the same order from all workers, got key "
                f"{message.name!r} of {message.spec.size} elements, where another worker had "
                f"{held.name!r} of {held.spec.size}"
            )
            self._rounds.refuse(rank, message.ticket, "wrong", what)
        else:
            self._rounds.init(held, rank, message.ticket)

    def _push(self, source: Peer, generation: int, message: PushPart) -> None:
        held = self._find(source.rank, message)
        if held is not None:
            self._rounds.push(held, source.rank, message)

    def _about_part(
        self, source: Peer, generation: int, message: AskPart | PullPart | PullStates | PutStates
    ) -> None:
        held, rank = self._find(source.rank, message), source.rank
        if held is None:
            return
        if isinstance(message, AskPart):
            self._rounds.ask(held, rank, message)
        elif isinstance(message, PutStates):
            self._rounds.put(held, rank, message)
        else:
            self._rounds.pull(held, rank, message)

    def _find(
        self, rank: int, message: PushPart | AskPart | PullPart | PullStates | PutStates
    ) -> HeldPart | None:
        """The part that a message is about, if this server answers for it."""
        held = self._parts.get(message.part)
        if held is not None:
            # Otherwise the worker knows a newer or an older view, and asks again.
            return held if self.answers_for(held.part.shard) else None
        if not self.plan.standby:  # else another answers; the scheduler says so if nobody does
            what = (
                f"server {self.me.peer.rank} has no part {message.part}: it was started again "
                "without its state; start from a checkpoint"
            )
            self._rounds.refuse(rank, message.ticket, "lost", what)
        return None

    def _committed(self, held: HeldPart) -> None:
        place = self._view.places[held.part.shard]
        if place.standby is None:
            self._settle(held)
        else:
            self._leader.copy(held, place, self._now)

    def _broke(self, event: Broke) -> None:
        held = self._parts.get(event.part)
        if held is None:
            return
        if event.record is None:
            for rank, ticket in held.inits.items():
                self._rounds.refuse(rank, ticket, "broke", event.sentence)
            del self._parts[event.part]
            return
        held.record = event.record
        held.has_previous = False  # where it was, the commit that failed has been written
        self._rounds.fail(held, event.sentence)

    # -- commands ----------------------------------------------------------------------------

    def _command(self, source: Peer, generation: int, message: Command) -> None:
        key = (source.rank, message.ticket)
        if key not in self._commands:
            self._commands[key] = None
            while len(self._commands) > _COMMANDS:
                del self._commands[next(iter(self._commands))]
            self._out.append(Execute(source, message.ticket, message.name, message.body))
            return
        answer = self._commands[key]
        if answer is not None:
            self._post(source, answer)

    def _executed(self, event: Executed) -> None:
        answer: CommandDone | Refused
        if event.failed:
            answer = Refused(event.ticket, "broke", event.body)
        else:
            answer = CommandDone(event.ticket, event.body)
        self._commands[event.worker.rank, event.ticket] = answer
        self._post(event.worker, answer)

    # -- standby -----------------------------------------------------------------------------

    def _follows(self, shard: int, since: int) -> bool:
        places = self._view.places
        if not 0 <= shard < len(places):
            return False
        place = places[shard]
        return place.standby == self.me.peer.rank and place.since == since

    def _copy(self, source: Peer, generation: int, message: Copy) -> None:
        if not self._follows(message.part.shard, message.since):
            return
        if message.settings != self._rounds.settings[message.spec.store].number:
            return  # one of the two will hear of the settings; then it is sent again
        part = message.part.id
        held = follow(self._parts.get(part), message, self._out)
        if held is not None:
            self._parts[part] = held
        self._post(source, tell(held, part, message.since))

    def _ask_copy(self, source: Peer, generation: int, message: AskCopy) -> None:
        held = self._parts.get(message.part)
        if held is not None and not self._follows(held.part.shard, message.since):
            return
        if held is None and not any(
            self._follows(shard, message.since) for shard in range(self.plan.shards)
        ):
            return
        self._post(source, tell(held, message.part, message.since))

    def _copied(self, source: Peer, generation: int, message: Copied) -> None:
        held = self._parts.get(message.part)
        if held is None or not self.answers_for(held.part.shard):
            return
        place = self._view.places[held.part.shard]
        if place.standby == source.rank:
            self._leader.copied(held, place, message, self._now)

    # -- time --------------------------------------------------------------------------------

    def _tick(self) -> None:
        if self._repeats.due(self._now):
            self._say_hello()
        self._leader.tick(self._leads, self._now)
        self._leader.tick_reports(self._view.places, self._now)

    def _leads(self, part: PartId) -> tuple[HeldPart, ShardPlace] | None:
        held = self._parts.get(part)
        if held is None or not self.answers_for(held.part.shard):
            return None
        place = self._view.places[held.part.shard]
        return None if place.standby is None else (held, place)

    def _deadline(self) -> float:
        again = self._repeats.next
        return min(again, self._leader.next) if self.plan.standby else again
