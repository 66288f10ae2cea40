"""The words of the protocol: messages, events and actions. Plain values, no IO, no clock.

**Machines** decide; a driver acts. They are

    WorkerMachine(plan, me)                     protocol/worker.py
    ServerMachine(plan, me, memory, parts)      protocol/server.py
    SchedulerMachine(plan, me)                  protocol/scheduler.py

with a `RunPlan`, a `ProcessIdentity`, and a server with what its disk holds: a `ServerMemory`
(None: the disk is empty) and a sequence of `StoredPart`. A driver

1. makes its machine, and carries out `machine.start(now)`;
2. hands over what happens as events: `machine.handle(event, now)` returns actions, which it
   carries out **in order**, each before the next; `now` is seconds on any clock that never goes
   back, one clock for all calls of a machine (machines need not agree on it);
3. hands in a `Tick` no later than the earliest `Wake.at` that it was given since the last; ticks
   too early or too many do no harm.

**Order is the promise.** `Install`, `Commit` and `Remember` must have reached what survives
`kill -9` before a later action of the list is begun: a `Post` behind a `Commit` acknowledges it. A
driver that cannot carry one out (an updater raises) skips what follows up to the next of these or
`Fold`, and hands in `Broke` when the list is done.

**Names.** A *peer* is (role, rank). Its *generation* counts the processes that had this name; only
the highest counts. A *shard* is a fixed share of all parts; a `ShardPlace` says which server
answers for it now. A *key* has a number, a *part* is a slice of a key: a `PartId` is (key's number,
index). A *call* is the driver's number for what a user asked for; a *ticket* is a worker's number
for one message that wants an answer (unsigned, 32 bits; it comes back in the answer). A push has a
*number*: it is this rank's n-th push of this part, from 1. A part's *round* counts its updates.

**Data** is opaque: a machine passes `payload` and `rows` on and never looks into them.

- A worker's driver gives whole keys to `CallInit` and `CallPush`; the machine posts one message for
  each part with the same handle, and the driver sends the part's slice of it, elements or rows
  [first, last) of `WorkerMachine.part(id)`; of a push of rows, those ids that lie in it, maybe
  none. The handle must stay as it is until `Done` or `Raise` of its call: it may be sent again.
- A server's driver keeps for every part a value with its updater's states, and a sum. `Fold` adds
  to the sum, `Commit` updates the value with it. In what a server posts the payload is
  `Content.STORED`: the part's value as it is then (of the rows asked for, where there are `rows`;
  in a `Copy` with the updater's states), or `Content.MERGED`: the sum of the last commit, which
  stays until the next `Fold` of this part.
- Of what a worker receives the driver gets `Deliver`: write this payload at the part's place.

**On the wire** a message is its header (kind; run, sender's role, rank and generation: these become
`Arrived`), its few numbers, and payload. `InitPart`, `Copy` and all messages of the scheduler carry
JSON besides. A `Post` to a peer that is not there may be dropped, and any may come late, twice, or
in another order: the machines expect all of it. A `Post` goes to the peer's newest process; the
scheduler's address is known from the start, the others' from `View.peers` (`Welcome`, `Peers`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, NamedTuple

__all__ = [
    "SCHEDULER",
    "Action",
    "Adopt",
    "Applied",
    "Arrived",
    "AskCopy",
    "AskPart",
    "Barrier",
    "BarrierDone",
    "Begin",
    "Broke",
    "CallBarrier",
    "CallCommand",
    "CallConfigure",
    "CallInit",
    "CallLeave",
    "CallPull",
    "CallPush",
    "Code",
    "Command",
    "CommandDone",
    "Commit",
    "Configure",
    "Configured",
    "Content",
    "Copied",
    "Copy",
    "Deliver",
    "Done",
    "Execute",
    "Executed",
    "Finish",
    "Fold",
    "Gone",
    "Hello",
    "Incoming",
    "InitPart",
    "Initialized",
    "Install",
    "Join",
    "Joined",
    "Kept",
    "KeySpec",
    "Left",
    "Message",
    "Missing",
    "Name",
    "Part",
    "PartId",
    "PartRecord",
    "PartValue",
    "Patience",
    "Peer",
    "PeerLost",
    "PeerState",
    "PeerUp",
    "Peers",
    "Post",
    "ProcessIdentity",
    "PullPart",
    "PushPart",
    "Raise",
    "Refused",
    "Remember",
    "Role",
    "RunPlan",
    "Seen",
    "ServerMemory",
    "ShardPlace",
    "StandbyReady",
    "Stop",
    "StoreSettings",
    "StoredPart",
    "Tick",
    "View",
    "Wake",
    "Welcome",
    "WhoAreYou",
]

Role = Literal["worker", "server", "scheduler", "supervisor"]
#: What users call a key.
Name = int | str
#: A key's number and the part's index in it.
PartId = tuple[int, int]
#: Why something is refused: "stale", the sender's rank has a newer process; "lost", a server has no
#: longer what it had acknowledged; "dead", a peer is gone for good; "left", a peer has finished;
#: "wrong", the request is; "broke", the updater or a command failed.
Code = Literal["stale", "lost", "dead", "left", "wrong", "broke"]


class Peer(NamedTuple):
    """Whom a message is for or from; rank -1 is a process that has not been given one yet."""

    role: Role
    rank: int


SCHEDULER = Peer("scheduler", 0)


class Content(Enum):
    """What the driver of a server puts into a message: see the module's docstring."""

    STORED = "stored"
    MERGED = "merged"


