"""Datasets: what has a length and gives its i-th sample; and datasets made of others.

A NumPy array, an NDArray or a list is a dataset as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from hybridnet.base.config import data_dir
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.recordio import MXIndexedRecordIO

from .sampler import FilterSampler, Sampler, SequentialSampler
from .samples import Samples, each, one_by_one

__all__ = ["ArrayDataset", "Dataset", "DownloadedDataset", "RecordFileDataset", "SimpleDataset"]

_HOME: Final = "$MXNET_HOME"


class Dataset:
    """Samples that are found by their position.

    Subclasses define ``__getitem__`` and ``__len__``. A sample is an array, a number or anything
    else, or a tuple of these: data and label, say.
    """

    def __getitem__(self, idx: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} must define __len__")

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def filter(self, fn: Callable[[Any], object]) -> Dataset:
        """Returns a dataset of the samples for which a function is true.

        Each sample is made and looked at now, and made once more when it is asked for.

        Args:
            fn: takes a sample: a tuple where samples are tuples.
        """
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """Returns one of several parts of this dataset, which are equal but for one sample.

        Shuffle afterwards, not before, so that workers have different samples.

        Args:
            num_shards: how many parts.
            index: which one, from 0.

        Raises:
            ParameterError: there is no such part.
        """
        if num_shards < 1 or not 0 <= index < num_shards:
            raise ParameterError(
                "Dataset.shard: index must be at least 0 and less than num_shards, "
                f"got index {index} of {num_shards}"
            )
        size, extra = divmod(len(self), num_shards)
        start = size * index + min(index, extra)
        return _SampledDataset(self, SequentialSampler(size + (index < extra), start))

    def take(self, count: int | None) -> Dataset:
        """Returns a dataset of the first `count` samples; of all where there are fewer, or None."""
        length = len(self)
        return _SampledDataset(
            self, SequentialSampler(length if count is None else min(count, length))
        )

    def sample(self, sampler: Sampler) -> Dataset:
        """Returns a dataset of the samples whose positions a sampler gives, which is asked now.

        Raises:
            ParameterError: it is no Sampler.
        """
        if not isinstance(sampler, Sampler):
            raise ParameterError(
                f"Dataset.sample: needs a gluon.data.Sampler, got {type(sampler).__name__}"
            )
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Returns a dataset of what a function makes of each sample.

        Args:
            fn: takes a sample; where samples are tuples, each of their parts as an argument.
            lazy: call it whenever a sample is asked for, as a function of chance needs; False
                calls it now, once for each.
        """
        changed = _LazyTransformDataset(self, fn)
        return changed if lazy else SimpleDataset(list(changed))

    def transform_first(self, fn: Callable[[Any], Any], lazy: bool = True) -> Dataset:
        """Returns a dataset in which a function has changed the first part of each sample.

        Args:
            fn: takes the first part: the data, where samples are data and label.
            lazy: see `transform`.
        """
        return self.transform(_TransformFirst(fn), lazy)


class SimpleDataset(Dataset):
    """A dataset of anything with ``len()`` and ``[]``: a list, say.

    Args:
        data: the samples.
    """

    def __init__(self, data: Samples) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._data[idx]


class _LazyTransformDataset(Dataset):
    """A dataset of what a function makes of another's samples, each time anew."""

    def __init__(self, data: Samples, fn: Callable[..., Any]) -> None:
        self._data = data
        self._fn = fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: Any) -> Any:
        return self._changed(self._data[idx])

    def _changed(self, item: Any) -> Any:
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)

    def of_samples(self, samples: Sequence[Any]) -> list[Any]:
        """Returns what becomes of samples of the other dataset."""
        fn = self._fn
        if type(fn) is _TransformFirst:
            return fn.of_samples(samples)
        if any(isinstance(sample, tuple) for sample in samples):
            return one_by_one(self._changed, samples)
        return each(fn, samples)


def samples_at(dataset: Samples, positions: Sequence[int]) -> list[Any]:
    """Returns the samples of a dataset at some positions.

    Transforms that can take many samples in one go are given all of them.
    """
    if type(dataset) is _LazyTransformDataset:
        return dataset.of_samples(samples_at(dataset._data, positions))
    return one_by_one(dataset.__getitem__, positions)


