"""2-bit gradient compression with a residual, on host arrays: MXNet's bytes.

What is not sent is kept in the residual and added to the next gradient. A value is sent as two
bits, four values a byte, the first in the highest bits: 11 is +threshold, 10 is -threshold, 00 is
nothing. The bytes come in groups of four, 16 values each; the last group is filled up with zeros.
(Seide et al., "1-bit stochastic gradient descent", Interspeech 2014, has the residual.)
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hybridnet.kvstore.errors import KVStoreError

#: A part must begin at a multiple of this, or its bytes would not be those of the whole.
VALUES_PER_WORD: Final = 16

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

_PLUS, _MINUS = 3, 2
#: Byte -> the four codes in it, the highest bits first.
_CODES: Final = (np.arange(256, dtype=np.uint8)[:, None] >> np.array([6, 4, 2, 0], np.uint8)) & 3
#: The values that are worked on at once: their temporaries stay in the cache.
_CHUNK: Final = 1 << 16


def compressed_size(count: int) -> int:
    """Returns how many bytes `count` values become."""
    return -(-count // VALUES_PER_WORD) * (VALUES_PER_WORD // 4)


def quantize(gradient: Floats, residual: Floats, threshold: float) -> Bytes:
    """Returns the bytes of a gradient; the residual takes up what they leave out.

    Args:
        gradient: (n,) float32.
        residual: (n,) float32, zeros before the first time; changed in place.
        threshold: what a sent value stands for; above 0.

    Returns:
        (compressed_size(n),) uint8.

    Raises:
        KVStoreError: of an argument that is none of that.
    """
    if not threshold > 0:
        raise KVStoreError(f"2-bit compression requires a threshold above 0, got {threshold}")
    for name, array in (("gradient", gradient), ("residual", residual)):
        if array.dtype != np.float32 or array.shape != (gradient.size,):
            raise KVStoreError(
                f"2-bit compression requires a flat float32 {name} of {gradient.size} values, "
                f"got {array.dtype}{array.shape}"
            )
    out = np.zeros(compressed_size(gradient.size), np.uint8)
    sent = _sent(threshold)
    for start in range(0, gradient.size, _CHUNK):
        stop = min(start + _CHUNK, gradient.size)
        left = residual[start:stop]
        left += gradient[start:stop]
        codes = np.zeros(compressed_size(stop - start) * 4, np.uint8)
        codes[: stop - start][left >= sent[_PLUS]] = _PLUS
        codes[: stop - start][left <= sent[_MINUS]] = _MINUS
        left -= sent[codes[: stop - start]]
        four = codes.reshape(-1, 4)
        packed = out[start // 4 : start // 4 + len(four)]
        for column, shift in enumerate((6, 4, 2, 0)):
            packed |= four[:, column] << np.uint8(shift)
    return out


def dequantize(packed: Bytes, out: Floats, threshold: float) -> None:
    """Writes the values of compressed bytes: each +threshold, -threshold or 0.

    Args:
        packed: (compressed_size(n),) uint8.
        out: (n,) float32, is written.
        threshold: as they were made with.

    Raises:
        KVStoreError: the bytes are more or fewer than those of n values.
    """
    wanted = compressed_size(out.size)
    if packed.size != wanted:
        raise KVStoreError(f"{out.size} values in 2 bits require {wanted} bytes, got {packed.size}")
    table = _sent(threshold)[_CODES]
    whole = out.size // 4
    np.take(table, packed[:whole], axis=0, out=out[: whole * 4].reshape(whole, 4), mode="clip")
    if out.size % 4:
        out[whole * 4 :] = table[packed[whole], : out.size % 4]


def _sent(threshold: float) -> npt.NDArray[Any]:
    """Returns code -> the value it stands for, float32."""
    return np.array([0, 0, -threshold, threshold], np.float32)