# -- what a run is -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the machines wait, in seconds.

    Attributes:
        ask: until a message without an answer is sent again; `growth` times longer each time, at
            most `longest`.
        growth: see `ask`.
        longest: see `ask`.
        promote: a lost server's standby takes over after this.
        dead: a lost peer is declared dead after this.
        deadline: a call that needs a peer fails this long after the peer was lost, whatever the
            scheduler says or does not say.
    """

    ask: float = 1.0
    growth: float = 1.5
    longest: float = 8.0
    promote: float = 2.0
    dead: float = 8.0
    deadline: float = 10.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What all processes of a run know from their start.

    Attributes:
        run: a random number, unsigned, 64 bits: what comes from other runs is dropped.
        workers: how many workers there are.
        shards: into how many shares the parts are divided: the servers that users ask for.
        standby: every shard has a second server that follows it. Needs two servers: with one shard
            there is one server process more, see `servers`.
        on_loss: what a worker that is gone means for the others: all their calls fail, or rounds
            close without it.
        window: how many pushes of parts may be on their way to servers at once, for P3; 0: any.
        big: keys of at least this many elements are spread over all shards.
        part_bytes: the most bytes of a part.
        part_items: the most elements of a part where it is not 0 (P3's slices).
        patience: see there.
    """

    run: int
    workers: int
    shards: int
    standby: bool = False
    on_loss: Literal["fail", "shrink"] = "fail"
    window: int = 0
    big: int = 1_000_000
    part_bytes: int = 1 << 20
    part_items: int = 0
    patience: Patience = Patience()

    @property
    def servers(self) -> int:
        """How many processes with the role of a server there are."""
        return max(self.shards, 2) if self.standby else self.shards


@dataclass(frozen=True, slots=True)
class KeySpec:
    """What a key holds.

    Attributes:
        size: elements.
        rows: into how many rows they are divided, if pushes and pulls may be of single rows; 0 for
            a dense key.
        item: bytes of an element.
        dtype: for the drivers.
        shape: for the drivers.
    """

    size: int
    rows: int = 0
    item: int = 4
    dtype: str = "float32"
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a key: its elements, or its rows where it has rows, from `first` up to `last`."""

    key: int
    index: int
    shard: int
    first: int
    last: int

    @property
    def id(self) -> PartId:
        """The key's number and the index."""
        return (self.key, self.index)


