"""Short messages between processes of one host: packets of Unix domain sockets, beside ZeroMQ.

ZeroMQ gives every message to a thread of its own, which gives it to the kernel, and the same again
at the other end: two threads more to wake on each way. A push of a few values, or the places of
values in mapped files, are sent and heard in a fraction of that time. So where two processes see
the same files, the one that listens does so at a socket in its folder, too, which only its user may
enter; who is connected by ZeroMQ connects to it, and its first packet says which of the ZeroMQ
connections it belongs to. No token is asked for here and nothing is encrypted, so both ends look
whose folder it is, and ask the kernel who is at the other end. Where that is another user, all goes
by ZeroMQ, and a warning says so once.

ZeroMQ stays what tells who is alive, and takes whatever a packet does not hold or a full socket
does not take. A packet may so overtake a message; the protocol knows nothing of an order.
"""

from __future__ import annotations

import logging
import os
import socket
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, final

from hybridnet.engine import RLock
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import check_folder
from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.transport.poller import Poller
from hybridnet.kvstore.transport.wire import Buffer

#: The file name of the socket in the folder of who listens.
SOCKET: Final = "socket"
#: Bytes of a packet at most.
PACKET: Final = 1 << 16
#: Bytes that may be under connection; the kernel takes as many of them as it allows.
_UNDER_WAY: Final = 1 << 20
_LONGEST_NAME: Final = 255  # bytes of what a connection is called
_WAITING: Final = 128  # who may connect before any is accepted
#: Whether the kernel tells here who is at the other end: process, user and group.
_TELLS_WHO: Final = hasattr(socket, "SO_PEERCRED") and hasattr(socket, "SOCK_SEQPACKET")
_WHO: Final = struct.Struct("3i")
_log: Final = logging.getLogger("hybridnet.kvstore")
_FLAGS: Final = int(getattr(socket, "MSG_DONTWAIT", 0)) | int(getattr(socket, "MSG_NOSIGNAL", 0))


@final
class LocalConnection:
    """A connected socket.

    Attributes:
        socket: it.
        route: of the ZeroMQ connection that it belongs to, at the end that listens.
        peer: whom it leads to, at the end that has connected.
        lock: held by who sends, so that nobody closes the socket meanwhile.
    """

    __slots__ = ("lock", "peer", "route", "socket")

    def __init__(self, made: socket.socket, peer: Peer | None = None) -> None:
        self.socket = made
        self.route = b""
        self.peer = peer
        self.lock = RLock()


