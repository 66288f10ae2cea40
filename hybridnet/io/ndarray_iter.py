"""`NDArrayIter`: batches from arrays in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np

from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.ndarray import NDArray, array

from .csr_rows import CSRRows, is_csr
from .iterator import DataDesc, DataIter

__all__ = ["NDArrayIter"]

#: Arrays, SciPy's sparse matrices too, or several in a list or by name.
Columns: TypeAlias = (
    "NDArray | ArrayLike | Sequence[NDArray | ArrayLike] | Mapping[str, NDArray | ArrayLike]"
)
_HANDLES: Final = ("pad", "discard", "roll_over")


class _Source(NamedTuple):
    """One input: its name, all its rows in host memory, and where its batches go."""

    name: str
    host: NumpyArray | CSRRows
    ctx: Context

    def take(self, rows: NumpyArray) -> NDArray:
        """Returns rows as an array."""
        return array(self.host.take(rows, axis=0), self.ctx, self.host.dtype)


@final
class NDArrayIter(DataIter):
    """Iterates over arrays in batches of rows.

    Args:
        data: an NDArray or NumPy array whose first axis counts the rows; a list of them; or a dict
            from names to them, which is taken in the order of the names. Their values are copied.
            Batches of an NDArray have its dtype and context; those of anything else are float32.
            Matrices in compressed sparse rows, SciPy's too, have their dtype; their batches are
            dense, as MXNet 1.9.1's are (in spite of its docstring).
        label: the same, or None.
        batch_size: rows in a batch.
        shuffle: put the rows in a new random order for each pass.
        last_batch_handle: what becomes of the rows left when the last batch is not full: 'pad'
            fills it up with the first rows, 'discard' leaves them out, 'roll_over' begins the next
            pass with them.
        data_name: name of the data where it has none: itself, for a list _0_data, _1_data, ...
        label_name: name of the label, in the same way.
        layout: what the axes are, for `provide_data` and `provide_label`.
        seed: of the random order; None shuffles with ``numpy.random``, as MXNet does, in the order
            that MXNet gives after the same ``numpy.random.seed``.

    Raises:
        ParameterError: an argument is of the wrong type or out of its range.
        NotImplementedError: there is a sparse matrix, and last_batch_handle is not 'discard'.
        ShapeError: not all arrays have the same number of rows.
    """

    #: The rows of this pass: those that the last one has left over, and then all.
    _rows: NumpyArray
    #: How many the last pass has left over.
    _carried: int
    #: Where in them the current batch begins; negative before the first.
    _start: int
    #: Whether this pass is over.
    _ended: bool

    def __init__(
        self,
        data: Columns,
        label: Columns | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        last_batch_handle: str = "pad",
        data_name: str = "data",
        label_name: str = "softmax_label",
        layout: str = "NCHW",
        seed: int | None = None,
    ) -> None:
        super().__init__(batch_size)
        if last_batch_handle not in _HANDLES:
            known = ", ".join(_HANDLES)
            raise ParameterError(
                f"NDArrayIter: last_batch_handle must be one of {known}, got {last_batch_handle!r}"
            )
        if batch_size < 1:
            raise ParameterError(f"NDArrayIter: batch_size must be at least 1, got {batch_size}")
        self._data = _sources("data", data, data_name)
        self._label = [] if label is None else _sources("label", label, label_name)
        if last_batch_handle != "discard" and any(
            isinstance(one.host, CSRRows) for one in (*self._data, *self._label)
        ):
            raise NotImplementedError(
                "NDArrayIter: sparse matrices need last_batch_handle='discard', got "
                f"{last_batch_handle!r}"
            )
        self.num_data = _count_rows([*self._data, *self._label])
        self.num_source = len(self._data)
        self.last_batch_handle = last_batch_handle
        self.shuffle = shuffle
        self.layout = layout
        self._random: Any = np.random if seed is None else np.random.default_rng(seed)
        self.idx = np.arange(self.num_data)
        self._order = self.idx.copy()  # all rows, in the order of this pass
        self.hard_reset()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data arrays of a batch."""
        return [self._describe(source) for source in self._data]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the label arrays of a batch."""
        return [self._describe(source) for source in self._label]

    @property
    def cursor(self) -> int:
        """The first row of the current batch in this pass; negative in rows left by the last."""
        return self._start - self._carried

    def hard_reset(self) -> None:
        """Begins a new pass and forgets the rows left over."""
        self._begin(np.arange(0))

    def reset(self) -> None:
        """Begins a new pass; with 'roll_over' and the last one ended, with the rows left over."""
        rolls = self._ended and self.last_batch_handle == "roll_over"
        self._begin(self._rows[self._start :] if rolls else np.arange(0))

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one."""
        if self._ended:
            return False
        self._start += self.batch_size
        pads = self.last_batch_handle == "pad"
        self._ended = self._start + (1 if pads else self.batch_size) > len(self._rows)
        return not self._ended

    def getdata(self) -> list[NDArray]:
        """Returns the data arrays of the current batch, each (batch_size, ...)."""
        return self._batch(self._data)

    def getlabel(self) -> list[NDArray]:
        """Returns the label arrays of the current batch, each (batch_size, ...)."""
        return self._batch(self._label)

    def getpad(self) -> int:
        """Returns how many rows at the end of the batch are there to fill it up.

        With 'roll_over' it is, as in MXNet, the number of rows that the last pass has left over,
        which are at the beginning of the first batch.
        """
        if self._start == 0 and self._carried:
            return self._carried
        return max(self._start + self.batch_size - len(self._rows), 0)

    def _begin(self, carried: NumpyArray) -> None:
        if self.shuffle:
            # In place and applied to the present order: what makes the order MXNet's.
            self._random.shuffle(self.idx)
            self._order = self._order[self.idx]
        self._carried = len(carried)
        self._rows = np.concatenate([carried, self._order])
        self._start = -self.batch_size
        self._ended = False

    def _batch(self, sources: list[_Source]) -> list[NDArray]:
        if self._start < 0 or self._ended:
            raise MXNetError(
                "NDArrayIter: there is no current batch; call iter_next() first, and reset() after "
                "the last batch"
            )
        places = np.arange(self._start, self._start + self.batch_size)
        rows = self._rows.take(places, mode="wrap")
        return [source.take(rows) for source in sources]

    def _describe(self, source: _Source) -> DataDesc:
        shape = (self.batch_size, *source.host.shape[1:])
        return DataDesc(source.name, shape, source.host.dtype.type, self.layout)


