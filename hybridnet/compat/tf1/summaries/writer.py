"""`FileWriter`: the files that TensorBoard reads."""

from __future__ import annotations

import os
import time
from typing import Any, ClassVar, final

from hybridnet.engine import RLock
from hybridnet.events import Event, EventWriter, Node, graph_message

from ..graph.graph import Graph, get_default_graph

__all__ = ["FileWriter", "FileWriterCache"]


@final
class FileWriter(EventWriter):
    """Writes summaries to a file that TensorBoard reads; safe from several threads.

    Args:
        logdir: the folder, which is made.
        graph: a graph to write first.
        flush_secs: how many seconds lie between writes to the disk, at most.
        filename_suffix: what the file's name ends with.
        max_queue, graph_def, session: without meaning here.
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
        super().__init__(logdir, flush_secs, filename_suffix)
        if graph is not None:
            self.add_graph(graph)

    def add_graph(self, graph: Graph, global_step: Any = None, graph_def: Any = None) -> None:
        """Writes a graph: names, types and what reads what."""
        step = 0 if global_step is None else int(global_step)
        self.add_event(Event(time.time(), step, graph_def=_message(graph)))


def _message(graph: Graph) -> bytes:
    """Returns a graph as the message that TensorBoard draws."""
    nodes = graph.as_graph_def().node
    return graph_message(Node(op.name, op.op, op.input, op.device) for op in nodes)


@final
class FileWriterCache:
    """The writers of this process, one for each folder."""

    _held: ClassVar[dict[str, FileWriter]] = {}
    _lock: ClassVar[RLock] = RLock()

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
