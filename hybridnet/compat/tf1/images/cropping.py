"""Parts of images, turned and framed images: ``tf.image.resize_image_with_crop_or_pad``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..graph import Tensor, convert_to_tensor, known_count, known_numbers, name_scope, op
from ..operations import random_crop, random_uniform, reshape, reverse, slice, transpose
from ..operations.creation import range_of, shape_of, zeros_like
from ..operations.elementwise import (
    floordiv,
    greater_equal,
    less,
    logical_and,
    maximum,
    minimum,
    to_float,
    to_int32,
)
from ..operations.gathering import gather, where_v2

__all__ = [
    "central_crop", "crop_to_bounding_box", "flip_left_right", "flip_up_down",
    "pad_to_bounding_box", "random_crop", "random_flip_left_right", "random_flip_up_down",
    "resize_image_with_crop_or_pad", "resize_with_crop_or_pad", "rot90", "transpose_image",
]  # fmt: skip


def _image(value: Any) -> Tensor:
    """Returns one image or several as a tensor.

    Raises:
        ValueError: it has another number of dimensions than 3 or 4.
    """
    x = convert_to_tensor(value, name="image")
    if x.shape.ndims not in (3, 4):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    return x


def _sizes(x: Tensor) -> tuple[Any, Any]:
    """Returns height and width, as numbers where they are known."""
    told: Any = shape_of(x)
    known = x.shape.as_list()[-3:-1]
    height, width = (told[at - 3] if one is None else one for at, one in enumerate(known))
    return height, width


def _known(x: Tensor, begin: Sequence[Any], size: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yields begin and size of a part, and the image's size, along each axis, where known."""
    for at, count, whole in zip(begin, size, x.shape.as_list()[-3:-1], strict=True):
        yield known_numbers(at), known_numbers(count), whole


