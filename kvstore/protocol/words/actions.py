"""The actions of a machine, which its driver carries out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .data import Message
from .run import (
    Code,
    KeySpec,
    Name,
    Part,
    PartId,
    PartRecord,
    Peer,
    ServerMemory,
    StoreSettings,
    View,
)


@dataclass(slots=True)
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


@dataclass(slots=True)
class Wake:
    """Hand in a `Tick` at this time, or before."""

    at: float


@dataclass(slots=True)
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


@dataclass(slots=True)
class Deliver:
    """A worker: write this payload at the part's place of what the call reads.

    Attributes:
        call: which.
        part: which part of the key; None: the answer to a command.
        payload: what came.
        rows: as in `CallPull`.
        round: how many updates are in it, or of states: were counted; -1 where a push brought it.
    """

    call: int
    part: PartId | None
    payload: Any
    rows: Any = None
    round: int = -1


@dataclass(slots=True)
class Done:
    """A worker: this call is complete; its handles are free."""

    call: int


@dataclass(slots=True)
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


@dataclass(slots=True)
class Install:
    """A server: make a part with this value and record, or overwrite it; durable.

    Attributes:
        part: which.
        name: of the key.
        spec: the key's.
        record: round 0 for a new part.
        payload: its value; in a full copy with the updater's states.
        full: `payload` is a full copy.
        previous: a full copy has the value and the states of the round before, too.
    """

    part: Part
    name: Name
    spec: KeySpec
    record: PartRecord
    payload: Any
    full: bool = False
    previous: bool = False


@dataclass(slots=True)
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


@dataclass(slots=True)
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


@dataclass(slots=True)
class Remember:
    """A server: put down what is known beside the parts; durable, all or nothing."""

    memory: ServerMemory


@dataclass(slots=True)
class Adopt:
    """A server: from now on update a store's keys by this, keeping states of the same one."""

    settings: StoreSettings


@dataclass(slots=True)
class Execute:
    """A server: carry out a command, then hand in `Executed`; at most once for each ticket."""

    worker: Peer
    ticket: int
    name: str
    body: str


@dataclass(slots=True)
class Finish:
    """End the process: code "" as it should, else for this reason, with an exit code of its own."""

    code: Code | Literal[""] = ""
    sentence: str = ""


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
