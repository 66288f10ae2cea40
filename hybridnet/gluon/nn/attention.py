"""Attention, and the embeddings of positions that go with it."""

from __future__ import annotations

import math
from typing import Any, Unpack

from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike

from ..block import HybridBlock
from ..types import BlockNames, Data, Operators
from .axes import deferred
from .basic import Dense

__all__ = [
    "LearnedPositions",
    "MultiHeadAttention",
    "RotaryEmbedding",
    "SinusoidalPositions",
]


class RotaryEmbedding(HybridBlock):
    """Turns pairs of units by angles that grow with the position (Su et al. 2021).

    Pair i of n turns by ``position * base ** (-i / n)``.

    Args:
        units: how many units of a head are turned, an even number; others stay.
        base: of the angles.
        interleaved: whether pairs are neighbours; else unit i goes with unit ``i + units / 2``.

    Input (batch, length, heads, units of a head), and the positions (length,) or (batch, length),
    by default 0, 1, 2, ...; output the shape of the input.
    """

    def __init__(
        self,
        units: int,
        base: float = 10000.0,
        interleaved: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        if units < 2 or units % 2:
            raise ParameterError(f"RotaryEmbedding: units must be even and >= 2, got {units}")
        super().__init__(**kwargs)
        self._units = units
        self._base = base
        self._interleaved = interleaved

    def hybrid_forward(self, F: Operators[Data], x: Data, positions: Data | None = None) -> Data:
        """Turns."""
        count = self._units // 2
        angles = F.exp(F.arange(count) * (-math.log(self._base) / count))
        if positions is None:
            positions = F.contrib.arange_like(x, axis=1)
        return F.contrib.rotary_embedding(x, positions, angles, interleaved=self._interleaved)

    def __repr__(self) -> str:
        return f"RotaryEmbedding({self._units}, base={self._base})"


class SinusoidalPositions(HybridBlock):
    """Adds sines and cosines of the position (Vaswani et al. 2017, section 3.5).

    Units ``2 i`` and ``2 i + 1`` get the sine and cosine of
    ``position / 10000 ** (2 i / units)``.

    Args:
        units: of a position, an even number.

    Input (batch, length, units); output the same shape.
    """

    def __init__(self, units: int, **kwargs: Unpack[BlockNames]) -> None:
        if units < 2 or units % 2:
            raise ParameterError(f"SinusoidalPositions: units must be even and >= 2, got {units}")
        super().__init__(**kwargs)
        self._units = units

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Adds them."""
        count = self._units // 2
        rates = F.exp(F.arange(count) * (-math.log(10000.0) / count))
        places = F.contrib.arange_like(x, axis=1)
        angles = F.broadcast_mul(F.expand_dims(places, axis=1), F.expand_dims(rates, axis=0))
        pairs = F.stack(F.sin(angles), F.cos(angles), axis=2)
        return F.broadcast_add(x, F.expand_dims(F.reshape(pairs, (0, -1)), axis=0))


class LearnedPositions(HybridBlock):
    """Adds a learned vector for each position.

    Args:
        max_length: how many positions there are; a longer input is an error.
        units: of a position.
        weight_initializer: first values.

    Input (batch, length, units); output the same shape.
    """

    def __init__(
        self,
        max_length: int,
        units: int,
        weight_initializer: InitLike | None = None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self.weight = deferred(self, "weight", (max_length, units), weight_initializer)

    def hybrid_forward(self, F: Operators[Data], x: Data, weight: Data) -> Data:
        """Adds them."""
        places = F.contrib.arange_like(x, axis=1)
        vectors = F.take(weight, places, mode="raise")
        return F.broadcast_add(x, F.expand_dims(vectors, axis=0))

    def __repr__(self) -> str:
        return f"LearnedPositions({', '.join(map(str, self.weight.shape or ()))})"


class MultiHeadAttention(HybridBlock):
    """Attention in several heads (Vaswani et al. 2017), of an input to itself or to a memory.

    Args:
        units: of the output, and of all heads together.
        num_heads: how many heads; they divide `units`.
        num_key_heads: heads of keys and values, which divide `num_heads`; None for as many
            (grouped-query attention: Ainslie et al. 2023).
        use_bias: whether the four dense layers have biases.
        dropout: the probability that a share of attention is dropped, in training.
        causal: whether a position sees none after it.
        window: how many positions one sees: its own and those before it; None for all.
        rotary: turns queries and keys by their positions; None for none.
        layer: which layer of a `KeyValueCache` it writes.
        weight_initializer, bias_initializer: first values.
        in_units: of the input; 0 to find out from the first.
        memory_units: of the memory; 0 likewise.

    Inputs: x (batch, length, in_units); optionally memory (batch, memory length, memory_units),
    which keys and values are made of, in the place of x; mask, where a query sees a key, of a shape
    that `nd.contrib.dot_product_attention` takes; lengths (batch,), how many keys there are; and a
    `KeyValueCache` of the positions before, on arrays. Output (batch, length, units).
    """

    def __init__(
        self,
        units: int,
        num_heads: int,
        num_key_heads: int | None = None,
        use_bias: bool = True,
        dropout: float = 0.0,
        causal: bool = False,
        window: int | None = None,
        rotary: RotaryEmbedding | None = None,
        layer: int = 0,
        weight_initializer: InitLike | None = None,
        bias_initializer: InitLike | None = "zeros",
        in_units: int = 0,
        memory_units: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        key_heads = num_heads if num_key_heads is None else num_key_heads
        if num_heads < 1 or units % num_heads or key_heads < 1 or num_heads % key_heads:
            raise ParameterError(
                "MultiHeadAttention: num_heads must divide units, and num_key_heads num_heads, got "
                f"units={units}, num_heads={num_heads}, num_key_heads={num_key_heads}"
            )
        super().__init__(**kwargs)
        self._heads = num_heads
        self._key_heads = key_heads
        self._units = units // num_heads
        self._dropout = dropout
        self._causal = causal
        self._window = window
        self._layer = layer
        memory_units = memory_units or in_units

        def dense(name: str, heads: int, inputs: int) -> Dense:
            return Dense(
                heads * self._units,
                use_bias=use_bias,
                flatten=False,
                weight_initializer=weight_initializer,
                bias_initializer=bias_initializer,
                in_units=inputs,
                prefix=f"{name}_",
            )

        with self.name_scope():
            self.query = dense("query", num_heads, in_units)
            self.key = dense("key", key_heads, memory_units)
            self.value = dense("value", key_heads, memory_units)
            self.proj = dense("proj", num_heads, units)
            self.rotary = rotary

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        memory: Data | None = None,
        mask: Data | None = None,
        lengths: Data | None = None,
        cache: Any = None,
    ) -> Data:
        """Attends."""
        source = x if memory is None else memory
        queries = F.reshape(self.query(x), (0, 0, self._heads, -1))
        keys = F.reshape(self.key(source), (0, 0, self._key_heads, -1))
        values = F.reshape(self.value(source), (0, 0, self._key_heads, -1))
        starts = None if cache is None else cache.starts
        if self.rotary is not None:
            positions = None
            if starts is not None:
                steps = F.expand_dims(F.contrib.arange_like(x, axis=1), axis=0)
                begun = F.cast(F.expand_dims(starts, axis=1), dtype="float32")
                positions = F.broadcast_add(begun, steps)
            queries, keys = self.rotary(queries, positions), self.rotary(keys, positions)
        if cache is not None:
            keys, values = cache.write(self._layer, keys, values)
        attended = F.contrib.dot_product_attention(
            queries,
            keys,
            values,
            mask=mask,
            lengths=lengths,
            starts=starts,
            causal=self._causal or cache is not None,
            window=self._window,
            dropout=self._dropout,
        )
        return self.proj(F.reshape(attended, (0, 0, -3)))

    def __repr__(self) -> str:
        groups = "" if self._key_heads == self._heads else f", {self._key_heads} of keys"
        return f"MultiHeadAttention({self._heads} heads{groups}, {self._heads * self._units} units)"
