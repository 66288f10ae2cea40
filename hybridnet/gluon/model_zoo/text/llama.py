"""Llama: Touvron et al., "Llama 2", 2023; Grattafiori et al., "The Llama 3 herd of models", 2024.

Mistral (Jiang et al., "Mistral 7B", 2023) is a Llama with a window, and Qwen2 (Yang et al., "Qwen2
technical report", 2024) one with biases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Unpack

from hybridnet import initializer
from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.ndarray import NDArray

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames
from ..folders import Family, Settings, Weight, activation, weights_by_name, weights_of
from .llama_config import CLASSES, LlamaSizes, config_of, read_sizes
from .rope import frequencies
from .table import Table, check_tokens

__all__ = ["Llama", "llama"]


def llama(**sizes: Any) -> Llama:
    """Returns a new Llama, of Llama 2's smallest size where nothing else is said.

    Args:
        sizes: the attributes of `LlamaSizes`: ``llama(layers=6, units=384, heads=6)``.
    """
    return Llama(LlamaSizes(**sizes))


class Llama(HybridBlock):
    """Layers of causal attention over tokens with rotary positions, and scores of the next one.

    Args:
        sizes: what it consists of.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        features: the hidden states of tokens.
        output: the scores of hidden states.
        sizes: as given.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: LlamaSizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self.sizes = sizes
        self.config = config_of(sizes)
        with self.name_scope():
            self.features = LlamaFeatures(sizes, prefix="features_")
            # The same dict of parameters is the same weight.
            shared = self.features.tokens.params if sizes.tied else None
            self.output = _dense(sizes, sizes.vocab_size, sizes.units, params=shared)

    def forward(self, tokens: NDArray, cache: nn.KeyValueCache | None = None) -> NDArray:
        """Returns the scores of the token after each, (batch, length, vocab_size).

        Args:
            tokens: (batch, length), whole numbers below `vocab_size`.
            cache: of earlier positions, which is written; the tokens begin at its ``starts``.
        """
        scores: NDArray = self.output(self.features(tokens, cache))
        return scores

    @property
    def max_length(self) -> int:
        """The longest sequence that it is meant for; nothing breaks beyond."""
        return self.sizes.max_length

    def new_cache(self, batch: int, size: int, ctx: Context | None = None) -> nn.KeyValueCache:
        """Returns an empty cache for `batch` sequences of up to `size` tokens."""
        sizes = self.sizes
        shape = (batch, size, sizes.keys_at, sizes.head_size)
        dtype: DTypeLike = self.features.tokens.weight.dtype
        return nn.KeyValueCache.zeros(sizes.layers, shape, dtype, ctx)


