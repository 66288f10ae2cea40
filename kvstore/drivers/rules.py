"""The rules of who may say what to whom, by which way; all else is refused before it is handled.

Senders are known by their keys (`transport.admission`); by files of this user's, on one machine,
they are whom they say they are. Even there a scheduler is heard only where this process has gone to
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hybridnet.kvstore.protocol.words import (
    Applied,
    Arrived,
    AskCopy,
    AskPart,
    Barrier,
    BarrierDone,
    Command,
    CommandDone,
    Configure,
    Configured,
    Copied,
    Copy,
    Gone,
    Hello,
    Initialized,
    InitPart,
    Join,
    Joined,
    Kept,
    Left,
    Missing,
    PartStates,
    PartValue,
    Peer,
    Peers,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    Refused,
    Role,
    Seen,
    StandbyReady,
    StatesPut,
    Stop,
    Welcome,
    WhoAreYou,
)
from hybridnet.kvstore.transport.interface import Heard

#: By (sender, receiver) what is said. Whatever is not here is refused.
WORDS: Final[Mapping[tuple[Role, Role], frozenset[type]]] = {
    ("supervisor", "scheduler"): frozenset((Gone, Stop)),
    ("worker", "scheduler"): frozenset((Hello, Seen, Configure, Barrier, Left)),
    ("server", "scheduler"): frozenset((Hello, Seen, StandbyReady)),
    ("scheduler", "worker"): frozenset(
        (Welcome, WhoAreYou, Peers, Configured, BarrierDone, Left, Stop, Refused)
    ),
    ("scheduler", "server"): frozenset((Welcome, WhoAreYou, Peers, Stop, Refused)),
    ("worker", "server"): frozenset(
        (Join, InitPart, PushPart, AskPart, PullPart, PullStates, PutStates, Command)
    ),
    ("server", "worker"): frozenset(
        (
            Joined, Initialized, Applied, Kept, Missing, PartValue, PartStates, StatesPut,
            CommandDone, Refused,
        )
    ),
    ("server", "server"): frozenset((Copy, AskCopy, Copied, Refused)),
}  # fmt: skip
#: What may be said without encryption where values go without: what is about values.
_IN_CLEAR: Final = frozenset(
    (
        Join, Joined, InitPart, Initialized, PushPart, AskPart, Kept, Missing, Applied, PullPart,
        PartValue, PullStates, PartStates, PutStates, StatesPut, Copy, AskCopy, Copied, Refused,
    )
)  # fmt: skip
#: What must be encrypted: words that make a process do something.
SEALED: Final = frozenset(kind for kinds in WORDS.values() for kind in kinds) - _IN_CLEAR
_NOTHING: Final[frozenset[type]] = frozenset()


def fits(heard: Heard, event: Arrived, me: Role) -> bool:
    """Whether a message is one that its sender may say to a process of a role, by this way.

    Args:
        heard: how the message came.
        event: what it says of its sender.
        me: who has received it.
    """
    source, message, kind = event.source, event.message, type(event.message)
    if kind not in WORDS.get((source.role, me), _NOTHING):
        return False
    if not heard.sealed and kind in SEALED:
        return False
    if isinstance(message, Hello) and message.peer != source:
        return False
    if not heard.route:  # this process has connected to a peer, and hears that one there
        return heard.peer is not None and _is(source, heard.peer, unknown=True)
    if source.role == "scheduler":  # it connects to nobody
        return False
    return heard.sender is None or _is(source, heard.sender)


def _is(source: Peer, known: Peer, unknown: bool = False) -> bool:
    """Whether a sender may be who is known to have sent: a rank of -1 is any.

    Args:
        source: who the message says has sent it.
        known: whose key it came by.
        unknown: whether the sender need not know its own rank.
    """
    if source.role != known.role:
        return False
    return source.rank == known.rank or known.rank < 0 or (unknown and source.rank < 0)
