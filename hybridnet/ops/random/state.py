"""The state of a random generator, and the keys that operators draw from it.

A state is ``uint32[3]``: the two words of a Threefry-2x32 key, and a counter of the keys drawn so
far. Each draw folds the counter into the key, so that a stream depends only on the seed and on the
order of the draws, and is the same on every device and under any JAX configuration of the user's.

The cipher is that of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from hybridnet.ops.host.namespace import jax, jnp, lax

__all__ = [
    "STATE_SHAPE",
    "children",
    "initial_state",
    "integers",
    "keep_mask",
    "keep_rows",
    "next_key",
    "normals",
    "uniforms",
]

#: The shape of a state; its dtype is uint32.
STATE_SHAPE: Final = (3,)

_WORD: Final = 0xFFFFFFFF


def initial_state(seed: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Returns the state a generator starts from.

    Args:
        seed: any integer; its low 64 bits count.

    Returns:
        uint32[3].
    """
    return np.array([(seed >> 32) & _WORD, seed & _WORD, 0], np.uint32)


def next_key(state: Any) -> tuple[Any, Any]:
    """Draws one key.

    Args:
        state: uint32[3].

    Returns:
        A typed JAX key, and the state to draw the next one from. The counter starts over after
        2**32 draws.
    """
    key = jax.random.fold_in(jax.random.wrap_key_data(state[:2], impl="threefry2x32"), state[2])
    return key, state + np.array([0, 0, 1], np.uint32)


def children(key: Any, count: int) -> list[Any]:
    """Returns keys made from one (which is not to be drawn from itself any more)."""
    # Not `jax.random.split`, whose result depends on the user's JAX configuration.
    return [jax.random.fold_in(key, index) for index in range(count)]


def keep_mask(key: Any, shape: tuple[int, ...], keep: float) -> Any:
    """Draws a mask whose elements are True with probability `keep`.

    Sixteen bits decide an element, four elements to a block of the cipher: on a CPU that takes an
    eighth of the time of `jax.random.bernoulli`, and moves the probability by at most 2**-17.

    Args:
        key: a key from `next_key`.
        shape: of the mask.
        keep: from 0 to 1.

    Returns:
        bool of that shape.
    """
    count = math.prod(shape)
    blocks = _blocks(key, -(-count // 4))
    bits = lax.bitcast_convert_type(blocks, np.uint16).reshape(-1)[:count].reshape(shape)
    return bits.astype(np.uint32) < np.uint32(round(keep * 65536))


def keep_rows(key: Any, shape: tuple[int, ...], first: Any, count: int, keep: float) -> Any:
    """Draws some rows of what `keep_mask` draws; with JAX alone, where `first` may be a tracer.

    Args:
        key: a key from `next_key`.
        shape: (..., rows, columns), of the whole mask.
        first: the first row.
        count: how many rows.
        keep: from 0 to 1.

    Returns:
        bool (..., count, columns).
    """
    from jax.extend import random as cipher

    *lead, rows, columns = shape
    each = count * columns
    # The elements that each group of rows begins with, and the blocks that hold them.
    begin = (np.arange(math.prod(lead), dtype=np.uint64) * np.uint64(rows)) + jnp.astype(
        jnp.asarray(first), np.uint64
    )
    begin = begin * np.uint64(columns)
    blocks = np.arange(each // 4 + 2, dtype=np.uint64)
    numbers = (begin[:, None] >> np.uint64(2)) + blocks
    halves = [jnp.astype(part, np.uint32) for part in (numbers >> np.uint64(32), numbers)]
    made = cipher.threefry_2x32(jax.random.key_data(key), jnp.stack(halves))
    high, low = made[0], made[1]
    half, word = np.uint32(0xFFFF), np.uint32(16)
    parts = [low & half, low >> word, high & half, high >> word]
    bits = jnp.stack(parts, -1).reshape(len(begin), -1)
    if columns % 4:  # a row begins anywhere in a block
        offsets = jnp.astype(begin & np.uint64(3), np.int32)
        bits = jax.vmap(lambda row, at: lax.dynamic_slice_in_dim(row, at, each))(bits, offsets)
    return (bits[:, :each] < np.uint32(round(keep * 65536))).reshape(*lead, count, columns)


def uniforms(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Draws from the uniform distribution on [0, 1).

    Args:
        key: a key from `next_key`.
        dtype: a floating dtype; narrow ones are rounded from float32, but never up to 1.

    Returns:
        An array of that shape and dtype.
    """
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if dtype == np.float64:
        bits = _blocks(key, count) >> np.uint64(11)
        return (bits.astype(dtype) * 2.0**-53).reshape(shape)
    blocks = _blocks(key, -(-count // 2))
    bits = lax.bitcast_convert_type(blocks, np.uint32).reshape(-1)[:count].reshape(shape)
    digits = jnp.finfo(dtype).nmant + 1
    return jnp.astype((bits >> np.uint32(32 - digits)).astype(np.float32) * 2.0**-digits, dtype)


def normals(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Draws from the standard normal distribution, through its inverse distribution function.

    Args:
        key: a key from `next_key`.
        dtype: a floating dtype; narrow ones are rounded from float32.

    Returns:
        An array of that shape and dtype.
    """
    wide = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    # The middle of each of the intervals that a uniform stands for: symmetric, and never 0 or 1.
    digits = 53 if wide == np.float64 else 24
    centered = 2 * uniforms(key, shape, wide) - (1 - 2.0**-digits)
    return jnp.astype(math.sqrt(2) * lax.erf_inv(jnp.astype(centered, wide)), dtype)


def integers(key: Any, shape: tuple[int, ...], low: Any, high: Any) -> Any:
    """Draws whole numbers from [low, high), each as likely but for a part in 2**64.

    A number of 64 bits, seen as a fraction, times the length: with one block of the cipher and no
    division it takes a third of the time of `jax.random.randint`.

    Args:
        key: a key from `next_key`.
        low, high: int64, 0-d; high is more than low.

    Returns:
        int64 of that shape.
    """
    word = np.uint64(_WORD)
    half = np.uint64(32)
    span = jnp.asarray(high - low).astype(np.uint64)
    low_span, high_span = span & word, span >> half
    bits = _blocks(key, math.prod(shape))
    low_bits, high_bits = bits & word, bits >> half
    # The upper half of a product of 128 bits, from those of the halves of its factors.
    across, back = low_bits * high_span, high_bits * low_span
    carry = ((low_bits * low_span >> half) + (across & word) + (back & word)) >> half
    upper = high_bits * high_span + (across >> half) + (back >> half) + carry
    return low + upper.astype(np.int64).reshape(shape)


def _blocks(key: Any, count: int) -> Any:
    """Draws `count` blocks of 64 bits; whole blocks waste nothing of what the cipher makes."""
    with jax.threefry_partitionable(True):
        return jax.random.bits(key, (count,), np.uint64)