class _TransformFirst:
    """Applies a function to the first of its arguments; an object, so that it can be pickled."""

    def __init__(self, fn: Callable[[Any], Any]) -> None:
        self._fn = fn

    def of_samples(self, samples: Sequence[Any]) -> list[Any]:
        """Returns the samples changed, all in one go where the function can do that."""
        is_tuple = [isinstance(sample, tuple) for sample in samples]
        if not any(is_tuple):
            return each(self._fn, samples)
        if not all(is_tuple):
            return one_by_one(lambda x: self(*x) if isinstance(x, tuple) else self(x), samples)
        changed = each(self._fn, [sample[0] for sample in samples])
        return [
            (first, *sample[1:]) if len(sample) > 1 else first
            for first, sample in zip(changed, samples, strict=True)
        ]

    def __call__(self, first: Any, *rest: Any) -> Any:
        changed = self._fn(first)
        return (changed, *rest) if rest else changed


class _SampledDataset(Dataset):
    """Another dataset's samples at the positions that a sampler gave once."""

    def __init__(self, dataset: Samples, sampler: Sampler) -> None:
        self._dataset = dataset
        self._sampler = sampler
        self._indices = list(sampler)

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, idx: int) -> Any:
        return self._dataset[self._indices[idx]]


class ArrayDataset(Dataset):
    """Joins datasets of equal length: the i-th sample is (x1[i], x2[i], ...), or x1[i] of one.

    Args:
        *args: arrays, lists or datasets. NDArrays of one dimension are read into host memory now,
            so that their samples are numbers.

    Raises:
        ParameterError: there is none, or their lengths differ.
    """

    def __init__(self, *args: Samples) -> None:
        if not args:
            raise ParameterError("ArrayDataset: needs at least one array")
        lengths = [len(data) for data in args]
        if len(set(lengths)) > 1:
            raise ParameterError(
                f"ArrayDataset: all arrays must have the same length, got lengths {lengths}"
            )
        self._length = lengths[0]
        self._data = [
            data.asnumpy() if isinstance(data, NDArray) and data.ndim == 1 else data
            for data in args
        ]

    def __getitem__(self, idx: Any) -> Any:
        if len(self._data) == 1:
            return self._data[0][idx]
        return tuple(data[idx] for data in self._data)

    def __len__(self) -> int:
        return self._length


class RecordFileDataset(Dataset):
    """The records of a file, each as bytes, in the order of its index.

    Args:
        filename: of the records (.rec); the index is beside it under the same name, as .idx.

    Raises:
        OSError: one of them is not there.
        FormatError: one of them is damaged.
    """

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.idx_file = os.path.splitext(filename)[0] + ".idx"
        self._record = MXIndexedRecordIO(self.idx_file, filename, "r")

    def __getitem__(self, idx: int) -> Any:
        return self._record.read_idx(self._record.keys[idx])

    def __len__(self) -> int:
        return len(self._record.keys)


class DownloadedDataset(Dataset):
    """A dataset of pictures and labels that is read into memory when it is made.

    Subclasses define ``_get_data``, which sets ``_data`` and ``_label``, and downloads the files
    that are not in the folder yet.

    Args:
        root: the folder, made where there is none. ~ stands for the home folder, and $MXNET_HOME
            at its beginning for the folder of data sets and models (default ~/.mxnet).
        transform: takes data and label of each sample and returns what takes their place; or None.
    """

    _data: Any = None
    _label: Any = None

    def __init__(self, root: str, transform: Callable[[Any, Any], Any] | None) -> None:
        self._transform = transform
        if root.startswith(_HOME):
            root = data_dir() + root[len(_HOME) :]
        self._root = os.path.expanduser(root)
        os.makedirs(self._root, exist_ok=True)
        self._get_data()

    def __getitem__(self, idx: Any) -> Any:
        data, label = self._data[idx], self._label[idx]
        return (data, label) if self._transform is None else self._transform(data, label)

    def __len__(self) -> int:
        return len(self._label)

    def _get_data(self) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define _get_data")


# The name by which packages that define datasets like MNIST import it.
_DownloadedDataset = DownloadedDataset
