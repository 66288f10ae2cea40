"""`EventWriter`: a file that TensorBoard reads, event by event."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any, Self

from hybridnet.engine import RLock

from .messages import Event, Summary
from .records import record


class EventWriter:
    """Writes summaries to a file that TensorBoard reads; safe from several threads.

    Args:
        logdir: the folder, which is made.
        flush_secs: how many seconds lie between writes to the disk, at most.
        filename_suffix: what the file's name ends with.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._folder = os.fspath(logdir)
        self._secs = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = RLock()
        self._file: Any = None
        self._flushed = time.monotonic()
        self.reopen()

    def get_logdir(self) -> str:
        """Returns the folder."""
        return self._folder

    def add_summary(self, summary: bytes | Summary, global_step: Any = None) -> None:
        """Writes values.

        Args:
            summary: as a message, or a `Summary`.
            global_step: at which step.
        """
        found = Summary.FromString(summary) if isinstance(summary, bytes) else summary
        step = 0 if global_step is None else int(global_step)
        self.add_event(Event(time.time(), step, summary=found))

    def add_event(self, event: Event) -> None:
        """Writes an event.

        Raises:
            ValueError: the writer is closed.
        """
        data = record(event.SerializeToString())
        with self._lock:
            if self._file is None:
                what = type(self).__name__
                raise ValueError(f"{what}: it is closed; reopen() begins another file")
            self._file.write(data)
            if time.monotonic() - self._flushed > self._secs:
                self._flush()

    def _flush(self) -> None:
        self._file.flush()
        self._flushed = time.monotonic()

    def flush(self) -> None:
        """Writes to the file all that was added."""
        with self._lock:
            if self._file is not None:
                self._flush()

    def close(self) -> None:
        """Ends the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def reopen(self) -> None:
        """Begins another file, if this one is closed."""
        with self._lock:
            if self._file is not None:
                return
            folder = Path(self._folder)
            folder.mkdir(parents=True, exist_ok=True)
            stem = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}"
            self._file = (folder / f"{stem}{self._suffix}").open("ab")
            first = Event(time.time(), file_version="brain.Event:2")
            self._file.write(record(first.SerializeToString()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
