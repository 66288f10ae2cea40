"""The process beside rank 0 that knows who of a gang is alive, and tells the others.

    python -m hybridnet.distributed.relay HOST PORT SIZE

Every rank keeps one connection to it. Both show that they have the gang's token (`secret`) before
anything else is said; who has not yet gets little room, few seconds and few places. When a process
ends, whatever ended it, its kernel closes that at once; when its machine is gone, TCP's own probes
find out. A message is one line of JSON; what a rank says goes to all others, with the number of who
said it. It runs JAX's coordination service, too, which would end all processes if it died: so it is
no part of rank 0, outlives it, and ends when nobody is connected any more.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Final, final

from hybridnet.base.jax_private import gang_service

from .secret import HELLO, Secret, TalkError, read_line

#: Bytes of a message at most.
LINE: Final = 1 << 16
# Seconds in which a connection must have shown its token, and how many may not have yet, beside as
# many as there are ranks: the oldest makes room for the next.
_PATIENCE: Final = 10.0
_UNKNOWN: Final = 64
# Seconds between looks whether rank 0 has died before anybody came.
_LOOK_SECONDS: Final = 1.0
# Seconds until a relay of an earlier start must have ended, and between tries.
_LEFT: Final = 10.0
_AGAIN: Final = 0.05
# JAX's own heartbeats, in seconds: who is alive is known from the connections.
_HEARTBEAT: Final = 3600
# Seconds after which a machine that does not answer is gone: idle, between probes, and how many.
_PROBES: Final = (2, 1, 4)


def keep_alive(connection: socket.socket) -> None:
    """Makes TCP find out when the other machine is gone, and send small messages at once."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
    for name, value in zip(names, _PROBES, strict=True):
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@final
class _Peer:
    """One connection.

    Attributes:
        connection: to a process.
        rank: its number, once it has said so.
        is_known: whether it has the token.
        nonce: what it has to answer to.
        until: when it must have, in seconds of `time.monotonic`.
        heard: bytes that are no whole line yet.
        unsaid: bytes that it has no room for yet.
    """

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.rank: int | None = None
        self.is_known = False
        self.nonce = Secret.nonce()
        self.until = time.monotonic() + _PATIENCE
        self.heard = b""
        self.unsaid = b""


