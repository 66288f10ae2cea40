"""Blocks of images moved into the batch and back, and patches of images as channels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...graph import Tensor, constant, convert_to_tensor, identity, known_numbers, name_scope
from .. import pad, reshape, shape_of, transpose
from .conv import convolution

__all__ = [
    "batch_to_space", "batch_to_space_nd", "extract_image_patches", "space_to_batch",
    "space_to_batch_nd",
]  # fmt: skip


def _numbers(kind: str, name: str, given: Any) -> Any:
    found = known_numbers(given)
    if found is None:
        raise ValueError(f"{kind}: {name} must be known when the graph is built, got {given!r}")
    return found


def _sizes(x: Tensor) -> list[Any]:
    """Returns the sizes of a tensor, those that are not known as tensors."""
    dims = x.shape._dims
    if dims is None:
        raise ValueError(f"the number of dimensions must be known, got {x}")
    if None not in dims:
        return list(dims)
    late: Any = shape_of(x)
    return [late[axis] if size is None else size for axis, size in enumerate(dims)]


def space_to_batch_nd(
    input: Any, block_shape: Any, paddings: Any, name: str | None = None
) -> Tensor:
    """Returns the elements at each place of a block as examples of their own.

    Args:
        input: (batch, *space, ...).
        block_shape: the size of a block along each dimension of space.
        paddings: how many zeros come before and after each of them first.

    Returns:
        (places in a block, batch) as one dimension, then space divided by the block, then the rest.
    """
    with name_scope(name, "SpaceToBatchND", [input]) as scope:
        blocks = _numbers("SpaceToBatchND", "block_shape", block_shape)
        around = _numbers("SpaceToBatchND", "paddings", paddings)
        x = convert_to_tensor(input)
        count, rank = len(blocks), len(x.shape._dims or ())
        if any(any(pair) for pair in around):
            x = pad(x, [[0, 0], *around, *[[0, 0]] * (rank - count - 1)])
        sizes = _sizes(x)
        split = [one for pair in zip(sizes[1:], blocks, strict=False) for one in _halves(*pair)]
        x = reshape(x, [sizes[0], *split, *sizes[count + 1 :]])
        spaces = range(1, 2 * count, 2)
        order = [*(one + 1 for one in spaces), 0, *spaces, *range(2 * count + 1, rank + count)]
        batch = sizes[0] * math.prod(blocks)
        return reshape(transpose(x, order), [batch, *split[::2], *sizes[count + 1 :]], name=scope)


def _halves(size: Any, block: int) -> tuple[Any, int]:
    if isinstance(size, int) and size % block:
        raise ValueError(
            f"SpaceToBatchND: padded sizes must be whole blocks, got {size} by {block}"
        )
    return size // block, block


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """Undoes `space_to_batch_nd`.

    Args:
        input: (places in a block * batch, *space, ...).
        block_shape: the size of a block along each dimension of space.
        crops: how many elements are cut off before and after each of them at last.
    """
    with name_scope(name, "BatchToSpaceND", [input]) as scope:
        blocks = _numbers("BatchToSpaceND", "block_shape", block_shape)
        around = _numbers("BatchToSpaceND", "crops", crops)
        x = convert_to_tensor(input)
        count, sizes = len(blocks), _sizes(x)
        batch, rest = sizes[0] // math.prod(blocks), sizes[count + 1 :]
        x = reshape(x, [*blocks, batch, *sizes[1:]])
        pairs = [one for axis in range(count) for one in (count + 1 + axis, axis)]
        order = [count, *pairs, *range(2 * count + 1, count + len(sizes))]
        whole = [size * block for size, block in zip(sizes[1:], blocks, strict=False)]
        made = reshape(transpose(x, order), [batch, *whole, *rest])
        for axis, (before, after) in enumerate(around):
            key = slice(before, -after if after else None)
            made = made[(*[slice(None)] * (axis + 1), key)]  # type: ignore[index]  # overloaded
        return identity(made, name=scope)


def space_to_batch(
    input: Any, paddings: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """As `space_to_batch_nd`, for images and square blocks."""
    blocks = block_shape if block_size is None else [block_size, block_size]
    return space_to_batch_nd(input, blocks, paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None,
    block_shape: Any = None,
) -> Tensor:  # fmt: skip
    """As `batch_to_space_nd`, for images and square blocks."""
    blocks = block_shape if block_size is None else [block_size, block_size]
    return batch_to_space_nd(input, blocks, crops, name)


def extract_image_patches(
    images: Any,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """Returns patches of images, each as channels: pixels row by row, the channels of each.

    Args:
        images: (batch, height, width, channel), floating point.
        ksizes: of a patch, (1, height, width, 1).
        strides: the distance of two patches, (1, height, width, 1).
        rates: the distance of two pixels of a patch, (1, height, width, 1).
        padding: 'SAME' or 'VALID'.
        sizes: another name of `ksizes`.

    Returns:
        (batch, rows, columns, pixels of a patch * channel).
    """
    shape, steps, gaps = sizes if ksizes is None else ksizes, strides, rates
    if shape is None or steps is None or gaps is None or padding is None:
        raise ValueError("extract_image_patches: ksizes, strides, rates and padding must be given")
    with name_scope(name, "ExtractImagePatches", [images]) as scope:
        x = convert_to_tensor(images)
        height, width, channels = *shape[1:3], x.shape.as_list()[-1]
        if channels is None:
            raise ValueError(f"extract_image_patches: the channels must be known, got {x.shape}")
        count = height * width * channels
        # A filter for each element of a patch, which takes just that one.
        each = np.eye(count, dtype=x.dtype.as_numpy_dtype)
        filters = constant(each.reshape(height, width, channels, count))
        return convolution(x, filters, padding, steps[1:3], gaps[1:3], name=scope)