class LlamaFeatures(HybridBlock):
    """The hidden states of tokens, after the last norm; see `Llama`."""

    def __init__(self, sizes: LlamaSizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._frequencies = frequencies(sizes.head_size, sizes.rope_base, sizes.rope_scaling)
        with self.name_scope():
            self.tokens = Table(sizes.vocab_size, sizes.units, sizes.spread)
            self.layers = nn.HybridSequential()
            with self.layers.name_scope():
                for number in range(sizes.layers):
                    self.layers.add(_LlamaLayer(sizes, number))
            self.norm = _norm(sizes)

    def forward(self, tokens: NDArray, cache: nn.KeyValueCache | None = None) -> NDArray:
        """Returns (batch, length, units) of (batch, length); see `Llama`."""
        check_tokens("llama", tokens)
        positions = nd.arange(tokens.shape[1], ctx=tokens.context, dtype="int32")
        if cache is not None:
            positions = cache.starts.expand_dims(1) + positions.expand_dims(0)
        angles = nd.array(self._frequencies, ctx=tokens.context, dtype="float32")
        hidden = self.tokens(tokens)
        for layer in self.layers:
            hidden = layer(hidden, positions, angles, cache)
        return self.norm(hidden)


class _LlamaLayer(HybridBlock):
    """Attention and a gated feed-forward part, each after a norm, each added to what comes in."""

    def __init__(self, sizes: LlamaSizes, number: int, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._number = number
        self._sizes = sizes
        units, hidden = sizes.units, sizes.hidden_units
        inner, keys = (heads * sizes.head_size for heads in (sizes.heads, sizes.keys_at))
        bias = sizes.attention_bias
        query_bias = bias or sizes.kind == "qwen2"
        with self.name_scope():
            self.attention_norm = _norm(sizes)
            self.queries = _dense(sizes, inner, units, query_bias)
            self.keys = _dense(sizes, keys, units, query_bias)
            self.values = _dense(sizes, keys, units, query_bias)
            self.attention_output = _dense(sizes, units, inner, bias)
            self.hidden_norm = _norm(sizes)
            self.gate = _dense(sizes, hidden, units, sizes.hidden_bias)
            self.activation = activation(sizes.activation)
            self.hidden = _dense(sizes, hidden, units, sizes.hidden_bias)
            self.hidden_output = _dense(sizes, units, hidden, sizes.hidden_bias)

    def forward(
        self,
        x: NDArray,
        positions: NDArray,
        angles: NDArray,
        cache: nn.KeyValueCache | None = None,
    ) -> NDArray:
        """Returns (batch, length, units) of the same."""
        attended = self._attend(self.attention_norm(x), positions, angles, cache)
        x = x + self.attention_output(attended)
        normed = self.hidden_norm(x)
        return x + self.hidden_output(self.activation(self.gate(normed)) * self.hidden(normed))

    def _attend(
        self,
        x: NDArray,
        positions: NDArray,
        angles: NDArray,
        cache: nn.KeyValueCache | None,
    ) -> NDArray:
        layers = (self.queries, self.keys, self.values)
        shape = (0, 0, -1, self._sizes.head_size)
        queries, keys, values = (layer(x).reshape(shape) for layer in layers)
        queries = nd.contrib.rotary_embedding(queries, positions, angles)
        keys = nd.contrib.rotary_embedding(keys, positions, angles)
        starts = None
        if cache is not None:
            keys, values = cache.write(self._number, keys, values)
            starts = cache.starts
        attended: NDArray = nd.contrib.dot_product_attention(
            queries,
            keys,
            values,
            starts=starts,
            causal=True,
            window=self._sizes.window,
            dropout=self._sizes.attention_dropout,
        )
        return attended.reshape((0, 0, -1))


def _norm(sizes: LlamaSizes) -> nn.RMSNorm:
    return nn.RMSNorm(epsilon=sizes.epsilon, in_channels=sizes.units)


def _dense(
    sizes: LlamaSizes, units: int, in_units: int, bias: bool = False, **kwargs: Any
) -> nn.Dense:
    return nn.Dense(
        units,
        use_bias=bias,
        flatten=False,
        weight_initializer=initializer.Normal(sizes.spread),
        in_units=in_units,
        **kwargs,
    )


# -- folders ---------------------------------------------------------------------------------------

#: Hugging Face's names of tensors -> ours; and of the parts of each layer.
_BODY: Final = {"embed_tokens": "tokens", "norm": "norm"}
_LAYER: Final = {
    "input_layernorm": "attention_norm",
    "self_attn.q_proj": "queries",
    "self_attn.k_proj": "keys",
    "self_attn.v_proj": "values",
    "self_attn.o_proj": "attention_output",
    "post_attention_layernorm": "hidden_norm",
    "mlp.gate_proj": "gate",
    "mlp.up_proj": "hidden",
    "mlp.down_proj": "hidden_output",
}


def _weights(net: Llama) -> Iterator[Weight]:
    yield from weights_by_name(net.features, _BODY)
    for number, layer in enumerate(net.features.layers):
        yield from weights_by_name(layer, _LAYER, f"layers.{number}.")
    if not net.sizes.tied:
        yield from weights_of("lm_head", net.output)


def _build(settings: Settings, architecture: str) -> Llama:
    return llama(**read_sizes(settings, architecture))


FAMILY: Final = Family(
    model_types=tuple(CLASSES),
    architectures=tuple(CLASSES.values()),
    bodies=(),
    prefix="model.",
    heads=("lm_head.",),
    replaced=(),
    build=_build,
    weights=_weights,
    # Frequencies, which older files hold; and the output's weight where it is tied.
    ignored=re.compile(r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq|lm_head\.weight"),
)
