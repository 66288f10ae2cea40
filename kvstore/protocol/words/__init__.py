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
index). A *store* is one of those that users make; its number, the same in all workers, is in the
`KeySpec` of its keys, and in the `StoreSettings` that say what servers do with pushes of them. A
*call* is the driver's number for what a user asked for; a *ticket* is a worker's number for one
message that wants an answer (unsigned, 32 bits; it comes back in the answer). A push has a
*number*: it is this rank's n-th push of this part, from 1. A part's *round* counts its updates.

**Data** is opaque: a machine passes `payload` and `rows` on and never looks into them.

- A worker's driver gives whole keys to `CallInit` and `CallPush`; the machine posts one message for
  each part with the same handle, and the driver sends the part's slice of it, elements or rows
  [first, last) of `WorkerMachine.part(id)`; of a push of rows, those ids that lie in it, maybe
  none. The handle must stay as it is until `Done` or `Raise` of its call: it may be sent again.
- A server's driver keeps for every part a value with its updater's states, and a sum. `Fold` adds
  to the sum, `Commit` updates the value with it, and keeps what was there before until the next
  `Commit` of this part. In what a server posts the payload is `Content.STORED`: the part's value as
  it is then (of the rows asked for, where there are `rows`; in a `Copy` and in `PartStates` with
  the updater's states), `Content.PREVIOUS`: the same before the last commit, or `Content.MERGED`:
  the sum of the last commit, which stays until the next `Fold` of this part.
- Of what a worker receives the driver gets `Deliver`: write this payload at the part's place.

**On the wire** a message is its header (kind; run, sender's role, rank and generation: these become
`Arrived`), its few numbers, and payload. `InitPart`, `Copy` and all messages of the scheduler carry
JSON besides. A `Post` to a peer that is not there may be dropped, and any may come late, twice, or
in another order: the machines expect all of it. A `Post` goes to the peer's newest process; the
scheduler's address is known from the start, the others' from `View.peers` (`Welcome`, `Peers`).
"""

from __future__ import annotations

from .actions import (
    Action,
    Adopt,
    Begin,
    Commit,
    Deliver,
    Done,
    Execute,
    Finish,
    Fold,
    Install,
    Post,
    Raise,
    Remember,
    Wake,
)
from .control import (
    Barrier,
    BarrierDone,
    Configure,
    Configured,
    Gone,
    Hello,
    Left,
    Peers,
    Seen,
    StandbyReady,
    Stop,
    Welcome,
    WhoAreYou,
)
from .data import (
    Applied,
    AskCopy,
    AskPart,
    Command,
    CommandDone,
    Copied,
    Copy,
    Initialized,
    InitPart,
    Join,
    Joined,
    Kept,
    Missing,
    PartStates,
    PartValue,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    Refused,
    StatesPut,
)
from .events import (
    Arrived,
    Broke,
    CallBarrier,
    CallCommand,
    CallConfigure,
    CallInit,
    CallLeave,
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    Executed,
    Incoming,
    PeerLost,
    PeerUp,
    Tick,
)
from .messages import Message
from .run import (
    SCHEDULER,
    Code,
    Content,
    KeySpec,
    Name,
    Part,
    PartId,
    PartRecord,
    Patience,
    Peer,
    PeerState,
    ProcessIdentity,
    Range,
    Role,
    RunPlan,
    ServerMemory,
    ShardPlace,
    StoredPart,
    StoreSettings,
    View,
    server_processes,
)

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
    "CallRestore",
    "CallStates",
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
    "PartStates",
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
    "PullStates",
    "PushPart",
    "PutStates",
    "Raise",
    "Range",
    "Refused",
    "Remember",
    "Role",
    "RunPlan",
    "Seen",
    "ServerMemory",
    "ShardPlace",
    "StandbyReady",
    "StatesPut",
    "Stop",
    "StoreSettings",
    "StoredPart",
    "Tick",
    "View",
    "Wake",
    "Welcome",
    "WhoAreYou",
    "server_processes",
]
