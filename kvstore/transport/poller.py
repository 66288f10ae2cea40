"""Waiting for ZeroMQ's sockets and for others at once, by one call of the system if that will do.

`zmq.Poller` asks every ZeroMQ socket, twice each time it waits, which takes two calls of the system
for each of them. Where messages come by local sockets that is most of what a process calls. So
ZeroMQ's sockets are asked only when there is a reason.
"""

from __future__ import annotations

import select
from typing import Any, final


@final
class Poller:
    """Says what can be read.

    The descriptor of a ZeroMQ socket rings when something may have happened to it, and rings once.
    What is done with the socket may hear the ring, too; so after that all are asked again before
    this waits for descriptors alone.

    Args:
        zmq: pyzmq.
    """

    def __init__(self, zmq: Any) -> None:
        self._system = select.poll()
        self._all = zmq.Poller()
        self._rings: set[int] = set()  # the descriptors of ZeroMQ's sockets
        self._is_used = False

    def register(self, what: Any) -> None:
        """Waits for a ZeroMQ socket, or for a descriptor, from now on."""
        if not isinstance(what, int):
            self._rings.add(what.fileno())
            self._is_used = True
        self._system.register(what, select.POLLIN)
        self._all.register(what, select.POLLIN)

    def unregister(self, what: Any) -> None:
        """Waits for it no longer; it must not be closed yet."""
        if not isinstance(what, int):
            self._rings.discard(what.fileno())
        self._system.unregister(what)
        self._all.unregister(what)

    def use(self) -> None:
        """Says that something is done with a ZeroMQ socket, beside reading what `poll` found."""
        self._is_used = True

    def poll(self, wait: float | None) -> dict[Any, int]:
        """Returns what can be read: sockets of ZeroMQ, and descriptors of others.

        Args:
            wait: milliseconds to wait for that at most; None: any.
        """
        if not self._is_used:
            found = dict(self._system.poll(wait))
            if self._rings.isdisjoint(found):
                return found
            wait = 0
        ready = dict(self._all.poll(wait))
        self._is_used = not all(isinstance(one, int) for one in ready)  # they will be read
        return ready
