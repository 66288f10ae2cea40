"""The interface of a network to drivers: messages of frames to peers, and who is connected.

A transport belongs to the thread that made it; only `wake` may be called from others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.transport.wire import Buffer


@dataclass(slots=True)
class Heard:
    """A message has come.

    Attributes:
        route: the way it came; answers go back by it.
        frames: its frames; memory that is the receiver's alone.
        peer: whom the way leads to, if the transport was told, or has opened it itself.
        sender: whose key the message came by, with rank -1 for any of its role; None: it is not
            known, as all have one key, or the message came by files of this user's.
        sealed: whether nobody else can have read or changed it on the way.
    """

    route: bytes
    frames: Sequence[Buffer]
    peer: Peer | None
    sender: Peer | None = None
    sealed: bool = True


@dataclass(frozen=True, slots=True)
class Connected:
    """There is a connection to a peer that this side asked for."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection to a peer is gone, or nothing was heard over it for too long."""

    peer: Peer


@dataclass(frozen=True, slots=True)
class Rejected:
    """A peer does not let this process in."""

    peer: Peer
    reason: str


Report = Heard | Connected | Disconnected | Rejected


class Transport(ABC):
    """Sends and receives for one process.

    Attributes:
        address: where others reach it, for `connect`; "" if it does not listen.
    """

    address: str = ""

    def listen_locally(self, folder: Path) -> None:  # noqa: B027
        """Lets peers that see a folder of this process's reach it by a shorter way, if it has one.

        Raises:
            OSError: the folder does not take it.
        """

    @abstractmethod
    def connect(self, peer: Peer, address: str, near: Path | None = None) -> None:
        """Opens the way to a peer; a way to another address is closed. Does not wait.

        Args:
            peer: whom.
            address: where it listens.
            near: the folder of the peer's that this process sees, if it does: see `listen_locally`.
        """

    @abstractmethod
    def bind(self, peer: Peer, route: bytes) -> None:
        """Says that a way by which messages came leads to this peer from now on."""

    @abstractmethod
    def send(
        self, to: Peer, frames: Sequence[Buffer], *, route: bytes = b"", copy: bool = False,
        sealed: bool = False,
    ) -> bool:  # fmt: skip
        """Sends a message, or keeps it until the peer is connected.

        Args:
            to: the peer; with a `route` it is not looked at.
            frames: the bytes; large ones are not copied: they must stay as they are.
            route: answer by this way.
            copy: copy large frames, too.
            sealed: encrypt it, even where values are not.

        Returns:
            False if nothing leads there; the message is dropped then.
        """

    def send_now(self, to: Peer, frame: Buffer) -> bool:
        """Sends a short message at once, from any thread, where there is a way that can.

        It may come before others that were given to `send`.

        Returns:
            False if there is none, or it is full: `send` it then.
        """
        return False

    @abstractmethod
    def flush(self) -> None:
        """Sends what may have been kept, to leave with other messages, until `receive`."""

    @abstractmethod
    def receive(self, timeout: float | None) -> list[Report]:
        """Returns what has happened, waiting for at most `timeout` seconds (None: no limit).

        The list is empty after the timeout, and when `wake` was called.
        """

    @abstractmethod
    def wake(self) -> None:
        """Ends a `receive` that waits, or the next one; from any thread."""

    @abstractmethod
    def disconnect(self, peer: Peer) -> None:
        """Closes the way to a peer."""

    @abstractmethod
    def close(self, linger: float = 0.0) -> None:
        """Closes everything.

        Args:
            linger: seconds that what was sent may take to leave.
        """
