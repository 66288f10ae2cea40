"""Image files made into records: as they are, or resized and encoded again."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hybridnet.base.errors import FormatError
from hybridnet.base.lazy import cv2
from hybridnet.base.lazy import numpy as np
from hybridnet.base.remote import read_file

from .header import pack
from .images import pack_img
from .indexed_file import MXIndexedRecordIO

__all__ = ["PackOptions", "pack_file", "whole_record_file"]

_PARTIAL: Final = ".partial"


@dataclass(frozen=True, kw_only=True)
class PackOptions:
    """The options for packing an image file.

    Attributes:
        pass_through: keep the file as it is; the others are of no effect then.
        resize: of the shorter side, pixels; 0: not.
        center_crop: take the square in the middle.
        quality: of JPEG, 1 to 100; or the compression of PNG, 0 to 9.
        color: 1: colour, 0: grey, -1: as it is, with alpha.
        encoding: '.jpg' or '.png'.
    """

    pass_through: bool = False
    resize: int = 0
    center_crop: bool = False
    quality: int = 95
    color: int = 1
    encoding: str = ".jpg"


def pack_file(path: str | os.PathLike[str], header: Any, options: PackOptions) -> bytes:
    """Returns the record of an image file.

    Args:
        path: of the file.
        header: an `IRHeader`.
        options: what to do with the image.

    Raises:
        FormatError: it is no image that OpenCV knows.
        OSError: it cannot be read.
        ImportError: OpenCV is not installed, and the file is not passed through.
    """
    data = read_file(path)
    if options.pass_through:
        return pack(header, data)
    image = cv2.imdecode(np.frombuffer(data, np.uint8), options.color) if data else None
    if image is None:
        raise FormatError(
            f"{os.fspath(path)}: must be an image that can be decoded, got {len(data)} bytes that "
            f"begin with {data[:8].hex(' ') or 'nothing'}"
        )
    if options.center_crop:
        height, width = image.shape[:2]
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        image = image[top : top + side, left : left + side]
    if options.resize:
        height, width = image.shape[:2]
        if height > width:
            size = options.resize, height * options.resize // width
        else:
            size = width * options.resize // height, options.resize
        image = cv2.resize(image, (max(size[0], 1), max(size[1], 1)))
    return pack_img(header, image, options.quality, options.encoding)


@contextlib.contextmanager
def whole_record_file(stem: str | os.PathLike[str]) -> Iterator[MXIndexedRecordIO]:
    """Opens a record file with an index that appear when the block ends without an error.

    Until then they are beside, with names that end in ``.partial``, which are removed after an
    error; what a process that was killed has left there is overwritten by the next.

    Args:
        stem: the path without ``.rec`` and ``.idx``.
    """
    paths = [f"{os.fspath(stem)}.{kind}" for kind in ("idx", "rec")]
    partial = [path + _PARTIAL for path in paths]
    try:
        with MXIndexedRecordIO(partial[0], partial[1], "w") as writer:
            yield writer
        for made, path in zip(partial, paths, strict=True):
            os.replace(made, path)
    except BaseException:
        for made in partial:
            with contextlib.suppress(OSError):
                os.unlink(made)
        raise
