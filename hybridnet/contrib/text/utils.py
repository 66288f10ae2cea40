"""Counting tokens."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["count_tokens_from_str"]


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
