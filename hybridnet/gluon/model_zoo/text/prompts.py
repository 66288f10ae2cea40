"""The request that `generate` is given: prompts, and what ends an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

#: The least size of a prompt and of a cache; others are its doubles.
_SMALLEST: Final = 16

#: Tokens of one sequence, or of several of any lengths; or (batch, length), which may be filled up.
Tokens: TypeAlias = "Sequence[int] | Sequence[Sequence[int]] | NumpyArray | NDArray"


class Prompts(NamedTuple):
    """Prompts, filled up.

    Attributes:
        tokens: int32 (batch, length).
        lengths: int32 (batch,).
        most: how many new tokens there may be.
        longest: how long a sequence may become.
    """

    tokens: NumpyArray
    lengths: NumpyArray
    most: int
    longest: int


def read_prompts(
    tokens: Tokens, lengths: Sequence[int] | None, room: int, most: int | None
) -> Prompts:
    """Checks and fills up what a user gives.

    Args:
        tokens, lengths: see `generate`.
        room: how long a sequence may become.
        most: how many new tokens there may be; None for as many as there is room for.

    Raises:
        ParameterError: a prompt is empty or too long, or something is out of range.
    """
    rows = _rows(tokens, lengths)
    counts = [len(row) for row in rows]
    if not rows or min(counts) < 1:
        raise ParameterError("generate: each prompt must have a token or more, got an empty one")
    longest = max(counts)
    if most is not None and most < 1:
        raise ParameterError(f"generate: max_new_tokens must be >= 1, or None, got {most}")
    if longest + (most or 1) > room:
        raise ParameterError(
            f"generate: the network has {room} positions, got a prompt of {longest} tokens and "
            f"max_new_tokens={most}; cut the prompt, or ask for fewer"
        )
    most = room - longest if most is None else most
    filled = np.zeros((len(rows), min(size_for(longest), room)), np.int32)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return Prompts(filled, np.array(counts, np.int32), most, room)


def _rows(tokens: Tokens, lengths: Sequence[int] | None) -> list[NumpyArray]:
    """Returns each prompt as a vector of whole numbers."""
    if isinstance(tokens, NDArray):
        tokens = tokens.asnumpy()
    if isinstance(tokens, np.ndarray) or lengths is not None:
        array = np.asarray(tokens)
        array = array[None] if array.ndim == 1 else array
        if array.ndim != 2:
            raise ParameterError(
                f"generate: tokens must be (length,) or (batch, length), got shape {array.shape}"
            )
        counts = [array.shape[1]] * len(array) if lengths is None else [int(n) for n in lengths]
        if len(counts) != len(array) or any(not 0 < n <= array.shape[1] for n in counts):
            raise ParameterError(
                f"generate: lengths must be {len(array)} numbers from 1 to {array.shape[1]}, got "
                f"{counts}"
            )
        found = [row[:n] for row, n in zip(array, counts, strict=True)]
    else:
        given = list(tokens)
        is_one = bool(given) and isinstance(given[0], (int, np.integer))
        found = [np.asarray(row) for row in ([given] if is_one else given)]
    for row in found:
        if row.ndim != 1 or (row.size and not np.array_equal(row, row.astype(np.int32))):
            raise ParameterError(
                "generate: tokens must be whole numbers, those of one prompt or a list for each, "
                f"got {row!r}"
            )
    return [row.astype(np.int32) for row in found]


def size_for(count: int) -> int:
    """Returns the size up to which something of this length is filled up."""
    bits: int = (count - 1).bit_length()
    return max(_SMALLEST, 1 << bits)


@final
class Ends(NamedTuple):
    """The stop conditions of an answer: end tokens and stop sequences.

    Attributes:
        tokens: each of them ends it.
        sequences: of several tokens, likewise.
    """

    tokens: frozenset[int]
    sequences: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, eos: int | Sequence[int] | None, stop: Sequence[Sequence[int]]) -> Ends:
        """Checks what a user gives; see `generate`.

        Raises:
            ParameterError: a sequence is empty.
        """
        several = () if eos is None else (eos,) if isinstance(eos, (int, np.integer)) else eos
        sequences = tuple(tuple(int(token) for token in one) for one in stop)
        if not all(sequences):
            raise ParameterError(
                "generate: a stop sequence must have a token or more, got an empty one"
            )
        return cls(frozenset(int(token) for token in several), sequences)

    def at(self, answer: Sequence[int]) -> int:
        """Returns how many tokens at the end of an answer ended it; 0: it is open."""
        if answer and answer[-1] in self.tokens:
            return 1
        return next((len(one) for one in self.sequences if tuple(answer[-len(one) :]) == one), 0)

    def add(self, answer: list[int], token: int) -> bool:
        """Adds a token unless the answer has ended; returns whether it is open."""
        if not self.at(answer):
            answer.append(token)
        return not self.at(answer)

    def without(self, answer: list[int]) -> list[int]:
        """Returns an answer without what ended it."""
        return answer[: len(answer) - self.at(answer)]
