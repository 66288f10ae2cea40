"""Images in other sizes: ``tf.image.resize_images``, by operators of the graph.

Each pixel of the result is a sum of a few pixels of the image, with weights, first along the
height and then along the width. Sizes may be known in a run only, as those of a decoded image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

from ..dtypes import float32, int32
from ..graph import Tensor, convert_to_tensor, described, dims_of, known_numbers, name_scope
from ..operations import expand_dims, gather, reshape, squeeze, tensordot, transpose
from ..operations.creation import range_of, shape_of
from ..operations.elementwise import cast, equal, floor, maximum, minimum, round

__all__ = [
    "ResizeMethod", "resize", "resize_area", "resize_bicubic", "resize_bilinear",
    "resize_images", "resize_nearest_neighbor",
]  # fmt: skip


@final
class ResizeMethod:
    """The methods of interpolation by which images are resized."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


#: TensorFlow's cubic: its parameter, and in how many steps it knows the curve.
_CUBIC, _STEPS = -0.75, 1024


class _Line(NamedTuple):
    """One axis of an image.

    Attributes:
        size: of the image.
        wanted: size of the result.
        corners: whether the outer pixels of both are at the same places.
        centers: whether places are those of the middles of pixels.
    """

    size: Any
    wanted: Any
    corners: bool
    centers: bool

    def places(self) -> Any:
        """Returns where the pixels of the result are in the image."""
        scale, numbers = self.scale(), numbers_to(self.wanted)
        return (numbers + 0.5) * scale - 0.5 if self.centers else numbers * scale

    def scale(self) -> Any:
        """Returns how many pixels of the image one of the result is."""
        size: Any = cast(self.size, float32)
        wanted: Any = cast(self.wanted, float32)
        if not self.corners:
            return size / wanted
        return (size - 1.0) / maximum(wanted - 1.0, 1.0)

    def pixel(self, numbers: Any) -> Tensor:
        """Returns numbers of pixels, those beside the image moved to its edge."""
        return minimum(maximum(cast(numbers, int32), 0), self.size - 1)


def numbers_to(end: Any) -> Any:
    """Returns the numbers from 0 on, float32."""
    return cast(range_of(end), float32)


#: From images, one of their axes and its line to images that are resized along it.
_Along = Callable[[Tensor, int, _Line], Tensor]


def _nearest(x: Tensor, axis: int, line: _Line) -> Tensor:
    at = line.places() + 0.5 if line.centers else line.places()
    return gather(x, line.pixel(floor(at + 0.5 if line.corners else at)), axis=axis)


def _linear(x: Tensor, axis: int, line: _Line) -> Tensor:
    at = line.places()
    first: Any = floor(at)
    part = at - first
    return _mixed(x, axis, [(line.pixel(first), 1.0 - part), (line.pixel(first + 1.0), part)])


def _cubic(x: Tensor, axis: int, line: _Line) -> Tensor:
    at, a = line.places(), _CUBIC
    first: Any = floor(at)
    steps: Any = round((at - first) * float(_STEPS))
    part = steps / float(_STEPS)

    def near(x: Any) -> Any:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0

    def far(x: Any) -> Any:
        return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a

    weights = [far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)]
    pixels = [line.pixel(first + float(n - 1)) for n in range(4)]
    return _mixed(x, axis, list(zip(pixels, weights, strict=True)))


def _mixed(x: Tensor, axis: int, taps: Sequence[tuple[Tensor, Any]]) -> Tensor:
    """Returns a sum of pixels, by their numbers, each with its weight."""
    made: Any = None
    for numbers, weights in taps:
        part: Any = gather(x, numbers, axis=axis)
        part = part * reshape(weights, [-1] + [1] * (3 - axis))
        made = part if made is None else made + part
    found: Tensor = made
    return found


def _covered(x: Tensor, axis: int, line: _Line) -> Tensor:
    """Returns the mean of what each pixel of the result covers."""
    order = [*range(1, axis + 1), 0, *range(axis + 1, 4)]
    return transpose(tensordot(_shares(line), x, [[1], [axis]]), order)


