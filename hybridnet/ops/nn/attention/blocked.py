"""Attention computed in tiles, so that the scores are never there all at once.

Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021. For a block of queries, the
keys come in tiles: what has been mixed so far is scaled down when a higher score is met. The
gradient computes the scores again from their sums (Dao et al., "FlashAttention", 2022). All
scores as one tile are the plain way.

Arrays have their heads in front here: queries (batch, key heads, group, length, units), keys and
values (batch, key heads, length, units), in float32 or wider. The queries are scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from hybridnet.ops.host.namespace import added_at, jnp, lax

from .tiles import Attention
from .visible import Sizes, Tile, Visible

# -- one tile --------------------------------------------------------------------------------------


def _scores(products: Any, visible: Visible, tile: Tile, keys_axis: int) -> tuple[Any, Any]:
    """Returns the scores with their bias, those unseen as low as can be, and which are seen.

    Args:
        products: of queries and keys, (batch, key heads, group, queries, keys), or with the keys
            at another axis.
        visible: who sees what.
        tile: what part of it this is.
        keys_axis: where the keys are.
    """
    bias, seen = visible.added(tile), visible.seen(tile)
    if keys_axis != 4:
        bias = None if bias is None else jnp.moveaxis(bias, 4, keys_axis)
        seen = None if seen is None else jnp.moveaxis(seen, 4, keys_axis)
    scores = products if bias is None else products + jnp.astype(bias, products.dtype)
    if seen is not None:
        scores = jnp.where(seen, scores, _lowest(scores))
    return scores, seen


def _lowest(scores: Any) -> Any:
    """Returns a number below all scores; it is finite, so that no gradient of it is NaN."""
    return np.asarray(jnp.finfo(scores.dtype).min, scores.dtype)


def _where_seen(seen: Any, x: Any) -> Any:
    return x if seen is None else jnp.where(seen, x, np.zeros((), x.dtype))


def _queries_of(x: Any, first: Any, rows: int) -> Any:
    """Returns a block of queries, along axis 3."""
    return x if x.shape[3] == rows else lax.dynamic_slice_in_dim(x, first, rows, 3)


def _keys_of(x: Any, tile: Tile, axis: int = 2) -> Any:
    """Returns what belongs to the keys of a tile."""
    if x.shape[axis] == tile.columns:
        return x
    return lax.dynamic_slice_in_dim(x, tile.low, tile.columns, axis)


@final
class _Mixed(NamedTuple):
    """The running sums of an online softmax: of some queries, over the keys that they have met.

    Attributes:
        values: (batch, key heads, group, queries, value units), by the exponentials of the scores.
        highest: (batch, key heads, group, queries, 1), the highest score; it is subtracted.
        sums: likewise, of the exponentials.
    """

    values: Any
    highest: Any
    sums: Any


def _attend(
    queries: Any,
    keys: Any,
    values: Any,
    tile: Tile,
    attention: Attention,
    keep: Any,
    before: _Mixed | None,
) -> _Mixed:
    """Mixes the values of a tile in.

    Args:
        queries: (batch, key heads, group, queries of the tile, units).
        keys, values: all.
        tile: which.
        attention: what they see.
        keep: what dropout keeps, of all keys; None: everything.
        before: what was mixed before; None: nothing.
    """
    batch, key_heads, group, count, units = queries.shape
    mine, columns = _keys_of(keys, tile), tile.columns
    rows = queries.reshape(batch, key_heads, group * count, units)
    products = jnp.matmul(rows, jnp.swapaxes(mine, 2, 3))
    products = products.reshape(batch, key_heads, group, count, columns)
    scores, _ = _scores(products, attention.visible, tile, 4)
    highest = jnp.max(scores, axis=4, keepdims=True, initial=_lowest(scores))
    if before is not None:
        highest = jnp.maximum(highest, before.highest)
    # Where a query has seen nothing yet these are all 1: of no account once it sees something.
    shares = jnp.exp(scores - highest)
    sums = jnp.sum(shares, axis=4, keepdims=True)
    if attention.dropout is not None:
        shares = _where_seen(_keys_of(keep, tile, 4), shares * attention.dropout.scale)
    flat = shares.reshape(batch, key_heads, group * count, columns)
    mixed = jnp.matmul(flat, _keys_of(values, tile))
    mixed = mixed.reshape(batch, key_heads, group, count, values.shape[3])
    if before is None:
        return _Mixed(mixed, highest, sums)
    fade = jnp.exp(before.highest - highest)
    return _Mixed(before.values * fade + mixed, highest, before.sums * fade + sums)


@final
class _Head(NamedTuple):
    """The inputs of the gradient of a block of queries, beside keys and values.

    Attributes:
        queries: (batch, key heads, group, queries, units), scaled.
        grad: that of the outputs, likewise.
        sums: the logarithms that `forward` returns.
        dots: (batch, key heads, group, queries), the products of outputs and their gradients.
    """

    queries: Any
    grad: Any
    sums: Any
    dots: Any


def _attend_back(
    head: _Head, keys: Any, values: Any, tile: Tile, attention: Attention, keep: Any
) -> tuple[Any, Any, Any, Any]:
    """Returns the gradients of the queries, keys, values and scores, (..., keys, group, queries).

    The keys come before the queries here, so that no product but one is of a matrix that has to be
    turned first: XLA takes three quarters of the time.
    """
    batch, key_heads, group, count, units = head.queries.shape
    length = tile.columns
    keys, values = _keys_of(keys, tile), _keys_of(values, tile)
    rows = head.queries.reshape(batch, key_heads, group * count, units)
    grads = head.grad.reshape(batch, key_heads, group * count, values.shape[3])

    def by_key(x: Any, y: Any) -> Any:
        products = jnp.matmul(x, jnp.swapaxes(y, 2, 3))
        return products.reshape(batch, key_heads, length, group, count)

    scores, seen = _scores(by_key(keys, rows), attention.visible, tile, 2)
    shares = _where_seen(seen, jnp.exp(scores - head.sums[:, :, None]))
    of_shares = by_key(values, grads)
    kept = shares
    if attention.dropout is not None:
        keeping = jnp.moveaxis(_keys_of(keep, tile, 4), 4, 2)
        of_shares = _where_seen(keeping, of_shares * attention.dropout.scale)
        kept = _where_seen(keeping, shares * attention.dropout.scale)
    of_scores = shares * (of_shares - head.dots[:, :, None])
    flat = batch, key_heads, length, group * count
    of_rows = of_scores.reshape(flat)
    of_queries = jnp.matmul(jnp.swapaxes(of_rows, 2, 3), keys)
    return (
        of_queries.reshape(head.queries.shape),
        jnp.matmul(of_rows, rows),
        jnp.matmul(kept.reshape(flat), grads),
        of_scores,
    )


# -- all tiles -------------------------------------------------------------------------------------


def forward(queries: Any, keys: Any, values: Any, attention: Attention) -> tuple[Any, Any]:
    """Computes attention.

    Returns:
        The outputs, (batch, key heads, group, queries, units), and the logarithms of the sums of
        the exponentials of the scores, without the last axis. Where nothing is seen, 0.
    """
    width = values.shape[3]

    def block(first: Any, rows: int) -> tuple[Any, Any]:
        part, keep = _queries_of(queries, first, rows), attention.kept(first, rows)
        of_rows = *queries.shape[:3], rows
        mixed = None
        if attention.columns != keys.shape[2]:
            nothing = jnp.zeros((*of_rows, 1), queries.dtype)
            values_of = jnp.zeros((*of_rows, width), queries.dtype)
            mixed = _Mixed(values_of, nothing + _lowest(nothing), nothing)

        def step(tile: Tile, mixed: _Mixed | None) -> _Mixed:
            return _attend(part, keys, values, tile, attention, keep, mixed)

        found = _Mixed(*attention.over_tiles(first, rows, step, mixed))
        some = found.highest != _lowest(queries)
        sums = jnp.where(some & (found.sums != 0), found.sums, np.ones((), queries.dtype))
        logs = (found.highest + jnp.log(sums))[..., 0]
        return _where_seen(some, found.values / sums), logs

    count = queries.shape[3]
    if attention.rows == count:
        return block(0, count)

    def place(first: Any, rows: int, made: tuple[Any, Any]) -> tuple[Any, Any]:
        output, sums = block(first, rows)
        place = 0, 0, 0, first
        return added_at(made[0], output, (*place, 0)), added_at(made[1], sums, place)

    shape = queries.shape[:4]
    zeros = jnp.zeros((*shape, width), queries.dtype), jnp.zeros(shape, queries.dtype)
    made: tuple[Any, Any] = attention.over_blocks(place, zeros)
    return made


@final
class Gradients(NamedTuple):
    """The gradients of the scaled queries, the keys, the values and the bias; or no bias."""

    queries: Any
    keys: Any
    values: Any
    bias: Any


def backward(
    head: Sequence[Any],
    keys: Any,
    values: Any,
    attention: Attention,
    *,
    with_bias: bool,
) -> Gradients:
    """Computes the gradients.

    Args:
        head: the fields of a `_Head` for all queries.
        keys, values: all.
        attention: as it was computed.
        with_bias: whether the gradient of the bias is wanted.
    """
    visible = attention.visible

    def block(first: Any, rows: int, sums: Gradients) -> Gradients:
        part = _Head(*(_queries_of(x, first, rows) for x in head))
        keep = attention.kept(first, rows)

        def step(tile: Tile, sums: Gradients) -> Gradients:
            *found, of_scores = _attend_back(part, keys, values, tile, attention, keep)
            bias = sums.bias
            if with_bias:
                bias = _with_bias(bias, of_scores, tile, visible.sizes)
            place = 0, 0, tile.low, 0
            return Gradients(
                found[0] if sums.queries is None else sums.queries + found[0],
                added_at(sums.keys, found[1], place),
                added_at(sums.values, found[2], place),
                bias,
            )

        one_tile = attention.columns == keys.shape[2]
        mine = None if one_tile else jnp.zeros(part.queries.shape, part.queries.dtype)
        found: Gradients = attention.over_tiles(first, rows, step, sums._replace(queries=mine))
        of_queries = added_at(sums.queries, found.queries, (0, 0, 0, first, 0))
        return found._replace(queries=of_queries)

    bias = jnp.zeros(visible.bias.shape, keys.dtype) if with_bias else None
    queries, of_keys, of_values = (jnp.zeros(x.shape, x.dtype) for x in (head[0], keys, values))
    zeros = Gradients(queries, of_keys, of_values, bias)
    made: Gradients = attention.over_blocks(block, zeros)
    return made


def _with_bias(whole: Any, of_scores: Any, tile: Tile, sizes: Sizes) -> Any:
    """Adds to the gradient of a bias what the scores of a tile have got.

    Args:
        whole: the gradient so far, of the bias's shape.
        of_scores: (batch, key heads, keys, group, queries), the gradient of the tile's scores.
        tile: which.
        sizes: of the attention.
    """
    batch, _, columns, _, rows = of_scores.shape
    turned = jnp.moveaxis(of_scores, 2, 4).reshape(batch, sizes.heads, rows, columns)
    shared = tuple(axis for axis, size in enumerate(whole.shape) if size == 1)
    places = zip((0, 0, tile.first, tile.low), whole.shape, strict=True)
    starts = [0 if size == 1 else place for place, size in places]
    return added_at(whole, jnp.sum(turned, axis=shared, keepdims=True), starts)
