"""Beam search: several answers followed side by side. It decides, and computes no network.

The rules are those of transformers 5 (``num_beams``, with ``early_stopping=False``): of the best
continuations, twice as many as beams, those that end are put aside, and the best others are
followed; a prompt is done when as many as beams were put aside, and no beam that is followed is
better now than the worst of them.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError

__all__ = ["Beams", "Search"]

# The sum of beams that are not there yet: all but the first of each prompt, which are alike.
_NOT_YET = -1e9


@final
class Beams:
    """The configuration of a beam search.

    Attributes:
        width: how many beams a prompt has.
        length_penalty: the power of the length that a sum is divided by.
        eos: the tokens that end an answer.
        candidates: how many continuations are looked at.
    """

    def __init__(self, width: int, length_penalty: float, eos: frozenset[int]) -> None:
        if width < 1:
            raise ParameterError(f"generate: beams must be >= 1, got {width}")
        self.width = width
        self.length_penalty = length_penalty
        self.eos = eos
        self.candidates = max(2, 1 + len(eos)) * width

    def search(self, batch: int, vocab: int) -> Search:
        """Begins the search after `batch` prompts."""
        if self.candidates > self.width * vocab:
            raise ParameterError(
                f"generate: beams={self.width} are too many for a vocabulary of {vocab}"
            )
        return Search(self, batch, vocab)


class _Answer(NamedTuple):
    """An answer that was put aside."""

    score: float
    tokens: list[int]


@final
class Search:
    """A search on its way.

    Attributes:
        sums: (batch, beams), of the logarithms of the shares of the tokens.
        tokens: (batch, beams), the last ones.
        rows: (batch, beams), which of all beams each goes on from.
    """

    def __init__(self, beams: Beams, batch: int, vocab: int) -> None:
        self._beams = beams
        self._vocab = vocab
        self._answers: list[list[list[int]]] = [
            [[] for _ in range(beams.width)] for _ in range(batch)
        ]
        self._ended: list[list[_Answer]] = [[] for _ in range(batch)]
        self._done = [False] * batch
        self._length = 0
        self.sums: NumpyArray = np.full((batch, beams.width), _NOT_YET)
        self.sums[:, 0] = 0
        self.tokens: NumpyArray = np.zeros((batch, beams.width), np.int32)
        self.rows: NumpyArray = np.zeros((batch, beams.width), np.int32)

    @property
    def is_done(self) -> bool:
        """Whether no prompt can have a better answer."""
        return all(self._done)

    def step(self, sums: NumpyArray, places: NumpyArray) -> None:
        """Goes on with the best continuations.

        Args:
            sums: (batch, candidates), from the best on.
            places: likewise, ``beam * vocab + token``.
        """
        self._length += 1
        for number, done in enumerate(self._done):
            if not done:
                self._step(number, sums[number].tolist(), places[number].tolist())

    def _step(self, number: int, sums: list[float], places: list[int]) -> None:
        width, answers = self._beams.width, self._answers[number]
        followed: list[tuple[float, int, int]] = []
        for rank, (total, place) in enumerate(zip(sums, places, strict=True)):
            beam, token = divmod(place, self._vocab)
            if token in self._beams.eos:
                if rank < width:
                    self._put_aside(number, total, [*answers[beam], token])
            elif len(followed) < width:
                followed.append((total, beam, token))
        self._answers[number] = [[*answers[beam], token] for _, beam, token in followed]
        for place, (total, beam, token) in enumerate(followed):
            self.sums[number, place] = total
            self.tokens[number, place] = token
            self.rows[number, place] = number * width + beam
        self._done[number] = self._is_done(number, followed[0][0])

    def _score(self, total: float) -> float:
        return total / float(self._length**self._beams.length_penalty)

    def _put_aside(self, number: int, total: float, tokens: list[int]) -> None:
        ended = self._ended[number]
        ended.append(_Answer(self._score(total), tokens))
        ended.sort(key=lambda answer: -answer.score)
        del ended[self._beams.width :]

    def _is_done(self, number: int, best: float) -> bool:
        ended = self._ended[number]
        return len(ended) == self._beams.width and ended[-1].score >= self._score(best)

    def answers(self) -> list[list[int]]:
        """Returns the best answer to each prompt, with the token that ended it."""
        for number, done in enumerate(self._done):
            if not done:
                for total, tokens in zip(self.sums[number], self._answers[number], strict=True):
                    self._put_aside(number, float(total), tokens)
        return [ended[0].tokens for ended in self._ended]
