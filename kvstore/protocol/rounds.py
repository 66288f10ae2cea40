"""The rounds of the parts that a server answers for: what is kept, added up, committed, answered.

A part is *settled* when its last commit may be seen: at once, or when the standby has it as well.
Until then nobody gets an answer about it: what only one server has could be lost with it. Only a
settled part takes the next sum, so that the sum of the last commit is there for the standby.

In a synchronous store a pull is given the value of the very round that it names. A worker that was
started again does the interrupted step once more, and may find some parts of it done: of these it
is given what they were before, so that the step begins where it began the first time. That is
always there, as the next round of a part needs a push of this worker's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, final

from hybridnet.kvstore.protocol.words import (
    Action,
    Applied,
    AskPart,
    Code,
    Commit,
    Content,
    Fold,
    Initialized,
    Install,
    Kept,
    KeySpec,
    Message,
    Missing,
    Name,
    Part,
    PartId,
    PartRecord,
    PartStates,
    PartValue,
    Peer,
    Post,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    Refused,
    RunPlan,
    StatesPut,
    StoreSettings,
)


@dataclass(slots=True)
class KeptPush:
    """A push that waits: for its round to close, or for its commit to be settled."""

    ticket: int
    number: int
    payload: Any
    rows: Any
    wants_value: bool


@dataclass(slots=True)
class HeldPart:
    """A part on a server.

    Attributes:
        part: which.
        name: of the key.
        spec: the key's.
        record: as it is on the disk.
        settled: see the module.
        kept: pushes that are in no commit yet, by rank; a killed server forgets them.
        folded: the ranks whose kept pushes are in the sum.
        turn: the first rank that may have to be folded next.
        late: pushes that are in the last commit, by rank, until it is settled.
        pulls: that wait, by rank and ticket.
        inits: tickets that wait for the part to be settled, by rank.
        puts: the same, of states.
        merged: the sum of the last commit is still there.
        scale: of the last commit.
        followed: of the `ShardPlace` whose standby has had all of the part; 0: none.
        broken: why nothing can be committed.
        has_previous: what was there before the last commit is on the disk, too.
        id: of the part.
    """

    part: Part
    name: Name
    spec: KeySpec
    record: PartRecord
    settled: bool = False
    kept: dict[int, KeptPush] = field(default_factory=dict)
    folded: set[int] = field(default_factory=set)
    turn: int = 0
    late: dict[int, KeptPush] = field(default_factory=dict)
    pulls: dict[tuple[int, int], PullPart | PullStates] = field(default_factory=dict)
    inits: dict[int, int] = field(default_factory=dict)
    puts: dict[int, int] = field(default_factory=dict)
    merged: bool = False
    scale: tuple[int, int] = (1, 1)
    followed: int = 0
    broken: str = ""
    has_previous: bool = False
    id: PartId = field(init=False)

    def __post_init__(self) -> None:
        self.id = self.part.id

    def forget(self) -> None:
        """Drops all that is not on the disk."""
        for one in (self.kept, self.folded, self.late, self.pulls, self.inits, self.puts):
            one.clear()
        self.turn = self.followed = 0
        self.settled = self.merged = False


@final
class Rounds:
    """Pushes and pulls of the parts that this server answers for.

    Args:
        plan: the run's.
        out: takes the actions.
        committed: called after a commit; is to settle the part, at once or later.

    Attributes:
        settings: how pushes are taken, by store.
        members: ranks whose pushes are waited for.
        left: ranks that have finished.
    """

    def __init__(
        self,
        plan: RunPlan,
        out: list[Action],
        committed: Callable[[HeldPart], None],
    ) -> None:
        self.settings: defaultdict[int, StoreSettings] = defaultdict(lambda: StoreSettings(0))
        self.members: frozenset[int] = frozenset(range(plan.workers))
        self.left: frozenset[int] = frozenset()
        self._plan = plan
        self._out = out
        self._committed = committed
        self._workers = tuple(Peer("worker", rank) for rank in range(plan.workers))

    # -- messages ----------------------------------------------------------------------------

    def push(self, held: HeldPart, rank: int, message: PushPart) -> None:
        """Takes a push, or answers it again."""
        number, top = message.number, self.number(held, rank)
        if held.broken:
            self.refuse(rank, message.ticket, "broke", held.broken)
        elif number > top + 1:
            self._lose(held, rank, message.ticket, number, top)
        elif self._is_useless(held, rank, message):
            return
        elif number <= top:
            self._answer_again(held, rank, message)
        else:
            again = held.kept.get(rank)
            if again is None:
                held.kept[rank] = KeptPush(
                    message.ticket, number, message.payload, message.rows, message.wants_value
                )
                held.turn = min(held.turn, rank)
            else:  # the first one counts: it may be in the sum
                again.ticket, again.wants_value = message.ticket, message.wants_value
            if message.receipt or again is not None:
                self._say(rank, Kept(message.ticket, message.part, number))
            self.proceed(held)

    def ask(self, held: HeldPart, rank: int, message: AskPart) -> None:
        """Says what has become of a push."""
        number, top = message.number, self.number(held, rank)
        kept = held.kept.get(rank)
        if held.broken:
            self.refuse(rank, message.ticket, "broke", held.broken)
        elif number <= top:
            self._answer_again(held, rank, message)
        elif number == top + 1 and kept is not None:
            kept.ticket = message.ticket
            self._say(rank, Kept(message.ticket, message.part, number))
        else:
            self._say(rank, Missing(message.ticket, message.part, number))

    def pull(self, held: HeldPart, rank: int, message: PullPart | PullStates) -> None:
        """Answers a pull now, or when its push is in the value."""
        top = self.number(held, rank)
        if message.least > top + 1:
            self._lose(held, rank, message.ticket, message.least, top)
        elif held.broken and message.least > top:
            self.refuse(rank, message.ticket, "broke", held.broken)
        elif self._may_see(held, rank, message.least):
            self._give(held, rank, message)
        elif message.least > top and (ended := self._ended_by(held)) is not None:
            self.refuse(rank, message.ticket, "left", self._why_ended(held, ended))
        else:
            held.pulls[rank, message.ticket] = message

    def init(self, held: HeldPart, rank: int, ticket: int) -> None:
        """Says that the part is there, when it is settled."""
        held.inits[rank] = ticket
        if held.settled:
            self._answer_inits(held)

    def put(self, held: HeldPart, rank: int, message: PutStates) -> None:
        """Takes other states, once; between two commits, so that a worker may have to ask again."""
        record = held.record
        if message.number <= record.restored:
            held.puts[rank] = message.ticket
            if held.settled:
                self._answer_puts(held)
        elif held.broken:
            self.refuse(rank, message.ticket, "broke", held.broken)
        elif held.settled and not held.folded:
            ahead = message.updates - record.round
            held.record = replace(record, since=0, ahead=ahead, restored=message.number)
            held.settled = held.merged = held.has_previous = False
            held.puts[rank] = message.ticket
            self._out.append(
                Install(held.part, held.name, held.spec, held.record, message.payload, True)
            )
            self._committed(held)

    def adopt(self, settings: StoreSettings, parts: Iterable[HeldPart]) -> None:
        """Goes by other settings of a store, whose parts among these can be committed again.

        The sum of a commit that was made by the older ones would make another of it by these: a
        standby that lacks it is sent all of the part.
        """
        self.settings[settings.store] = settings
        for held in parts:
            if held.spec.store == settings.store:
                held.broken = ""
                held.merged = False

    # -- decisions ---------------------------------------------------------------------------

    def _is_sync(self, held: HeldPart) -> bool:
        return self.settings[held.spec.store].consistency == "sync"

    def number(self, held: HeldPart, rank: int) -> int:
        """The number of this rank's last push that counts: in "sync" every round is everybody's."""
        record = held.record
        return record.round if self._is_sync(held) else record.pushes[rank]

    def proceed(self, held: HeldPart) -> None:
        """Adds up what may be added up, and commits when that completes a round."""
        if not held.settled or not held.kept or held.broken:
            return
        if not self._is_sync(held):
            rank = next(iter(held.kept))
            self._fold(held, rank, held.kept[rank])
        elif not self._fold_in_order(held):
            return
        self._commit(held)

    def settle(self, held: HeldPart) -> None:
        """The last commit may be seen: answers all who waited for it, and goes on."""
        held.settled = True
        late = held.late
        held.late = {}
        for rank, push in late.items():
            self._apply(held, rank, push.ticket, push.wants_value and push.rows is None)
        if held.inits:
            self._answer_inits(held)
        if held.puts:
            self._answer_puts(held)
        if held.pulls:
            self.look_again(held)
        if held.kept:
            self.proceed(held)

    def look_again(self, held: HeldPart) -> None:
        """Answers the pulls that may be answered by now."""
        for (rank, ticket), message in list(held.pulls.items()):
            if self._may_see(held, rank, message.least):
                del held.pulls[rank, ticket]
                self._give(held, rank, message)

    def fail(self, held: HeldPart, sentence: str) -> None:
        """Nothing can be committed: says so to all who wait."""
        held.broken = sentence
        for rank, push in (*held.kept.items(), *held.late.items()):
            self.refuse(rank, push.ticket, "broke", sentence)
        waiting = [*held.pulls, *held.puts.items()]
        for rank, ticket in waiting:
            self.refuse(rank, ticket, "broke", sentence)
        held.kept.clear()
        held.folded.clear()
        held.late.clear()
        held.pulls.clear()
        held.puts.clear()

    def refuse(self, rank: int, ticket: int, code: Code, sentence: str) -> None:
        """Refuses a message of a worker."""
        self._say(rank, Refused(ticket, code, sentence))

    # -- steps -------------------------------------------------------------------------------

    def _fold_in_order(self, held: HeldPart) -> bool:
        """Adds the kept pushes by rank, as far as none is missing; whether none is.

        A worker that was gone and comes back in the middle of a round may come after higher ranks.
        """
        for rank in range(held.turn, self._plan.workers):
            push = held.kept.get(rank)
            if push is not None:
                if rank not in held.folded:
                    self._fold(held, rank, push)
            elif rank in self.members:
                held.turn = rank
                return False
            elif rank == self._ended_by(held):
                self._end_round(held, rank)
                return False
        return True

    def _ended_by(self, held: HeldPart) -> int | None:
        """Returns a worker that has finished and is missing in the next round, which cannot be."""
        if self._plan.on_loss != "fail" or not self._is_sync(held):
            return None
        return min((rank for rank in self.left if rank not in held.kept), default=None)

    def _fold(self, held: HeldPart, rank: int, push: KeptPush) -> None:
        first = not held.folded
        self._out.append(Fold(held.id, rank, push.payload, push.rows, first))
        held.folded.add(rank)
        held.merged = False
        push.payload = None

    def _commit(self, held: HeldPart) -> None:
        """Commits the sum; those who are in it get their answers when it is settled."""
        old, ranks = held.record, held.folded
        sync = self._is_sync(held)
        pushes = list(old.pushes)
        for rank in ranks:
            pushes[rank] = old.round + 1 if sync else pushes[rank] + 1
        # Written out: `replace` takes three times as long, and this is done for every part.
        held.record = PartRecord(old.round + 1, tuple(pushes), 0, old.ahead, old.restored)
        workers, present = self._plan.workers, len(ranks)
        held.scale = (workers, present) if sync and present < workers else (1, 1)
        for rank in ranks:
            held.late[rank] = held.kept.pop(rank)
        held.folded = set()
        held.turn = 0
        held.merged = held.has_previous = True
        held.settled = False
        self._out.append(Commit(held.id, held.record, held.scale))
        self._committed(held)

    def _end_round(self, held: HeldPart, rank: int) -> None:
        """A round lacks the push of a worker that has finished: nobody's push can be taken.

        Nor can a value be given with such a push in it.
        """
        sentence = self._why_ended(held, rank)
        for other, push in held.kept.items():
            self.refuse(other, push.ticket, "left", sentence)
        for (other, ticket), message in list(held.pulls.items()):
            if message.least > self.number(held, other):
                del held.pulls[other, ticket]
                self.refuse(other, ticket, "left", sentence)
        held.kept.clear()
        held.folded.clear()
        held.turn = 0

    def _why_ended(self, held: HeldPart, rank: int) -> str:
        return (
            f"push requires all {self._plan.workers} workers, but worker {rank} has ended after "
            f"round {held.record.round} of key {held.name!r}; see whether it had an error, else "
            "give every worker as many batches"
        )

    # -- answers -----------------------------------------------------------------------------

    def _is_useless(self, held: HeldPart, rank: int, message: PushPart) -> bool:
        """Refuses a push of an asynchronous store without an updater: sums would never end."""
        if self._is_sync(held) or self.settings[held.spec.store].optimizer:
            return False
        what = (
            "dist_async requires an optimizer on the servers, and there is none; call "
            "set_optimizer before the first push"
        )
        self.refuse(rank, message.ticket, "wrong", what)
        return True

    def _answer_again(self, held: HeldPart, rank: int, message: PushPart | AskPart) -> None:
        wants = isinstance(message, PushPart) and message.wants_value and message.rows is None
        if held.settled:
            self._apply(held, rank, message.ticket, wants)
            return
        waiting = held.late.get(rank)
        if waiting is None:
            held.late[rank] = KeptPush(message.ticket, message.number, None, None, wants)
        elif message.number >= waiting.number:
            waiting.ticket = message.ticket
        self._say(rank, Kept(message.ticket, message.part, message.number))

    def _apply(self, held: HeldPart, rank: int, ticket: int, wants_value: bool) -> None:
        number = self.number(held, rank)
        # Too far ahead of others it is answered without the value, and pulls it.
        payload = Content.STORED if wants_value and self._may_see(held, rank, number) else None
        self._say(rank, Applied(ticket, held.id, number, payload))

    def _answer_inits(self, held: HeldPart) -> None:
        for rank, ticket in held.inits.items():
            self._say(rank, Initialized(ticket, held.part.id, self.number(held, rank)))
        held.inits.clear()

    def _answer_puts(self, held: HeldPart) -> None:
        for rank, ticket in held.puts.items():
            self._say(rank, StatesPut(ticket, held.part.id))
        held.puts.clear()

    def _may_see(self, held: HeldPart, rank: int, least: int) -> bool:
        """Whether the value has this rank's push, and the rank is not too far ahead of others."""
        if not held.settled or self.number(held, rank) < least:
            return False
        settings, pushes = self.settings[held.spec.store], held.record.pushes
        bound = settings.staleness
        if bound is None or settings.consistency == "sync" or not self.members:
            return True
        # Where it goes on, and not what its predecessor pushed: in a store with rounds the others
        # may wait for it to do that again.
        return least - min(pushes[one] for one in self.members) <= bound

    def _give(self, held: HeldPart, rank: int, message: PullPart | PullStates) -> None:
        ticket, part, content = message.ticket, message.part, Content.STORED
        turn = held.record.round
        if message.least < turn and self._is_sync(held):
            # It repeats the step that its predecessor died in, and others have done this part of.
            if message.least == turn - 1 and held.has_previous:
                turn, content = turn - 1, Content.PREVIOUS
            elif self._plan.on_loss == "fail":
                self.refuse(rank, ticket, "lost", self._why_too_late(held, rank, message.least))
                return
        if isinstance(message, PullPart):
            self._say(rank, PartValue(ticket, part, turn, content, message.rows))
        else:
            self._say(rank, PartStates(ticket, part, turn + held.record.ahead, content))

    def _lose(self, held: HeldPart, rank: int, ticket: int, number: int, top: int) -> None:
        what = (
            f"key {held.name!r} has lost updates: worker {rank} is at push {number}, and the "
            f"server has {top}; its state is older than what it had acknowledged"
        )
        self.refuse(rank, ticket, "lost", what)

    def _why_too_late(self, held: HeldPart, rank: int, least: int) -> str:
        return (
            f"worker {rank} goes on after round {least}, and key {held.name!r} has had "
            f"{held.record.round}, without what it was at that round; start from a checkpoint"
        )

    def _say(self, rank: int, message: Message) -> None:
        self._out.append(Post(self._workers[rank], message))
