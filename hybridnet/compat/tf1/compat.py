"""``tf.compat``: texts and bytes, one from the other, and the types of Python that go for them."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy as np

from .graph.shapes import dimension_value as dimension_value

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types",
    "dimension_value", "integral_types", "path_to_str", "real_types",
]  # fmt: skip

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Returns a text as bytes; bytes as they are.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Returns bytes as a text; a text as it is.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Returns bytes as a text, and anything else as ``str`` does."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Returns a path as a text; anything else as it is."""
    return as_text(os.fspath(path)) if isinstance(path, os.PathLike) else path
