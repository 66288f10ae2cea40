"""Boxes on images, and parts of images at random: ``tf.image.sample_distorted_bounding_box``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..dtypes import float32, int32
from ..graph.adding import Tensor, convert_to_tensor
from ..operations import host_call, host_tensor, random_uniform

__all__ = ["draw_bounding_boxes", "sample_distorted_bounding_box"]

Array = np.ndarray[Any, Any]
#: The colours of boxes, one after the other: red, green, blue and how solid.
_COLOURS: Final = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1), (0.5, 0.5, 0, 1),
    (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Tensor:
    """Returns images with boxes drawn on them.

    Args:
        images: (batch, height, width, 1, 3 or 4 channels), floats.
        boxes: (batch, n, 4): the upper, left, lower and right edge of each, from 0 to 1.
        colors: (n, channels), of the boxes in turn; default ten colours.
    """
    pair = [convert_to_tensor(images, name="images"), convert_to_tensor(boxes, name="boxes")]
    if colors is not None:
        pair.append(convert_to_tensor(colors, float32, name="colors"))

    def run(images: Array, boxes: Array, *given: Array) -> Array:
        table = given[0] if given and given[0].size else np.array(_COLOURS)
        made = images.copy()
        depth = made.shape[-1]
        if depth == 1:
            table = np.ones((len(table), 1))
        for image, own in zip(made, boxes, strict=True):
            for number, box in enumerate(own):
                _draw(image, box, table[number % len(table)][:depth])
        return made

    kind, dims = pair[0].dtype.base_dtype, pair[0].shape._dims
    return host_tensor("DrawBoundingBoxes", run, pair, kind, dims, name=name)


def _draw(image: Array, box: Array, colour: Any) -> None:
    """Draws the edges of a box, as far as they are in the image."""
    height, width = image.shape[:2]
    scale = np.array([height - 1, width - 1, height - 1, width - 1], np.float32)
    top, left, bottom, right = (box.astype(np.float32) * scale).astype(np.int64).tolist()
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            image[row, columns] = colour
    for column in (left, right):
        if 0 <= column < width:
            image[rows, column] = colour


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns a part of an image at random that holds enough of one of its boxes.

    Args:
        image_size: height, width and channels.
        bounding_boxes: (1, n, 4): the edges of each, as for `draw_bounding_boxes`.
        seed: without meaning here; see `tf.set_random_seed`.
        seed2: likewise.
        min_object_covered: which share of a box must be in the part.
        aspect_ratio_range: width through height of the part, from and to; default 0.75 and 1.33.
        area_range: which share of the image it is, from and to; default 0.05 and 1.
        max_attempts: how many are tried before the whole image is the part; default 100.
        use_image_if_no_bounding_boxes: whether the whole image counts as a box where there is none.

    Returns:
        Where the part begins and its size, for `tf.slice`, and its edges, (1, 1, 4).
    """
    inputs = [
        convert_to_tensor(image_size, int32),
        convert_to_tensor(bounding_boxes, float32),
        convert_to_tensor(min_object_covered, float32),
        # The numbers of a session come from one generator: this begins one for a run.
        random_uniform([], 0, 2**31 - 1, int32),
    ]
    ratios, areas = aspect_ratio_range or (0.75, 1.33), area_range or (0.05, 1.0)
    most = 100 if max_attempts is None else max_attempts

    def run(size: Array, boxes: Array, covered: Array, begun: Array) -> list[Array]:
        height, width = int(size[0]), int(size[1])
        found = boxes.reshape(-1, 4)
        if not len(found):
            if not use_image_if_no_bounding_boxes:
                raise ValueError("no bounding boxes, and use_image_if_no_bounding_boxes is False")
            found = np.array([[0, 0, 1, 1]], np.float32)
        random = np.random.default_rng(int(begun))
        scaled = found * [height, width, height, width]
        part = (0, 0, height, width)
        for _ in range(most):
            tried = _drawn(random, height, width, ratios, areas)
            if tried is not None and _shares(tried, scaled).max() >= float(covered):
                part = tried
                break
        top, left, bottom, right = part
        edges = np.array([top / height, left / width, bottom / height, right / width], np.float32)
        places = [[top, left, 0], [bottom - top, right - left, -1]]
        return [*(np.array(one, np.int32) for one in places), edges.reshape(1, 1, 4)]

    dims = [(3,), (3,), (1, 1, 4)]
    kinds = [int32, int32, float32]
    made: tuple[Tensor, Tensor, Tensor] = host_call(
        "SampleDistortedBoundingBoxV2", run, inputs, kinds, dims, name=name
    )
    return made


def _drawn(
    random: np.random.Generator, height: int, width: int, ratios: Any, areas: Any
) -> tuple[int, int, int, int] | None:
    """Returns the edges of a part of such a shape and area, or None where it does not fit."""
    ratio = random.uniform(*ratios)
    area = random.uniform(*areas) * height * width
    rows = round((area / ratio) ** 0.5)
    columns = round(rows * ratio)
    if not 0 < rows <= height or not 0 < columns <= width:
        return None
    if not areas[0] * height * width <= rows * columns <= areas[1] * height * width:
        return None
    top = int(random.integers(height - rows + 1))
    left = int(random.integers(width - columns + 1))
    return top, left, top + rows, left + columns


def _shares(part: tuple[int, int, int, int], boxes: Array) -> Array:
    """Returns which share of each box is in a part."""
    top, left, bottom, right = part
    rows = np.minimum(boxes[:, 2], bottom) - np.maximum(boxes[:, 0], top)
    columns = np.minimum(boxes[:, 3], right) - np.maximum(boxes[:, 1], left)
    whole = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    shared = np.maximum(rows, 0) * np.maximum(columns, 0)
    found: Array = np.divide(shared, whole, out=np.zeros(len(boxes)), where=whole > 0)
    return found
