"""The thread of a process that speaks to other tasks, over the parameter server's transport."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.engine import Flag, RLock
from hybridnet.kvstore.cluster import is_loopback
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import make_folder
from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.run_token import RunToken
from hybridnet.kvstore.transport.interface import Connected, Disconnected, Heard, Rejected, Report
from hybridnet.kvstore.transport.local_sockets import SOCKET, warn_of_stranger
from hybridnet.kvstore.transport.wire import Buffer
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport
from hybridnet.kvstore.user_token import user_folder

#: The channels of this process.
_channels: Final[weakref.WeakSet[Channel]] = weakref.WeakSet()

_log: Final = logging.getLogger("hybridnet.cluster")
#: Where the folders of tasks are, and what tells one network from another.
_MEMORY: Final = Path("/dev/shm")
_NETWORK: Final = Path("/proc/self/ns/net")
_ADDRESS: Final = re.compile(
    r"(?:(?P<host>[\w.-]+)|\[(?P<six>[0-9a-f:.]+)\]):(?P<port>[0-9]+)", re.ASCII | re.IGNORECASE
)
#: Seconds in which a socket may have been made and not listened at.
_NEW_SECONDS: Final = 60.0
_GONE: Final = "the connection is gone"
_HUNG_UP: Final = (
    "it hangs up: its token (HYBRIDNET_DIST_TOKEN) is another, or one of the two has none, or it "
    "is another user's, or just ending"
)
#: Seconds between two ticks, and that the thread may take to end.
_TICK: Final = 1.0
_END: Final = 5.0


def split_address(address: str) -> tuple[str, int]:
    """Returns host and port of ``host:port``, ``grpc://host:port`` too.

    Raises:
        MXNetError: it is not of that form, or IPv6 of another machine.
    """
    found = _ADDRESS.fullmatch(address.removeprefix("grpc://"))
    if found is None or int(found["port"]) > 65535:
        raise MXNetError(f"cluster: an address must be 'host:port', got {address!r}")
    if found["six"] and not is_loopback(found["six"]):
        raise MXNetError(f"cluster: of IPv6 there is [::1] alone; give a name, got {address!r}")
    return found["host"] or "localhost", int(found["port"])


def near_folder(address: str) -> Path | None:
    """Returns the folder of a task, for processes of its user on its host; None: it may be far.

    Its name has the network that the port is of: containers may share their files alone.
    """
    host, port = split_address(address)
    try:
        network = _NETWORK.stat().st_ino
    except OSError:
        return None
    if not is_loopback(host) or not _MEMORY.is_dir():
        return None
    return user_folder(_MEMORY) / f"task-{network}-{port}"


def _listen_locally(transport: ZmqTransport, folder: Path) -> None:
    """Lets processes of this host in by a local socket, where that can be."""
    try:
        make_folder(folder.parent)
        make_folder(folder)
        transport.listen_locally(folder)
        _sweep(folder.parent)
    except KVStoreError as error:
        warn_of_stranger(error)
    except OSError as error:
        _log.info("messages of this host go through the network, too: %s", error)


def _sweep(folder: Path) -> None:
    """Removes the sockets of tasks that were killed."""
    for path in folder.glob(f"task-*/{SOCKET}"):
        with contextlib.suppress(OSError), _local_socket() as tries:
            if time.time() - path.stat().st_mtime < _NEW_SECONDS:
                continue  # it may be about to listen
            tries.setblocking(False)  # its task may be stopped, and too many wait for it
            try:
                tries.connect(str(path))
            except ConnectionRefusedError:
                path.unlink()
                path.parent.rmdir()


def _local_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _remove_socket(folder: Path) -> None:
    """Removes the folder of a task that nobody reaches any more."""
    with contextlib.suppress(OSError):
        (folder / SOCKET).unlink()
        folder.rmdir()


def _endpoint(address: str) -> str:
    host, port = split_address(address)
    return f"tcp://{'127.0.0.1' if is_loopback(host) else host}:{port}"


@final
class Channel:
    """Sends and receives the messages of a process; others are known by name.

    Args:
        address: where it listens, ``host:port``; None: nowhere.
        hear: is called with the frames of each message and a function that gives who sent it a
            name, in the thread of the channel.
        changed: is called with a name, and why the connection is gone, or None: it is there.
        tick: is called once a second.

    Attributes:
        port: where it listens.
        is_forked: whether this process is a fork of the one that made it, whose it stays: what is
            sent here goes nowhere.

    Raises:
        MXNetError: the address is taken, or there is no token for other machines.
    """

    def __init__(
        self,
        address: str | None,
        hear: Callable[[Sequence[Buffer], Callable[[str], None]], None],
        changed: Callable[[str, str | None], None],
        tick: Callable[[], None],
    ) -> None:
        self._hear, self._changed, self._tick = hear, changed, tick
        self._todo: deque[Callable[[ZmqTransport], None]] = deque()
        self._peers: dict[str, Peer] = {}
        self._names: dict[Peer, str] = {}
        self._linked: set[str] = set()
        self._met: set[Peer] = set()
        self._lock = RLock()
        self._closed = False
        self._transport: ZmqTransport | None = None
        self._error: Exception | None = None
        self.port = 0
        self.is_forked = False
        _channels.add(self)
        begun = Flag()
        self._thread = threading.Thread(
            target=self._loop, args=(address, begun), name="hybridnet-cluster", daemon=True
        )
        self._thread.start()
        begun.wait()
        if self._error is not None:
            raise MXNetError(f"cluster: {self._error}") from self._error

    def link(self, name: str, address: str) -> None:
        """Opens the way to a process, once."""
        if name in self._linked:
            return
        with self._lock:
            if name in self._linked:
                return
            peer, where, near = self._peer(name), _endpoint(address), near_folder(address)
            self._do(lambda transport: transport.connect(peer, where, near))
            self._linked.add(name)  # from now on other threads send

    def send(self, name: str, frames: Sequence[Buffer]) -> None:
        """Sends a message to a process that is linked, or has sent one; from any thread.

        The thread of the channel keeps what it sends until it waits, and sends it together.
        """
        if self.is_forked:
            return
        peer, transport = self._peer(name), self._transport
        is_here = threading.get_ident() == self._thread.ident
        is_short = len(frames) == 1
        if not is_here and is_short and transport and transport.send_now(peer, frames[0]):
            return

        def send(transport: ZmqTransport) -> None:
            transport.send(peer, frames)  # False: it is gone, which is told by itself

        self._do(send)

    def close(self) -> None:
        """Ends the thread, and closes everything."""
        if self.is_forked:
            return
        self._closed = True
        if self._transport is not None:
            self._transport.wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(_END)

    def _do(self, what: Callable[[ZmqTransport], None]) -> None:
        self._todo.append(what)
        if self._transport is not None and threading.current_thread() is not self._thread:
            self._transport.wake()

    def _peer(self, name: str) -> Peer:
        found = self._peers.get(name)
        if found is None:
            with self._lock:
                found = self._peers.get(name) or Peer("worker", len(self._peers))
                self._names[found] = name
                self._peers[name] = found
        return found

    def _loop(self, address: str | None, begun: Flag) -> None:
        try:
            transport = self._transport = _opened(address)
        except (KVStoreError, MXNetError, ImportError) as error:
            self._error = error
            return
        finally:
            self.port = _port(self._transport)
            folder = None
            if address is not None and self._transport is not None:
                folder = near_folder(f"{split_address(address)[0]}:{self.port}")
            if folder is not None and self._transport is not None:
                _listen_locally(self._transport, folder)
            begun.set()
        due = time.monotonic() + _TICK
        while not self._closed:
            while self._todo:
                self._todo.popleft()(transport)
            for report in transport.receive(max(0.0, due - time.monotonic())):
                self._note(transport, report)
            if time.monotonic() >= due:
                due = time.monotonic() + _TICK
                self._tick()
        while self._todo:
            self._todo.popleft()(transport)
        transport.close(linger=0.5)
        if folder is not None:
            _remove_socket(folder)

    def _note(self, transport: ZmqTransport, report: Report) -> None:
        match report:
            case Heard(route, frames, peer):

                def named(name: str) -> None:
                    if peer is None and route:
                        transport.bind(self._peer(name), route)

                self._hear(frames, named)
            case Connected(peer):
                self._met.add(peer)
                self._changed(self._names[peer], None)
            case Disconnected(peer):
                self._changed(self._names[peer], _GONE if peer in self._met else _HUNG_UP)
            case Rejected(peer, reason):
                self._changed(self._names[peer], reason)


def _leave_to_parent() -> None:
    """Makes a forked child send nothing over the connections that it shares with its parent."""
    for one in _channels:
        one.is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def _opened(address: str | None) -> ZmqTransport:
    token = RunToken.from_environment(os.environ)
    if address is None:
        return ZmqTransport(token=token, encrypt=True)
    host, port = split_address(address)
    local = is_loopback(host)
    where = "127.0.0.1" if local else "0.0.0.0"
    return ZmqTransport(host=where, port=port, token=token, encrypt=True)


def _port(transport: ZmqTransport | None) -> int:
    """Returns the port on which a transport listens; 0 where it does not."""
    address = "" if transport is None else transport.address
    return int(address.rpartition(":")[2]) if address else 0
