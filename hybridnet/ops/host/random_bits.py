"""Random bits of a key, the same as `jax.random` makes of it on any device.

The cipher is Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
2, 3", SC 2011): its key is the random key, and the block it encrypts the number of the draw.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .namespace import NoHostForm

__all__ = ["bits", "fold_in"]

Array = np.ndarray[Any, Any]
_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = np.uint32(0x1BD11BDA)
_WORD: Final = 0xFFFFFFFF
# Blocks up to which Python's integers are quicker: 6 us for each, where NumPy takes 60 for any few.
_FEW: Final = 8


def _threefry(key: Array, left: Array, right: Array) -> tuple[Array, Array]:
    """Encrypts blocks of two words each."""
    keys = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x, y = left + keys[0], right + keys[1]
    for step in range(5):
        for rotation in _ROTATIONS[step % 2]:
            x = x + y
            y = (y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation))
            y ^= x
        x = x + keys[(step + 1) % 3]
        y = y + keys[(step + 2) % 3] + np.uint32(step + 1)
    return x, y


def _one_block(key: tuple[int, int], left: int, right: int) -> tuple[int, int]:
    """Encrypts one block, by the same steps."""
    keys = (*key, key[0] ^ key[1] ^ int(_PARITY))
    x, y = left + keys[0] & _WORD, right + keys[1] & _WORD
    for step in range(5):
        for rotation in _ROTATIONS[step % 2]:
            x = x + y & _WORD
            y = (y << rotation & _WORD | y >> 32 - rotation) ^ x
        x = x + keys[(step + 1) % 3] & _WORD
        y = y + keys[(step + 2) % 3] + step + 1 & _WORD
    return x, y


def fold_in(key: Array, data: Any) -> Array:
    """Returns the key that a key and a number make."""
    first, second = key.tolist()
    return np.array(_one_block((first, second), 0, int(data)), np.uint32)


def bits(key: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Returns uint64[n] of random bits."""
    if len(shape) != 1 or np.dtype(dtype) != np.uint64 or shape[0] >= 1 << 32:
        raise NoHostForm("random bits of this kind")
    if shape[0] <= _FEW:
        first, second = key.tolist()
        blocks = [_one_block((first, second), 0, number) for number in range(shape[0])]
        return np.array([high << 32 | low for high, low in blocks], np.uint64)
    numbers = np.arange(shape[0], dtype=np.uint32)
    high, low = _threefry(key, np.zeros_like(numbers), numbers)
    return (high.astype(np.uint64) << np.uint64(32)) | low
