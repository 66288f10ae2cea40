"""Which keys a query sees, and which of them dropout leaves: for a block of queries and of keys.

Scores are (batch, key heads, group, queries, keys) here, where a group is the query heads that
share a key head.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

import numpy as np

from hybridnet.ops.host.namespace import jnp, lax

from ...random.state import keep_mask, keep_rows


@final
class Sizes(NamedTuple):
    """The sizes of an attention.

    Attributes:
        batch: sequences.
        key_heads: heads of keys and values.
        group: heads of queries for each of them.
        queries, keys: positions.
    """

    batch: int
    key_heads: int
    group: int
    queries: int
    keys: int

    @property
    def heads(self) -> int:
        """Heads of queries."""
        return self.key_heads * self.group


def sizes_of(queries: Any, keys: Any) -> Sizes:
    """Returns the sizes, from arrays or types (batch, length, heads, units)."""
    batch, count, heads, _ = queries.shape
    return Sizes(batch, keys.shape[2], heads // keys.shape[2], count, keys.shape[1])


@final
class Block(NamedTuple):
    """A part of the scores: some queries in a row, and some keys.

    Attributes:
        first: the first query; in a loop a tracer.
        rows: queries.
        low: the first key.
        high: the key after the last.
    """

    first: Any
    rows: int
    low: int
    high: int


@final
class Visible(NamedTuple):
    """What decides which keys a query sees.

    Attributes:
        sizes: of the attention.
        mask: (batch, heads, queries, keys) or 1 for any of them, where it is not 0; None: all.
        bias: added to the scores, of such a shape; None: nothing.
        lengths: (batch,) or (batch, queries), how many keys there are from the front; None: all.
        starts: (batch,), the position of the first query among the keys; None: the last query is
            where the last key is.
        causal: whether keys after the query are hidden.
        window: how many keys are seen: the query's own and those before it (and with causal=False
            as many after it); None: all.
    """

    sizes: Sizes
    mask: Any
    bias: Any
    lengths: Any
    starts: Any
    causal: bool
    window: int | None

    def seen(self, block: Block) -> Any:
        """Returns whether a query sees a key: bool that broadcasts to the scores; None: always."""
        found = [self._masked(block), self._near(block), self._within(block)]
        conditions = [one for one in found if one is not None]
        if not conditions:
            return None
        seen = conditions[0]
        for condition in conditions[1:]:
            seen = seen & condition
        return seen

    def _masked(self, block: Block) -> Any:
        return None if self.mask is None else self.part(self.mask, block) != 0

    def _within(self, block: Block) -> Any:
        if self.lengths is None:
            return None
        lengths = self.lengths.astype(np.int32)
        if lengths.ndim == 1:
            lengths = lengths[:, None]
        elif block.rows != self.sizes.queries:
            lengths = lax.dynamic_slice_in_dim(lengths, block.first, block.rows, 1)
        return (_keys(block) < lengths[:, :, None])[:, None, None]

    def _near(self, block: Block) -> Any:
        if not self.causal and self.window is None:
            return None
        places = block.first + jnp.arange(block.rows, dtype=np.int32)
        if self.starts is None:
            places = (places + (self.sizes.keys - self.sizes.queries))[None]
        else:
            places = places + self.starts.astype(np.int32)[:, None]
        distance = places[:, :, None] - _keys(block)
        near = distance >= 0 if self.causal else distance == distance
        if self.window is not None:
            near = near & ((distance if self.causal else abs(distance)) < self.window)
        return near[:, None, None]

    def added(self, block: Block) -> Any:
        """Returns what is added to the scores; None: nothing."""
        return None if self.bias is None else self.part(self.bias, block)

    def part(self, whole: Any, block: Block) -> Any:
        """Returns a block of a mask or a bias, as it broadcasts to the scores."""
        batch, heads, queries, keys = whole.shape
        if queries != 1 and block.rows != queries:
            whole = lax.dynamic_slice_in_dim(whole, block.first, block.rows, 2)
        if keys != 1 and block.high - block.low != keys:
            whole = whole[:, :, :, block.low : block.high]
        by_group = (1, 1) if heads == 1 else (self.sizes.key_heads, self.sizes.group)
        return whole.reshape(batch, *by_group, *whole.shape[2:])

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Returns the keys that queries from `first` up to `end` can see: the first and the end."""
        low, high = 0, self.sizes.keys
        if self.starts is None:
            before = self.sizes.keys - self.sizes.queries
            if self.causal:
                high = max(min(high, end + before), 1)
            if self.window is not None:
                low = min(max(first + before - self.window + 1, 0), high - 1)
                high = min(high, max(end + before + self.window - 1, low + 1))
        return low, high


def _keys(block: Block) -> Any:
    return jnp.arange(block.low, block.high, dtype=np.int32)


def kept(key: Any, p: float, sizes: Sizes, block: Block) -> Any:
    """Draws which scores dropout keeps: what the operator Dropout draws for all of them.

    Args:
        key: a random key.
        p: the probability that a score is dropped.
        sizes: of the attention.
        block: some of the queries; all keys are drawn.

    Returns:
        bool, (batch, key heads, group, queries, keys of the block).
    """
    shape = sizes.batch, sizes.heads, sizes.queries, sizes.keys
    if block.rows == sizes.queries:
        drawn = keep_mask(key, shape, 1 - p)
    else:
        drawn = keep_rows(key, shape, block.first, block.rows, 1 - p)
    by_group = sizes.batch, sizes.key_heads, sizes.group, block.rows, sizes.keys
    return drawn.reshape(by_group)[..., block.low : block.high]
