"""Attention computed in blocks of queries, so that the scores are never there all at once.

Rabe and Staats, "Self-attention does not need O(n^2) memory", 2021; the gradient computes the
scores again from their sums, as Dao et al., "FlashAttention", 2022. All scores as one block are the
plain way.

Arrays have their heads in front here: queries (batch, key heads, group, length, units), keys and
values (batch, key heads, length, units), in float32 or wider. The queries are scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.ops.host.namespace import at, jnp, lax

from .visible import Block, Sizes, Visible

# Queries of a block; where a block had more scores than the second number, fewer. Milliseconds on
# two cores (AMD EPYC), forward and gradient of 6 heads of 64 units, causal, 2,048 positions: 39 and
# 103 with 64, 39 and 110 with 128, 39 and 121 with 256; all at once 117 and 275.
_QUERIES: Final = 64
_MOST_SCORES: Final = 1 << 23
# How many times larger blocks are on accelerators, which have more to do at a time: a guess, which
# no card was asked.
_LARGER: Final = 8
# Loops over blocks, each with the keys that its queries see: with one loop, of causal attention
# half of the work is in vain; each is compiled for itself.
_LOOPS: Final = 4

#: Returns which scores of a block dropout keeps, (batch, key heads, group, queries, keys).
Keeping = Callable[[Block], Any]


@final
class Dropout(NamedTuple):
    """Dropout of scores after their softmax.

    Attributes:
        keeping: which are kept.
        scale: what these are multiplied by.
    """

    keeping: Keeping
    scale: float


@final
class Loop(NamedTuple):
    """Blocks of queries, one after another, which see the same keys.

    Attributes:
        first: the first query.
        blocks: how many blocks there are.
        rows: queries of a block.
        low, high: the keys, as of a `Block`.
    """

    first: int
    blocks: int
    rows: int
    low: int
    high: int

    def block(self, first: Any) -> Block:
        """Returns the block that begins with a query."""
        return Block(first, self.rows, self.low, self.high)


def at_once(sizes: Sizes) -> list[Loop]:
    """Returns all scores as one block."""
    return [Loop(0, 1, sizes.queries, 0, sizes.keys)]


def are_many(sizes: Sizes) -> bool:
    """Whether all scores at once would be many times more than a block of them."""
    return sizes.batch * sizes.heads * sizes.queries * sizes.keys > 2 * _MOST_SCORES


def in_blocks(visible: Visible, platform: str) -> list[Loop]:
    """Returns blocks of some queries each, for a platform."""
    sizes = visible.sizes
    of_query = max(sizes.batch * sizes.heads * sizes.keys, 1)
    larger = _LARGER if platform in ("gpu", "tpu") else 1
    most = larger * _QUERIES, sizes.queries
    count = min(max(larger * _MOST_SCORES // of_query, 1), *most)
    whole, rest = divmod(sizes.queries, count)
    bounds = [whole * number // _LOOPS for number in range(_LOOPS + 1)]
    parts = [
        (first * count, last - first, count) for first, last in pairwise(bounds) if last > first
    ]
    if rest:
        parts.append((whole * count, 1, rest))
    return [
        Loop(first, blocks, rows, *visible.span(first, first + blocks * rows))
        for first, blocks, rows in parts
    ]


@final
class Attention(NamedTuple):
    """What an attention is beside its arrays, and how it is computed.

    Attributes:
        visible: who sees what.
        loops: the blocks.
        dropout: of the scores; None: none.
    """

    visible: Visible
    loops: Sequence[Loop]
    dropout: Dropout | None


# -- one block -------------------------------------------------------------------------------------


def _scores(products: Any, visible: Visible, block: Block, keys_axis: int) -> tuple[Any, Any]:
    """Returns the scores with their bias, those unseen as low as can be, and which are seen.

    Args:
        products: of queries and keys, (batch, key heads, group, queries, keys), or with the keys
            at another axis.
        visible: who sees what.
        block: what part of it this is.
        keys_axis: where the keys are.
    """
    bias, seen = visible.added(block), visible.seen(block)
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


def _attend(
    queries: Any, keys: Any, values: Any, block: Block, attention: Attention
) -> tuple[Any, Any]:
    """Computes a block.

    Args:
        queries: (batch, key heads, group, queries of the block, units).
        keys, values: those of the block.
        block: which.
        attention: what they see.

    Returns:
        The outputs, (batch, key heads, group, queries, units), and the logarithms of the sums of
        the exponentials of the scores, without the last axis. Where nothing is seen, 0.
    """
    batch, key_heads, group, count, units = queries.shape
    rows = queries.reshape(batch, key_heads, group * count, units)
    products = jnp.matmul(rows, jnp.swapaxes(keys, 2, 3))
    products = products.reshape(batch, key_heads, group, count, keys.shape[2])
    scores, seen = _scores(products, attention.visible, block, 4)
    highest = jnp.max(scores, axis=4, keepdims=True, initial=_lowest(scores))
    shares = _where_seen(seen, jnp.exp(scores - highest))
    sums = jnp.sum(shares, axis=4, keepdims=True)
    sums = jnp.where(sums == 0, np.ones((), sums.dtype), sums)
    if attention.dropout is not None:
        shares = _where_seen(attention.dropout.keeping(block), shares * attention.dropout.scale)
    mixed = jnp.matmul(shares.reshape(batch, key_heads, group * count, keys.shape[2]), values)
    output = mixed.reshape(batch, key_heads, group, count, values.shape[3]) / sums
    return output, (highest + jnp.log(sums))[..., 0]


@final
class _Head(NamedTuple):
    """What the gradient of a block is computed from, beside keys and values.

    Attributes:
        queries: (batch, key heads, group, queries, units), scaled.
        grad: that of the outputs, likewise.
        sums: the logarithms that `_attend` returns.
        dots: (batch, key heads, group, queries), the products of outputs and their gradients.
    """

    queries: Any
    grad: Any
    sums: Any
    dots: Any


def _attend_back(
    head: _Head, keys: Any, values: Any, block: Block, attention: Attention
) -> tuple[Any, Any, Any, Any]:
    """Returns the gradients of the queries, keys, values and scores, (..., keys, group, queries).

    The keys come before the queries here, so that no product but one is of a matrix that has to be
    turned first: XLA takes three quarters of the time.
    """
    batch, key_heads, group, count, units = head.queries.shape
    length = keys.shape[2]
    rows = head.queries.reshape(batch, key_heads, group * count, units)
    grads = head.grad.reshape(batch, key_heads, group * count, values.shape[3])

    def by_key(x: Any, y: Any) -> Any:
        products = jnp.matmul(x, jnp.swapaxes(y, 2, 3))
        return products.reshape(batch, key_heads, length, group, count)

    scores, seen = _scores(by_key(keys, rows), attention.visible, block, 2)
    shares = _where_seen(seen, jnp.exp(scores - head.sums[:, :, None]))
    of_shares = by_key(values, grads)
    kept = shares
    if attention.dropout is not None:
        keeping = jnp.moveaxis(attention.dropout.keeping(block), 4, 2)
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


def _of_bias(of_scores: Any, bias: Any, sizes: Sizes) -> Any:
    """Returns the gradient of a bias, of which the scores of a block have got a part.

    Args:
        of_scores: (batch, key heads, keys, group, queries), the gradient of the block's scores.
        bias: the whole bias.
        sizes: of the attention.
    """
    batch, _, keys, _, count = of_scores.shape
    turned = jnp.moveaxis(of_scores, 2, 4).reshape(batch, sizes.heads, count, keys)
    shared = tuple(axis for axis, size in enumerate(bias.shape) if size == 1)
    return jnp.sum(turned, axis=shared, keepdims=True)


# -- all blocks ------------------------------------------------------------------------------------


def _cut(x: Any, loop: Loop, first: Any) -> Any:
    """Returns the queries of a block, along axis 3."""
    return x if x.shape[3] == loop.rows else lax.dynamic_slice_in_dim(x, first, loop.rows, 3)


def _seen_by(x: Any, loop: Loop) -> Any:
    """Returns the keys or values of a loop."""
    return x if x.shape[2] == loop.high - loop.low else x[:, :, loop.low : loop.high]


def _firsts(loop: Loop) -> Any:
    return loop.first + loop.rows * jnp.arange(loop.blocks, dtype=np.int32)


def _in_a_row(x: Any, axis: int) -> Any:
    """Joins what a loop's blocks have given, one after another along an axis of theirs."""
    moved = jnp.moveaxis(x, 0, axis)
    shape = moved.shape
    return moved.reshape(*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def forward(queries: Any, keys: Any, values: Any, attention: Attention) -> tuple[Any, Any]:
    """Computes attention; see `_attend`."""
    outputs, sums = [], []
    for loop in attention.loops:
        mine = _seen_by(keys, loop), _seen_by(values, loop)

        def one(first: Any, loop: Loop = loop, mine: tuple[Any, Any] = mine) -> tuple[Any, Any]:
            part = _cut(queries, loop, first)
            return _attend(part, *mine, loop.block(first), attention)

        if loop.blocks == 1:
            output, logs = one(loop.first)
        else:
            output, logs = (_in_a_row(x, 3) for x in lax.map(one, _firsts(loop)))
        outputs.append(output)
        sums.append(logs)
    if len(outputs) == 1:
        return outputs[0], sums[0]
    return jnp.concatenate(outputs, 3), jnp.concatenate(sums, 3)


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
    of_queries = []
    of_keys, of_values = jnp.zeros_like(keys), jnp.zeros_like(values)
    visible = attention.visible
    bias = jnp.zeros(visible.bias.shape, keys.dtype) if with_bias else None
    for loop in attention.loops:
        mine = _seen_by(keys, loop), _seen_by(values, loop)

        def one(first: Any, loop: Loop = loop, mine: tuple[Any, Any] = mine) -> Gradients:
            part = _Head(*(_cut(x, loop, first) for x in head))
            found = _attend_back(part, *mine, loop.block(first), attention)
            added = _of_bias(found[3], visible.bias, visible.sizes) if with_bias else None
            return Gradients(*found[:3], added)

        found = one(loop.first) if loop.blocks == 1 else _over_blocks(one, loop, mine, visible)
        of_queries.append(found.queries)
        of_keys = _added(of_keys, found.keys, loop, 2)
        of_values = _added(of_values, found.values, loop, 2)
        if with_bias:
            bias = _added_bias(bias, found.bias, loop)
    joined = of_queries[0] if len(of_queries) == 1 else jnp.concatenate(of_queries, 3)
    return Gradients(joined, of_keys, of_values, bias)


def _over_blocks(
    one: Callable[[Any], Gradients], loop: Loop, mine: tuple[Any, Any], visible: Visible
) -> Gradients:
    """Runs a loop; the gradients of its keys and values are sums over its blocks."""
    zeros = tuple(jnp.zeros_like(x) for x in mine)

    def step(sums: tuple[Any, ...], first: Any) -> tuple[Any, tuple[Any, Any]]:
        found = one(first)
        return (sums[0] + found.keys, sums[1] + found.values), (found.queries, found.bias)

    (keys, values), (queries, bias) = lax.scan(step, zeros, _firsts(loop))
    if bias is not None:
        bias = _in_a_row(bias, 2) if visible.bias.shape[2] != 1 else jnp.sum(bias, 0)
    return Gradients(_in_a_row(queries, 3), keys, values, bias)


def _added(whole: Any, part: Any, loop: Loop, axis: int) -> Any:
    """Adds what a loop has found of its keys."""
    if part.shape == whole.shape:
        return whole + part
    return at(whole)[(slice(None),) * axis + (slice(loop.low, loop.high),)].add(part)


def _added_bias(whole: Any, part: Any, loop: Loop) -> Any:
    if part.shape == whole.shape:
        return whole + part
    rows = slice(None) if whole.shape[2] == 1 else slice(loop.first, loop.first + part.shape[2])
    columns = slice(None) if whole.shape[3] == 1 else slice(loop.low, loop.high)
    return at(whole)[:, :, rows, columns].add(part)