@dataclass(frozen=True, slots=True)
class PartRecord:
    """What a server has committed of a part.

    Attributes:
        round: how many updates its value has had; `index_update_count` of an optimizer.
        pushes: for every rank the number of its last push that is in the value, or that came too
            late to be.
        since: at a standby, of the `ShardPlace` under which it came here; else 0.
    """

    round: int
    pushes: tuple[int, ...]
    since: int = 0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Which process this is.

    Attributes:
        name: a text of its own for every process.
        peer: its role, and the rank that its supervisor gave it, or -1.
        generation: of this process, from 1: the supervisor's count of its attempts.
        address: where it listens; text for the drivers.
        host: its host's name.
    """

    name: str
    peer: Peer
    generation: int = 1
    address: str = ""
    host: str = ""


@dataclass(frozen=True, slots=True)
class StoredPart:
    """A part as a server's disk holds it."""

    part: Part
    name: Name
    spec: KeySpec
    record: PartRecord


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """How servers take pushes.

    Attributes:
        number: grows with each `CallConfigure` of a run; the highest counts.
        consistency: a round waits for a push of every worker, or each push is an update.
        optimizer: text for the drivers (a name and parameters in JSON); empty: the sum of a round
            becomes the value.
        staleness: in "async", a pull of a worker whose own pushes of a part are more than this
            ahead of the slowest worker's waits; None: none does.
        codec: text for the drivers.
    """

    number: int
    consistency: Literal["sync", "async"] = "sync"
    optimizer: str = ""
    staleness: int | None = None
    codec: str = ""


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Who answers for a shard.

    Attributes:
        primary: the rank of the server that does; if that one is gone, nobody does.
        standby: the rank of the one that follows it; None: nobody does.
        ready: the standby has all that the primary acknowledged.
        since: the number of the view in which these two came together.
        lost: the primary has lost what it had acknowledged, and nobody else has it.
    """

    primary: int
    standby: int | None = None
    ready: bool = False
    since: int = 0
    lost: bool = False


@dataclass(frozen=True, slots=True)
class PeerState:
    """What the scheduler knows of a peer.

    Attributes:
        peer: which.
        generation: of its newest process.
        address: where it listens; text for the drivers.
        host: its host's name, for sentences and for what is on the same one.
        state: "lost" may come back; "gone" is declared dead; "left" has finished.
        reason: why it is lost or gone, e.g. "killed by signal 9".
    """

    peer: Peer
    generation: int
    address: str
    host: str
    state: Literal["up", "lost", "gone", "left"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """All that the scheduler tells the others; a higher number replaces a lower one.

    Attributes:
        number: the scheduler's generation × 2³² + a count.
        peers: workers and servers.
        places: one for each shard.
        settings: the newest; None: as in a new `StoreSettings`.
    """

    number: int
    peers: tuple[PeerState, ...] = ()
    places: tuple[ShardPlace, ...] = ()
    settings: StoreSettings | None = None

    def find(self, peer: Peer) -> PeerState | None:
        """What is known of a peer."""
        return next((one for one in self.peers if one.peer == peer), None)

    def members(self) -> frozenset[int]:
        """The ranks of the workers whose pushes are waited for."""
        return frozenset(
            one.peer.rank
            for one in self.peers
            if one.peer.role == "worker" and one.state in ("up", "lost")
        )


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """What a server's disk holds beside its parts.

    Attributes:
        view: the newest that it has known (its `settings` and `places` matter).
        generations: for every rank of a worker the highest seen; lower ones are refused.
    """

    view: View | None = None
    generations: tuple[int, ...] = ()


# -- messages: with the scheduler ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hello:
    """Any process to the scheduler, again and again until there is a `Welcome`.

    Attributes:
        name: a text of its own for every process: it is how the answer to a process without a rank
            finds it, and how a repeated Hello is known.
        peer: its role, and the rank that it was given, or -1.
        generation: of this process.
        address: where it listens.
        host: its host's name.
        view: the newest it knows; a scheduler that was restarted learns from it.
        fresh: a server: its disk held nothing.
        barriers: a worker: how often it has come to each barrier.
    """

    name: str
    peer: Peer
    generation: int
    address: str = ""
    host: str = ""
    view: View | None = None
    fresh: bool = False
    barriers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Welcome:
    """Scheduler to a process, once all have said Hello.

    Attributes:
        name: as in its Hello.
        peer: with the rank it has from now on.
        view: the newest.
    """

    name: str
    peer: Peer
    view: View


@dataclass(frozen=True, slots=True)
class WhoAreYou:
    """Scheduler to a peer that it does not know, having been restarted: say Hello."""


@dataclass(frozen=True, slots=True)
class Peers:
    """Scheduler to all: the newest view."""

    view: View


@dataclass(frozen=True, slots=True)
class Seen:
    """A peer to the scheduler: it goes by the view of this number now (a server: durably)."""

    number: int


@dataclass(frozen=True, slots=True)
class Gone:
    """Supervisor to scheduler: a process has ended.

    Attributes:
        peer: which.
        generation: of the process that ended.
        reason: e.g. "killed by signal 9".
        returns: another generation is being started.
    """

    peer: Peer
    generation: int
    reason: str
    returns: bool = True


@dataclass(frozen=True, slots=True)
class Configure:
    """Worker to scheduler: have all servers take pushes like this from now on.

    Only worker 0's have settings. The other workers ask for the answer.
    """

    number: int
    settings: StoreSettings | None = None


@dataclass(frozen=True, slots=True)
class Configured:
    """Scheduler to worker: settings of this number are in force at all servers."""

    number: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """Worker to scheduler: it has come to this barrier for the count-th time."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class BarrierDone:
    """Scheduler to worker: all have come to it that often."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class StandbyReady:
    """Primary to scheduler: the standby has everything of this shard."""

    shard: int
    since: int


@dataclass(frozen=True, slots=True)
class Left:
    """Worker to scheduler: it has finished; scheduler to worker: good bye."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Scheduler or supervisor to all: the run is over."""

    reason: str = ""


