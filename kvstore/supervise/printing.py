"""What the processes of a job print, in whole lines: those of one do not break those of another.

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

__all__ = ["WholeLines"]

_CHUNK: Final = 1 << 16  # bytes that are read at once, and that a line has at most
_LAST: Final = 1.0  # seconds in which the last lines are handed on


@final
class WholeLines:
    """Hands on what processes print to this process's output and error."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def pipes(self) -> tuple[int | None, int | None]:
        """Returns descriptors for the output and error of a process; the caller closes them.

        None stands for this process's own.
        """
        if os.isatty(1) or os.isatty(2):
            return None, None
        output = self._pipe(1)
        same = os.path.samestat(os.fstat(1), os.fstat(2))
        return output, os.dup(output) if same else self._pipe(2)

    def _pipe(self, target: int) -> int:
        reader, writer = os.pipe()
        thread = threading.Thread(target=self._hand_on, args=(reader, target), daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(thread)
        thread.start()
        return writer

    def _hand_on(self, reader: int, target: int) -> None:
        rest = b""
        # Where nobody reads on, the pipe is closed, and the process is told when it prints.
        with contextlib.suppress(OSError), open(reader, "rb", buffering=0) as pipe:
            while data := pipe.read(_CHUNK):
                rest += data
                end = max(rest.rfind(b"\n"), rest.rfind(b"\r")) + 1
                if not end and len(rest) >= _CHUNK:
                    end = len(rest)
                self._write(target, rest[:end])
                rest = rest[end:]
            if rest:  # it gets an end, or another's line would be behind it
                self._write(target, rest + b"\n")

    def _write(self, target: int, data: bytes) -> None:
        with self._lock:
            while data:
                data = data[os.write(target, data) :]

    def close(self) -> None:
        """Waits a moment until all is handed on; what a process has left behind may print more."""
        deadline = time.monotonic() + _LAST
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
