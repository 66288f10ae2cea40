"""Functions that make a batch of samples: they stack, pad, or list them, each part in its way.

All of these are called with the list of a batch's samples: `DataLoader` takes them as
``batchify_fn``. The names are those of MXNet 2 and GluonNLP; MXNet 1.9 has the default alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.numpy_mode import mode
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.internal import stacked

__all__ = ["Append", "AsList", "Group", "Pad", "Stack", "collate"]


def _ndarray(host: NumpyArray) -> NDArray:
    """Returns an array of the kind that the mode asks for, with the values and dtype of NumPy's."""
    made = array(host, dtype=host.dtype)
    return made.as_np_ndarray() if mode.array else made


def _one_array(samples: Sequence[Any], who: str) -> NumpyArray:
    try:
        host = np.asarray(samples)
    except ValueError as error:
        shapes = sorted({np.shape(x) for x in samples if hasattr(x, "shape")})
        raise ShapeError(
            f"{who}: the samples of a batch must have one shape, got {shapes or error}; "
            "batchify_fn=gluon.data.batchify.Pad() fills them up"
        ) from error
    if host.dtype.kind in "OUS":
        kinds = sorted({type(x).__name__ for x in samples})
        raise ParameterError(
            f"{who}: samples must be arrays, numbers, or tuples of these, got {', '.join(kinds)}; "
            "batchify_fn=gluon.data.batchify.AsList() leaves them as they are"
        )
    return host


def collate(samples: Sequence[Any], who: str, kinds: tuple[type, ...] = (tuple,)) -> Any:
    """Stacks samples, part by part where they are tuples.

    Args:
        samples: those of one batch.
        who: asks, for messages.
        kinds: what is a sample of several parts, and not one of numbers.

    Returns:
        An NDArray of the samples' dtype whose first axis counts them; a list of these for tuples.

    Raises:
        ShapeError: the samples differ in shape.
        ParameterError: they are no numbers.
    """
    if isinstance(samples[0], NDArray):
        shapes = {sample.shape for sample in samples}
        if len(shapes) > 1:
            _one_array([np.empty(shape) for shape in shapes], who)
        return stacked(samples)
    if isinstance(samples[0], kinds):
        return [collate(part, who, kinds) for part in zip(*samples, strict=True)]
    return _ndarray(_one_array(samples, who))


class Stack:
    """Stacks the samples, along a new first axis; tuples and lists part by part.

    Args:
        use_shared_mem: MXNet's; where the memory is makes no difference here.
    """

    def __init__(self, use_shared_mem: bool = False) -> None:
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> Any:
        """Returns an NDArray (batch, ...), or a list of them."""
        return collate(data, "Stack", (tuple, list))


class Pad:
    """Fills arrays of different sizes up to the largest along each axis, and stacks them.

    Args:
        val: what to fill with; default 0.
        dtype: of the result; default that of the first sample.
        round_to: make sizes multiples of this, so that fewer different ones come up.
        use_shared_mem: MXNet's; where the memory is makes no difference here.
    """

    def __init__(
        self,
        val: float | None = None,
        dtype: DTypeLike = None,
        round_to: int | None = None,
        use_shared_mem: bool = False,
    ) -> None:
        self._value = 0 if val is None else val
        self._dtype = dtype
        self._round_to = round_to or 1
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> NDArray:
        """Returns an NDArray (batch, ...) of arrays, NDArrays or lists of numbers.

        Raises:
            ParameterError: the samples are tuples: that is for `Group`.
            ShapeError: they differ in how many axes they have.
        """
        if isinstance(data[0], tuple):
            raise ParameterError("Pad: samples are tuples; use Group(Pad(), Pad(), ...) instead")
        parts = [x.asnumpy() if isinstance(x, NDArray) else np.asarray(x) for x in data]
        if len({part.ndim for part in parts}) > 1:
            raise ShapeError(
                "Pad: samples must have the same number of axes, got shapes "
                f"{[part.shape for part in parts]}"
            )
        largest = [max(sizes) for sizes in zip(*(part.shape for part in parts), strict=True)]
        sizes = [self._round_to * math.ceil(size / self._round_to) for size in largest]
        batch = np.full((len(parts), *sizes), self._value, self._dtype or parts[0].dtype)
        for row, part in zip(batch, parts, strict=True):
            row[tuple(map(slice, part.shape))] = part
        return _ndarray(batch)


class Append:
    """Makes a list of arrays, one for each sample, whatever their shapes.

    Args:
        expand: give each an axis of size 1 for the batch.
        batch_axis: where.
        use_shared_mem: MXNet's; where the memory is makes no difference here.
    """

    def __init__(
        self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False
    ) -> None:
        self._expand = expand
        self._batch_axis = batch_axis
        self._use_shared_mem = use_shared_mem

    def __call__(self, data: Sequence[Any]) -> list[NDArray]:
        """Returns a list of NDArrays."""
        made = [x if isinstance(x, NDArray) else _ndarray(np.asarray(x)) for x in data]
        return [x.expand_dims(axis=self._batch_axis) for x in made] if self._expand else made


class Group:
    """A batchify function made of one for each part of a sample: ``Group(Stack(), Pad())``.

    Args:
        fn: the function for the first part, or a list of all of them.
        *args: those for the other parts.

    Raises:
        ParameterError: one of them is no function.
    """

    def __init__(self, fn: Any, *args: Callable[[Sequence[Any]], Any]) -> None:
        if isinstance(fn, (list, tuple)) and args:
            raise ParameterError("Group: give the functions as a list or as arguments, not both")
        self._functions = tuple(fn) if isinstance(fn, (list, tuple)) else (fn, *args)
        for function in self._functions:
            if not callable(function):
                raise ParameterError(f"Group: needs functions, got {type(function).__name__}")

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        """Returns what the functions make of the parts, in a tuple.

        Raises:
            ParameterError: samples have more or fewer parts than there are functions.
        """
        if len(data[0]) != len(self._functions):
            raise ParameterError(
                f"Group: has {len(self._functions)} functions, and samples have {len(data[0])} "
                "parts"
            )
        return tuple(
            function([sample[i] for sample in data]) for i, function in enumerate(self._functions)
        )


class AsList:
    """Leaves the samples as they are, in a list."""

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        """Returns the list."""
        return list(data)