# -- messages: workers and servers ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """Worker to server, at its start: older processes of this rank count no more."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Joined:
    """Server to worker.

    Attributes:
        ticket: of the Join.
        high: the highest number of a push of this rank that any of its parts has had.
        below: whether a part stands at exactly one less; where `high` is 0, whether it has parts.
    """

    ticket: int
    high: int
    below: bool


@dataclass(frozen=True, slots=True)
class InitPart:
    """Worker to server: make a part. Only worker 0 gives a value; others wait for it.

    Attributes:
        ticket: for the answer.
        part: the whole part, by which the server knows it from now on.
        name: what users call the key.
        spec: the key's.
        payload: the key's value, or None.
    """

    ticket: int
    part: Part
    name: Name
    spec: KeySpec
    payload: Any = None


@dataclass(frozen=True, slots=True)
class Initialized:
    """Server to worker: the part is there (it may have been before).

    Attributes:
        ticket: of the InitPart.
        part: which.
        number: of the last push of this rank that is in its value.
    """

    ticket: int
    part: PartId
    number: int


@dataclass(frozen=True, slots=True)
class PushPart:
    """Worker to server: take this into the part.

    Attributes:
        ticket: for the answer.
        part: which.
        number: this rank's how-manieth push of this part.
        payload: what to add.
        rows: ids of rows that `payload` holds; None: all of the part.
        wants_value: the answer is to bring the value; not where there are `rows`, which are pulled.
        receipt: `Kept` is to be answered at once.
        priority: higher is more urgent.
    """

    ticket: int
    part: PartId
    number: int
    payload: Any
    rows: Any = None
    wants_value: bool = False
    receipt: bool = False
    priority: int = 0


@dataclass(frozen=True, slots=True)
class AskPart:
    """Worker to server: what has become of this push?

    The answer is `Applied`, `Kept` or `Missing`; it saves sending a payload again for nothing.
    """

    ticket: int
    part: PartId
    number: int


@dataclass(frozen=True, slots=True)
class Kept:
    """Server to worker: the push is here, in memory; a killed server forgets it."""

    ticket: int
    part: PartId
    number: int


@dataclass(frozen=True, slots=True)
class Missing:
    """Server to worker: the push is not here, send it (again)."""

    ticket: int
    part: PartId
    number: int


@dataclass(frozen=True, slots=True)
class Applied:
    """Server to worker: the push is in the value, and that is committed.

    Attributes:
        ticket: of the PushPart or AskPart.
        part: which.
        number: of this rank's last push that is in the value: the push's or, where rounds have
            closed without this worker, a higher one.
        payload: the value, if wanted.
    """

    ticket: int
    part: PartId
    number: int
    payload: Any = None


@dataclass(frozen=True, slots=True)
class PullPart:
    """Worker to server: send the part's value.

    Attributes:
        ticket: for the answer.
        part: which.
        least: the number of this rank's push that must be in it.
        rows: ids of rows; None: all.
        priority: higher is more urgent.
    """

    ticket: int
    part: PartId
    least: int
    rows: Any = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class PartValue:
    """Server to worker.

    Attributes:
        ticket: of the PullPart.
        part: which.
        round: how many updates are in the value.
        payload: the value, or the rows asked for.
        rows: as in the PullPart.
    """

    ticket: int
    part: PartId
    round: int
    payload: Any
    rows: Any = None


