"""Beam searches that small networks of Hugging Face's transformers are asked for.

`make_beams.py` records them, for the networks in folders/; the tests ask the same of ours.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

NETWORKS = ["gpt2", "gpt2-untied", "llama", "llama3", "mistral"]
_VOCAB = 40


class Search(NamedTuple):
    """One search.

    Attributes:
        prompts: of unequal lengths, perhaps.
        count: how many tokens there may be.
        width: how many beams.
        penalty: the power of the length.
        eos: the tokens that end an answer.
    """

    prompts: list[list[int]]
    count: int
    width: int
    penalty: float
    eos: list[int]


def searches(seed: int, count: int) -> list[Search]:
    """Returns searches of every number of beams, penalty and number of ends."""
    rng = np.random.RandomState(seed)
    kinds = itertools.product([2, 3, 5], [1.0, 0.0, 2.5, -1.0], [0, 1, 3, 8])
    found = []
    for number, (width, penalty, ends) in enumerate(itertools.islice(kinds, count)):
        lengths = rng.randint(1, 9, size=1 + number % 3)
        prompts = [rng.randint(0, _VOCAB, size).tolist() for size in lengths]
        eos = rng.choice(_VOCAB, ends, replace=False).tolist()
        found.append(Search(prompts, int(rng.randint(1, 13)), width, penalty, eos))
    return found


def answers(torch: Any, model: Any, search: Search) -> list[list[int]]:
    """Returns the best answer of a network of theirs to each prompt, without what ended it."""
    longest = max(map(len, search.prompts))
    tokens = np.zeros((len(search.prompts), longest), np.int64)
    mask = np.zeros_like(tokens)
    for row, there, prompt in zip(tokens, mask, search.prompts, strict=True):
        row[longest - len(prompt) :] = prompt  # their decoders are filled up in front
        there[longest - len(prompt) :] = 1
    made = model.generate(
        torch.tensor(tokens),
        attention_mask=torch.tensor(mask),
        do_sample=False,
        num_beams=search.width,
        length_penalty=search.penalty,
        max_new_tokens=search.count,
        eos_token_id=search.eos or None,
        pad_token_id=_VOCAB,  # none of the tokens, so that it tells where an answer ends
        return_dict_in_generate=True,
    )
    fills = {_VOCAB, -1, *search.eos}
    rows = made.sequences[:, longest:].tolist()
    return [list(itertools.takewhile(lambda token: token not in fills, row)) for row in rows]
