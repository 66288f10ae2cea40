"""`MXDataIter`: the iterator over what a `Source` reads, ahead, in the engine's io lane."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from hybridnet import engine
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.adopt import adopt
from hybridnet.util import is_np_array

from .iterator import DataBatch, DataDesc, DataIter
from .source import HostBatch, Layout, Source

__all__ = ["MXDataIter"]

_FEWEST: Final = 1


class _Ahead:
    """A batch that an engine task is reading.

    The task writes `var`, and the source's; the fields below it are read after waiting for that.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.var: Final = engine.new_variable("batch read ahead")
        self.batch: HostBatch | None = None
        self.error: BaseException | None = None
        self._dropped = False

    def start(self, turn: engine.Var) -> None:
        engine.push(self._run, writes=[turn, self.var], lane="io", name="read batch")

    def wait(self) -> None:
        """Waits until it has been read."""
        engine.wait_for_var(self.var)

    def result(self) -> HostBatch | None:
        """Returns what was read, None at the end of the pass; raises what reading it raised."""
        if self.error is not None:
            raise self.error
        return self.batch

    def drop(self) -> None:
        """Cancels the reading of the batch, if it has not begun."""
        self._dropped = True

    def _run(self) -> None:
        if self._dropped:
            return
        try:
            self.batch = self._source.read()
        except Exception as error:
            self.error = error


class MXDataIter(DataIter):
    """Iterates over batches of files: what `CSVIter`, `ImageRecordIter` and others return.

    Args:
        handle: what reads the batches.
        data_name: name of the data.
        label_name: name of the labels.
        prefetch_buffer: batches that are read ahead; at least one is.
        _: what else MXNet's iterators are given; of no effect.
    """

    def __init__(
        self,
        handle: Source,
        data_name: str = "data",
        label_name: str = "softmax_label",
        prefetch_buffer: int = 4,
        **_: object,
    ) -> None:
        super().__init__(handle.data.shape[0])
        self.handle = handle
        self.provide_data = [_describe(data_name, handle.data)]
        self.provide_label = [_describe(label_name, handle.label)]
        self._ahead = max(int(prefetch_buffer), _FEWEST)
        self._turn = engine.new_variable("source of batches")
        self._fetches: deque[_Ahead] = deque()
        self._current: HostBatch | None = None
        self._arrays: tuple[NDArray, NDArray] | None = None
        self._carried = 0
        self._ended = False
        self._always_first = False

    def debug_skip_load(self) -> None:
        """From now on gives the first batch again and again, to time what uses it."""
        self._always_first = True

    def reset(self) -> None:
        """Begins a new pass; with `round_batch`, behind the rows that filled up the last batch."""
        for fetch in self._fetches:
            fetch.drop()
        engine.wait_for_var(self._turn)
        self._fetches.clear()
        self.handle.restart(self._carried if self._ended else 0)
        self._forget()

    def _forget(self) -> None:
        self._current = self._arrays = None
        self._carried = 0
        self._ended = False

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one.

        Raises:
            MXNetError: a file is damaged.
            OSError: a file cannot be read.
        """
        if self._always_first and self._current is not None:
            return True
        if self._ended and self._current is None:
            return False
        while len(self._fetches) < self._ahead:
            fetch = _Ahead(self.handle)
            fetch.start(self._turn)
            self._fetches.append(fetch)
        # Taken off only when it is there: Ctrl-C in between must not cost a batch.
        self._fetches[0].wait()
        self._current = self._arrays = None
        self._current = self._fetches.popleft().result()
        if self._current is None:
            self._ended = True
            return False
        if self._current.pad:
            self._carried, self._ended = self._current.pad, True
        return True

    def getdata(self) -> NDArray:
        """Returns the data of the current batch."""
        return self._both()[0]

    def getlabel(self) -> NDArray:
        """Returns the labels of the current batch."""
        return self._both()[1]

    def getindex(self) -> NumpyArray | None:
        """Returns the numbers of the current batch's rows, uint64; None if not known."""
        return self._batch().index

    def getpad(self) -> int:
        """Returns how many rows of the current batch only fill it up."""
        return self._batch().pad

    def next(self) -> DataBatch:
        """Returns the next batch.

        Raises:
            StopIteration: the pass is over.
            MXNetError: a file is damaged.
            OSError: a file cannot be read.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self.getpad(), self.getindex())

    def _batch(self) -> HostBatch:
        if self._current is None:
            raise MXNetError(
                f"{type(self.handle).__name__}: there is no current batch; call iter_next() first, "
                "and reset() after the last batch"
            )
        return self._current

    def _both(self) -> tuple[NDArray, NDArray]:
        """Makes arrays of the current batch, once."""
        if self._arrays is None:
            batch = self._batch()
            self._arrays = _array(batch.data), _array(batch.label)
        return self._arrays


def _describe(name: str, layout: Layout) -> DataDesc:
    return DataDesc(name, layout.shape, layout.dtype.type)


def _array(host: NumpyArray | Callable[[], NDArray]) -> NDArray:
    if callable(host):
        return host()
    made: NDArray = adopt(host, cpu())
    return made.as_np_ndarray() if is_np_array() else made