@dataclass(frozen=True, slots=True)
class Command:
    """Worker to server: do something that drivers know, as "snapshot" with a name as its body."""

    ticket: int
    name: str
    body: str


@dataclass(frozen=True, slots=True)
class CommandDone:
    """Server to worker, with what the command returned."""

    ticket: int
    body: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """Any to any: the answer to a ticket, or (ticket 0) to all that the process does."""

    ticket: int
    code: Code
    sentence: str


# -- messages: primary and standby ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Copy:
    """Primary to standby: make this commit, too.

    Attributes:
        part: which.
        name: of the key.
        spec: the key's.
        since: of the `ShardPlace`; what is older is refused.
        record: as it is after the commit.
        full: `payload` is the value with the updater's states; else the merged sum of one commit.
        payload: see `full`.
        rows: of the merged sum, if it has rows.
        scale: as in `Commit`.
        settings: the number of the settings that the commit was made by.
    """

    part: Part
    name: Name
    spec: KeySpec
    since: int
    record: PartRecord
    full: bool
    payload: Any
    rows: Any = None
    scale: tuple[int, int] = (1, 1)
    settings: int = 0


@dataclass(frozen=True, slots=True)
class AskCopy:
    """Primary to standby: what do you have of this part? `Copied` is the answer."""

    part: PartId
    since: int


@dataclass(frozen=True, slots=True)
class Copied:
    """Standby to primary.

    Attributes:
        part: which.
        since: of the Copy.
        round: the standby's now; -1: it has none of this `ShardPlace`, and needs a full copy.
    """

    part: PartId
    since: int
    round: int


# -- events --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message has come.

    Attributes:
        source: the sender, from the header; the transport has made sure of it.
        generation: the sender's.
        run: the sender's.
        message: what came.
    """

    source: Peer
    generation: int
    run: int
    message: Message


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: see `Wake`."""


@dataclass(frozen=True, slots=True)
class PeerLost:
    """The transport has no connection to a peer any more, or hears nothing over it.

    Attributes:
        peer: which.
        reason: in words.
        generation: of the process it was connected to; 0: not known.
    """

    peer: Peer
    reason: str = "not heard of"
    generation: int = 0


@dataclass(frozen=True, slots=True)
class PeerUp:
    """The transport has a connection to a peer, the first or again."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Broke:
    """A server's driver could not commit or install a part; the disk is as `record` says."""

    part: PartId
    record: PartRecord | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Executed:
    """A server's driver has carried out `Execute`.

    Attributes:
        worker: as in the action.
        ticket: as in the action.
        body: what the command returned, or why it failed.
        failed: it did.
    """

    worker: Peer
    ticket: int
    body: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class CallConfigure:
    """Users of all workers: settings are to be in force. Worker 0's count."""

    call: int
    settings: StoreSettings


@dataclass(frozen=True, slots=True)
class CallInit:
    """Users of all workers, keys in the same order everywhere. Worker 0's value counts.

    Attributes:
        call: for the answer.
        name: what users call the key.
        spec: what it holds.
        payload: its value; other workers' drivers may give None.
    """

    call: int
    name: Name
    spec: KeySpec
    payload: Any = None


@dataclass(frozen=True, slots=True)
class CallPush:
    """A user: add this.

    Attributes:
        call: for the answer.
        name: the key.
        payload: a whole key, or rows of it.
        rows: ids of these rows, each once.
        priority: higher is more urgent.
        wants_value: deliver the value after it, too, as a pull would.
    """

    call: int
    name: Name
    payload: Any
    rows: Any = None
    priority: int = 0
    wants_value: bool = False


@dataclass(frozen=True, slots=True)
class CallPull:
    """A user: deliver the value, with all pushes that came before this call.

    Attributes:
        call: for the answer.
        name: the key.
        rows: ids of the rows to deliver; None: all.
        priority: higher is more urgent.
    """

    call: int
    name: Name
    rows: Any = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class CallBarrier:
    """A user: wait until all workers have made as many such calls."""

    call: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallCommand:
    """A user: have all servers carry out a command; their answers are delivered."""

    call: int
    name: str
    body: str = ""


@dataclass(frozen=True, slots=True)
class CallLeave:
    """A user: no call follows; leave when all are done."""

    call: int


