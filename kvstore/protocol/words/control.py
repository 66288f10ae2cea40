"""Messages with the scheduler: who is there, what the store is set to, barriers, the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .run import Code, Count, Generation, Peer, Shard, StoreNumber, StoreSettings, View


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
        passed: a worker: how often it has passed each, so that all have come to it as often.
    """

    name: str
    peer: Peer
    generation: Generation
    address: str = ""
    host: str = ""
    view: View | None = None
    fresh: bool = False
    barriers: tuple[tuple[str, Count], ...] = ()
    passed: tuple[tuple[str, Count], ...] = ()


@dataclass(frozen=True, slots=True)
class Welcome:
    """Scheduler to a process, once all have said Hello.

    Attributes:
        name: as in its Hello.
        peer: with the rank it has from now on.
        view: the newest.
        before: how many barriers workers have come to before their first push.
    """

    name: str
    peer: Peer
    view: View
    before: Count = 0


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

    number: Count


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
    generation: Generation
    reason: str
    returns: bool = True


@dataclass(frozen=True, slots=True)
class Configure:
    """Worker to scheduler: have all servers take pushes of a store like this from now on.

    Only worker 0's have settings. The other workers ask for the answer.
    """

    store: StoreNumber
    number: Count
    settings: StoreSettings | None = None


@dataclass(frozen=True, slots=True)
class Configured:
    """Scheduler to worker: a store's settings of this number are in force at all servers."""

    store: StoreNumber
    number: Count


@dataclass(frozen=True, slots=True)
class Barrier:
    """Worker to scheduler: it has come to this barrier for the count-th time."""

    name: str
    count: Count


@dataclass(frozen=True, slots=True)
class BarrierDone:
    """Scheduler to worker: all have come to it that often."""

    name: str
    count: Count


@dataclass(frozen=True, slots=True)
class StandbyReady:
    """Primary to scheduler: the standby has everything of this shard."""

    shard: Shard
    since: Count


@dataclass(frozen=True, slots=True)
class Left:
    """Worker to scheduler: it has finished; scheduler to worker: good bye.

    Attributes:
        waits: it stays until all other workers have finished, too; nobody waits for its pushes.
    """

    waits: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """Scheduler or supervisor to all: the run is over.

    Attributes:
        reason: a sentence.
        code: "": as it should be; "dead": nobody is left to go on, and who starts the run again
            will want what the servers have.
    """

    reason: str = ""
    code: Code | Literal[""] = ""


#: Any message with the scheduler.
ControlMessage = (
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
)
