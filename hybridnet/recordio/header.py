"""The header of an image record: labels and a number, in front of the image.

In little-endian order::

    uint32 flag, float32 label, uint64 id, uint64 id2
    float32 labels[flag]
    the image
"""

from __future__ import annotations

import numbers
import struct
from typing import Any, Final, NamedTuple

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.lazy import numpy as np

__all__ = ["IRHeader", "pack", "unpack"]

_HEADER: Final = struct.Struct("<IfQQ")


class IRHeader(NamedTuple):
    """The header of an image's record.

    Attributes:
        flag: how many labels follow the header; 0: the one in `label`. `pack` sets it.
        label: a number, or a vector of numbers.
        id: the number of the image.
        id2: more of that number; 0 in most files.
    """

    flag: int
    label: Any
    id: int
    id2: int

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"HEADER({fields})"


def pack(header: Any, s: bytes) -> bytes:
    """Returns the record of an image.

    Args:
        header: an `IRHeader`, or its four fields. A `label` of several numbers is stored as float32
            in front of the image.
        s: the encoded image, or any bytes.

    Raises:
        ParameterError: a field is no number or does not fit, or `s` is no bytes.
    """
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ParameterError(f"recordio.pack: s must be bytes, got {type(s).__name__}")
    try:
        _, label, number, number2 = header
        if isinstance(label, numbers.Number):
            return _HEADER.pack(0, label, number, number2) + s
        labels = np.asarray(label, dtype=np.float32)
        return _HEADER.pack(labels.size, 0, number, number2) + labels.tobytes() + s
    except (struct.error, TypeError, ValueError, OverflowError) as error:
        raise ParameterError(
            "recordio.pack: header must be (flag, label, id, id2), with a number or numbers as "
            f"label and ids from 0 to 2**64 - 1, got {tuple(header)}: {error}"
            if isinstance(header, tuple | list)
            else f"recordio.pack: header must be an IRHeader, got {type(header).__name__}"
        ) from error


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Takes a record apart.

    Args:
        s: what `pack` made.

    Returns:
        The header, with float32 (flag,) as `label` where there are several, and the rest.

    Raises:
        FormatError: the record is too short for its header.
    """
    if len(s) < _HEADER.size:
        raise FormatError(
            f"recordio.unpack: a header of {_HEADER.size} bytes is needed, got a record of {len(s)}"
        )
    header = IRHeader(*_HEADER.unpack_from(s))
    end = _HEADER.size + 4 * header.flag
    if len(s) < end:
        raise FormatError(
            f"recordio.unpack: {header.flag} labels need {end} bytes, got a record of {len(s)}"
        )
    if header.flag:
        header = header._replace(label=np.frombuffer(s, np.float32, header.flag, _HEADER.size))
    return header, s[end:]