# -- actions -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Post:
    """Send a message; the header names this process's run, peer and generation.

    Attributes:
        to: whom. To `Peer(role, -1)` it is for the process whose Hello is being answered.
        message: what.
        generation: of the process it is for, if that may be an older one of the peer; 0: the
            newest.
    """

    to: Peer
    message: Message
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Wake:
    """Hand in a `Tick` at this time, or before."""

    at: float


@dataclass(frozen=True, slots=True)
class Begin:
    """A worker may begin: its rank is known, all peers are there. Calls may come earlier, too.

    Attributes:
        rank: its own.
        workers: how many there are.
        resumes: of a restarted worker: so many pushes of each key count already; else 0.
        view: the newest.
    """

    rank: int
    workers: int
    resumes: int
    view: View


@dataclass(frozen=True, slots=True)
class Deliver:
    """A worker: write this payload at the part's place of what the call reads.

    Attributes:
        call: which.
        part: which part of the key; None: the answer to a command.
        payload: what came.
        rows: as in `CallPull`.
        round: how many updates are in it; -1 where a push brought it back.
    """

    call: int
    part: PartId | None
    payload: Any
    rows: Any = None
    round: int = -1


@dataclass(frozen=True, slots=True)
class Done:
    """A worker: this call is complete; its handles are free."""

    call: int


@dataclass(frozen=True, slots=True)
class Raise:
    """A worker: this call has failed.

    Attributes:
        call: which.
        code: "dead" is raised as DeadNodeError.
        sentence: what happened to whom, and when.
    """

    call: int
    code: Code
    sentence: str


@dataclass(frozen=True, slots=True)
class Install:
    """A server: make a part with this value and record, or overwrite it; durable.

    Attributes:
        part: which.
        name: of the key.
        spec: the key's.
        record: round 0 for a new part.
        payload: its value; in a full copy with the updater's states.
        full: `payload` is a full copy.
    """

    part: Part
    name: Name
    spec: KeySpec
    record: PartRecord
    payload: Any
    full: bool = False


@dataclass(frozen=True, slots=True)
class Fold:
    """A server: add to the part's sum.

    Folds of a round come in the order of ranks, so that sums are the same bit for bit whatever came
    first. A rank's push is folded once.

    Attributes:
        part: which.
        rank: whose push it is; at a standby -1: `payload` is the merged sum already.
        payload: what to add.
        rows: ids of its rows; None: all.
        first: forget the sum and begin with this one.
    """

    part: PartId
    rank: int
    payload: Any
    rows: Any
    first: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """A server: update the part's value with its sum, and put down the record.

    It is durable, and all of it happens or nothing.

    Attributes:
        part: which.
        record: as it is after this.
        scale: (n, m): multiply the sum by n/m first, if they differ; m of n workers are in it.
    """

    part: PartId
    record: PartRecord
    scale: tuple[int, int] = (1, 1)


@dataclass(frozen=True, slots=True)
class Remember:
    """A server: put down what is known beside the parts; durable, all or nothing."""

    memory: ServerMemory


@dataclass(frozen=True, slots=True)
class Adopt:
    """A server: from now on update with this optimizer, keeping the states of the same one."""

    settings: StoreSettings


@dataclass(frozen=True, slots=True)
class Execute:
    """A server: carry out a command, then hand in `Executed`; at most once for each ticket."""

    worker: Peer
    ticket: int
    name: str
    body: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the process: code "" as it should, else for this reason, with an exit code of its own."""

    code: Code | Literal[""] = ""
    sentence: str = ""


Message = (
    Hello
    | Welcome
    | WhoAreYou
    | Peers
    | Seen
    | Gone
    | Configure
    | Configured
    | Barrier
    | BarrierDone
    | StandbyReady
    | Left
    | Stop
    | Join
    | Joined
    | InitPart
    | Initialized
    | PushPart
    | AskPart
    | Kept
    | Missing
    | Applied
    | PullPart
    | PartValue
    | Command
    | CommandDone
    | Refused
    | Copy
    | AskCopy
    | Copied
)
Incoming = (
    Arrived
    | Tick
    | PeerLost
    | PeerUp
    | Broke
    | Executed
    | CallConfigure
    | CallInit
    | CallPush
    | CallPull
    | CallBarrier
    | CallCommand
    | CallLeave
)
Action = (
    Post
    | Wake
    | Begin
    | Deliver
    | Done
    | Raise
    | Install
    | Fold
    | Commit
    | Remember
    | Adopt
    | Execute
    | Finish
)
