"""What somebody between two processes of a run can do: hear all, say it again, cut the line."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from hybridnet.kvstore.cluster import _address_of, is_loopback
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.transport.zmq_transport import ZmqTransport

__all__ = ["Relays", "other_address", "relayed"]

_ENDPOINT = re.compile(r"tcp://([\w.]+):(\d+)")


class _Line:
    """One connection through a relay."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.ends = near, far
        self.said = bytearray()  # by who has connected
        self.answered = bytearray()


class Relays:
    """Relays of TCP that keep a record of every byte, one for each address that is asked for.

    Attributes:
        lines: by the address behind it, the connections that there were.
    """

    def __init__(self) -> None:
        self.lines: dict[tuple[str, int], list[_Line]] = {}
        self._listening: dict[tuple[str, int], socket.socket] = {}
        self._threads: list[threading.Thread] = []

    def through(self, address: str) -> str:
        """Returns an address text with a relay in the place of every endpoint."""
        return _ENDPOINT.sub(lambda found: self._relay(found[1], int(found[2])), address)

    def _relay(self, host: str, port: int) -> str:
        listening = self._listening.get((host, port))
        if listening is None:
            listening = self._listening[host, port] = socket.create_server((host, 0))
            self.lines[host, port] = []
            self._start(self._accept, listening, host, port)
        return f"tcp://{host}:{listening.getsockname()[1]}"

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listening: socket.socket, host: str, port: int) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listening.accept()
                try:
                    far = socket.create_connection((host, port))
                except OSError:
                    near.close()
                    continue
                line = _Line(near, far)
                self.lines[host, port].append(line)
                for ends, record in (((near, far), line.said), ((far, near), line.answered)):
                    self._start(_pass_on, *ends, record)

    def heard(self) -> bytes:
        """Returns all that was said, in either direction."""
        every = [line for lines in self.lines.values() for line in lines]
        return b"".join(bytes(line.said) + bytes(line.answered) for line in every)

    def cut(self) -> None:
        """Breaks all connections that there are."""
        for lines in self.lines.values():
            for line in lines:
                for end in line.ends:
                    with contextlib.suppress(OSError):
                        end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Ends all relays."""
        for listening in self._listening.values():
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
        while self._threads:  # who accepts may have begun another
            self.cut()
            self._threads.pop(0).join()
        for one in self._listening.values():
            one.close()
        for lines in self.lines.values():
            for line in lines:
                for end in line.ends:
                    end.close()


def _pass_on(source: socket.socket, target: socket.socket, record: bytearray) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            record += data
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def relayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Relays]:
    """A block in which workers of this process reach their servers through relays."""
    relays, connect = Relays(), ZmqTransport.connect

    def connect_through(self, peer, address, near=None):
        if peer.role == "server":
            address = relays.through(address)
        connect(self, peer, address, near)

    with monkeypatch.context() as patch:
        patch.setattr(ZmqTransport, "connect", connect_through)
        try:
            yield relays
        finally:
            relays.close()


@contextlib.contextmanager
def other_address() -> Iterator[str]:
    """An address of this machine that is not loopback; one of an interface made for it if need
    be."""
    for _, name in socket.if_nameindex():
        with contextlib.suppress(KVStoreError):
            found = _address_of(name)
            if not is_loopback(found):
                yield found
                return
    if os.geteuid() or shutil.which("ip") is None:
        pytest.skip("this machine has no address but loopback, and only root could make one")
    made = ("ip", "link", "add", "hybridnet0", "type", "dummy")
    if subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("this machine has no address but loopback, and takes no further interface")
    try:
        subprocess.run(("ip", "addr", "add", "192.0.2.9/32", "dev", "hybridnet0"), check=True)
        subprocess.run(("ip", "link", "set", "hybridnet0", "up"), check=True)
        yield "192.0.2.9"
    finally:
        subprocess.run(("ip", "link", "del", "hybridnet0"), check=False)