@final
class LocalSockets:
    """The local sockets of a process.

    Args:
        poller: waits for these, too.
    """

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._listener: socket.socket | None = None
        self._connections: dict[int, LocalConnection] = {}
        self._by_route: dict[bytes, LocalConnection] = {}
        self._room = bytearray(PACKET)

    def listen(self, folder: Path) -> None:
        """Listens in a folder, in the place of a predecessor that did.

        Raises:
            KVStoreError: the folder is not this user's alone.
            OSError: it cannot be listened at.
        """
        if not _TELLS_WHO:
            return  # macOS: everything goes by ZeroMQ
        check_folder(folder)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.setblocking(False)
        (folder / SOCKET).unlink(missing_ok=True)
        _at(folder, listener.bind)
        listener.listen(_WAITING)
        self._listener = listener
        self._poller.register(listener.fileno())

    def connect(self, peer: Peer, folder: Path, name: bytes) -> LocalConnection | None:
        """Connects to a peer; None if it does not listen, or another user does.

        Args:
            peer: whose.
            folder: of the peer.
            name: of this process's ZeroMQ connection to the peer.
        """
        if not _TELLS_WHO:
            return None
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        made.setblocking(False)
        try:
            check_folder(folder)
            _at(folder, made.connect)
            _check_other_end(made, folder)
            made.send(name, _FLAGS)
        except KVStoreError as error:
            made.close()
            warn_of_stranger(error)
            return None
        except OSError:
            made.close()
            return None
        return self._add(LocalConnection(made, peer))

    def _add(self, connection: LocalConnection) -> LocalConnection:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNDER_WAY)
        self._connections[connection.socket.fileno()] = connection
        self._poller.register(connection.socket.fileno())
        return connection

    def find(self, route: bytes) -> LocalConnection | None:
        """The connection that belongs to one of ZeroMQ's; None if there is none."""
        return self._by_route.get(route)

    def shut(self, connection: LocalConnection | None) -> None:
        """Closes a connection; None, or one that is closed, is left alone."""
        number = -1 if connection is None else connection.socket.fileno()
        if connection is None or self._connections.get(number) is not connection:
            return
        del self._connections[number]
        self._poller.unregister(number)
        if self._by_route.get(connection.route) is connection:
            del self._by_route[connection.route]
        with connection.lock:
            connection.socket.close()

    def send(self, connection: LocalConnection, frames: Sequence[Buffer]) -> Sequence[Buffer]:
        """Sends frames, as many together as a packet holds; returns those that it does not take."""
        first, count = 0, len(frames)
        while first < count:
            size, last = len(frames[first]), first + 1
            while last < count and size + len(frames[last]) <= PACKET:
                size += len(frames[last])
                last += 1
            try:
                connection.socket.sendmsg(frames[first:last], (), _FLAGS)
            except BlockingIOError:
                break
            except OSError:  # its other end is closed
                self.shut(connection)
                break
            first = last
        return frames[first:]

    def send_now(self, connection: LocalConnection, frame: Buffer) -> bool:
        """Sends one frame; False if it is not taken. From any thread."""
        if len(frame) > PACKET:
            return False
        with connection.lock:
            try:
                connection.socket.send(frame, _FLAGS)
            except OSError:  # it is full, or closed
                return False
        return True

    def are_all(self, ready: dict[Any, int]) -> bool:
        """Whether what the poller has found are connections of these alone."""
        return ready.keys() <= self._connections.keys()

    def heard(self, ready: dict[Any, int]) -> Iterator[tuple[LocalConnection, bytes]]:
        """Reads a packet of each connection that has some; accepts new ones.

        An empty packet says that the other end of a connection is closed.

        Args:
            ready: what the poller has found.
        """
        found = [one for one in map(self._connections.get, ready) if one is not None]
        if self._listener is not None and self._listener.fileno() in ready:
            self._accept(self._listener)
        for connection in found:
            packet = self._read(connection)
            if packet is None:
                continue
            if connection.peer is None and not connection.route:
                if packet:
                    self._name(connection, packet)
            else:
                yield connection, packet

    def _accept(self, listener: socket.socket) -> None:
        try:
            made, _ = listener.accept()
        except OSError:  # it has gone again, or there are no more descriptors
            return
        made.setblocking(False)
        try:
            _check_other_end(made, "this process's socket")
        except (KVStoreError, OSError) as error:
            made.close()
            warn_of_stranger(error)
            return
        self._add(LocalConnection(made))

    def _name(self, connection: LocalConnection, name: bytes) -> None:
        """Takes the first packet: which of ZeroMQ's connections this one belongs to."""
        if len(name) > _LONGEST_NAME:
            self.shut(connection)
            return
        self.shut(self._by_route.get(name))
        connection.route = name
        self._by_route[name] = connection

    def _read(self, connection: LocalConnection) -> bytes | None:
        try:
            size = connection.socket.recv_into(self._room)
        except BlockingIOError:
            return None
        except OSError:
            size = 0
        if not size:
            self.shut(connection)
        return bytes(memoryview(self._room)[:size])

    def close(self) -> None:
        """Closes everything. The file stays: it may be a successor's by now."""
        for connection in list(self._connections.values()):
            self.shut(connection)
        if self._listener is not None:
            self._listener.close()
            self._listener = None


def _check_other_end(connection: socket.socket, where: object) -> None:
    """Asks the kernel who is at the other end.

    Raises:
        KVStoreError: it is a process of another user.
    """
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _WHO.size)
    process, user, _ = _WHO.unpack(told)
    if user != os.geteuid():
        raise KVStoreError(f"process {process} of user {user} is at the other end of {where}")


class _Warned:
    """Whether somebody was warned already."""

    once = False


def warn_of_stranger(error: object) -> None:
    """Says, once in a process, that another user is where a local socket should be."""
    if not _Warned.once:
        _Warned.once = True
        _log.warning(
            "local sockets are not used, and messages within this machine go through TCP: %s", error
        )


def _at(folder: Path, use: Any) -> None:
    """Calls `bind` or `connect` with the socket of a folder, whose path may be a long one."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        use(f"/proc/self/fd/{handle}/{SOCKET}")
    finally:
        os.close(handle)
