"""`io`: batches of a `gluon.data.DataLoader` for modules."""

from __future__ import annotations

from typing import Any, final

from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.gluon.data import DataLoader
from hybridnet.io import DataDesc, DataIter
from hybridnet.ndarray import NDArray

__all__ = ["DataLoaderIter"]


@final
class DataLoaderIter(DataIter):
    """Iterates over a loader of pairs of data and labels, as modules want it.

    A last batch that is smaller is filled up with zeros; `getpad` says with how many.

    Args:
        loader: the loader, or anything that can be gone through again and again.
        data_name: the name of the data.
        label_name: the name of the labels.
        dtype: of both.
    """

    def __init__(
        self,
        loader: DataLoader,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
    ) -> None:
        data, label = next(iter(loader))
        super().__init__(data.shape[0])
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._loader = loader
        self._current: Any = None
        self.reset()

    def reset(self) -> None:
        """Begins another pass."""
        self._iterator = iter(self._loader)

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one."""
        self._current = next(self._iterator, None)
        return self._current is not None

    def getdata(self) -> list[NDArray]:
        """Returns the data of the current batch."""
        return [self._filled(self._current[0])]

    def getlabel(self) -> list[NDArray]:
        """Returns the labels of the current batch."""
        return [self._filled(self._current[1])]

    def getpad(self) -> int:
        """Returns how many rows fill the current batch up."""
        rows: int = self._current[0].shape[0]
        return self.batch_size - rows

    def _filled(self, array: NDArray) -> NDArray:
        whole: NDArray = array.astype(self.dtype)
        if not self.getpad():
            return whole
        rest = nd.empty((self.getpad(), *array.shape[1:]), whole.context, self.dtype)
        return nd.concat(whole, rest, dim=0)
