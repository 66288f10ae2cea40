"""Llama: Touvron et al., "Llama 2", 2023; Grattafiori et al., "The Llama 3 herd of models", 2024.

Mistral (Jiang et al., "Mistral 7B", 2023) is a Llama with a window, and Qwen2 (Yang et al., "Qwen2
technical report", 2024) one with biases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Unpack

from hybridnet import initializer
from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames
from ..folders import Family, Settings, Weight, activation, check_sizes, weights_of
from .rope import RopeScaling, frequencies, read_scaling, rope_settings
from .table import Table, check_tokens

__all__ = ["Llama", "LlamaSizes", "llama"]

#: Kinds of networks -> Hugging Face's classes; and what only one kind has.
_CLASSES: Final = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
}
_OF_KIND: Final = {"window": "mistral", "attention_bias": "llama", "hidden_bias": "llama"}


@dataclass(frozen=True)
class LlamaSizes:
    """What makes one Llama differ from another.

    Attributes:
        vocab_size: how many tokens there are.
        units: the length of the vector of a position.
        layers: how many.
        heads: of the attention of each layer.
        key_heads: of keys and values; they divide `heads`. None for as many.
        head_units: of each head; None for ``units / heads``.
        hidden_units: of the feed-forward part of a layer.
        max_length: the longest sequence that it is meant for.
        activation: of the gate, by Hugging Face's name.
        kind: 'llama', 'mistral' or 'qwen2', which has biases of queries, keys and values.
        window: of 'mistral': how many positions a query sees, its own included; None for all.
        attention_bias, hidden_bias: of 'llama': whether there are biases in the attention, and in
            the feed-forward part.
        rope_base: the base of the wavelengths of rotary positions.
        rope_scaling: how they are changed; None for not at all.
        attention_dropout: a probability, while training.
        epsilon: added to the mean square by the norms.
        tied: whether the output's weight is that of the embedding of tokens.
        spread: the standard deviation of new weights.
    """

    vocab_size: int = 32000
    units: int = 4096
    layers: int = 32
    heads: int = 32
    key_heads: int | None = None
    head_units: int | None = None
    hidden_units: int = 11008
    max_length: int = 2048
    activation: str = "silu"
    kind: str = "llama"
    window: int | None = None
    attention_bias: bool = False
    hidden_bias: bool = False
    rope_base: float = 10000.0
    rope_scaling: RopeScaling | None = None
    attention_dropout: float = 0.0
    epsilon: float = 1e-6
    tied: bool = False
    spread: float = 0.02

    def __post_init__(self) -> None:
        check_sizes("llama", self)
        if self.kind not in _CLASSES:
            raise ParameterError(
                f"llama: kind must be one of {', '.join(_CLASSES)}, got {self.kind!r}"
            )
        for name, kind in _OF_KIND.items():
            if getattr(self, name) and self.kind != kind:
                raise ParameterError(f"llama: {name} is of kind={kind!r}, got kind={self.kind!r}")
        if self.heads % self.keys_at:
            raise ParameterError(
                f"llama: key_heads must divide heads, got {self.key_heads} and {self.heads}"
            )
        if self.head_size % 2:
            raise ParameterError(f"llama: head_units must be even, got {self.head_size}")

    @property
    def keys_at(self) -> int:
        """How many heads keys and values have."""
        return self.key_heads or self.heads

    @property
    def head_size(self) -> int:
        """How many units a head has."""
        return self.head_units or self.units // self.heads


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
        self.config = _config(sizes)
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

#: Hugging Face's settings -> ours, and those of one kind of network.
_SETTINGS: Final = {
    "vocab_size": "vocab_size",
    "hidden_size": "units",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "num_key_value_heads": "key_heads",
    "head_dim": "head_units",
    "intermediate_size": "hidden_units",
    "max_position_embeddings": "max_length",
    "hidden_act": "activation",
    "rope_theta": "rope_base",
    "attention_dropout": "attention_dropout",
    "rms_norm_eps": "epsilon",
    "tie_word_embeddings": "tied",
    "initializer_range": "spread",
}
_LLAMAS: Final = {"attention_bias": "attention_bias", "mlp_bias": "hidden_bias"}
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
    for theirs, ours in _BODY.items():
        yield from weights_of(theirs, getattr(net.features, ours))
    for number, layer in enumerate(net.features.layers):
        for theirs, ours in _LAYER.items():
            yield from weights_of(f"layers.{number}.{theirs}", getattr(layer, ours))
    if not net.sizes.tied:
        yield from weights_of("lm_head", net.output)


def _config(sizes: LlamaSizes) -> dict[str, Any]:
    own = {"llama": _LLAMAS, "mistral": {"sliding_window": "window"}, "qwen2": {}}
    settings = {**_SETTINGS, **own[sizes.kind]}
    return {
        "architectures": [_CLASSES[sizes.kind]],
        "model_type": sizes.kind,
        **{theirs: getattr(sizes, ours) for theirs, ours in settings.items()},
        "num_key_value_heads": sizes.keys_at,
        "head_dim": sizes.head_size,
        # As transformers 4 has it; 5 makes its rope_parameters of the two.
        "rope_scaling": None if sizes.rope_scaling is None else sizes.rope_scaling.config(),
        "bos_token_id": None,
        "eos_token_id": None,
    }


def _build(settings: Settings, architecture: str) -> Llama:
    kind = next(kind for kind, name in _CLASSES.items() if name == architecture)
    settings.only("model_type", kind)
    settings.only("use_sliding_window", False)
    settings.only("partial_rotary_factor", 1.0)
    if any(one != "full_attention" for one in settings.values.get("layer_types") or ()):
        raise settings.refuse("layer_types", "full_attention", settings.values["layer_types"])
    sizes = settings.sizes(_SETTINGS, LlamaSizes)
    if kind == "llama":
        sizes |= settings.sizes(_LLAMAS, LlamaSizes)
    if kind == "mistral":
        sizes["window"] = _window(settings)
        sizes["key_heads"] = settings.size("num_key_value_heads", 8)
    rope = rope_settings(settings)
    sizes["rope_base"] = rope.number("rope_theta", sizes["rope_base"])
    return llama(kind=kind, rope_scaling=read_scaling(rope, sizes["max_length"]), **sizes)


def _window(settings: Settings) -> int | None:
    # Where it is missing it is that of the first Mistral; null is none.
    if "sliding_window" in settings.values and not settings.has("sliding_window"):
        return None
    return settings.size("sliding_window", 4096)


FAMILY: Final = Family(
    model_types=tuple(_CLASSES),
    architectures=tuple(_CLASSES.values()),
    bodies=(),
    prefix="model.",
    heads=("lm_head.",),
    replaced=(),
    build=_build,
    weights=_weights,
    # Frequencies, which older files hold; and the output's weight where it is tied.
    ignored=re.compile(r"(layers\.\d+\.self_attn\.)?rotary_emb\.inv_freq|lm_head\.weight"),
)
