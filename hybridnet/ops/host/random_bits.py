"""Random bits of a key, the same as `jax.random` makes of it on any device.

The cipher is Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1,
2, 3", SC 2011): its key is the random key, and the blocks it encrypts are (0, number), where the
number is that of the draw.

NumPy takes 32 us for any few blocks, and 10 ns for each. So what a thread is going to draw next is
made along with what it draws now, once it has drawn as much several times in a row: the keys of a
generator are made of one key and of the numbers 0, 1, 2, ..., and so are known before. The bits are
the same.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .namespace import NoHostForm

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
#: To the left and to the right, by which NumPy makes each rotation of 32 bits.
_SHIFTS: Final = [[(np.uint32(r), np.uint32(32 - r)) for r in four] for four in _ROTATIONS]
_PARITY: Final = 0x1BD11BDA
_WORD: Final = 0xFFFFFFFF
_HALF_BITS: Final = np.uint64(32)
# Blocks up to which Python's integers are quicker: 6 us for each.
_FEW_BLOCKS: Final = 5
# Blocks that are encrypted together: what they take stays in the processor's cache (2,000,000 take
# 17 ms so, and 28 all at once).
_BLOCKS_TOGETHER: Final = 1 << 14
# Keys that are made together, and sizes of draws that are told apart.
_KEYS_TOGETHER: Final = 256
_MAX_SIZES: Final = 16


def _words(first: int, second: int) -> list[tuple[int, int]]:
    """Returns what is added to the two halves of each block in turn, for a key."""
    three = first, second, first ^ second ^ _PARITY
    return [(three[step % 3], three[(step + 1) % 3] + step & _WORD) for step in range(6)]


def _one_block(key: Sequence[int], number: int) -> tuple[int, int]:
    """Encrypts one block."""
    words = _words(*key)
    x, y = words[0][0], number + words[0][1] & _WORD
    for step in range(5):
        for rotation in _ROTATIONS[step % 2]:
            x = x + y & _WORD
            y = (y << rotation & _WORD | y >> 32 - rotation) ^ x
        first, second = words[step + 1]
        x = x + first & _WORD
        y = y + second & _WORD
    return x, y


def _encrypt(
    words: Sequence[tuple[Any, Any]], numbers: NumpyArray
) -> tuple[NumpyArray, NumpyArray]:
    """Encrypts blocks by the same steps.

    Args:
        words: as of `_words`, each uint32; of several keys uint32[n, 1].
        numbers: uint32[count].

    Returns:
        The halves of the results, uint32[count] or uint32[n, count].
    """
    first, second = words[0]
    y = numbers + second
    x = np.full_like(y, first)
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
        first, second = words[step + 1]
        add(x, first, x)
        add(y, second, y)
    return x, y


def _of_one(key: Sequence[int], numbers: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """Encrypts blocks by one key."""
    words = [(np.uint32(first), np.uint32(second)) for first, second in _words(*key)]
    return _encrypt(words, numbers)


def _joined(halves: tuple[NumpyArray, NumpyArray]) -> NumpyArray:
    """Returns blocks as uint64, the first half on top."""
    made = halves[0].astype(np.uint64)
    np.left_shift(made, _HALF_BITS, made)
    return np.bitwise_or(made, halves[1], made)


@final
class _Series:
    """The draws of one size that a thread makes, with each so-many-th key of its generator.

    Attributes:
        number: of the key of the last one.
        stride: from there to that of the next one, as far as is known.
        together: how many were made together last.
        rows: the bits of the next ones, those of the very next last.
    """

    __slots__ = ("number", "rows", "stride", "together")

    def __init__(self, number: int) -> None:
        self.number = number
        self.stride = 0
        self.together = 1
        self.rows: list[NumpyArray] = []


@final
class _Generator(threading.local):
    """The generator that this thread draws with.

    Attributes:
        words: its key.
        number: the number that was folded into it last.
        key: the key that this made.
        first: the number of the first of `keys`.
        keys: uint32[n, 2], the keys of the numbers from there on, made ahead.
        series: the draws with its keys, by their size in blocks.
    """

    def __init__(self) -> None:
        self._begin([], -1)

    def _begin(self, words: list[int], number: int) -> None:
        """Begins anew: with another key, or where the numbers do not go on by one."""
        self.words = words
        self.number = self.first = number
        self.key: NumpyArray | None = None
        self.keys = np.empty((0, 2), np.uint32)
        self.series: dict[int, _Series] = {}

    def next_key(self, words: list[int], number: int) -> NumpyArray:
        """Returns the key that the generator's own and a number make."""
        if number != self.number + 1 or words != self.words:
            self._begin(words, number)
            self.key = np.array(_one_block(words, number), np.uint32)
            return self.key
        place = number - self.first
        if place >= len(self.keys):
            numbers = np.arange(number, number + _KEYS_TOGETHER, dtype=np.uint64).astype(np.uint32)
            self.keys = np.stack(_of_one(words, numbers), axis=1)
            self.first, place = number, 0
        self.number = number
        self.key = self.keys[place]
        return self.key

    def bits(self, count: int) -> NumpyArray | None:
        """Returns the blocks of the last key, uint64[count]; None: they are to be made alone."""
        number, series = self.number, self.series.get(count)
        if series is None:
            if len(self.series) >= _MAX_SIZES:
                self.series.clear()
            self.series[count] = _Series(number)
            return None
        step, series.number = number - series.number, number
        if step != series.stride or not step:
            series.stride, series.together, series.rows = step, 1, []
            return None
        if not series.rows:
            keys = self.keys[number - self.first :: step]
            series.together = min(2 * series.together, _BLOCKS_TOGETHER // max(count, 1), len(keys))
            if series.together < 2:
                return None
            keys = keys[: series.together]
            first, second = keys[:, :1], keys[:, 1:]
            three = first, second, first ^ second ^ np.uint32(_PARITY)
            words = [
                (three[step % 3], three[(step + 1) % 3] + np.uint32(step)) for step in range(6)
            ]
            made = _joined(_encrypt(words, np.arange(count, dtype=np.uint32)))
            series.rows = [*made[::-1]]
        return series.rows.pop()


_generator: Final = _Generator()


def fold_in(key: NumpyArray, data: Any) -> NumpyArray:
    """Returns the key that a key and a number make.

    Args:
        key: uint32[2].
        data: the number: one of Python's, or as a generator counts them, of NumPy's.
    """
    if type(data) is int:
        return np.array(_one_block(key.tolist(), data), np.uint32)
    return _generator.next_key(key.tolist(), int(data))


def bits(key: NumpyArray, shape: tuple[int, ...], dtype: Any) -> NumpyArray:
    """Returns uint64[n] of random bits."""
    if len(shape) != 1 or dtype != np.uint64 or shape[0] >= 1 << 32:
        raise NoHostForm("random bits of this kind")
    (count,) = shape
    found = _generator.bits(count) if key is _generator.key else None
    if found is not None:
        return found
    words = key.tolist()
    if count <= _FEW_BLOCKS:
        blocks = [_one_block(words, number) for number in range(count)]
        return np.array([high << 32 | low for high, low in blocks], np.uint64)
    made = np.empty(count, np.uint64)
    for first in range(0, count, _BLOCKS_TOGETHER):
        numbers = np.arange(first, min(first + _BLOCKS_TOGETHER, count), dtype=np.uint32)
        made[first : first + _BLOCKS_TOGETHER] = _joined(_of_one(words, numbers))
    return made
