"""Words counted, and numbers for the most frequent ones; users find this in `contrib.text`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ParameterError

__all__ = ["Vocabulary", "count_tokens_from_str"]


class Vocabulary:
    """Numbers for tokens: 0 for unknown ones, then reserved ones, then others by frequency.

    Args:
        counter: how often each token was seen; see `count_tokens_from_str`. None for no tokens.
        most_freq_count: how many of these get a number, at most; default all.
        min_freq: how often one must have been seen.
        unknown_token: what stands for tokens without a number.
        reserved_tokens: tokens that have a number anyway.

    Raises:
        ParameterError: `min_freq` is less than 1, a reserved token is there twice or is the unknown
            one, or `counter` is no `collections.Counter`.
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Any = "<unk>",
        reserved_tokens: Sequence[Any] | None = None,
    ) -> None:
        if min_freq < 1:
            raise ParameterError(f"Vocabulary: min_freq must be at least 1, got {min_freq}")
        first = [unknown_token, *(reserved_tokens or ())]
        if len(set(first)) != len(first):
            raise ParameterError(
                f"Vocabulary: reserved_tokens must differ from each other and from "
                f"{unknown_token!r}, got {reserved_tokens}"
            )
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        self._idx_to_token = first
        if counter is not None:
            self._add(counter, most_freq_count, min_freq)
        self._token_to_idx = {token: number for number, token in enumerate(self._idx_to_token)}

    def _add(self, counter: Counter[Any], most: int | None, least: int) -> None:
        if not isinstance(counter, Counter):
            raise ParameterError(
                f"Vocabulary: counter must be a collections.Counter, got {type(counter).__name__}"
            )
        known = set(self._idx_to_token)
        ordered = sorted(sorted(counter), key=counter.__getitem__, reverse=True)
        found = [token for token in ordered if counter[token] >= least and token not in known]
        self._idx_to_token += found[: len(counter) if most is None else most]

    def __len__(self) -> int:
        return len(self._idx_to_token)

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token."""
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in the order of their numbers."""
        return self._idx_to_token

    @property
    def unknown_token(self) -> Any:
        """The token that stands for those without a number; it has the number 0."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """The tokens that have a number anyway."""
        return self._reserved_tokens

    def to_indices(self, tokens: Any) -> Any:
        """Returns the number of a token, or of each in a list; 0 for those without."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, 0) for token in tokens]
        return self._token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: Any) -> Any:
        """Returns the token of a number, or of each in a list.

        Raises:
            ParameterError: there is no token of a number.
        """
        numbers = indices if isinstance(indices, list) else [indices]
        for number in numbers:
            if not isinstance(number, int) or not 0 <= number < len(self):
                raise ParameterError(
                    f"to_tokens: must be numbers from 0 to {len(self) - 1}, got {number!r}"
                )
        found = [self._idx_to_token[number] for number in numbers]
        return found if isinstance(indices, list) else found[0]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    """Returns how often each token is in a text.

    Args:
        source_str: the text.
        token_delim: what is between tokens: a regular expression.
        seq_delim: what is between sequences: a regular expression.
        to_lower: whether tokens are counted in lower case.
        counter_to_update: counts to add to, in place.
    """
    counts: Counter[str] = Counter() if counter_to_update is None else counter_to_update
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    counts.update(token.lower() if to_lower else token for token in tokens)
    return counts
