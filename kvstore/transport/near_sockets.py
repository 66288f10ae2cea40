"""Short messages between processes of one host: packets of a local socket, beside ZeroMQ.

ZeroMQ gives every message to a thread of its own, which gives it to the kernel, and the same again
at the other end: two threads more to wake on each way. A push of a few values, or the places of
values in mapped files, are sent and heard in a fraction of that time. So where two processes see
the same files, the one that listens has a *door*, a socket in its folder, which only its user may
enter; who is connected by ZeroMQ opens it, too, and says there which of the connections it belongs
to.

ZeroMQ stays what tells who is alive, and takes whatever a packet does not hold or a full socket
does not take. A packet may so overtake a message; the protocol knows nothing of an order.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, final

from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.transport.wire import Buffer

__all__ = ["DOOR", "NearSockets", "Way"]

#: The name of the socket in the folder of who listens.
DOOR: Final = "door"
#: Bytes of a packet at most.
PACKET: Final = 1 << 16
#: Bytes that may be under way; the kernel takes as many of them as it allows.
_UNDER_WAY: Final = 1 << 20
_LONGEST_NAME: Final = 255  # bytes of what a connection is called
_WAITING: Final = 128  # who may knock before any is let in
_FLAGS: Final = int(getattr(socket, "MSG_DONTWAIT", 0)) | int(getattr(socket, "MSG_NOSIGNAL", 0))


@final
class Way:
    """A connected socket.

    Attributes:
        socket: it.
        route: of the ZeroMQ connection that it belongs to, at the end that listens.
        peer: whom it leads to, at the end that has opened it.
    """

    __slots__ = ("peer", "route", "socket")

    def __init__(self, made: socket.socket, peer: Peer | None = None) -> None:
        self.socket = made
        self.route = b""
        self.peer = peer


@final
class NearSockets:
    """The local sockets of a process.

    Args:
        poller: of ZeroMQ, which waits for these, too.
    """

    def __init__(self, poller: Any) -> None:
        self._poller = poller
        self._door: socket.socket | None = None
        self._ways: dict[int, Way] = {}
        self._by_route: dict[bytes, Way] = {}
        self._room = bytearray(PACKET)

    # -- ways --------------------------------------------------------------------------------

    def listen(self, folder: Path) -> None:
        """Has a door in a folder, in the place of one that a predecessor had."""
        if not hasattr(socket, "SOCK_SEQPACKET"):
            return  # macOS: everything goes by ZeroMQ
        door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        door.setblocking(False)
        (folder / DOOR).unlink(missing_ok=True)
        _at(folder, door.bind)
        door.listen(_WAITING)
        self._door = door
        self._poller.register(door.fileno(), _POLLIN)

    def open(self, peer: Peer, folder: Path, name: bytes) -> Way | None:
        """Opens the door of a peer; None if there is none.

        Args:
            peer: whose.
            folder: of the peer.
            name: of this process's ZeroMQ connection to the peer.
        """
        if not hasattr(socket, "SOCK_SEQPACKET"):
            return None
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.setblocking(False)
        try:
            _at(folder, made.connect)
            made.send(name, _FLAGS)
        except OSError:
            made.close()
            return None
        return self._add(Way(made, peer))

    def _add(self, way: Way) -> Way:
        way.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNDER_WAY)
        self._ways[way.socket.fileno()] = way
        self._poller.register(way.socket.fileno(), _POLLIN)
        return way

    def find(self, route: bytes) -> Way | None:
        """The way that belongs to a connection; None if there is none."""
        return self._by_route.get(route)

    def shut(self, way: Way | None) -> None:
        """Closes a way; None, or one that is closed, is left alone."""
        if way is None or self._ways.get(way.socket.fileno()) is not way:
            return
        del self._ways[way.socket.fileno()]
        self._poller.unregister(way.socket.fileno())
        if self._by_route.get(way.route) is way:
            del self._by_route[way.route]
        way.socket.close()

    # -- packets -----------------------------------------------------------------------------

    def send(self, way: Way, frames: Sequence[Buffer]) -> Sequence[Buffer]:
        """Sends frames, as many together as a packet holds; returns those that it does not take."""
        first, count = 0, len(frames)
        while first < count:
            size, last = len(frames[first]), first + 1
            while last < count and size + len(frames[last]) <= PACKET:
                size += len(frames[last])
                last += 1
            try:
                way.socket.sendmsg(frames[first:last], (), _FLAGS)
            except BlockingIOError:
                break
            except OSError:  # its other end is closed
                self.shut(way)
                break
            first = last
        return frames[first:]

    def heard(self, ready: dict[Any, int]) -> Iterator[tuple[Way, bytes]]:
        """Reads a packet of each way that has some; lets in who knocks.

        Args:
            ready: what the poller has found.
        """
        ways = [way for way in map(self._ways.get, ready) if way is not None]
        if self._door is not None and self._door.fileno() in ready:
            self._let_in(self._door)
        for way in ways:
            packet = self._read(way)
            if packet is None:
                continue
            if way.peer is None and not way.route:
                self._name(way, packet)
            else:
                yield way, packet

    def _let_in(self, door: socket.socket) -> None:
        try:
            made, _ = door.accept()
        except OSError:  # it has gone again, or there are no more descriptors
            return
        made.setblocking(False)
        self._add(Way(made))

    def _name(self, way: Way, name: bytes) -> None:
        """Takes the first packet of a way: which connection it belongs to."""
        if len(name) > _LONGEST_NAME:
            self.shut(way)
            return
        self.shut(self._by_route.get(name))
        way.route = name
        self._by_route[name] = way

    def _read(self, way: Way) -> bytes | None:
        try:
            size = way.socket.recv_into(self._room)
        except BlockingIOError:
            return None
        except OSError:
            size = 0
        if not size:
            self.shut(way)
            return None
        return bytes(memoryview(self._room)[:size])

    def close(self) -> None:
        """Closes everything. The door stays: it may be a successor's by now."""
        for way in list(self._ways.values()):
            self.shut(way)
        if self._door is not None:
            self._door.close()
            self._door = None


_POLLIN: Final = 1  # zmq.POLLIN


def _at(folder: Path, use: Any) -> None:
    """Calls `bind` or `connect` with the door of a folder, whose path may be a long one."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        use(f"/proc/self/fd/{handle}/{DOOR}")
    finally:
        os.close(handle)
