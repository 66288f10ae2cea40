"""The output of a job's processes in whole lines: those of one do not break those of another.

A process writes a line in pieces (Python does where its output is unbuffered), and those of several
would mix. So each prints into a pipe, from which whole lines are handed on. Where this process has
a terminal, they print to that themselves, and see that it is one.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Final, final

from hybridnet.engine import RLock

_CHUNK: Final = 1 << 16  # bytes that are read at once, and that a line has at most
_LAST_SECONDS: Final = 1.0  # seconds in which the last lines are handed on

#: One for both descriptors, which may be one file.
_lock: Final = RLock()
_threads: Final[list[threading.Thread]] = []


@final
class Lines:
    """The output of one process, handed on to a descriptor of this one line by line.

    Args:
        target: the descriptor, 1 or 2.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._rest = b""

    def write(self, data: bytes) -> None:
        """Takes a piece; writes the lines that it ends.

        Raises:
            OSError: nobody reads on.
        """
        self._rest += data
        end = max(self._rest.rfind(b"\n"), self._rest.rfind(b"\r")) + 1
        if not end and len(self._rest) >= _CHUNK:
            end = len(self._rest)
        whole, self._rest = self._rest[:end], self._rest[end:]
        with _lock:
            _write_all(self._target, whole)

    def end(self) -> None:
        """Writes what is left, with an end to it: another's line would be behind it."""
        if self._rest:
            self.write(b"\n")


def _write_all(target: int, data: bytes) -> None:
    while data:
        data = data[os.write(target, data) :]


def pipes() -> tuple[int | None, int | None]:
    """Returns descriptors for the output and error of a process; the caller closes them.

    None stands for this process's own.
    """
    if os.isatty(1) or os.isatty(2):
        return None, None
    output = _pipe(1)
    same = os.path.samestat(os.fstat(1), os.fstat(2))
    return output, os.dup(output) if same else _pipe(2)


def hand_on_rest() -> None:
    """Waits a moment until all is handed on; what a process has left behind may print more."""
    deadline = time.monotonic() + _LAST_SECONDS
    for thread in _threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _pipe(target: int) -> int:
    reader, writer = os.pipe()
    thread = threading.Thread(target=_hand_on, args=(reader, Lines(target)), daemon=True)
    _threads[:] = [*(one for one in _threads if one.is_alive()), thread]
    thread.start()
    return writer


def _hand_on(reader: int, lines: Lines) -> None:
    # Where nobody reads on, the pipe is closed, and the process is told when it prints.
    with contextlib.suppress(OSError), open(reader, "rb", buffering=0) as pipe:
        while data := pipe.read(_CHUNK):
            lines.write(data)
        lines.end()
