"""`io`: iterators over batches, and readers of data files.

Names are loaded when first used: `read_idx` and `hybridnet.io.mnist` need NumPy only, and
processes that just read files import nothing else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from hybridnet.base.idx_file import read_idx as read_idx

    from .csv_iter import CSVIter as CSVIter
    from .image_det_record_iter import ImageDetRecordIter as ImageDetRecordIter
    from .image_record_iter import ImageRecordInt8Iter as ImageRecordInt8Iter
    from .image_record_iter import ImageRecordIter as ImageRecordIter
    from .image_record_iter import ImageRecordIter_v1 as ImageRecordIter_v1
    from .image_record_iter import ImageRecordUInt8Iter as ImageRecordUInt8Iter
    from .image_record_iter import ImageRecordUInt8Iter_v1 as ImageRecordUInt8Iter_v1
    from .iterator import DataBatch as DataBatch
    from .iterator import DataDesc as DataDesc
    from .iterator import DataIter as DataIter
    from .libsvm_iter import LibSVMIter as LibSVMIter
    from .mnist import load_mnist as load_mnist
    from .mnist_iter import MNISTIter as MNISTIter
    from .mx_data_iter import MXDataIter as MXDataIter
    from .ndarray_iter import NDArrayIter as NDArrayIter
    from .wrappers import PrefetchingIter as PrefetchingIter
    from .wrappers import ResizeIter as ResizeIter

#: Public name -> the module it is in.
_NAMES: Final = {
    "CSVIter": "csv_iter",
    "DataBatch": "iterator",
    "DataDesc": "iterator",
    "DataIter": "iterator",
    "ImageDetRecordIter": "image_det_record_iter",
    "ImageRecordInt8Iter": "image_record_iter",
    "ImageRecordIter": "image_record_iter",
    "ImageRecordIter_v1": "image_record_iter",
    "ImageRecordUInt8Iter": "image_record_iter",
    "ImageRecordUInt8Iter_v1": "image_record_iter",
    "LibSVMIter": "libsvm_iter",
    "MNISTIter": "mnist_iter",
    "MXDataIter": "mx_data_iter",
    "NDArrayIter": "ndarray_iter",
    "PrefetchingIter": "wrappers",
    "ResizeIter": "wrappers",
    "load_mnist": "mnist",
    "read_idx": "mnist",
}

__all__ = [*_NAMES]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(f"module 'hybridnet.io' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