@final
class _Relay:
    """The connections of all ranks.

    Args:
        listener: where they come.
        size: how many there are.
        port: of JAX's service.
        secret: of the gang.
    """

    def __init__(self, listener: socket.socket, size: int, port: int, secret: Secret) -> None:
        self._secret = secret
        self._size = size
        self._port = port
        self._names: dict[int, str] = {}
        self._peers: list[_Peer] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._listener = listener

    def run(self) -> None:
        """Serves until all have left, or rank 0 dies before it comes."""
        parent = os.getppid()
        while True:
            for key, _ in self._selector.select(_LOOK_SECONDS):
                if key.data is None:
                    self._accept()
                else:
                    self._serve(key.data)
            self._drop_unknown(_UNKNOWN + self._size)
            if not any(peer.is_known for peer in self._peers) and (
                self._names or os.getppid() != parent
            ):
                return

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            keep_alive(connection)
            peer = _Peer(connection)
            self._peers.append(peer)
            self._selector.register(connection, selectors.EVENT_READ, peer)
            self._say(peer, _line({"nonce": peer.nonce}))

    def _drop_unknown(self, most: int) -> None:
        """Parts from those who did not show the token in time, or are too many."""
        unknown = [peer for peer in self._peers if not peer.is_known]
        now = time.monotonic()
        for place, peer in enumerate(unknown):
            if peer.until < now or place < len(unknown) - most:
                self._drop(peer)

    def _serve(self, peer: _Peer) -> None:
        if peer.unsaid:
            self._say(peer, b"")
        try:
            data = peer.connection.recv(LINE if peer.is_known else HELLO)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, peer.heard = (peer.heard + data).split(b"\n")
        if not data or len(peer.heard) > (LINE if peer.is_known else HELLO):
            self._drop(peer)
            return
        for line in lines:
            if peer not in self._peers:
                return  # it was parted from
            self._hear(peer, line)

    def _hear(self, peer: _Peer, line: bytes) -> None:
        try:
            message = read_line(line)
        except TalkError:
            self._drop(peer)
            return
        if not peer.is_known:
            self._know(peer, message)
        elif peer.rank is None:
            self._welcome(peer, message)
        else:
            self._tell({**message, "from": peer.rank}, peer)

    def _know(self, peer: _Peer, message: dict[str, object]) -> None:
        """Takes the proof that somebody has the token, and gives ours."""
        nonce = message.get("nonce")
        if not isinstance(nonce, str) or not self._secret.holds(
            message.get("proof"), "rank", peer.nonce, nonce
        ):
            self._say(peer, _line({"refused": "its token is another than rank 0's"}))
            self._drop(peer)
            return
        peer.is_known = True
        self._say(peer, _line({"proof": self._secret.proof("relay", peer.nonce, nonce)}))

    def _welcome(self, peer: _Peer, message: dict[str, object]) -> None:
        if message.get("attempt") != attempt():  # of another start: it comes again
            self._drop(peer)
            return
        rank, size = message.get("rank"), message.get("size")
        if type(rank) is not int or not 0 <= rank < self._size or size != self._size:
            why = f"rank {rank} of {size} is none of these {self._size} processes"
        elif rank in self._names:
            why = f"there is a rank {rank} already: {self._names[rank]}"
        else:
            peer.rank = rank
            self._names[rank] = str(message.get("name"))
            if len(self._names) == self._size:
                names = [self._names[one] for one in range(self._size)]
                self._tell({"names": names, "port": self._port}, None)
            return
        self._say(peer, _line({"refused": why}))

    def _tell(self, message: dict[str, object], sender: _Peer | None) -> None:
        for peer in list(self._peers):
            if peer is not sender and peer.rank is not None:
                self._say(peer, _line(message))

    def _say(self, peer: _Peer, data: bytes) -> None:
        """Sends what there is room for; the rest goes when there is."""
        peer.unsaid += data
        try:
            sent = peer.connection.send(peer.unsaid)
        except BlockingIOError:
            sent = 0
        except OSError:
            return  # it is seen where it is read from
        peer.unsaid = peer.unsaid[sent:]
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.unsaid else 0)
        self._selector.modify(peer.connection, events, peer)

    def _drop(self, peer: _Peer) -> None:
        if peer not in self._peers:
            return
        self._peers.remove(peer)
        self._selector.unregister(peer.connection)
        peer.connection.close()
        if peer.rank is not None:
            self._tell({"gone": True, "from": peer.rank}, None)


def _line(message: dict[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def attempt() -> str:
    """Returns which start of the gang this process belongs to, as its launcher says."""
    return os.environ.get("DMLC_NUM_ATTEMPT", "").strip()


def _listening(host: str, port: int, size: int) -> socket.socket:
    """Listens, once a relay of an earlier start has left the port."""
    until = time.monotonic() + _LEFT
    while True:
        try:
            return socket.create_server((host, port), backlog=size)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until:
                raise
            time.sleep(_AGAIN)


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def main(host: str, port: int, size: int) -> None:
    """Serves a gang, whose token is on standard input.

    It prints ``ready``, or what is wrong, when ranks may come.
    """
    # Whoever ends rank 0 by a signal to all that it has started does not mean this one.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        secret = Secret.from_text(sys.stdin.readline())
        listener = _listening(host, port, size)
        own = _free_port(host)
        service = gang_service(
            f"{host}:{own}",
            size,
            heartbeat_timeout=_HEARTBEAT,
            cluster_register_timeout=_HEARTBEAT,
            recoverable=True,
        )
    except Exception as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return
    print("ready", flush=True)
    _Relay(listener, size, own, secret).run()
    del service
    # The service's own end waits for clients that are gone.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
