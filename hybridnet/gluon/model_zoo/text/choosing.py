"""The choice of a next token from scores: the best one, or one drawn."""

from __future__ import annotations

from typing import Final, NamedTuple, final

from hybridnet import ndarray as nd
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

__all__ = ["Choice"]

#: What is taken from the score of a token that is not to be drawn: its share is 0 then.
_FAR: Final = 1e30


@final
class Choice(NamedTuple):
    """The sampling strategy: greedy, or drawn from the top k tokens or a nucleus of them.

    It is part of a traced function, for which it is compared by value.

    Attributes:
        greedy: take the best token; else draw one.
        top_k: draw from so many of the best; 0 for all.
        nucleus: whether from the fewest best tokens, too, whose shares add up to a number given.
    """

    greedy: bool
    top_k: int
    nucleus: bool

    @classmethod
    def of(cls, temperature: float, top_k: int | None, top_p: float | None) -> Choice:
        """Checks what a user says.

        Raises:
            ParameterError: it is out of range.
        """
        if not temperature >= 0:
            raise ParameterError(f"generate: temperature must be >= 0, got {temperature}")
        if top_k is not None and top_k < 1:
            raise ParameterError(f"generate: top_k must be >= 1, or None for all, got {top_k}")
        if top_p is not None and not 0 < top_p <= 1:
            raise ParameterError(f"generate: top_p must be above 0 and at most 1, got {top_p}")
        if temperature == 0:
            return cls(True, 0, False)
        return cls(False, top_k or 0, top_p is not None and top_p < 1)

    def next_tokens(self, scores: NDArray, temperature: NDArray, top_p: NDArray) -> NDArray:
        """Returns a token for each row.

        Args:
            scores: (batch, vocab), any floating dtype.
            temperature: (1,), what scores are divided by before they are drawn of.
            top_p: (1,), see `nucleus`: Holtzman et al., "The curious case of neural text
                degeneration", 2020.

        Returns:
            (batch,), int32.
        """
        if self.greedy:
            return scores.argmax(axis=1).astype("int32")
        scores = nd.broadcast_div(scores.astype("float32"), temperature)
        if 0 < self.top_k < scores.shape[1]:
            least = nd.topk(scores, axis=1, k=self.top_k, ret_typ="value")[:, self.top_k - 1 :]
            scores = _at_least(scores, least)
        if self.nucleus:
            best = nd.sort(scores, axis=1, is_ascend=False)
            shares = nd.softmax(best, axis=1)
            before = nd.cumsum(shares, axis=1) - shares
            # The last of the best whose predecessors do not have enough.
            last = nd.broadcast_lesser(before, top_p).sum(axis=1) - 1
            least = nd.pick(best, last, axis=1, keepdims=True)
            scores = _at_least(scores, least)
        # The largest after noise of Gumbel's: a token comes as often as its share says.
        uniform = nd.random.uniform(2.0**-24, 1, shape=scores.shape, ctx=scores.context)
        drawn: NDArray = (scores - nd.log(-nd.log(uniform))).argmax(axis=1).astype("int32")
        return drawn


def _at_least(scores: NDArray, least: NDArray) -> NDArray:
    """Keeps the scores of a row from a least one up."""
    return scores + (nd.broadcast_greater_equal(scores, least) - 1) * _FAR
