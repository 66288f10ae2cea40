"""The records that `make_records.py` has MXNet write, and that hybridnet must write alike."""

from __future__ import annotations

import struct

import numpy as np

MAGIC = struct.pack("<I", 0xCED7230A)


def records() -> list[bytes]:
    """Every length up to 9, and the magic number at and beside the places where it splits."""
    plain = [bytes(range(size)) for size in range(10)]
    magic = [
        MAGIC,
        MAGIC * 3,
        b"abcd" + MAGIC,
        b"abcd" + MAGIC + b"efgh",
        b"abcd" + MAGIC + MAGIC + b"e",
        b"ab" + MAGIC + b"cd",  # not at a multiple of 4
        b"abc" + MAGIC + b"d" + MAGIC,
        MAGIC[:3],
        MAGIC + b"\0",
    ]
    drawn = np.random.default_rng(0).integers(0, 256, (3, 1001), np.uint8)
    return [*plain, *magic, *(row.tobytes() for row in drawn)]


def headers() -> list[tuple]:
    """Headers with a number, a vector, an empty vector and large ids."""
    return [
        (0, 3, 7, 0),
        (5, -1.5, 2**64 - 1, 2**63),
        (0, [1.0, 2.0, 3.5], 9, 1),
        (0, np.arange(4, dtype=np.float64), 1, 0),
        (0, np.zeros(0, np.float32), 1, 0),
        (0, np.float32(2.5), 1, 0),
        (0, True, 1, 0),
    ]
