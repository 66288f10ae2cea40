"""A run: its processes, settings, keys and parts, and who answers for them now."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, Literal, NamedTuple


@dataclass(frozen=True, slots=True)
class Range:
    """The bounds of a number in a field: what comes from outside and is beyond them is refused.

    Attributes:
        least: the smallest.
        most: the largest.
    """

    least: int
    most: int


_COUNTS: Final = 1 << 62  # what is counted gets no further, and has room to be added to
#: What an answer is known by; 32 bits of a message's header.
Ticket = Annotated[int, Range(0, (1 << 32) - 1)]
#: Of a key, or of a part of one; so, too.
Index = Annotated[int, Range(0, (1 << 32) - 1)]
#: How often a process was started.
Generation = Annotated[int, Range(0, (1 << 32) - 1)]
#: A process's number among those of its role; 16 bits of a header, and -1 for none.
Rank = Annotated[int, Range(-1, (1 << 16) - 2)]
Shard = Annotated[int, Range(0, (1 << 16) - 1)]
#: Which of the stores of a process, in all workers the same; keys and settings belong to one.
StoreNumber = Annotated[int, Range(0, (1 << 32) - 1)]
#: How many of something there are or were.
Count = Annotated[int, Range(0, _COUNTS)]
#: As `Count`; -1: there is nothing that could be counted.
CountOrNone = Annotated[int, Range(-1, _COUNTS)]
Difference = Annotated[int, Range(-_COUNTS, _COUNTS)]

Role = Literal["worker", "server", "scheduler", "supervisor"]
#: What users call a key.
Name = int | str
#: A key's number and the part's index in it.
PartId = tuple[Index, Index]
#: Why something is refused: "stale", the sender's rank has a newer process; "lost", a server has no
#: longer what it had acknowledged; "dead", a peer is gone for good; "left", a peer has finished;
#: "wrong", the request is; "broke", the updater or a command failed.
Code = Literal["stale", "lost", "dead", "left", "wrong", "broke"]


class Peer(NamedTuple):
    """Whom a message is for or from; rank -1 is a process that has not been given one yet."""

    role: Role
    rank: Rank


SCHEDULER = Peer("scheduler", 0)


class Content(Enum):
    """The content that the driver of a server puts into a message: see the module's docstring."""

    STORED = "stored"
    MERGED = "merged"
    PREVIOUS = "previous"


def server_processes(shards: int, standby: bool) -> int:
    """The number of processes that serve: a single server has its standby in a second one."""
    return max(shards, 2) if standby and shards else shards


@dataclass(frozen=True, slots=True)
class Patience:
    """The seconds that the machines wait.

    Attributes:
        ask: until a message without an answer is sent again; `growth` times longer each time, at
            most `longest`.
        growth: see `ask`.
        longest: see `ask`.
        promote: a lost server's standby takes over after this.
        dead: a lost peer is declared dead after this.
        deadline: a call that needs a peer fails this long after the peer was lost, unless the
            scheduler says that it is being started again.
        restart: of a peer that is, both come this long after it was lost.
    """

    ask: float = 1.0
    growth: float = 1.5
    longest: float = 8.0
    promote: float = 2.0
    dead: float = 8.0
    deadline: float = 10.0
    restart: float = 60.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """The plan of a run, which all its processes know from their start.

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
        """The number of processes with the role of a server."""
        return server_processes(self.shards, self.standby)


@dataclass(frozen=True, slots=True)
class KeySpec:
    """The specification of a key: the form of its value.

    Attributes:
        size: elements.
        rows: into how many rows they are divided, if pushes and pulls may be of single rows; 0 for
            a dense key.
        item: bytes of an element.
        dtype: for the drivers.
        shape: for the drivers.
        is_whole: it is one part, however large: what is done with it depends on all of it.
        store: whose settings say what is done with pushes of it.
    """

    size: Count
    rows: Count = 0
    item: Count = 4
    dtype: str = "float32"
    shape: tuple[Count, ...] = ()
    is_whole: bool = False
    store: StoreNumber = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of a key: its elements, or its rows where it has rows, from `first` up to `last`."""

    key: Index
    index: Index
    shard: Shard
    first: Count
    last: Count

    @property
    def id(self) -> PartId:
        """The key's number and the index."""
        return (self.key, self.index)


