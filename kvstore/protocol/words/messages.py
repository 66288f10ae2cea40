"""Any message."""

from __future__ import annotations

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
