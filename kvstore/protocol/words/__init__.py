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

from .actions import Action as Action
from .actions import Adopt as Adopt
from .actions import Begin as Begin
from .actions import Commit as Commit
from .actions import Deliver as Deliver
from .actions import Done as Done
from .actions import Execute as Execute
from .actions import Finish as Finish
from .actions import Fold as Fold
from .actions import Install as Install
from .actions import Post as Post
from .actions import Raise as Raise
from .actions import Remember as Remember
from .actions import Wake as Wake
from .control import Barrier as Barrier
from .control import BarrierDone as BarrierDone
from .control import Configure as Configure
from .control import Configured as Configured
from .control import Gone as Gone
from .control import Hello as Hello
from .control import Left as Left
from .control import Peers as Peers
from .control import Seen as Seen
from .control import StandbyReady as StandbyReady
from .control import Stop as Stop
from .control import Welcome as Welcome
from .control import WhoAreYou as WhoAreYou
from .data import Applied as Applied
from .data import AskCopy as AskCopy
from .data import AskPart as AskPart
from .data import Command as Command
from .data import CommandDone as CommandDone
from .data import Copied as Copied
from .data import Copy as Copy
from .data import Initialized as Initialized
from .data import InitPart as InitPart
from .data import Join as Join
from .data import Joined as Joined
from .data import Kept as Kept
from .data import Message as Message
from .data import Missing as Missing
from .data import PartStates as PartStates
from .data import PartValue as PartValue
from .data import PullPart as PullPart
from .data import PullStates as PullStates
from .data import PushPart as PushPart
from .data import PutStates as PutStates
from .data import Refused as Refused
from .data import StatesPut as StatesPut
from .events import Arrived as Arrived
from .events import Broke as Broke
from .events import CallBarrier as CallBarrier
from .events import CallCommand as CallCommand
from .events import CallConfigure as CallConfigure
from .events import CallInit as CallInit
from .events import CallLeave as CallLeave
from .events import CallPull as CallPull
from .events import CallPush as CallPush
from .events import CallRestore as CallRestore
from .events import CallStates as CallStates
from .events import Executed as Executed
from .events import Incoming as Incoming
from .events import PeerLost as PeerLost
from .events import PeerUp as PeerUp
from .events import Tick as Tick
from .run import SCHEDULER as SCHEDULER
from .run import Code as Code
from .run import Content as Content
from .run import KeySpec as KeySpec
from .run import Name as Name
from .run import Part as Part
from .run import PartId as PartId
from .run import PartRecord as PartRecord
from .run import Patience as Patience
from .run import Peer as Peer
from .run import PeerState as PeerState
from .run import ProcessIdentity as ProcessIdentity
from .run import Range as Range
from .run import Role as Role
from .run import RunPlan as RunPlan
from .run import ServerMemory as ServerMemory
from .run import ShardPlace as ShardPlace
from .run import StoredPart as StoredPart
from .run import StoreSettings as StoreSettings
from .run import View as View
from .run import server_processes as server_processes