def _sources(what: str, given: Any, name: str) -> list[_Source]:
    """Returns the inputs in `data` or `label`."""
    if isinstance(given, (NDArray, np.ndarray)) or is_csr(given):
        named = {name: given}
    elif isinstance(given, Mapping):
        named = {key: given[key] for key in sorted(given)}
    elif isinstance(given, (list, tuple)):
        several = len(given) > 1
        named = {f"_{i}_{name}" if several else name: item for i, item in enumerate(given)}
    else:
        raise ParameterError(
            f"NDArrayIter: {what} must be an NDArray, a NumPy array, a list of them or a dict with "
            f"them as values, got {type(given).__name__}"
        )
    if not named and what == "data":
        raise ParameterError("NDArrayIter: data must hold at least one array, got none")
    return [_source(key, value) for key, value in named.items()]


def _source(name: str, value: Any) -> _Source:
    if is_csr(value):
        ctx = value.context if isinstance(value, NDArray) else current_context()
        return _Source(name, CSRRows(value), ctx)
    if isinstance(value, NDArray):
        host, ctx = value.asnumpy(), value.context
    else:
        try:
            host, ctx = np.array(value, np.float32), current_context()
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"NDArrayIter: {name} must be an array of numbers, got {type(value).__name__}"
            ) from error
    if host.ndim == 0:
        raise ShapeError(f"NDArrayIter: {name} must have an axis of rows, got a single number")
    return _Source(name, host, ctx)


def _count_rows(sources: list[_Source]) -> int:
    """Returns how many rows the first array has; of longer ones that many are used, as in MXNet."""
    counts = {source.name: len(source.host) for source in sources}
    first = len(sources[0].host)
    if min(counts.values()) < first:
        got = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise ShapeError(
            "NDArrayIter: all arrays must have the same number of rows, or more than the first, "
            f"got {got}"
        )
    return first
