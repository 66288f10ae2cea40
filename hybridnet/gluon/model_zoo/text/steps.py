"""The steps of a network that generates text: traced, for each network apart.

A trace belongs to one network. If all shared one function, that would look like a function whose
argument is another one at each call, and would be warned of.
"""

from __future__ import annotations

from typing import Any, Final, Protocol, cast, final
from weakref import WeakKeyDictionary

from hybridnet import ndarray as nd
from hybridnet.base.context import Context, current_context
from hybridnet.ndarray import NDArray
from hybridnet.tracing import function

from ...nn import KeyValueCache
from .choosing import Choice

__all__ = ["Decoder"]


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


@final
class Steps:
    """The steps of one network, each traced once for each size. See the functions below."""

    def __init__(self) -> None:
        self.read: Final = function(_read)
        self.choose: Final = function(_choose)
        self.write_on: Final = function(_write_on)
        self.best: Final = function(_best)
        self.follow: Final = function(_follow)

    @classmethod
    def of(cls, net: Decoder) -> Steps:
        """Returns those of a network, which last as long as it does."""
        found = _OF_NETWORKS.get(net)
        return _OF_NETWORKS.setdefault(net, cls()) if found is None else found


# They are given the network at each call, and hold it only weakly: so it can go.
_OF_NETWORKS: Final[WeakKeyDictionary[Decoder, Steps]] = WeakKeyDictionary()


def _read(net: Decoder, tokens: NDArray, lengths: NDArray, cache: KeyValueCache) -> NDArray:
    """Reads prompts into an empty cache; returns the scores after each, (batch, vocab)."""
    hidden = net.features(tokens, cache)
    cache.starts[:] = lengths
    rows = nd.arange(tokens.shape[0], ctx=tokens.context, dtype="int32")
    last = nd.gather_nd(hidden, nd.stack(rows, lengths - 1))
    scores: NDArray = net.output(last)
    return scores


def _read_on(net: Decoder, tokens: NDArray, cache: KeyValueCache) -> NDArray:
    """Reads one more token of each sequence, (batch,); returns the scores after it."""
    hidden = net.features(tokens.expand_dims(1), cache)
    cache.starts[:] = cache.starts + 1
    scores: NDArray = net.output(hidden.reshape((-3, 0)))
    return scores


def _choose(scores: NDArray, choice: Choice, temperature: NDArray, top_p: NDArray) -> NDArray:
    """Chooses the next token of each sequence."""
    return choice.next_tokens(scores, temperature, top_p)


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


def _follow(net: Decoder, tokens: NDArray, rows: NDArray, cache: KeyValueCache) -> NDArray:
    """Goes on with some of the beams: their keys and values take the places of others'."""
    for array in (*cache.keys, *cache.values):
        array[:] = nd.take(array, rows)
    return _read_on(net, tokens, cache)


def where(net: Decoder) -> Context:
    """Returns where a network computes."""
    for parameter in net.collect_params().values():
        return cast("Context", parameter.list_ctx()[0])
    return current_context()
