"""The transport over ZeroMQ: a ROUTER that listens, a DEALER for each peer that is connected to.

Why ZeroMQ: it frames, reconnects, encrypts, and its heartbeats come from a thread of its own, so
that a process which holds Python's lock for seconds is not taken for dead, and one that is killed
is known to be so in milliseconds. Its monitors tell; a DEALER's is about its one peer, the ROUTER's
names a file descriptor, which every message of a connection has, too.

What is given to `send` and is large is not copied: pyzmq holds the memory until it has left.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, final

from hybridnet.kvstore.cluster import is_loopback
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.protocol.words import Peer
from hybridnet.kvstore.run_token import TOKEN, RunToken
from hybridnet.kvstore.system import check_system
from hybridnet.kvstore.transport.admission import Admission, Door
from hybridnet.kvstore.transport.interface import (
    Connected,
    Disconnected,
    Heard,
    Rejected,
    Report,
    Transport,
)
from hybridnet.kvstore.transport.local_sockets import LocalConnection, LocalSockets
from hybridnet.kvstore.transport.poller import Poller
from hybridnet.kvstore.transport.unproven import Unproven
from hybridnet.kvstore.transport.wire import LARGEST_FRAME, MOST_TOGETHER, SMALL, Buffer
from hybridnet.kvstore.transport.zmq_library import load_zmq
from hybridnet.kvstore.user_token import user_token

#: Milliseconds between heartbeats, and of silence after which a peer counts as disconnected.
_HEARTBEAT, _SILENCE = 500, 2500
#: Milliseconds that a connection may take to prove who it is.
_HANDSHAKE: Final = 5000
#: Milliseconds between attempts to connect.
_AGAIN: Final = 20
#: After so many connections that were closed without a word a process is not let in.
_HUNG_UP: Final = 4
#: Bytes from which on a frame is not copied: below, copying is quicker.
_LARGE_BYTES: Final = 1 << 16
#: Bytes of messages that leave together at most.
_TOGETHER: Final = 1 << 19
#: What a monitor says: the event, and its value.
_EVENT: Final = struct.Struct("=Hi")
#: What a message says of who has sent it, if somebody was asked to let it in.
_USER: Final = "User-Id"
#: In an address: before where to connect without encryption, and before what was drawn for that.
_CLEAR: Final = " "
_DRAWN: Final = "#"
_WRONG_TOKEN: Final = (
    f"the run's token is another, or there is none: {TOKEN} must be the same in all processes"
)


@final
class ZmqTransport(Transport):
    """Sends and receives by ZeroMQ.

    Args:
        host: the address to listen on; None: this process does not listen.
        port: the port; 0: any.
        token: who has it may connect; None: who is the same user, on loopback only.
        encrypt: whether all connections are encrypted. False: a second way without encryption is
            open to who connects, beside that with it, and is taken where a peer has one; None: on
            loopback only.
        me: who this process is, with rank -1 where it does not know that; None: one of many that
            are alike, and connect to each other.
        admits: who may connect.

    Raises:
        ImportError: pyzmq is missing.
        KVStoreError: it would listen for other machines, and there is no token; or the address is
            taken; or there is no folder for a token of this user's; or the system has none of this.
    """

    def __init__(
        self, *, host: str | None = None, port: int = 0, token: RunToken | None = None,
        encrypt: bool | None = None, me: Peer | None = None,
        admits: Iterable[Peer | None] = (None,),
    ) -> None:  # fmt: skip
        check_system()
        if host is not None and token is None and not is_loopback(host):
            raise KVStoreError(
                f"a process that listens for other machines requires the run's token, got none for "
                f"{host}: set HYBRIDNET_DIST_TOKEN in every process; hybridnet launch does"
            )
        self._zmq = zmq = load_zmq()
        self._last = int(zmq.NOBLOCK)
        self._more = self._last | int(zmq.SNDMORE)
        self._descriptor, self._follows = int(zmq.SRCFD), int(zmq.MORE)
        self._pid = os.getpid()
        self._encrypt = encrypt
        self._context = zmq.Context(1)
        self._poller = Poller(zmq)
        self._dealers: dict[Peer, _Dealer] = {}
        self._sealed: dict[Peer, Any] = {}  # sockets beside those whose messages are in clear
        self._routes: dict[Peer, bytes] = {}
        self._peers: dict[bytes, Peer] = {}
        self._kept: dict[_Dealer | bytes, list[Buffer]] = {}  # by where to
        self._route_of: dict[int, bytes] = {}  # by the connection's file descriptor
        self._admission = Admission(token or user_token(), zmq, me)
        self._door: Door | None = None
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._poller.register(self._ear.fileno())
        self._local = LocalSockets(self._poller)
        self._router: Any = None
        self._unproven = Unproven(zmq)
        if host is not None:
            self._listen(host, port, admits)

    def _listen(self, host: str, port: int, admits: Iterable[Peer | None]) -> None:
        zmq = self._zmq
        self._door = Door(self._context, zmq, self._admission, admits)
        self._poller.register(self._door.socket)
        self._router = router = self._socket(zmq.ROUTER)
        router.router_mandatory = 1
        router.router_handover = 1
        self._admission.listen(router)
        # Asked before its monitor: a loss that came before a message is then heard of with it.
        self._poller.register(router)
        self._router_monitor = self._monitor(router, self._unproven.events)
        self.address = self._bound(host, port)
        if self._is_in_clear(host):
            # What is set now is for this address alone: a bound one keeps what it was bound with.
            self._admission.listen_in_clear(router)
            self.address += f"{_CLEAR}{self._bound(host, 0)}{_DRAWN}{self._door.drawn}"

    def _bound(self, host: str, port: int) -> str:
        """Binds the listening socket, once more; returns to which address."""
        try:
            self._router.bind(f"tcp://{host}:{port or '*'}")
        except self._zmq.ZMQError as error:
            self.close()
            raise KVStoreError(f"{host}:{port} cannot be listened on: {error.strerror}") from error
        address: bytes = self._router.last_endpoint
        return address.rstrip(b"\0").decode()

    def _is_in_clear(self, host: str) -> bool:
        """Whether values to a host go without encryption."""
        return is_loopback(host) if self._encrypt is None else not self._encrypt

    def _socket(self, kind: int) -> Any:
        made = self._context.socket(kind)
        made.linger = 0
        made.sndhwm = made.rcvhwm = 0  # a full queue would stop heartbeats from being heard
        made.maxmsgsize = LARGEST_FRAME
        made.heartbeat_ivl, made.heartbeat_timeout = _HEARTBEAT, _SILENCE
        made.handshake_ivl = _HANDSHAKE
        made.reconnect_ivl = _AGAIN
        return made

    def _monitor(self, of: Any, more: int = 0) -> Any:
        zmq = self._zmq
        events = more | zmq.EVENT_DISCONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED
        events |= zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
        events |= zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
        monitor = of.get_monitor_socket(events)
        self._poller.register(monitor)
        return monitor

    # -- ways to peers -----------------------------------------------------------------------

    def listen_locally(self, folder: Path) -> None:
        """See `Transport.listen_locally`."""
        self._local.listen(folder)

    def connect(self, peer: Peer, address: str, near: Path | None = None) -> None:
        """See `Transport.connect`."""
        known = self._dealers.get(peer)
        if known is not None and known.address == address:
            return
        if known is not None:
            self.disconnect(peer)
        encrypted, clear, drawn = _ways(address)
        if not clear or not self._is_in_clear(_host(clear)):
            clear = ""
        made = self._socket(self._zmq.DEALER)
        name = made.routing_id = b"\1" + secrets.token_bytes(8)
        dealer = _Dealer(address, made, self._monitor(made), name, near, clear, drawn)
        if clear:
            self._renew(dealer)
        else:
            self._open(made, peer, encrypted)
        self._poller.register(made)
        self._dealers[peer] = dealer

    def _open(self, made: Any, peer: Peer, address: str) -> None:
        """Connects a socket, encrypted."""
        self._admission.connect(made, peer)
        made.connect(address)

    def _renew(self, dealer: _Dealer) -> None:
        """Connects anew where nothing is encrypted: a password is good for one connection."""
        now = time.monotonic()
        if not dealer.clear or now < dealer.again:
            return  # by the old one it will be refused, and this is called again
        self._poller.use()
        if dealer.again:
            with contextlib.suppress(self._zmq.ZMQError):
                dealer.socket.disconnect(dealer.clear)
        dealer.again = now + _AGAIN / 1000
        self._admission.connect_in_clear(dealer.socket, dealer.drawn)
        dealer.socket.connect(dealer.clear)

    def disconnect(self, peer: Peer) -> None:
        """See `Transport.disconnect`."""
        dealer = self._dealers.pop(peer, None)
        if dealer is not None:
            self._kept.pop(dealer, None)
            self._local.shut(dealer.local)
            self._poller.unregister(dealer.socket)
            self._poller.unregister(dealer.monitor)
            dealer.socket.disable_monitor()
            dealer.monitor.close(0)
            dealer.socket.close(0)
        sealed = self._sealed.pop(peer, None)
        if sealed is not None:
            self._poller.unregister(sealed)
            sealed.close(0)

    def bind(self, peer: Peer, route: bytes) -> None:
        """See `Transport.bind`."""
        old = self._routes.get(peer)
        if old is not None and old != route:
            self._peers.pop(old, None)
        self._routes[peer] = route
        self._peers[route] = peer

    def send(
        self, to: Peer, frames: Sequence[Buffer], *, route: bytes = b"", copy: bool = False,
        sealed: bool = False,
    ) -> bool:  # fmt: skip
        """See `Transport.send`."""
        target = None if route else self._dealers.get(to)
        if sealed and target is not None and target.clear:
            return self._send(self._beside(to, target), frames, copy)
        where = target or route or self._routes.get(to, b"")
        if not where or (target is None and self._router is None):
            return False
        if len(frames) == 1 and len(frames[0]) <= SMALL:
            self._keep(where, frames[0])
            return True
        if self._kept:
            self._flush(where)
        return self._send(where if isinstance(where, bytes) else where.socket, frames, copy)

    def _beside(self, peer: Peer, dealer: _Dealer) -> Any:
        """The socket for what must be encrypted, where values are not: few need one."""
        found = self._sealed.get(peer)
        if found is None:
            found = self._sealed[peer] = self._socket(self._zmq.DEALER)
            self._open(found, peer, _ways(dealer.address)[0])
            self._poller.register(found)
        return found

    def send_now(self, to: Peer, frame: Buffer) -> bool:
        """See `Transport.send_now`: by a local socket."""
        dealer = self._dealers.get(to)
        local = self._local.find(self._routes.get(to, b"")) if dealer is None else dealer.local
        return local is not None and self._local.send_now(local, frame)

    def _send(self, where: Any, frames: Sequence[Buffer], copy: bool) -> bool:
        """Sends by a socket, or by a route."""
        is_route = isinstance(where, bytes)
        out: Any = self._router if is_route else where
        last = len(frames) - 1
        self._poller.use()
        try:
            if is_route:
                out.send(where, self._more)
            for place, frame in enumerate(frames):
                small = copy or len(frame) < _LARGE_BYTES
                out.send(frame, self._more if place < last else self._last, copy=small, track=False)
        except self._zmq.ZMQError:  # the peer has gone, and its connection with it
            return False
        return True

    def _keep(self, where: _Dealer | bytes, frame: Buffer) -> None:
        """Keeps a short message: those to one peer leave as one, when this thread waits."""
        kept = self._kept.setdefault(where, [])
        kept.append(frame)
        # One of 16 is large enough to be counted with.
        if len(kept) >= MOST_TOGETHER or (len(kept) % 16 == 0 and _size(kept) >= _TOGETHER):
            self._flush(where)

    def _flush(self, where: _Dealer | bytes) -> None:
        kept: Sequence[Buffer] | None = self._kept.pop(where, None)
        if not kept:
            return
        local = self._local.find(where) if isinstance(where, bytes) else where.local
        if local is not None:
            kept = self._local.send(local, kept)
        if kept:
            way = where if isinstance(where, bytes) else where.socket
            self._send(way, [kept[0] if len(kept) == 1 else b"".join(kept)], True)

    def flush(self) -> None:
        """See `Transport.flush`."""
        while self._kept:
            self._flush(next(iter(self._kept)))

    # -- what happens ------------------------------------------------------------------------

    def receive(self, timeout: float | None) -> list[Report]:
        """See `Transport.receive`."""
        self.flush()
        wait = None if timeout is None else max(0, round(timeout * 1000))
        ready = self._poller.poll(wait)
        reports: list[Report] = []
        if not self._local.are_all(ready):
            self._hear_others(ready, reports)
        for local, packet in self._local.heard(ready):
            if packet:
                known = local.peer or self._peers.get(local.route)
                reports.append(Heard(local.route, [packet], known))
            elif local.route not in self._route_of.values():
                self._lose(local.route, reports)  # ZeroMQ will not know whose loss it tells of
        return reports

    def _hear_others(self, ready: dict[Any, int], reports: list[Report]) -> None:
        """Adds what was heard elsewhere than at local sockets."""
        if self._ear.fileno() in ready:
            self._ear.recv(4096)
        if self._door is not None and self._door.socket in ready:
            self._door.answer()
        # Losses first: a descriptor that is lost may be another connection's by now, whose messages
        # are then still to be read.
        for peer, dealer in list(self._dealers.items()):
            if dealer.monitor in ready:
                self._watch_dealer(peer, dealer, reports)
        if self._router is not None:
            if self._router_monitor in ready:
                self._watch_router(reports)
            if self._router in ready:
                self._read_router(reports)
        for peer, dealer in self._dealers.items():
            if dealer.socket in ready:
                frames = [one.buffer for one in self._read(dealer.socket)]
                if frames:
                    reports.append(Heard(b"", frames, peer, peer, not dealer.clear))
        for peer, sealed in self._sealed.items():
            if sealed in ready:
                frames = [one.buffer for one in self._read(sealed)]
                if frames:
                    reports.append(Heard(b"", frames, peer, peer))

    def _events(self, monitor: Any) -> list[tuple[int, int]]:
        """Returns the events of a monitor, as (event, value)."""
        found: list[tuple[int, int]] = []
        while True:
            try:
                event, _ = monitor.recv_multipart(self._last)
            except self._zmq.Again:
                return found
            found.append(_EVENT.unpack(event))

    def _watch_dealer(self, peer: Peer, dealer: _Dealer, reports: list[Report]) -> None:
        zmq = self._zmq
        for event, _ in self._events(dealer.monitor):
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                dealer.hung_up = 0
                if dealer.near is not None:
                    self._local.shut(dealer.local)
                    dealer.local = self._local.connect(peer, dealer.near, dealer.name)
                reports.append(Connected(peer))
            elif event == zmq.EVENT_DISCONNECTED:
                self._local.shut(dealer.local)
                self._renew(dealer)
                reports.append(Disconnected(peer))
            elif dealer.clear:
                self._renew(dealer)
            elif event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL and dealer.hung_up < _HUNG_UP:
                # Who does not know our keys hangs up without a word; so does one that is ending.
                dealer.hung_up += 1
            else:
                reports.append(Rejected(peer, _WRONG_TOKEN))

    def _watch_router(self, reports: list[Report]) -> None:
        for event, descriptor in self._events(self._router_monitor):
            self._unproven.note(event, descriptor)
            if event == self._zmq.EVENT_DISCONNECTED:
                route = self._route_of.pop(descriptor, None)
                if route is None or route in self._route_of.values():
                    continue  # nothing was heard over it, or its owner is connected anew
                self._local.shut(self._local.find(route))
                self._lose(route, reports)
        self._unproven.limit()

    def _lose(self, route: bytes, reports: list[Report]) -> None:
        """Reports that who was connected by a route is gone."""
        peer = self._peers.pop(route, None)
        if peer is not None:
            self._routes.pop(peer, None)
            reports.append(Disconnected(peer))

    def _read_router(self, reports: list[Report]) -> None:
        message = self._read(self._router)
        if not message:
            return
        route, *frames = message
        way = route.bytes
        self._route_of[frames[0].get(self._descriptor) if frames else -1] = way
        assert self._door is not None  # who listens has one
        sender, sealed = self._door.users[route.get(_USER)]
        known = self._peers.get(way)
        reports.append(Heard(way, [one.buffer for one in frames], known, sender, sealed))

    def _read(self, ready: Any) -> list[Any]:
        """Returns the frames of one message of a socket that has some; none if they are gone.

        What has come over a connection goes with it, also since the socket was asked.

        One message, since a try in vain takes as long as asking all sockets again; and every frame
        knows whether another follows, which `recv_multipart` asks the socket for.
        """
        try:
            frames = [ready.recv(self._last, False, False)]
        except self._zmq.Again:
            return []
        while frames[-1].get(self._follows):
            frames.append(ready.recv(self._last, False, False))
        return frames

    def wake(self) -> None:
        """See `Transport.wake`."""
        with contextlib.suppress(OSError):  # it rings already, or all is closed
            self._bell.send(b"\0")

    def close(self, linger: float = 0.0) -> None:
        """See `Transport.close`."""
        if os.getpid() != self._pid:
            return  # a forked process: the sockets are its parent's
        self.flush()
        wait = round(linger * 1000)
        for peer in list(self._dealers):
            dealer = self._dealers.pop(peer)
            dealer.socket.disable_monitor()
            dealer.monitor.close(0)
            dealer.socket.close(wait)
        for sealed in self._sealed.values():
            sealed.close(wait)
        self._sealed.clear()
        if self._router is not None:
            self._router.disable_monitor()
            self._router_monitor.close(0)
            self._router.close(wait)
            self._router = None
        if self._door is not None:
            self._door.close()
            self._door = None
        self._local.close()
        self._bell.close()
        self._ear.close()
        self._context.term()


def _ways(address: str) -> tuple[str, str, str]:
    """Returns where to connect to with encryption, where without, and what was drawn for that.

    The last two are "" where there is no way without.
    """
    encrypted, _, clear = address.partition(_CLEAR)
    clear, _, drawn = clear.partition(_DRAWN)
    return encrypted, clear, drawn


def _host(endpoint: str) -> str:
    return endpoint.removeprefix("tcp://").rpartition(":")[0].strip("[]")


def _size(frames: Sequence[Buffer]) -> int:
    return sum(map(len, frames))


@final
class _Dealer:
    """A socket that is connected to one peer.

    Attributes:
        address: where the peer listens, with and without encryption.
        socket: it.
        monitor: tells what happens to its connection.
        name: of the connection, by which the peer knows it.
        near: the folder with the peer's socket, if it is of this host.
        local: through that socket, while the connection is there.
        clear: where it is connected to if it is not encrypted.
        drawn: by who listens there.
        again: when it may be connected anew there; 0: it was not yet.
        hung_up: how often the peer has closed it before it knew who we are.
    """

    def __init__(
        self, address: str, socket: Any, monitor: Any, name: bytes, near: Path | None,
        clear: str, drawn: str,
    ) -> None:  # fmt: skip
        self.address = address
        self.socket = socket
        self.monitor = monitor
        self.name = name
        self.near = near
        self.clear, self.drawn = clear, drawn
        self.again = 0.0
        self.local: LocalConnection | None = None
        self.hung_up = 0
