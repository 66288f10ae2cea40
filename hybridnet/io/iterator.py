"""The base of data iterators, their batches and descriptions."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

__all__ = ["DataBatch", "DataDesc", "DataIter"]


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """The name and shape of one input of a network, and its dtype and layout.

    It is the tuple (name, shape): comparing and unpacking leave the other two out.

    Args:
        name: of the input, such as 'data'.
        shape: its dimensions, batch size included.
        dtype: its element type.
        layout: what each axis is, such as 'NCHW'; N is the batch.
    """

    dtype: DTypeLike
    layout: str

    def __new__(
        cls, name: str, shape: Sequence[int], dtype: DTypeLike = np.float32, layout: str = "NCHW"
    ) -> DataDesc:
        """Makes the tuple; the other two become attributes."""
        made = super().__new__(cls, name, shape)
        made.dtype = dtype
        made.layout = layout
        return made

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Returns which axis is the batch, 0 without a layout; -1 when the layout has no N."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(
        shapes: Sequence[tuple[str, Sequence[int]]], types: Sequence[tuple[str, DTypeLike]] | None
    ) -> list[DataDesc]:
        """Returns descriptions from (name, shape) pairs and, if given, (name, dtype) pairs."""
        if types is None:
            return [DataDesc(name, shape) for name, shape in shapes]
        dtypes = dict(types)
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """One batch.

    Args:
        data: an array for each input.
        label: an array for each label, or None.
        pad: how many of its rows only fill it up and are not to be counted.
        index: the numbers of its rows in the data set, or None.
        bucket_key: which bucket it belongs to, for networks of several lengths.
        provide_data: descriptions of `data`, where they differ from the iterator's.
        provide_label: descriptions of `label`, where they differ from the iterator's.
    """

    def __init__(
        self,
        data: Sequence[NDArray],
        label: Sequence[NDArray] | None = None,
        pad: int | None = None,
        index: Any = None,
        bucket_key: Any = None,
        provide_data: Sequence[DataDesc] | None = None,
        provide_label: Sequence[DataDesc] | None = None,
    ) -> None:
        for name, value in (("data", data), ("label", label)):
            if value is not None and not isinstance(value, (list, tuple)):
                raise ParameterError(
                    f"DataBatch: {name} must be a list of NDArrays, got {type(value).__name__}"
                )
        self.data = data
        # (Programs know by their iterator that these are there; checkers are not to ask.)
        self.label: Sequence[NDArray] | Any = label
        self.pad: int | Any = pad
        self.index = index
        self.bucket_key = bucket_key
        self.provide_data = provide_data
        self.provide_label = provide_label

    def __str__(self) -> str:
        data = [desc.shape for desc in self.data]
        label = None if self.label is None else [desc.shape for desc in self.label]
        return f"{type(self).__name__}: data shapes: {data} label shapes: {label}"


class DataIter:
    """Base of the iterators over batches: one pass, then `reset` for the next.

    Subclasses define `next`, or else `iter_next`, `getdata` and what else they have of the `get`
    methods; and `reset`, `provide_data` and `provide_label`.

    Args:
        batch_size: rows in each batch.
    """

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def next(self) -> DataBatch:
        """Returns the next batch.

        Raises:
            StopIteration: the pass is over.
        """
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def reset(self) -> None:
        """Goes back to the beginning."""

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one."""
        return False

    def getdata(self) -> Any:
        """Returns the data arrays of the current batch."""

    def getlabel(self) -> Any:
        """Returns the label arrays of the current batch."""

    def getindex(self) -> Any:
        """Returns the numbers of the current batch's rows in the data set; None if not known."""

    def getpad(self) -> Any:
        """Returns how many rows of the current batch only fill it up."""