def flip_left_right(image: Any) -> Tensor:
    """Returns an image, or several, as in a mirror."""
    return _flipped(image, -2, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """Returns an image, or several, upside down."""
    return _flipped(image, -3, "flip_up_down")


def _flipped(image: Any, axis: int, scope: str) -> Tensor:
    x = _image(image)
    with name_scope(None, scope, [x]):
        return reverse(x, [axis % (x.shape.ndims or 0)])


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Returns each image as in a mirror, or as it is."""
    return _flipped_at_random(image, -2, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Returns each image upside down, or as it is."""
    return _flipped_at_random(image, -3, "random_flip_up_down")


def _flipped_at_random(image: Any, axis: int, scope: str) -> Tensor:
    x = _image(image)
    with name_scope(None, scope, [x]):
        turned = _flipped(x, axis, "flip")
        several: Any = shape_of(x)
        drawn = random_uniform([several[0], 1, 1, 1] if x.shape.ndims == 4 else [])
        return op("Select", "_npi_where", [less(drawn, 0.5), turned, x])


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Returns an image, or several, with rows and columns exchanged."""
    x = _image(image)
    with name_scope(name, "transpose", [x]):
        return transpose(x, [1, 0, 2] if x.shape.ndims == 3 else [0, 2, 1, 3])


def rot90(image: Any, k: int = 1, name: str | None = None) -> Tensor:
    """Returns an image, or several, turned to the left by `k` quarters of a circle."""
    x = _image(image)
    with name_scope(name, "rot90", [x]):
        for _ in range(known_count(k, "rot90: k must be known when the graph is built") % 4):
            x = flip_up_down(transpose_image(x))
        return x


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Returns a part of an image, or of several.

    Args:
        image: (height, width, channels), or with a first axis more.
        offset_height: the first row; it may be a tensor, and so the rest.
        offset_width: the first column.
        target_height: how many rows.
        target_width: how many columns.

    Raises:
        ValueError: the part goes beyond the image.
    """
    x = _image(image)
    with name_scope(None, "crop_to_bounding_box", [x]):
        begin, size = [offset_height, offset_width], [target_height, target_width]
        for *known, whole in _known(x, begin, size):
            if known[0] is not None and known[0] < 0:
                raise ValueError(f"the offsets must be >= 0, got {known[0]}")
            if None not in (*known, whole) and known[0] + known[1] > whole:
                raise ValueError(f"{known[0]} + {known[1]} must be <= {whole}")
        head = [0] * ((x.shape.ndims or 0) - 3)
        ends = [-1] * len(head)
        made = slice(x, [*head, *begin, 0], [*ends, *size, -1])
        dims = x.shape.as_list()
        made.set_shape([*dims[:-3], *(known_numbers(one) for one in size), dims[-1]])
        return made


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Returns an image, or several, with zeros around.

    Args:
        image: as for `crop_to_bounding_box`.
        offset_height: how many rows of zeros stand above.
        offset_width: how many columns of zeros stand to the left.
        target_height: how many rows the result has.
        target_width: how many columns.

    Raises:
        ValueError: the image goes beyond that.
    """
    x = _image(image)
    with name_scope(None, "pad_to_bounding_box", [x]):
        begin, size = [offset_height, offset_width], [target_height, target_width]
        for *known, whole in _known(x, begin, size):
            if None not in (*known, whole) and (known[0] < 0 or known[0] + whole > known[1]):
                raise ValueError(f"{known[0]} + {whole} must be from {whole} to {known[1]}")
        return _framed(x, [0 - one for one in begin], size)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Returns the middle of an image, or of several, with zeros around where it is too small.

    Args:
        image: as for `crop_to_bounding_box`.
        target_height: how many rows the result has.
        target_width: how many columns.

    Raises:
        ValueError: one of them is not above 0.
    """
    x = _image(image)
    with name_scope(None, "resize_image_with_crop_or_pad", [x]):
        size = [target_height, target_width]
        known = [known_numbers(one) for one in size]
        if any(one is not None and one <= 0 for one in known):
            raise ValueError("target_height and target_width must be > 0.")
        begin = []
        for wanted, whole in zip(size, _sizes(x), strict=True):
            if isinstance(wanted, int) and isinstance(whole, int):
                begin.append(max((whole - wanted) // 2, 0) - max((wanted - whole) // 2, 0))
            else:
                off, over = floordiv(whole - wanted, 2), floordiv(wanted - whole, 2)
                cut: Any = maximum(off, 0)
                begin.append(cut - maximum(over, 0))
        return _framed(x, begin, size)


resize_with_crop_or_pad = resize_image_with_crop_or_pad


def _framed(x: Tensor, begin: Sequence[Any], size: Sequence[Any]) -> Tensor:
    """Returns a window of images, which may go beyond them: there are zeros."""
    rank = x.shape.ndims or 0
    for at, first, count, whole in zip((-3, -2), begin, size, _sizes(x), strict=True):
        every: Any = range_of(count)
        numbers = every + first
        inside = minimum(maximum(numbers, 0), whole - 1)
        part = gather(x, inside, axis=rank + at)
        shown = logical_and(greater_equal(numbers, 0), less(numbers, whole))
        kept = reshape(shown, [-1] + [1] * (-at - 1))
        x = where_v2(kept, part, zeros_like(part))
    return x


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """Returns the middle of an image, or of several.

    Args:
        image: as for `crop_to_bounding_box`.
        central_fraction: which share of its height and of its width, above 0 and at most 1.

    Raises:
        ValueError: it is another number.
    """
    x = _image(image)
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError("central_fraction must be within (0, 1]")
    if central_fraction == 1.0:
        return x
    with name_scope(None, "central_crop", [x]):
        begin: list[Any] = []
        for whole in _sizes(x):
            if isinstance(whole, int):
                begin.append(int((whole - whole * central_fraction) / 2))
            else:
                rows: Any = to_float(whole)
                begin.append(to_int32((rows - rows * central_fraction) / 2.0))
        size = [whole - one * 2 for whole, one in zip(_sizes(x), begin, strict=True)]
        return crop_to_bounding_box(x, *begin, *size)
