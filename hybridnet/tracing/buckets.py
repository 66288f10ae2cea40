"""`Buckets`: the few sizes to which arrays of many lengths are padded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError, ShapeError


@final
@dataclass(frozen=True, eq=False)
class Buckets:
    """Sizes to which an axis of varying length is padded, so that few programs are compiled.

    XLA compiles for fixed shapes, so a batch of a new length is a new program. Given as `buckets`
    to `hn.function` or `hybridize`, the length is rounded up to the next of these sizes instead,
    which the function then sees as the shape; what it returns is cut back::

        @hn.function(buckets=hn.Buckets({"x": 0, "y": 0}, mask="mask"))
        def loss(x, y, mask):                            # mask: (size,), 1 for rows, 0 for padding
            return (((net(x) - y) ** 2).mean(axis=1) * mask).sum() / mask.sum()

        loss(x, y)                                       # x, y: (37, ...), padded to (64, ...)

    What treats every position by itself (`Dense`, activations, embeddings, convolution over other
    axes) and what only looks back (a recurrence, for its outputs) needs no mask. What mixes
    positions does: sums, means and maxima over the axis, softmax over it, the last state of a
    recurrence, backward recurrences, and losses. Batch normalization in training mode cannot be
    right at all, as its statistics are over the padding too.

    Args:
        axes: the axis that varies: one for all array arguments, or by the name or the position of
            the argument. An argument that holds several arrays has it in all of them. Their lengths
            must be equal. Negative axes count from the end.
        sizes: ascending; a longer array is an error. Default: see `per_octave`.
        per_octave: a power of two: how many sizes there are between 2**k, exclusive, and 2**(k+1).
            With 1 that is the powers of two, log2(n) programs for lengths to n; with 4 the padding
            is at most a quarter of the length.
        pad: what the padding is filled with; it must be valid where the function uses it (a token
            that the embedding has).
        mask: the name of the parameter that is given the mask, float32 of shape (size,): 1 in
            front, and 0 at the padding. A block gets it after its inputs, whatever its name.
        check: whether a function is tried at its first call with padding, before its result is
            returned: its outputs must not change when the padding does, and be those of the
            function without padding. This compiles up to two programs more.

    Raises:
        ParameterError: an argument is of the wrong type or out of its range.
    """

    axes: int | Mapping[str | int, int] = 0
    sizes: Sequence[int] | None = None
    per_octave: int = 1
    pad: float = 0
    mask: str | None = None
    check: bool = True

    def __post_init__(self) -> None:
        axes: list[Any] = [self.axes]
        if isinstance(self.axes, Mapping):
            object.__setattr__(self, "axes", dict(self.axes))
            axes = list(self.axes.values())
        if not axes or not all(type(axis) is int for axis in axes):
            raise ParameterError(
                "Buckets: axes must be a whole number, or a dict from the names or positions of "
                f"arguments to whole numbers, got {self.axes!r}"
            )
        if self.per_octave < 1 or self.per_octave & (self.per_octave - 1):
            raise ParameterError(
                f"Buckets: per_octave must be a power of two (1, 2, 4, ...), got {self.per_octave}"
            )
        if self.sizes is None:
            return
        sizes = tuple(int(size) for size in self.sizes)
        if not sizes or sizes[0] < 1 or list(sizes) != sorted(set(sizes)):
            raise ParameterError(
                f"Buckets: sizes must be positive and ascending, got {tuple(self.sizes)}"
            )
        object.__setattr__(self, "sizes", sizes)

    def size(self, length: int) -> int:
        """Returns the smallest size that is at least a length.

        Raises:
            ShapeError: the length is 0, or there is no such size.
        """
        if length < 1:
            raise ShapeError(
                f"Buckets: the axis must have a length of at least 1, got {length}; leave out "
                "empty batches and sequences"
            )
        if self.sizes is not None:
            place = bisect_left(self.sizes, length)
            if place == len(self.sizes):
                raise ShapeError(
                    f"Buckets: the length must be at most {self.sizes[-1]}, the largest size, got "
                    f"{length}; add a size, or cut what is longer"
                )
            return self.sizes[place]
        # From 2**k to 2**(k+1) in so many equal steps.
        step = max(1, (1 << (length - 1).bit_length() >> 1) // self.per_octave)
        return -(-length // step) * step

    def stack(self, rows: Sequence[object]) -> tuple[NumpyArray, NumpyArray]:
        """Makes one batch of sequences of different lengths, padded to one of the sizes.

        It computes in host memory only, so that the workers of a data loader may call it.

        Args:
            rows: for each sequence something that NumPy reads, (length, ...), alike but for their
                lengths.

        Returns:
            The batch, (len(rows), size, ...), and its mask, float32 (len(rows), size).

        Raises:
            ShapeError: there are no sequences, they are not alike, or the longest is longer than
                the largest size.
        """
        arrays = [np.asarray(row) for row in rows]
        if not arrays:
            raise ShapeError("Buckets.stack: needs at least one sequence, got none")
        if not all(array.ndim and array.shape[1:] == arrays[0].shape[1:] for array in arrays):
            got = [array.shape for array in arrays]
            raise ShapeError(
                f"Buckets.stack: sequences must be alike in all axes but the first, got {got}"
            )
        size = self.size(max(len(array) for array in arrays))
        dtype = np.result_type(*arrays)
        batch = np.full((len(arrays), size, *arrays[0].shape[1:]), self.pad, dtype)
        mask = np.zeros((len(arrays), size), np.float32)
        for number, array in enumerate(arrays):
            batch[number, : len(array)] = array
            mask[number, : len(array)] = 1
        return batch, mask


def several(given: Buckets | Sequence[Buckets]) -> tuple[Buckets, ...]:
    """Returns what users give as `buckets`: one, or a sequence with one for each axis.

    Raises:
        ParameterError: it is neither.
    """
    made = (given,) if isinstance(given, Buckets) else given
    if not isinstance(made, Sequence) or not made or {type(value) for value in made} != {Buckets}:
        raise ParameterError(
            f"buckets must be an hn.Buckets, or a sequence of them for several axes, got {given!r}"
        )
    return tuple(made)
