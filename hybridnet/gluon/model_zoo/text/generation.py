"""Text written token by token by a network that has a cache of keys and values.

Prompts of any lengths are filled up to a few sizes, and caches have a few sizes, so that a network
is compiled for these only. The next step is begun before the last one's token has been read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

import numpy as np

from hybridnet import autograd
from hybridnet import ndarray as nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.tracing import function

from ...nn import KeyValueCache
from .beams import Beams
from .choosing import Choice

__all__ = ["Decoder", "generate", "stream"]

#: The least size of a prompt and of a cache; others are its doubles.
_SMALLEST: Final = 16
# A cache begins with room for so many tokens, and grows when they are there: attention looks at
# all of it.
_ROOM: Final = 256

#: Tokens of one sequence, or of several of any lengths; or (batch, length), which may be filled up.
Tokens: TypeAlias = "Sequence[int] | Sequence[Sequence[int]] | NumpyArray | NDArray"


class Decoder(Protocol):
    """A network that writes: `GPT2`, `Llama`, and any block with these.

    Attributes:
        features: hidden states (batch, length, units) of tokens (batch, length) and a cache.
        output: scores (..., vocab) of hidden states.
    """

    features: Any
    output: Any

    @property
    def max_length(self) -> int:
        """The longest sequence it can read."""

    def new_cache(self, batch: int, size: int, ctx: Context | None = None) -> KeyValueCache:
        """Returns an empty cache."""

    def collect_params(self) -> Any:
        """Returns the parameters; they say where it computes."""


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
    prompts = _prompts(tokens, lengths, net, max_new_tokens)
    ends = _ends(eos, stop)
    if beams != 1:
        if temperature or top_k is not None or top_p is not None:
            raise ParameterError("generate: beams follow the best tokens; do not draw as well")
        return _by_beams(net, prompts, Beams(beams, length_penalty, ends[0]), ends)
    made: list[list[int]] = [[] for _ in prompts.lengths]
    for row in _streamed(net, prompts, Choice.of(temperature, top_k, top_p), temperature, top_p):
        open_rows = [
            _add(answer, token, ends) for answer, token in zip(made, row.tolist(), strict=True)
        ]
        if not any(open_rows):
            break
    return [_without_end(answer, ends) for answer in made]


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
    prompts = _prompts(tokens, lengths, net, max_new_tokens)
    ends = _ends(eos, stop)
    choice = Choice.of(temperature, top_k, top_p)
    return _open_only(_streamed(net, prompts, choice, temperature, top_p), prompts, ends)


def _open_only(
    rows: Iterator[NumpyArray], prompts: _Prompts, ends: _Ends
) -> Iterator[list[int | None]]:
    made: list[list[int]] = [[] for _ in prompts.lengths]
    for row in rows:
        seen: list[int | None] = []
        for answer, token in zip(made, row.tolist(), strict=True):
            was_open = not _ended(answer, ends)
            is_open = _add(answer, token, ends)
            seen.append(token if was_open and (is_open or token not in ends[0]) else None)
        if any(token is not None for token in seen):
            yield seen
        if all(_ended(answer, ends) for answer in made):
            return


# -- what is asked for -----------------------------------------------------------------------------


class _Prompts(NamedTuple):
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


def _prompts(
    tokens: Tokens, lengths: Sequence[int] | None, net: Decoder, most: int | None
) -> _Prompts:
    rows = _rows(tokens, lengths)
    counts = [len(row) for row in rows]
    if not rows or min(counts) < 1:
        raise ParameterError("generate: each prompt must have a token or more, got an empty one")
    longest, room = max(counts), net.max_length
    if most is not None and most < 1:
        raise ParameterError(f"generate: max_new_tokens must be >= 1, or None, got {most}")
    if longest + (most or 1) > room:
        raise ParameterError(
            f"generate: the network has {room} positions, got a prompt of {longest} tokens and "
            f"max_new_tokens={most}; cut the prompt, or ask for fewer"
        )
    most = room - longest if most is None else most
    filled = np.zeros((len(rows), min(_size(longest), room)), np.int32)
    for place, row in zip(filled, rows, strict=True):
        place[: len(row)] = row
    return _Prompts(filled, np.array(counts, np.int32), most, room)


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


def _size(count: int) -> int:
    """Returns the size up to which something of this length is filled up."""
    bits: int = (count - 1).bit_length()
    return max(_SMALLEST, 1 << bits)


#: The tokens that end an answer, and the sequences that do.
_Ends: TypeAlias = tuple[frozenset[int], tuple[tuple[int, ...], ...]]


def _ends(eos: int | Sequence[int] | None, stop: Sequence[Sequence[int]]) -> _Ends:
    several = () if eos is None else (eos,) if isinstance(eos, (int, np.integer)) else eos
    sequences = tuple(tuple(int(token) for token in one) for one in stop)
    if not all(sequences):
        raise ParameterError(
            "generate: a stop sequence must have a token or more, got an empty one"
        )
    return frozenset(int(token) for token in several), sequences


def _end_of(answer: list[int], ends: _Ends) -> int:
    """Returns how many tokens at the end of an answer ended it; 0: it has not ended."""
    if answer and answer[-1] in ends[0]:
        return 1
    return next((len(one) for one in ends[1] if tuple(answer[-len(one) :]) == one), 0)


def _ended(answer: list[int], ends: _Ends) -> bool:
    return _end_of(answer, ends) > 0


def _add(answer: list[int], token: int, ends: _Ends) -> bool:
    """Adds a token unless the answer has ended; returns whether it is open."""
    if not _ended(answer, ends):
        answer.append(token)
    return not _ended(answer, ends)


def _without_end(answer: list[int], ends: _Ends) -> list[int]:
    return answer[: len(answer) - _end_of(answer, ends)]


# -- steps -----------------------------------------------------------------------------------------


@function
def _read(net: Decoder, tokens: NDArray, lengths: NDArray, cache: KeyValueCache) -> NDArray:
    """Reads prompts into an empty cache; returns the scores after each, (batch, vocab)."""
    hidden = net.features(tokens, cache)
    cache.starts[:] = lengths
    rows = nd.arange(tokens.shape[0], ctx=tokens.context, dtype="int32")
    last = nd.gather_nd(hidden, nd.stack(rows, lengths - 1))
    scores: NDArray = net.output(last)
    return scores


@function
def _read_on(net: Decoder, tokens: NDArray, cache: KeyValueCache) -> NDArray:
    """Reads one more token of each sequence, (batch,); returns the scores after it."""
    hidden = net.features(tokens.expand_dims(1), cache)
    cache.starts[:] = cache.starts + 1
    scores: NDArray = net.output(hidden.reshape((-3, 0)))
    return scores


@function
def _choose(scores: NDArray, choice: Choice, temperature: NDArray, top_p: NDArray) -> NDArray:
    return choice.next_tokens(scores, temperature, top_p)


@function
def _write_on(
    net: Decoder,
    tokens: NDArray,
    cache: KeyValueCache,
    choice: Choice,
    temperature: NDArray,
    top_p: NDArray,
) -> NDArray:
    """Reads one more token of each sequence, and chooses the next."""
    return choice.next_tokens(_read_on(net, tokens, cache), temperature, top_p)


def _where(net: Decoder) -> Context:
    """Returns where a network computes."""
    for parameter in net.collect_params().values():
        return cast("Context", parameter.list_ctx()[0])
    return current_context()


def _room(prompts: _Prompts) -> int:
    """Returns the size of the first cache."""
    longest = int(prompts.lengths.max())
    wanted = min(longest + prompts.most, max(2 * longest, _ROOM))
    filled: int = prompts.tokens.shape[1]
    return min(max(_size(wanted), filled), prompts.longest)


def _begun(net: Decoder, prompts: _Prompts, ctx: Context) -> tuple[NDArray, KeyValueCache]:
    """Returns the scores after the prompts, and the cache."""
    cache = net.new_cache(len(prompts.lengths), _room(prompts), ctx)
    tokens = nd.array(prompts.tokens, ctx=ctx, dtype="int32")
    lengths = nd.array(prompts.lengths, ctx=ctx, dtype="int32")
    return _read(net, tokens, lengths, cache), cache


def _with_room(cache: KeyValueCache, count: int, prompts: _Prompts) -> KeyValueCache:
    """Returns a cache with room for `count` positions."""
    if count <= cache.size:
        return cache
    return cache.grown(min(2 * cache.size, prompts.longest))


def _streamed(
    net: Decoder,
    prompts: _Prompts,
    choice: Choice,
    temperature: float,
    top_p: float | None,
) -> Iterator[NumpyArray]:
    """Yields the next token of each sequence, again and again, ended or not."""
    ctx = _where(net)
    longest = int(prompts.lengths.max())
    with ctx, autograd.predict_mode(), autograd.pause():
        numbers = nd.array([temperature or 1.0], ctx=ctx), nd.array([top_p or 1.0], ctx=ctx)
        scores, cache = _begun(net, prompts, ctx)
        tokens = _choose(scores, choice, *numbers)
    for count in range(1, prompts.most + 1):
        following = tokens
        if count < prompts.most:
            # Begun before anybody looks at the last: nothing waits for Python.
            with ctx, autograd.predict_mode(), autograd.pause():
                cache = _with_room(cache, longest + count, prompts)
                following = _write_on(net, tokens, cache, choice, *numbers)
        yield tokens.asnumpy()
        tokens = following


# -- beams -----------------------------------------------------------------------------------------


@function
def _best(scores: NDArray, sums: NDArray, count: int) -> tuple[NDArray, NDArray]:
    """Returns the best continuations of each prompt's beams.

    Args:
        scores: (batch * beams, vocab).
        sums: (batch, beams), the logarithms of the shares so far, added up.
        count: how many are returned.

    Returns:
        Their sums, (batch, count), and which they are: ``beam * vocab + token``.
    """
    logs = nd.log_softmax(scores.astype("float32"), axis=1).reshape((*sums.shape, -1))
    totals = nd.broadcast_add(logs, sums.expand_dims(2)).reshape((0, -1))
    values, places = nd.topk(totals, axis=1, k=count, ret_typ="both", dtype="int32")
    return values, places


@function
def _follow(net: Decoder, tokens: NDArray, rows: NDArray, cache: KeyValueCache) -> NDArray:
    """Goes on with some of the beams: their keys and values take the places of others'."""
    for array in (*cache.keys, *cache.values):
        array[:] = nd.take(array, rows)
    return _read_on(net, tokens, cache)


def _by_beams(net: Decoder, prompts: _Prompts, beams: Beams, ends: _Ends) -> list[list[int]]:
    if ends[1]:
        raise ParameterError("generate: beams end by eos alone; do not give stop")
    ctx, width = _where(net), beams.width
    many = _Prompts(prompts.tokens.repeat(width, 0), prompts.lengths.repeat(width), *prompts[2:])
    longest = int(prompts.lengths.max())
    with ctx, autograd.predict_mode(), autograd.pause():
        scores, cache = _begun(net, many, ctx)
        search = beams.search(len(prompts.lengths), scores.shape[1])
        for count in range(1, prompts.most + 1):
            sums = nd.array(search.sums, ctx=ctx, dtype="float32")
            values, places = _best(scores, sums, beams.candidates)
            search.step(values.asnumpy(), places.asnumpy())
            if search.is_done or count == prompts.most:
                break
            cache = _with_room(cache, longest + count, prompts)
            tokens = nd.array(search.tokens.ravel(), ctx=ctx, dtype="int32")
            rows = nd.array(search.rows.ravel(), ctx=ctx, dtype="int32")
            scores = _follow(net, tokens, rows, cache)
    return [_without_end(answer, ends) for answer in search.answers()]
