"""`FileWriter`: the files that TensorBoard reads."""

from __future__ import annotations

import os
import socket
import threading
import time
from pathlib import Path
from typing import Any, ClassVar, final

from ..graph.graph import Graph, get_default_graph
from .events import Event, Summary, graph_bytes, record

__all__ = ["FileWriter", "FileWriterCache"]


@final
class FileWriter:
    """Writes summaries to a file that TensorBoard reads; safe from several threads.

    Args:
        logdir: the folder, which is made.
        graph: a graph to write first.
        max_queue: without meaning here.
        flush_secs: how many seconds lie between writes to the disk, at most.
        graph_def: without meaning here.
        filename_suffix: what the file's name ends with.
        session: without meaning here.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Graph | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: Any = None,
    ) -> None:
        self._folder = os.fspath(logdir)
        self._secs = flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        self._file: Any = None
        self._flushed = time.monotonic()
        self.reopen()
        if graph is not None:
            self.add_graph(graph)

    def get_logdir(self) -> str:
        """Returns the folder."""
        return self._folder

    def add_summary(self, summary: bytes | Summary, global_step: Any = None) -> None:
        """Writes values.

        Args:
            summary: what a session fetched, or a `Summary`.
            global_step: at which step.
        """
        found = Summary.FromString(summary) if isinstance(summary, bytes) else summary
        step = 0 if global_step is None else int(global_step)
        self.add_event(Event(time.time(), step, summary=found))

    def add_graph(self, graph: Graph, global_step: Any = None, graph_def: Any = None) -> None:
        """Writes a graph: names, types and what reads what."""
        step = 0 if global_step is None else int(global_step)
        self.add_event(Event(time.time(), step, graph_def=graph_bytes(graph)))

    def add_event(self, event: Event) -> None:
        """Writes an event.

        Raises:
            ValueError: the writer is closed.
        """
        data = record(event.SerializeToString())
        with self._lock:
            if self._file is None:
                raise ValueError("FileWriter: it is closed; reopen() begins another file")
            self._file.write(data)
            if time.monotonic() - self._flushed > self._secs:
                self._flush()

    def _flush(self) -> None:
        self._file.flush()
        self._flushed = time.monotonic()

    def flush(self) -> None:
        """Has all that was added be in the file."""
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
            self._file.write(
                record(Event(time.time(), file_version="brain.Event:2").SerializeToString())
            )

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@final
class FileWriterCache:
    """The writers of this process, one for each folder."""

    _held: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    @staticmethod
    def get(logdir: str | os.PathLike[str]) -> FileWriter:
        """Returns the writer of a folder, which is made if there is none."""
        with FileWriterCache._lock:
            folder = os.fspath(logdir)
            if folder not in FileWriterCache._held:
                FileWriterCache._held[folder] = FileWriter(folder, get_default_graph())
            return FileWriterCache._held[folder]

    @staticmethod
    def clear() -> None:
        """Closes all."""
        with FileWriterCache._lock:
            for one in FileWriterCache._held.values():
                one.close()
            FileWriterCache._held.clear()
