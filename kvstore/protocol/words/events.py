"""The events of a machine, as its driver hands them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .data import Message
from .run import KeySpec, Name, PartId, PartRecord, Peer, StoreSettings


@dataclass(slots=True)
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


@dataclass(slots=True)
class Tick:
    """Time has passed: see `Wake`."""


@dataclass(slots=True)
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


@dataclass(slots=True)
class PeerUp:
    """The transport has a connection to a peer, the first or again."""

    peer: Peer


@dataclass(slots=True)
class Broke:
    """A server's driver could not commit or install a part; the disk is as `record` says."""

    part: PartId
    record: PartRecord | None
    sentence: str


@dataclass(slots=True)
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


@dataclass(slots=True)
class CallConfigure:
    """Users of all workers: settings are to be in force. Worker 0's count.

    Attributes:
        call: for the answer.
        settings: the number is the machine's affair.
        changes: other ones of the store were in force, and all workers come here just before they
            push to it, where all their pushes before have answers. Else it is the beginning of a
            program: of one that was started again it changes nothing, as servers have the newest
            settings.
    """

    call: int
    settings: StoreSettings
    changes: bool = False


@dataclass(slots=True)
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


@dataclass(slots=True)
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


@dataclass(slots=True)
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


@dataclass(slots=True)
class CallStates:
    """A user: deliver values and states of all parts, with all pushes before this call."""

    call: int
    name: Name


@dataclass(slots=True)
class CallRestore:
    """A user of one worker: put these values and states in the place of what servers have.

    Attributes:
        call: for the answer.
        name: the key.
        payload: of all its parts.
        updates: how many updates the optimizer is to count from then on as done.
        number: the how-manieth call for this key; the same in the process that replaces this one.
    """

    call: int
    name: Name
    payload: Any
    updates: int
    number: int


@dataclass(slots=True)
class CallBarrier:
    """A user: wait until all workers have made as many such calls."""

    call: int
    name: str = ""


@dataclass(slots=True)
class CallCommand:
    """A user: have all servers carry out a command; their answers are delivered."""

    call: int
    name: str
    body: str = ""


@dataclass(slots=True)
class CallLeave:
    """A user: no call follows; leave when all are done.

    Attributes:
        call: its number.
        waits: it is complete when all other workers have left, too.
    """

    call: int
    waits: bool = False


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
    | CallStates
    | CallRestore
    | CallBarrier
    | CallCommand
    | CallLeave
)
