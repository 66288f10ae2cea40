"""Text written token by token by a network that has a cache of keys and values.

Prompts of any lengths are filled up to a few sizes, and caches have a few sizes, so that a network
is compiled for these only. The next step is begun before the last one's token has been read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hybridnet import autograd
from hybridnet import ndarray as nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from ...nn import KeyValueCache
from .beams import Beams
from .choosing import Choice
from .prompts import Ends, Prompts, Tokens, read_prompts, size_for
from .steps import Decoder, Steps, where

__all__ = ["Decoder", "generate", "stream"]

# A cache begins with room for so many tokens, and grows when they are there: attention looks at
# all of it.
_ROOM: Final = 256


def generate(
    net: Decoder,
    tokens: Tokens,
    max_new_tokens: int | None = None,
    *,
    lengths: Sequence[int] | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    beams: int = 1,
    length_penalty: float = 1.0,
    eos: int | Sequence[int] | None = None,
    stop: Sequence[Sequence[int]] = (),
) -> list[list[int]]:
    """Returns what a network writes after each of some prompts.

    Args:
        net: a decoder, as `text.load` returns one.
        tokens: one prompt, or several of any lengths; or an array (batch, length).
        max_new_tokens: after how many tokens an answer ends; None: when the network's longest
            sequence is reached.
        lengths: of an array that is filled up behind: how many tokens of each row count.
        temperature: 0 takes the best token; else scores are divided by it and one is drawn, by the
            generator that `mx.random.seed` sets.
        top_k: draw from so many of the best tokens; None for all.
        top_p: draw from the fewest best tokens whose shares add up to this (nucleus sampling:
            Holtzman et al., 2020); None for all.
        beams: how many answers are followed side by side, of which the best is returned (beam
            search; without drawing).
        length_penalty: a beam's score is the sum of the logarithms of its shares, divided by its
            length to this power.
        eos: the token, or tokens, that end an answer.
        stop: sequences of tokens that end one.

    Returns:
        The new tokens of each prompt, without what ended them.

    Raises:
        ParameterError: something is out of range, a prompt is empty, or it is too long.
    """
    prompts = read_prompts(tokens, lengths, net.max_length, max_new_tokens)
    ends = Ends.of(eos, stop)
    if beams != 1:
        if temperature or top_k is not None or top_p is not None:
            raise ParameterError("generate: beams follow the best tokens; do not draw as well")
        return _by_beams(net, prompts, Beams(beams, length_penalty, ends.tokens), ends)
    made: list[list[int]] = [[] for _ in prompts.lengths]
    for row in _streamed(net, prompts, Choice.of(temperature, top_k, top_p), temperature, top_p):
        open_rows = [
            ends.add(answer, token) for answer, token in zip(made, row.tolist(), strict=True)
        ]
        if not any(open_rows):
            break
    return [ends.without(answer) for answer in made]


def stream(
    net: Decoder,
    tokens: Tokens,
    max_new_tokens: int | None = None,
    *,
    lengths: Sequence[int] | None = None,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | Sequence[int] | None = None,
    stop: Sequence[Sequence[int]] = (),
) -> Iterator[list[int | None]]:
    """Yields what `generate` returns, as it comes: a token for each prompt, None where it ended.

    Args: those of `generate`. A stop sequence of several tokens comes before it is recognized.
    """
    prompts = read_prompts(tokens, lengths, net.max_length, max_new_tokens)
    ends = Ends.of(eos, stop)
    choice = Choice.of(temperature, top_k, top_p)
    return _open_only(_streamed(net, prompts, choice, temperature, top_p), prompts, ends)


def _open_only(
    rows: Iterator[NumpyArray], prompts: Prompts, ends: Ends
) -> Iterator[list[int | None]]:
    made: list[list[int]] = [[] for _ in prompts.lengths]
    for row in rows:
        seen: list[int | None] = []
        for answer, token in zip(made, row.tolist(), strict=True):
            was_open = not ends.at(answer)
            is_open = ends.add(answer, token)
            seen.append(token if was_open and (is_open or token not in ends.tokens) else None)
        if any(token is not None for token in seen):
            yield seen
        if all(ends.at(answer) for answer in made):
            return


def _room(prompts: Prompts) -> int:
    """Returns the size of the first cache."""
    longest = int(prompts.lengths.max())
    wanted = min(longest + prompts.most, max(2 * longest, _ROOM))
    filled: int = prompts.tokens.shape[1]
    return min(max(size_for(wanted), filled), prompts.longest)


def _begun(
    net: Decoder, steps: Steps, prompts: Prompts, ctx: Context
) -> tuple[NDArray, KeyValueCache]:
    """Returns the scores after the prompts, and the cache."""
    cache = net.new_cache(len(prompts.lengths), _room(prompts), ctx)
    tokens = nd.array(prompts.tokens, ctx=ctx, dtype="int32")
    lengths = nd.array(prompts.lengths, ctx=ctx, dtype="int32")
    return steps.read(net, tokens, lengths, cache), cache


def _with_room(cache: KeyValueCache, count: int, prompts: Prompts) -> KeyValueCache:
    """Returns a cache with room for `count` positions."""
    if count <= cache.size:
        return cache
    return cache.grown(min(2 * cache.size, prompts.longest))


def _streamed(
    net: Decoder,
    prompts: Prompts,
    choice: Choice,
    temperature: float,
    top_p: float | None,
) -> Iterator[NumpyArray]:
    """Yields the next token of each sequence, again and again, ended or not."""
    ctx, steps = where(net), Steps.of(net)
    longest = int(prompts.lengths.max())
    with ctx, autograd.predict_mode(), autograd.pause():
        numbers = nd.array([temperature or 1.0], ctx=ctx), nd.array([top_p or 1.0], ctx=ctx)
        scores, cache = _begun(net, steps, prompts, ctx)
        tokens = steps.choose(scores, choice, *numbers)
    for count in range(1, prompts.most + 1):
        following = tokens
        if count < prompts.most:
            # Begun before anybody looks at the last: nothing waits for Python.
            with ctx, autograd.predict_mode(), autograd.pause():
                cache = _with_room(cache, longest + count, prompts)
                following = steps.write_on(net, tokens, cache, choice, *numbers)
        yield tokens.asnumpy()
        tokens = following


def _by_beams(net: Decoder, prompts: Prompts, beams: Beams, ends: Ends) -> list[list[int]]:
    if ends.sequences:
        raise ParameterError("generate: beams end by eos alone; do not give stop")
    ctx, steps, width = where(net), Steps.of(net), beams.width
    many = Prompts(prompts.tokens.repeat(width, 0), prompts.lengths.repeat(width), *prompts[2:])
    longest = int(prompts.lengths.max())
    with ctx, autograd.predict_mode(), autograd.pause():
        scores, cache = _begun(net, steps, many, ctx)
        search = beams.search(len(prompts.lengths), scores.shape[1])
        for count in range(1, prompts.most + 1):
            sums = nd.array(search.sums, ctx=ctx, dtype="float32")
            values, places = steps.best(scores, sums, beams.candidates)
            search.step(values.asnumpy(), places.asnumpy())
            if search.is_done or count == prompts.most:
                break
            cache = _with_room(cache, longest + count, prompts)
            tokens = nd.array(search.tokens.ravel(), ctx=ctx, dtype="int32")
            rows = nd.array(search.rows.ravel(), ctx=ctx, dtype="int32")
            scores = steps.follow(net, tokens, rows, cache)
    return [ends.without(answer) for answer in search.answers()]
