"""``tf.summary``: values of a run for TensorBoard, and the files that it reads."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, final

import numpy as np

from hybridnet.ops.state.variables import NO_OP

from . import dtypes
from .building import apply_call
from .control import name_scope
from .core import convert_to_tensor
from .events import Event, Histogram, Summary, Value, graph_bytes, record
from .graph import Graph, GraphKeys, get_default_graph
from .session import register_session_run_conversion_functions
from .shapes import TensorShape
from .tensor import Operation, Tensor

__all__ = ["Event", "FileWriter", "Summary", "histogram", "merge", "merge_all", "scalar"]

#: Where the buckets of histograms end, on the side above 0: from, to, and how they grow.
_FIRST, _LAST, _GROWTH = 1e-12, 1e20, 1.1


@final
class SummaryTensor:
    """What a session fetches as a Summary message.

    Attributes:
        op: an Operation of its name, that runs nothing.
        parts: the tensors whose values are in it.
        dtype: string.
        shape: ().
    """

    def __init__(
        self,
        op: Operation,
        parts: Sequence[Tensor],
        values: Callable[[list[Any]], list[Value]],
    ) -> None:
        self.op = op
        self.parts = tuple(parts)
        self.values = values
        self.dtype = dtypes.string
        self.shape = TensorShape([])

    @property
    def name(self) -> str:
        """The name: ``'loss:0'``."""
        return f"{self.op.name}:0"

    @property
    def graph(self) -> Graph:
        """The graph it is in."""
        return self.op.graph

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Computes the message in a session; default the one that is the default."""
        return self.graph.session_for(session, "evaluate tensor").run(self, feed_dict)

    def _as_graph_element(self) -> Operation:
        return self.op

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape=() dtype=string>"


def _fetched(summary: SummaryTensor) -> tuple[Sequence[Tensor], Callable[[list[Any]], bytes]]:
    return summary.parts, lambda found: Summary(summary.values(found)).SerializeToString()


register_session_run_conversion_functions(SummaryTensor, _fetched)


def scalar(
    name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> SummaryTensor:
    """Returns what can be fetched as a message with a number.

    Args:
        name: of it, before which the scopes in force come.
        tensor: one number.
        collections: which it is added to; default the summaries, for `merge_all`.
        family: what its name begins with, twice, to be shown together.
    """
    return _summary("ScalarSummary", name, tensor, collections, family, _number)


def histogram(
    name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> SummaryTensor:
    """Returns what can be fetched as a message with a histogram; see `scalar`."""
    return _summary("HistogramSummary", name, values, collections, family, _counted)


def _summary(
    kind: str,
    name: str,
    given: Any,
    collections: Sequence[str] | None,
    family: str | None,
    value: Callable[[str, Any], Value],
) -> SummaryTensor:
    clean = name.replace(" ", "_").lstrip("/")
    with name_scope(clean if family is None else f"{family}/{clean}", values=[given]) as scope:
        tensor = convert_to_tensor(given)
        op: Operation = apply_call(kind, NO_OP, (), name=scope)
    tag = op.name if family is None else f"{family}/{op.name}"
    made = SummaryTensor(op, [tensor], lambda found: [value(tag, found[0])])
    graph = get_default_graph()
    graph.add_to_collections([GraphKeys.SUMMARIES] if collections is None else collections, made)
    return made


def merge(
    inputs: Sequence[SummaryTensor],
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> SummaryTensor:
    """Returns what can be fetched as one message with the values of several.

    Args:
        inputs: what `scalar`, `histogram` and `merge` returned.
        collections: which it is added to; default none.
        name: of the scope.

    Raises:
        TypeError: something else is among them.
    """
    listed = list(inputs)
    for one in listed:
        if not isinstance(one, SummaryTensor):
            raise TypeError(f"summary.merge: needs what tf.summary makes, got {one!r}")
    with name_scope(name, "Merge"):
        op: Operation = apply_call("MergeSummary", NO_OP, (), name="MergeSummary")
    parts = [tensor for one in listed for tensor in one.parts]

    def values(found: list[Any]) -> list[Value]:
        rest = iter(found)
        return [value for one in listed for value in one.values([next(rest) for _ in one.parts])]

    made = SummaryTensor(op, parts, values)
    get_default_graph().add_to_collections(collections or [], made)
    return made


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> SummaryTensor | None:
    """Returns what can be fetched as one message with all summaries; None if there are none.

    Args:
        key: the collection that they are in.
        scope: what their names must begin with.
        name: of the scope.
    """
    found = get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


def _number(tag: str, value: Any) -> Value:
    return Value(tag, float(np.asarray(value).reshape(())))


def _counted(tag: str, value: Any) -> Value:
    flat = np.asarray(value, np.float64).reshape(-1)
    limits = _limits()
    if not flat.size:
        return Value(
            tag, histo=Histogram(limits[-1], limits[0], bucket_limit=[limits[-1]], bucket=[0])
        )
    places = np.minimum(np.searchsorted(limits, flat, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits))
    ends: list[float] = []
    numbers: list[float] = []
    for limit, count in zip(limits, counts, strict=True):
        if numbers and not count and not numbers[-1]:
            ends[-1] = float(limit)  # empty buckets beside one another are one
        else:
            ends.append(float(limit))
            numbers.append(float(count))
    return Value(
        tag,
        histo=Histogram(
            float(flat.min()),
            float(flat.max()),
            float(flat.size),
            float(flat.sum()),
            float((flat * flat).sum()),
            ends,
            numbers,
        ),
    )


@cache
def _limits() -> np.ndarray[Any, Any]:
    """Returns where the buckets of a histogram end."""
    above = []
    limit = _FIRST
    while limit < _LAST:
        above.append(limit)
        limit *= _GROWTH
    above.append(np.finfo(np.float64).max)
    return np.array([*(-one for one in above[::-1]), 0.0, *above])


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
