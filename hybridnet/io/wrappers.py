"""Iterators over iterators: passes of another length (`ResizeIter`), reading ahead."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, ParameterError

from .iterator import DataBatch, DataDesc, DataIter

__all__ = ["PrefetchingIter", "ResizeIter"]


class _Wrapper(DataIter):
    """An iterator whose `iter_next` gets whole batches of others."""

    current_batch: DataBatch | None = None

    def next(self) -> DataBatch:
        """Returns the next batch, as the iterator gave it."""
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def getdata(self) -> Any:
        """Returns the data arrays of the current batch."""
        return self._current().data

    def getlabel(self) -> Any:
        """Returns the label arrays of the current batch."""
        return self._current().label

    def getindex(self) -> Any:
        """Returns the numbers of the current batch's rows."""
        return self._current().index

    def getpad(self) -> Any:
        """Returns how many rows of the current batch only fill it up."""
        return self._current().pad

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            name = type(self).__name__
            raise MXNetError(f"{name}: there is no current batch; call iter_next() first")
        return self.current_batch


@final
class ResizeIter(_Wrapper):
    """Makes passes of another length over an iterator, which starts again as often as needed.

    Args:
        data_iter: the iterator.
        size: batches in a pass.
        reset_internal: let `reset` reset the iterator, too; else the next pass goes on from there.
    """

    def __init__(self, data_iter: Any, size: int, reset_internal: bool = True) -> None:
        super().__init__(data_iter.batch_size)
        self.data_iter = data_iter
        self.size = size
        self.reset_internal = reset_internal
        self.cur = 0
        self.provide_data = data_iter.provide_data
        self.provide_label = data_iter.provide_label

    def reset(self) -> None:
        """Begins a new pass."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one.

        Raises:
            MXNetError: the iterator is empty.
        """
        if self.cur == self.size:
            return False
        batch = next(self.data_iter, None)
        if batch is None:
            self.data_iter.reset()
            batch = next(self.data_iter, None)
        if batch is None:
            raise MXNetError("ResizeIter: needs an iterator with at least one batch, got none")
        self.current_batch = batch
        self.cur += 1
        return True


class _Fetch:
    """One iterator, and the batch that an engine task is getting from it.

    The task writes `var`; the fields below it are read after waiting for that.
    """

    def __init__(self, source: Any) -> None:
        self.source = source
        self.var: Final = engine.new_variable("prefetched batch")
        self.batch: DataBatch | None = None
        self.error: BaseException | None = None

    def start(self) -> None:
        engine.push(self._run, writes=[self.var], lane="io", name="prefetch")

    def wait(self) -> DataBatch | None:
        """Returns the batch, or None at the end of the pass; raises what the iterator raised."""
        engine.wait_for_var(self.var)
        if self.error is not None:
            raise self.error
        return self.batch

    def _run(self) -> None:
        self.batch = self.error = None
        try:
            self.batch = next(self.source, None)
        except Exception as error:
            self.error = error


@final
class PrefetchingIter(_Wrapper):
    """Gets the next batch while the current one is used, in the engine's io lane.

    Several iterators are read side by side; their data and labels come in one batch.

    Args:
        iters: an iterator, or a list of them. While this one is in use, they belong to it.
        rename_data: for each iterator a dict from the names of its data to other names.
        rename_label: the same for its labels.

    Raises:
        ParameterError: there is no iterator, or the renames are not one for each.
    """

    def __init__(
        self,
        iters: Any,
        rename_data: Sequence[Mapping[str, str]] | None = None,
        rename_label: Sequence[Mapping[str, str]] | None = None,
    ) -> None:
        self.iters = list(iters) if isinstance(iters, (list, tuple)) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise ParameterError("PrefetchingIter: needs at least one iterator, got none")
        for name, renames in (("rename_data", rename_data), ("rename_label", rename_label)):
            if renames is not None and len(renames) != self.n_iter:
                raise ParameterError(
                    f"PrefetchingIter: {name} must have a dict for each of the {self.n_iter} "
                    f"iterators, got {len(renames)}"
                )
        self.rename_data = rename_data
        self.rename_label = rename_label
        super().__init__(self.provide_data[0].shape[0])
        self._ended = False
        self._fetches = [_Fetch(iterator) for iterator in self.iters]
        self._start()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays of a batch."""
        return _renamed([iterator.provide_data for iterator in self.iters], self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays of a batch."""
        return _renamed([iterator.provide_label for iterator in self.iters], self.rename_label)

    def reset(self) -> None:
        """Begins a new pass."""
        for fetch in self._fetches:
            engine.wait_for_var(fetch.var)
        for iterator in self.iters:
            iterator.reset()
        self._ended = False
        self._start()

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one.

        Raises:
            MXNetError: the iterators do not have the same number of batches, or pad differently.
        """
        if self._ended:
            return False
        batches = [fetch.wait() for fetch in self._fetches]
        got = [batch for batch in batches if batch is not None]
        self._ended = not got
        if self._ended:
            return False
        if len(got) != len(batches) or any(batch.pad != got[0].pad for batch in got):
            raise MXNetError(
                "PrefetchingIter: the iterators must have the same number of batches, with the "
                f"same padding, got {[None if batch is None else batch.pad for batch in batches]}"
            )
        self.current_batch = DataBatch(
            list(itertools.chain.from_iterable(batch.data for batch in got)),
            list(itertools.chain.from_iterable(batch.label or () for batch in got)),
            got[0].pad,
            got[0].index,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self._start()
        return True

    def _start(self) -> None:
        for fetch in self._fetches:
            fetch.start()


def _renamed(
    provided: Sequence[Sequence[Any]], renames: Sequence[Mapping[str, str]] | None
) -> list[DataDesc]:
    made = []
    for descriptions, names in zip(provided, renames or [{}] * len(provided), strict=True):
        for given in descriptions:
            desc = given if isinstance(given, DataDesc) else DataDesc(*given)
            name = names.get(desc.name, desc.name)
            made.append(DataDesc(name, desc.shape, desc.dtype, desc.layout))
    return made