@dataclass(frozen=True, slots=True)
class PartRecord:
    """The record of what a server has committed of a part.

    Attributes:
        round: how many updates its value has had; with `ahead` it is the optimizer's
            `index_update_count`.
        pushes: for every rank the number of its last push that is in the value, or that came too
            late to be.
        since: at a standby, of the `ShardPlace` under which it came here; else 0.
        ahead: how many updates the optimizer has counted beside those, in the run that its states
            are from; less than 0 where they are of an earlier time of this run.
        restored: how often its states were put in the place of what they were.
    """

    round: Count
    pushes: tuple[Count, ...]
    since: Count = 0
    ahead: Difference = 0
    restored: Count = 0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """The identity of a process in its run.

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
    """A part as a server's disk holds it.

    Attributes:
        part: which.
        name: of the key.
        spec: the key's.
        record: what counts.
        has_previous: the value and the states of the round before are there, too.
    """

    part: Part
    name: Name
    spec: KeySpec
    record: PartRecord
    has_previous: bool = False


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """The way in which servers take pushes of a store's keys.

    Attributes:
        number: grows with each `CallConfigure` of the store; the highest counts. In "sync" it tells
            after how many pushes that was, too.
        consistency: a round waits for a push of every worker, or each push is an update.
        optimizer: text for the drivers (a name and parameters in JSON); empty: the sum of a round
            becomes the value.
        staleness: in "async", a pull of a worker whose own pushes of a part are more than this
            ahead of the slowest worker's waits; None: none does.
        codec: text for the drivers.
        store: whose.
    """

    number: Count
    consistency: Literal["sync", "async"] = "sync"
    optimizer: str = ""
    staleness: Count | None = None
    codec: str = ""
    store: StoreNumber = 0


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """The servers that answer for a shard.

    Attributes:
        primary: the rank of the server that does; if that one is gone, nobody does.
        standby: the rank of the one that follows it; None: nobody does.
        ready: the standby has all that the primary acknowledged.
        since: the number of the view in which these two came together.
        lost: the primary has lost what it had acknowledged, and nobody else has it.
    """

    primary: Rank
    standby: Rank | None = None
    ready: bool = False
    since: Count = 0
    lost: bool = False


@dataclass(frozen=True, slots=True)
class PeerState:
    """The state of a peer, as the scheduler knows it.

    Attributes:
        peer: which.
        generation: of its newest process.
        address: where it listens; text for the drivers.
        host: its host's name, for sentences and for what is on the same one.
        state: "lost" has ended, and is being started again; "gone" is declared dead; "left" has
            finished.
        reason: why it is lost or gone, e.g. "killed by signal 9".
    """

    peer: Peer
    generation: Generation
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
        settings: the newest of each store; of others they are as in a new `StoreSettings`.
    """

    number: Count
    peers: tuple[PeerState, ...] = ()
    places: tuple[ShardPlace, ...] = ()
    settings: tuple[StoreSettings, ...] = ()

    def find(self, peer: Peer) -> PeerState | None:
        """Returns the state of a peer; None if nothing is known of it."""
        return next((one for one in self.peers if one.peer == peer), None)

    def settings_of(self, store: int) -> StoreSettings:
        """The way in which pushes of a store's keys are taken."""
        found = (one for one in self.settings if one.store == store)
        return next(found, None) or StoreSettings(0, store=store)

    def members(self) -> frozenset[int]:
        """The ranks of the workers whose pushes are waited for."""
        return frozenset(
            one.peer.rank
            for one in self.peers
            if one.peer.role == "worker" and one.state in ("up", "lost")
        )


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """The memory of a server on its disk, beside its parts.

    Attributes:
        view: the newest that it has known (its `settings` and `places` matter).
        generations: for every rank of a worker the highest seen; lower ones are refused.
    """

    view: View | None = None
    generations: tuple[Generation, ...] = ()
