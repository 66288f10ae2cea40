"""The tiles of an attention's scores: blocks of queries, which meet blocks of keys.

Tiles that nobody sees are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

from hybridnet.ops.host.namespace import jnp, lax

from .visible import Sizes, Tile, Visible

# Scores of a tile: a megabyte, so that they are still in a processor's cache when they are read.
# Milliseconds of a causal attention and its gradient, heads of 64 units, two cores (AMD EPYC), with
# these tiles, and with blocks of 64 queries that look at all keys: 8 heads of 4,096 positions 555
# and 750, 6 of 2,048 114 and 125, 48 of 256 25 and 34.
_TILE: Final = 1 << 18
_LEAST: Final = 64  # queries and keys of a tile, of many heads too
_SIDE_STEP: Final = 8  # they are multiples of it: what a processor computes at once
# How many times larger tiles are on accelerators, which have more to do at a time: a guess, which
# no card was asked.
_ACCELERATOR_FACTOR: Final = 64
# From how many scores on NumPy computes in tiles.
_MANY: Final = 1 << 24

#: Returns which scores dropout keeps of some queries: of the first and how many,
#: (batch, key heads, group, queries, all keys).
Keeping = Callable[[Any, int], Any]


@final
class Dropout(NamedTuple):
    """Dropout of scores after their softmax.

    Attributes:
        keeping: which are kept.
        scale: what these are multiplied by.
    """

    keeping: Keeping
    scale: float


def are_many(sizes: Sizes) -> bool:
    """Whether all scores at once would be many times more than a tile of them."""
    return sizes.batch * sizes.heads * sizes.queries * sizes.keys > _MANY


def tile_sizes(sizes: Sizes, platform: str) -> tuple[int, int]:
    """Returns the queries and the keys of a tile on a platform."""
    larger = _ACCELERATOR_FACTOR if platform in ("gpu", "tpu") else 1
    of_head = larger * _TILE // max(sizes.batch * sizes.heads, 1)
    if sizes.queries * sizes.keys <= 4 * of_head:  # few enough for the loops to take longer
        return sizes.queries, sizes.keys
    # A square, or two beside each other.
    rows = max(1 << (of_head.bit_length() - 1) // 2, _LEAST)
    columns = 2 * rows if 2 * rows * rows <= of_head else rows
    return _even(sizes.queries, rows), _even(sizes.keys, columns)


def _even(length: int, size: int) -> int:
    """Returns the size of parts of a length, `size` at the most, none of which is much smaller."""
    parts = -(-length // size)
    each = -(-length // parts)
    return min(-(-each // _SIDE_STEP) * _SIDE_STEP, length)


@final
class Attention(NamedTuple):
    """The configuration of an attention: what it is beside its arrays, and its tiles.

    Attributes:
        visible: who sees what.
        rows, columns: queries and keys of a tile.
        dropout: of the scores; None: none.
    """

    visible: Visible
    rows: int
    columns: int
    dropout: Dropout | None

    def kept(self, first: Any, rows: int) -> Any:
        """Returns which scores of some queries dropout keeps; None: all."""
        return None if self.dropout is None else self.dropout.keeping(first, rows)

    def over_blocks(self, step: Callable[[Any, int, Any], Any], state: Any) -> Any:
        """Calls ``step(first query, number of queries, state)`` for each block of queries."""
        rows = self.rows
        whole, rest = divmod(self.visible.sizes.queries, rows)
        if whole == 1:
            state = step(0, rows, state)
        elif whole:
            state = lax.fori_loop(0, whole, lambda i, state: step(i * rows, rows, state), state)
        return step(whole * rows, rest, state) if rest else state

    def over_tiles(
        self, first: Any, rows: int, step: Callable[[Tile, Any], Any], state: Any
    ) -> Any:
        """Calls ``step(tile, state)`` for each tile of some queries that one of them sees."""
        columns, keys = self.columns, self.visible.sizes.keys
        if columns == keys:
            return step(Tile(first, rows, 0, keys), state)

        def one(number: Any, state: Any) -> Any:
            low = number * columns
            if keys % columns == 0:
                return step(Tile(first, rows, low, columns), state)
            # The last tile is moved back, and looks at its own keys only.
            return step(Tile(first, rows, jnp.minimum(low, keys - columns), columns, low), state)

        low, high = self.visible.span(first, rows)
        return lax.fori_loop(low // columns, (high + columns - 1) // columns, one, state)
