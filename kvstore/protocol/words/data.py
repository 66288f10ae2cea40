"""Messages between workers and servers, and between a primary and its standby.

They are not frozen, as what happens to machines and what they have done is not: several are made
for each push, and an object that guards its fields takes three times as long to make. Nobody writes
to one but who has made it and not yet handed it on (a driver, which decodes and checks it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .control import ControlMessage
from .run import (
    Code,
    Count,
    CountOrNone,
    KeySpec,
    Name,
    Part,
    PartId,
    PartRecord,
    Shard,
    Ticket,
)

# -- workers and servers ------------------------------------------------------------------------


@dataclass(slots=True)
class Join:
    """Worker to server, at its start: older processes of this rank count no more.

    Attributes:
        ticket: for the answer.
        shard: who answers for it tells how far its parts are; nobody else answers.
    """

    ticket: Ticket
    shard: Shard


@dataclass(slots=True)
class Joined:
    """Server to worker.

    Attributes:
        ticket: of the Join.
        high: the highest number of a push of this rank that any part of the shard has had.
        below: whether a part stands at exactly one less; where `high` is 0, whether it has parts.
    """

    ticket: Ticket
    high: Count
    below: bool


@dataclass(slots=True)
class InitPart:
    """Worker to server: make a part. Only worker 0 gives a value; others wait for it.

    Attributes:
        ticket: for the answer.
        part: the whole part, by which the server knows it from now on.
        name: what users call the key.
        spec: the key's.
        payload: the key's value, or None.
    """

    ticket: Ticket
    part: Part
    name: Name
    spec: KeySpec
    payload: Any = None


@dataclass(slots=True)
class Initialized:
    """Server to worker: the part is there (it may have been before).

    Attributes:
        ticket: of the InitPart.
        part: which.
        number: of the last push of this rank that is in its value.
    """

    ticket: Ticket
    part: PartId
    number: Count


@dataclass(slots=True)
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

    ticket: Ticket
    part: PartId
    number: Count
    payload: Any
    rows: Any = None
    wants_value: bool = False
    receipt: bool = False
    priority: int = 0


@dataclass(slots=True)
class AskPart:
    """Worker to server: what has become of this push?

    The answer is `Applied`, `Kept` or `Missing`; it saves sending a payload again for nothing.
    """

    ticket: Ticket
    part: PartId
    number: Count


@dataclass(slots=True)
class Kept:
    """Server to worker: the push is here, in memory; a killed server forgets it."""

    ticket: Ticket
    part: PartId
    number: Count


@dataclass(slots=True)
class Missing:
    """Server to worker: the push is not here, send it (again)."""

    ticket: Ticket
    part: PartId
    number: Count


@dataclass(slots=True)
class Applied:
    """Server to worker: the push is in the value, and that is committed.

    Attributes:
        ticket: of the PushPart or AskPart.
        part: which.
        number: of this rank's last push that is in the value: the push's or, where rounds have
            closed without this worker, a higher one.
        payload: the value, if wanted.
    """

    ticket: Ticket
    part: PartId
    number: Count
    payload: Any = None


@dataclass(slots=True)
class PullPart:
    """Worker to server: send the part's value.

    Attributes:
        ticket: for the answer.
        part: which.
        least: the number of this rank's push that must be in it. In "sync" it is the round whose
            value is given, also where the part has had the next update already.
        rows: ids of rows; None: all.
        priority: higher is more urgent.
    """

    ticket: Ticket
    part: PartId
    least: Count
    rows: Any = None
    priority: int = 0


@dataclass(slots=True)
class PartValue:
    """Server to worker.

    Attributes:
        ticket: of the PullPart.
        part: which.
        round: how many updates are in the value.
        payload: the value, or the rows asked for.
        rows: as in the PullPart.
    """

    ticket: Ticket
    part: PartId
    round: Count
    payload: Any
    rows: Any = None


@dataclass(slots=True)
class PullStates:
    """Worker to server: send all of a part, its value with the updater's states.

    Attributes:
        ticket: for the answer.
        part: which.
        least: as in `PullPart`.
    """

    ticket: Ticket
    part: PartId
    least: Count


@dataclass(slots=True)
class PartStates:
    """Server to worker.

    Attributes:
        ticket: of the PullStates.
        part: which.
        updates: how many the optimizer has counted: the record's `round` and `ahead`.
        payload: the value and the states, one after the other.
    """

    ticket: Ticket
    part: PartId
    updates: Count
    payload: Any


@dataclass(slots=True)
class PutStates:
    """Worker to server: put this in the place of a part's value and states.

    Attributes:
        ticket: for the answer.
        part: which.
        number: the how-manieth time of this part; what is not newer is answered and left alone.
        updates: as in `PartStates`.
        payload: as in `PartStates`.
    """

    ticket: Ticket
    part: PartId
    number: Count
    updates: Count
    payload: Any


@dataclass(slots=True)
class StatesPut:
    """Server to worker: they are there, or newer ones."""

    ticket: Ticket
    part: PartId


@dataclass(slots=True)
class Command:
    """Worker to server: do something that drivers know, as "snapshot" with a name as its body."""

    ticket: Ticket
    name: str
    body: str


@dataclass(slots=True)
class CommandDone:
    """Server to worker, with what the command returned."""

    ticket: Ticket
    body: str = ""


@dataclass(slots=True)
class Refused:
    """Any to any: the answer to a ticket, or (ticket 0) to all that the process does."""

    ticket: Ticket
    code: Code
    sentence: str


# -- primary and standby ------------------------------------------------------------------------


@dataclass(slots=True)
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
        settings: the number of the store's settings that the commit was made by.
        previous: of a full copy: `payload` has the value and the states of the round before, too,
            behind the others.
    """

    part: Part
    name: Name
    spec: KeySpec
    since: Count
    record: PartRecord
    full: bool
    payload: Any
    rows: Any = None
    scale: tuple[Count, Count] = (1, 1)
    settings: Count = 0
    previous: bool = False


@dataclass(slots=True)
class AskCopy:
    """Primary to standby: what do you have of this part? `Copied` is the answer."""

    part: PartId
    since: Count


@dataclass(slots=True)
class Copied:
    """Standby to primary.

    Attributes:
        part: which.
        since: of the Copy.
        round: the standby's now; -1: it has none of this `ShardPlace`, and needs a full copy.
        restored: as in the standby's record.
    """

    part: PartId
    since: Count
    round: CountOrNone
    restored: Count = 0


#: Any message.
Message = (
    ControlMessage
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
    | PullStates
    | PartStates
    | PutStates
    | StatesPut
    | Command
    | CommandDone
    | Refused
    | Copy
    | AskCopy
    | Copied
)
