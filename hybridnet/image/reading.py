"""Images from files and from bytes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.remote import read_file
from hybridnet.io.pixels import decode
from hybridnet.ndarray import NDArray

from .arrays import finish

__all__ = ["imdecode", "imread"]


def imread(
    filename: str | os.PathLike[str], flag: int = 1, to_rgb: bool = True, out: NDArray | None = None
) -> NDArray:
    """Reads an image from a file.

    Args:
        filename: the path.
        flag: 1 for three channels, 0 for grey.
        to_rgb: red first; False: blue first, as OpenCV has it.
        out: an array for the result.

    Returns:
        uint8 (height, width, 3 or 1).

    Raises:
        MXNetError: the file cannot be read, or is no image that OpenCV knows.
        ImportError: OpenCV is not installed.
    """
    name = os.fspath(filename)
    try:
        data = read_file(filename)
    except OSError as error:
        raise MXNetError(
            f"image.imread: cannot read {name!r}: {error.strerror or error}"
        ) from error
    what = f"image.imread({name!r})"
    return finish(decode(data, int(flag), bool(to_rgb), what), out, what)


def imdecode(buf: Any, flag: int = 1, to_rgb: bool = True, out: NDArray | None = None) -> NDArray:
    """Decodes an image.

    Args:
        buf: the encoded image: bytes, or an array of uint8.
        flag: 1 for three channels, 0 for grey.
        to_rgb: red first; False: blue first, as OpenCV has it.
        out: an array for the result.

    Returns:
        uint8 (height, width, 3 or 1).

    Raises:
        ValueError: `buf` is something else.
        MXNetError: it is no image that OpenCV knows, or `flag` is neither.
        ImportError: OpenCV is not installed.
    """
    if isinstance(buf, NDArray):
        buf = buf.host_view()
    if isinstance(buf, np.ndarray):
        if buf.dtype != np.uint8:
            raise ParameterError(f"image.imdecode: buf must be uint8, got {buf.dtype}")
        buf = np.ascontiguousarray(buf).reshape(-1)
    elif not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ParameterError(
            f"image.imdecode: buf must be bytes or an array of them, got {type(buf).__name__}"
        )
    return finish(decode(buf, int(flag), bool(to_rgb), "image.imdecode"), out, "image.imdecode")