def _resized(
    kind: str, along: _Along, images: Any, size: Any, corners: bool, centers: bool, name: Any
) -> Tensor:
    x = convert_to_tensor(images, name="images")
    x.shape.assert_has_rank(4)
    height, width = _pair(size)
    with name_scope(name, kind, [x]):
        sizes: Any = shape_of(x)
        if along is not _nearest:
            x = cast(x, float32)
        for axis, wanted in ((1, height), (2, width)):
            x = along(x, axis, _Line(sizes[axis], wanted, corners, centers))
        dims = dims_of([height, width])
        x.set_shape([None, *(dims or (None, None)), None])
        return x


def _pair(size: Any) -> tuple[Any, Any]:
    """Returns height and width, as numbers where they are known."""
    known = known_numbers(size)
    if isinstance(known, list) and len(known) == 2:
        return known[0], known[1]
    if isinstance(size, (list, tuple)) and len(size) == 2:
        return size[0], size[1]
    made: Any = convert_to_tensor(size, name="size")
    if made.shape.as_list() != [2]:
        raise ValueError(f"'size' must be a 1-D int32 Tensor of 2 elements, got {size!r}")
    return made[0], made[1]


def _resizing(called: str, kind: str, along: _Along, doc: str) -> Callable[..., Tensor]:
    def function(
        images: Any,
        size: Any,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Tensor:
        if half_pixel_centers and along is _cubic:
            raise ValueError("resize_bicubic: half_pixel_centers must be False")
        return _resized(kind, along, images, size, align_corners, half_pixel_centers, name)

    doc = f"""Returns images in another size, {doc}.

        Args:
            images: (batch, height, width, channels).
            size: the height and the width.
            align_corners: whether the outer pixels stay where they are.
            half_pixel_centers: whether places are those of the middles of pixels.
        """
    return described(function, called, doc)


resize_bilinear = _resizing(
    "resize_bilinear", "ResizeBilinear", _linear,
    "float32, with mixed neighbours between pixels",
)  # fmt: skip
resize_nearest_neighbor = _resizing(
    "resize_nearest_neighbor", "ResizeNearestNeighbor", _nearest,
    "with the nearest pixel each, in the dtype of the images",
)  # fmt: skip
resize_bicubic = _resizing(
    "resize_bicubic", "ResizeBicubic", _cubic,
    "float32, by a curve through four pixels; not with `half_pixel_centers`",
)  # fmt: skip


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Tensor:
    """As `resize_bilinear`, with the mean of what a pixel of the result covers."""
    return _resized("ResizeArea", _covered, images, size, align_corners, False, name)


def _shares(line: _Line) -> Tensor:
    """Returns (wanted, size): which share of a pixel of the result each of the image is."""
    scale = line.scale()
    begin: Any = expand_dims(numbers_to(line.wanted) * scale, 1)
    pixel: Any = expand_dims(numbers_to(line.size), 0)
    # What would lie beyond the image is its last pixel again.
    size: Any = cast(line.size, float32)
    last: Any = cast(equal(pixel, size - 1.0), float32)
    end = pixel + 1.0 + last * (scale * cast(line.wanted, float32))
    upper: Any = minimum(end, begin + scale)
    covered: Any = maximum(upper - maximum(pixel, begin), 0.0)
    shares: Tensor = covered / scale
    return shares


_METHODS: Final[dict[Any, Callable[..., Tensor]]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
}


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns images, or one, in another size.

    Args:
        images: (batch, height, width, channels), or without the first.
        size: the height and the width.
        method: one of `ResizeMethod`.
        align_corners: whether the outer pixels stay where they are.
        preserve_aspect_ratio: must be False.

    Returns:
        float32; the images themselves where they have that size, and their dtype with the nearest
        neighbour.

    Raises:
        ValueError: there are fewer dimensions, or no such method.
    """
    x = convert_to_tensor(images, name="images")
    rank = x.shape.ndims
    if rank not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    if method not in _METHODS:
        raise ValueError("Resize method is not implemented.")
    if preserve_aspect_ratio:
        raise ValueError("resize_images: preserve_aspect_ratio must be False")
    if isinstance(found := known_numbers(size), list) and x.shape.as_list()[-3:-1] == found:
        return x
    with name_scope(name, "resize", [x]):
        whole = x if rank == 4 else expand_dims(x, 0)
        made = _METHODS[method](whole, size, align_corners=align_corners)
        return made if rank == 4 else squeeze(made, [0])


resize = resize_images
