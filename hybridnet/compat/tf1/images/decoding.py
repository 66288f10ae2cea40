"""Image files as tensors and back, by OpenCV: ``tf.image.decode_jpeg``, ``tf.image.encode_png``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hybridnet.base import cv2

from ..dtypes import as_dtype, float32, string, uint8
from ..errors import InvalidArgumentError
from ..graph.adding import Tensor, convert_to_tensor
from ..operations.scripts import host_tensor
from ..operations.strings import strings
from .colours import convert_image_dtype

__all__ = ["decode_bmp", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png"]

Array = np.ndarray[Any, Any]
#: Channels -> how many a decoded image has: as in the file, grey, colours, colours and how solid.
_CHANNELS: Final = (0, 1, 3, 4)


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns the image of a JPEG file.

    Args:
        contents: the file, one string.
        channels: 0 as in the file, 1 grey, 3 colours.
        ratio: how many times smaller; must be 1.
        fancy_upscaling: without meaning here, and so the rest.

    Returns:
        (height, width, channels) of uint8, red first.

    Raises:
        ValueError: `channels` or `ratio` is something else.

    Raises (in a run):
        InvalidArgumentError: it is no image.
    """
    if ratio != 1:
        raise ValueError(f"decode_jpeg: ratio must be 1, got {ratio}; use tf.image.resize_images")
    return _decoded("DecodeJpeg", contents, channels, name)


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None
) -> Tensor:
    """Returns the image of a PNG file; arguments as for `decode_jpeg`, `dtype` must be uint8."""
    if as_dtype(dtype) is not uint8:
        raise ValueError(f"decode_png: dtype must be uint8, got {dtype!r}")
    return _decoded("DecodePng", contents, channels, name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Returns the image of a BMP file; arguments as for `decode_jpeg`."""
    return _decoded("DecodeBmp", contents, channels, name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Returns the image of a JPEG, PNG or BMP file, of unknown shape.

    Args:
        contents: the file, one string.
        channels: as for `decode_jpeg`.
        dtype: of the result: uint8, or float32 for numbers from 0 to 1.
        expand_animations: without meaning here: there are no GIF files.
    """
    kind = as_dtype(dtype).base_dtype
    if kind not in (uint8, float32):
        raise ValueError(f"decode_image: dtype must be uint8 or float32, got {dtype!r}")
    image = _decoded("DecodeImage", contents, channels or 0, name)
    return convert_image_dtype(image, kind)


def _decoded(kind: str, contents: Any, channels: int, name: str | None) -> Tensor:
    if channels not in _CHANNELS:
        raise ValueError(f"{kind}: channels must be 0, 1, 3 or 4, got {channels}")
    dims = None if kind == "DecodeImage" else (None, None, channels or None)
    return host_tensor(
        kind, lambda data: _image(kind, data.item(), channels),
        [strings(kind, contents, "contents")], uint8, dims, name=name,
    )  # fmt: skip


def _image(kind: str, data: bytes, channels: int) -> Array:
    flag = {1: cv2.IMREAD_GRAYSCALE, 3: cv2.IMREAD_COLOR}.get(channels, cv2.IMREAD_UNCHANGED)
    found = cv2.imdecode(np.frombuffer(data, np.uint8), flag) if data else None
    if found is None or found.dtype != np.uint8:
        raise InvalidArgumentError(
            f"{kind}: these {len(data)} bytes are no image of 8 bits a channel"
        )
    image: Array = found[..., None] if found.ndim == 2 else found
    if image.shape[-1] == 3:
        image = image[..., ::-1]
    elif image.shape[-1] == 4:
        image = image[..., [2, 1, 0, 3]]
    if channels == 4 and image.shape[-1] < 4:
        solid = np.full((*image.shape[:2], 1), 255, np.uint8)
        colours = image if image.shape[-1] == 3 else np.repeat(image, 3, -1)
        image = np.concatenate([colours, solid], -1)
    return np.ascontiguousarray(image)


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Returns an image as a JPEG file.

    Args:
        image: (height, width, 1 or 3) of uint8.
        format: without meaning here.
        quality: from 0 to 100.
        progressive: whether it is shown in more and more detail.
        optimize_size: whether it is made smaller, slowly.
        chroma_downsampling: without meaning here, and so the rest.
    """

    def run(image: Array) -> Any:
        words = [
            cv2.IMWRITE_JPEG_QUALITY, quality, cv2.IMWRITE_JPEG_PROGRESSIVE, int(progressive),
            cv2.IMWRITE_JPEG_OPTIMIZE, int(optimize_size),
        ]  # fmt: skip
        return np.asarray(image_file(".jpg", image, words), object)

    return _encoded("EncodeJpeg", image, run, name)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Returns an image as a PNG file.

    Args:
        image: (height, width, 1, 3 or 4) of uint8.
        compression: from 0 (fast) to 9 (small); -1: OpenCV's own.
    """

    def run(image: Array) -> Any:
        words = [] if compression < 0 else [cv2.IMWRITE_PNG_COMPRESSION, compression]
        return np.asarray(image_file(".png", image, words), object)

    return _encoded("EncodePng", image, run, name)


def _encoded(kind: str, image: Any, run: Any, name: str | None) -> Tensor:
    x = convert_to_tensor(image, uint8, name="image")
    x.shape.assert_has_rank(3)
    return host_tensor(kind, run, [x], string, (), name=name)


def image_file(ending: str, image: Array, words: list[int]) -> bytes:
    """Returns a file of an image, red first; `words` are OpenCV's options.

    Raises:
        tf.errors.InvalidArgumentError: it cannot be in such a file.
        ImportError: OpenCV, of the extra ``image``, is not installed.
    """
    order = {3: [2, 1, 0], 4: [2, 1, 0, 3]}.get(image.shape[-1])
    try:
        written, data = cv2.imencode(ending, image if order is None else image[..., order], words)
    except cv2.error:
        written = False
    if not written:
        raise InvalidArgumentError(f"an image of shape {image.shape} has no {ending}")
    made: bytes = data.tobytes()
    return made
