"""Random bits of a key, the same as `jax.random` makes of it on any device.

The cipher is Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
2, 3", SC 2011): its key is the random key, and the block it encrypts the number of the draw.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .namespace import NoHostForm

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
#: To the left and to the right, by which NumPy makes each rotation of 32 bits.
_SHIFTS: Final = [[(np.uint32(r), np.uint32(32 - r)) for r in four] for four in _ROTATIONS]
_PARITY: Final = 0x1BD11BDA
_WORD: Final = 0xFFFFFFFF
# Blocks up to which Python's integers are quicker: 6 us for each, where NumPy takes 60 for any few.
_FEW_BLOCKS: Final = 8
# Blocks that are encrypted together: what they take stays in the processor's cache (2,000,000 take
# 17 ms so, and 28 all at once).
_TOGETHER: Final = 1 << 14


def _threefry(
    key: NumpyArray, left: NumpyArray, right: NumpyArray
) -> tuple[NumpyArray, NumpyArray]:
    """Encrypts blocks of two words each."""
    keys = _keys(*key.tolist())
    x, y = left + np.uint32(keys[0]), right + np.uint32(keys[1])
    spare = np.empty_like(y)  # without new arrays it takes two thirds of the time
    add, left_shift, right_shift = np.add, np.left_shift, np.right_shift
    bitwise_or, bitwise_xor = np.bitwise_or, np.bitwise_xor
    for step in range(5):
        for by_left, by_right in _SHIFTS[step % 2]:
            add(x, y, x)
            left_shift(y, by_left, spare)
            right_shift(y, by_right, y)
            bitwise_or(y, spare, y)
            bitwise_xor(y, x, y)
        add(x, np.uint32(keys[(step + 1) % 3]), x)
        add(y, np.uint32(keys[(step + 2) % 3] + step + 1 & _WORD), y)
    return x, y


def _keys(first: int, second: int) -> tuple[int, int, int]:
    """Returns the words that are added to blocks in turn."""
    return first, second, first ^ second ^ _PARITY


def _one_block(key: tuple[int, int], left: int, right: int) -> tuple[int, int]:
    """Encrypts one block, by the same steps."""
    keys = _keys(*key)
    x, y = left + keys[0] & _WORD, right + keys[1] & _WORD
    for step in range(5):
        for rotation in _ROTATIONS[step % 2]:
            x = x + y & _WORD
            y = (y << rotation & _WORD | y >> 32 - rotation) ^ x
        x = x + keys[(step + 1) % 3] & _WORD
        y = y + keys[(step + 2) % 3] + step + 1 & _WORD
    return x, y


def fold_in(key: NumpyArray, data: Any) -> NumpyArray:
    """Returns the key that a key and a number make."""
    first, second = key.tolist()
    return np.array(_one_block((first, second), 0, int(data)), np.uint32)


def bits(key: NumpyArray, shape: tuple[int, ...], dtype: Any) -> NumpyArray:
    """Returns uint64[n] of random bits."""
    if len(shape) != 1 or np.dtype(dtype) != np.uint64 or shape[0] >= 1 << 32:
        raise NoHostForm("random bits of this kind")
    if shape[0] <= _FEW_BLOCKS:
        first, second = key.tolist()
        blocks = [_one_block((first, second), 0, number) for number in range(shape[0])]
        return np.array([high << 32 | low for high, low in blocks], np.uint64)
    found = np.empty(shape, np.uint64)
    for first in range(0, shape[0], _TOGETHER):
        part = found[first : first + _TOGETHER]
        numbers = np.arange(first, first + len(part), dtype=np.uint32)
        part[:], low = _threefry(key, np.zeros_like(numbers), numbers)
        np.left_shift(part, np.uint64(32), part)
        np.bitwise_or(part, low, part)
    return found
