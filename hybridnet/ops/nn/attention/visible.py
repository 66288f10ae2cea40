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
class Tile(NamedTuple):
    """A part of the scores: some queries in a row, and some keys.

    Attributes:
        first: the first query; in a loop a tracer.
        rows: queries.
        low: the first key, likewise.
        columns: keys.
        begin: the first key that counts: those before it are of another tile; None: all count.
    """

    first: Any
    rows: int
    low: Any
    columns: int
    begin: Any = None


@final
class Visible(NamedTuple):
    """The masking of an attention: what decides which keys a query sees.

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

    def seen(self, tile: Tile) -> Any:
        """Returns whether a query sees a key: bool that broadcasts to the scores; None: always."""
        found = [self._masked(tile), self._near(tile), self._within(tile), _own(tile)]
        conditions = [one for one in found if one is not None]
        if not conditions:
            return None
        seen = conditions[0]
        for condition in conditions[1:]:
            seen = seen & condition
        return seen

    def _masked(self, tile: Tile) -> Any:
        return None if self.mask is None else self.part(self.mask, tile) != 0

    def _within(self, tile: Tile) -> Any:
        if self.lengths is None:
            return None
        lengths = self.lengths.astype(np.int32)
        if lengths.ndim == 1:
            lengths = lengths[:, None]
        elif tile.rows != self.sizes.queries:
            lengths = lax.dynamic_slice_in_dim(lengths, tile.first, tile.rows, 1)
        return (_keys(tile) < lengths[:, :, None])[:, None, None]

    def _near(self, tile: Tile) -> Any:
        if not self.causal and self.window is None:
            return None
        places = tile.first + jnp.arange(tile.rows, dtype=np.int32)
        if self.starts is None:
            places = (places + (self.sizes.keys - self.sizes.queries))[None]
        else:
            places = places + self.starts.astype(np.int32)[:, None]
        distance = places[:, :, None] - _keys(tile)
        near = distance >= 0 if self.causal else distance == distance
        if self.window is not None:
            near = near & ((distance if self.causal else abs(distance)) < self.window)
        return near[:, None, None]

    def added(self, tile: Tile) -> Any:
        """Returns what is added to the scores; None: nothing."""
        return None if self.bias is None else self.part(self.bias, tile)

    def part(self, whole: Any, tile: Tile) -> Any:
        """Returns a tile of a mask or a bias, as it broadcasts to the scores."""
        batch, heads, queries, keys = whole.shape
        if queries != 1 and tile.rows != queries:
            whole = lax.dynamic_slice_in_dim(whole, tile.first, tile.rows, 2)
        if keys != 1 and tile.columns != keys:
            whole = lax.dynamic_slice_in_dim(whole, tile.low, tile.columns, 3)
        by_group = (1, 1) if heads == 1 else (self.sizes.key_heads, self.sizes.group)
        return whole.reshape(batch, *by_group, *whole.shape[2:])

    def span(self, first: Any, rows: int) -> tuple[Any, Any]:
        """Returns the keys that some queries in a row can see: the first, and the end."""
        keys = self.sizes.keys
        earliest: Any = keys - self.sizes.queries
        latest: Any = earliest
        if self.starts is not None:
            earliest, latest = jnp.min(self.starts), jnp.max(self.starts)
        low: Any = 0
        high: Any = keys
        if self.window is not None:
            low = first + earliest - self.window + 1
        if self.causal:
            high = first + rows + latest
        elif self.window is not None:
            high = first + rows + latest + self.window - 1
        first_key, end = (jnp.astype(jnp.clip(x, 0, keys), np.int32) for x in (low, high))
        return first_key, end


def _keys(tile: Tile) -> Any:
    return tile.low + jnp.arange(tile.columns, dtype=np.int32)


def _own(tile: Tile) -> Any:
    """Returns which keys count; None: all."""
    return None if tile.begin is None else (_keys(tile) >= tile.begin)[None, None, None, None]


def kept(key: Any, p: float, sizes: Sizes, first: Any, rows: int) -> Any:
    """Draws which scores dropout keeps: what the operator Dropout draws for all of them.

    Args:
        key: a random key.
        p: the probability that a score is dropped.
        sizes: of the attention.
        first, rows: some of the queries.

    Returns:
        bool, (batch, key heads, group, queries, all keys).
    """
    shape = sizes.batch, sizes.heads, sizes.queries, sizes.keys
    if rows == sizes.queries:
        drawn = keep_mask(key, shape, 1 - p)
    else:
        drawn = keep_rows(key, shape, first, rows, 1 - p)
    return drawn.reshape(sizes.batch, sizes.key_heads, sizes.group, rows, sizes.keys)
