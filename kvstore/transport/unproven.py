"""Connections that have not shown yet who they are: few at once, the newest.

ZeroMQ holds what a connection sends before it has proved anything, up to the size of the largest
frame, until its time is over. So that many of them take no memory to speak of, those that have
waited longest make room for the next; who was in order comes again after milliseconds.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any, Final, final

#: Of one listener at once.
MOST: Final = 32


@final
class Unproven:
    """The connections of a listener that have not proved anything, from what its monitor tells.

    Args:
        library: the module zmq.

    Attributes:
        events: that the monitor has to tell.
    """

    def __init__(self, library: Any) -> None:
        self._accepted = int(library.EVENT_ACCEPTED)
        self.events = self._accepted | int(library.EVENT_HANDSHAKE_SUCCEEDED)
        # By descriptor, the oldest first: which socket it was then.
        self._waiting: dict[int, int] = {}

    def note(self, event: int, descriptor: int) -> None:
        """Takes what the monitor has told: any other event than that of a new one ends its wait."""
        self._waiting.pop(descriptor, None)
        if event == self._accepted:
            with contextlib.suppress(OSError):  # it is closed again
                self._waiting[descriptor] = os.fstat(descriptor).st_ino

    def limit(self) -> None:
        """Ends the oldest, where there are too many."""
        while len(self._waiting) > MOST:
            descriptor = next(iter(self._waiting))
            _shut(descriptor, self._waiting.pop(descriptor))


def _shut(descriptor: int, which: int) -> None:
    """Shuts a socket down, for ZeroMQ to close; not another that has its descriptor by now."""
    with contextlib.suppress(OSError):
        own = os.dup(descriptor)  # stays what it is
        try:
            if os.fstat(own).st_ino == which:
                with socket.socket(fileno=own) as connection:
                    own = -1
                    connection.shutdown(socket.SHUT_RDWR)
        finally:
            if own >= 0:
                os.close(own)
