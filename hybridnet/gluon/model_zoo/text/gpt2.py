"""GPT-2: Radford et al., "Language models are unsupervised multitask learners", 2019."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Unpack

from hybridnet import initializer
from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.errors import ShapeError
from hybridnet.ndarray import NDArray

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames
from ..folders import Family, Settings, Weight, activation, check_sizes, weights_by_name, weights_of
from .table import Table, check_tokens

__all__ = ["GPT2", "GPT2Sizes", "gpt2"]


@dataclass(frozen=True)
class GPT2Sizes:
    """The configuration of a GPT-2 network.

    Attributes:
        vocab_size: how many tokens there are.
        units: the length of the vector of a position.
        layers: how many.
        heads: of the attention of each layer; they divide `units`.
        hidden_units: of the feed-forward part of a layer; None for four times `units`.
        max_length: the longest sequence.
        activation: of the feed-forward part, by Hugging Face's name.
        dropout, attention_dropout, embedding_dropout: probabilities, while training.
        epsilon: added to the variance by the norms.
        tied: whether the output's weight is that of the embedding of tokens.
        scaled_by_layer: whether layer i divides its attention's scores by i + 1, too.
        spread: the standard deviation of new weights.
    """

    vocab_size: int = 50257
    units: int = 768
    layers: int = 12
    heads: int = 12
    hidden_units: int | None = None
    max_length: int = 1024
    activation: str = "gelu_new"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    embedding_dropout: float = 0.1
    epsilon: float = 1e-5
    tied: bool = True
    scaled_by_layer: bool = False
    spread: float = 0.02

    def __post_init__(self) -> None:
        check_sizes("gpt2", self)


def gpt2(**sizes: Any) -> GPT2:
    """Returns a new GPT-2, the smallest of the published ones where nothing else is said.

    Args:
        sizes: the attributes of `GPT2Sizes`: ``gpt2(layers=6, units=384, heads=6)``.
    """
    return GPT2(GPT2Sizes(**sizes))


class GPT2(HybridBlock):
    """Layers of causal attention over tokens, and scores of the next one.

    Args:
        sizes: what it consists of.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        features: the hidden states of tokens.
        output: the scores of hidden states.
        sizes: as given.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: GPT2Sizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self.sizes = sizes
        self.config = _config(sizes)
        with self.name_scope():
            self.features = GPT2Features(sizes, prefix="features_")
            # The same dict of parameters is the same weight.
            shared = self.features.tokens.params if sizes.tied else None
            self.output = _dense(sizes, sizes.vocab_size, bias=False, params=shared)

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
        """The longest sequence."""
        return self.sizes.max_length

    def new_cache(self, batch: int, size: int, ctx: Context | None = None) -> nn.KeyValueCache:
        """Returns an empty cache for `batch` sequences of up to `size` tokens."""
        sizes = self.sizes
        shape = (batch, size, sizes.heads, sizes.units // sizes.heads)
        dtype: DTypeLike = self.features.tokens.weight.dtype
        return nn.KeyValueCache.zeros(sizes.layers, shape, dtype, ctx)


class GPT2Features(HybridBlock):
    """The hidden states of tokens, after the last norm; see `GPT2`."""

    def __init__(self, sizes: GPT2Sizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._max_length = sizes.max_length
        with self.name_scope():
            self.tokens = Table(sizes.vocab_size, sizes.units, sizes.spread)
            self.positions = Table(sizes.max_length, sizes.units, sizes.spread)
            self.dropout = nn.Dropout(sizes.embedding_dropout)
            self.layers = nn.HybridSequential()
            with self.layers.name_scope():
                for number in range(sizes.layers):
                    self.layers.add(_GPT2Layer(sizes, number))
            self.norm = _norm(sizes)

    def forward(self, tokens: NDArray, cache: nn.KeyValueCache | None = None) -> NDArray:
        """Returns (batch, length, units) of (batch, length); see `GPT2`."""
        check_tokens("gpt2", tokens)
        length, ctx = tokens.shape[1], tokens.context
        most = length if cache is None else max(length, cache.size)
        if most > self._max_length:
            raise ShapeError(
                f"gpt2: has {self._max_length} positions, got {length} tokens"
                f"{'' if cache is None else f' and a cache of {cache.size}'}; cut them"
            )
        positions = nd.arange(length, ctx=ctx, dtype="int32")
        if cache is not None:
            positions = cache.starts.expand_dims(1) + positions.expand_dims(0)
        hidden = nd.broadcast_add(self.tokens(tokens), self.positions(positions))
        hidden = self.dropout(hidden)
        for layer in self.layers:
            hidden = layer(hidden, cache)
        return self.norm(hidden)


class _GPT2Layer(HybridBlock):
    """Attention and a feed-forward part, each after a norm, and each added to what comes in."""

    def __init__(self, sizes: GPT2Sizes, number: int, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._number = number
        self._heads = sizes.heads
        scale = (sizes.units // sizes.heads) ** -0.5
        self._scale = scale / (number + 1) if sizes.scaled_by_layer else scale
        self._attention_dropout = sizes.attention_dropout
        # So that what the layers add up to does not grow with their number, as in the paper.
        last = sizes.spread / (2 * sizes.layers) ** 0.5
        units, hidden = sizes.units, sizes.hidden_units or 4 * sizes.units
        with self.name_scope():
            self.attention_norm = _norm(sizes)
            self.queries_keys_values = _dense(sizes, 3 * units)
            self.attention_output = _dense(sizes, units, spread=last)
            self.hidden_norm = _norm(sizes)
            self.hidden = _dense(sizes, hidden)
            self.activation = activation(sizes.activation)
            self.hidden_output = _dense(sizes, units, hidden, spread=last)
            self.dropout = nn.Dropout(sizes.dropout)

    def forward(self, x: NDArray, cache: nn.KeyValueCache | None = None) -> NDArray:
        """Returns (batch, length, units) of the same."""
        x = x + self.dropout(self.attention_output(self._attend(self.attention_norm(x), cache)))
        hidden = self.activation(self.hidden(self.hidden_norm(x)))
        return x + self.dropout(self.hidden_output(hidden))

    def _attend(self, x: NDArray, cache: nn.KeyValueCache | None) -> NDArray:
        parts = nd.split(self.queries_keys_values(x), num_outputs=3, axis=2)
        queries, keys, values = (part.reshape((0, 0, self._heads, -1)) for part in parts)
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
            scale=self._scale,
            dropout=self._attention_dropout,
        )
        return attended.reshape((0, 0, -1))


def _norm(sizes: GPT2Sizes) -> nn.LayerNorm:
    return nn.LayerNorm(epsilon=sizes.epsilon, in_channels=sizes.units)


def _dense(
    sizes: GPT2Sizes,
    units: int,
    in_units: int | None = None,
    bias: bool = True,
    spread: float | None = None,
    **kwargs: Any,
) -> nn.Dense:
    init = initializer.Normal(sizes.spread if spread is None else spread)
    inputs = sizes.units if in_units is None else in_units
    return nn.Dense(
        units,
        use_bias=bias,
        flatten=False,
        weight_initializer=init,
        in_units=inputs,
        **kwargs,
    )


# -- folders ---------------------------------------------------------------------------------------

#: Hugging Face's settings -> ours.
_SETTINGS: Final = {
    "vocab_size": "vocab_size",
    "n_embd": "units",
    "n_layer": "layers",
    "n_head": "heads",
    "n_inner": "hidden_units",
    "n_positions": "max_length",
    "activation_function": "activation",
    "resid_pdrop": "dropout",
    "attn_pdrop": "attention_dropout",
    "embd_pdrop": "embedding_dropout",
    "layer_norm_epsilon": "epsilon",
    "tie_word_embeddings": "tied",
    "scale_attn_by_inverse_layer_idx": "scaled_by_layer",
    "initializer_range": "spread",
}
#: Hugging Face's names of tensors -> ours; and of the parts of each layer, whose dense layers have
#: their weights transposed there.
_BODY: Final = {"wte": "tokens", "wpe": "positions", "ln_f": "norm"}
_LAYER: Final = {
    "ln_1": "attention_norm",
    "attn.c_attn": "queries_keys_values",
    "attn.c_proj": "attention_output",
    "ln_2": "hidden_norm",
    "mlp.c_fc": "hidden",
    "mlp.c_proj": "hidden_output",
}


def _weights(net: GPT2) -> Iterator[Weight]:
    yield from weights_by_name(net.features, _BODY)
    for number, layer in enumerate(net.features.layers):
        yield from weights_by_name(layer, _LAYER, f"h.{number}.", transposed=True)
    if not net.sizes.tied:
        yield from weights_of("lm_head", net.output)


def _config(sizes: GPT2Sizes) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        **{theirs: getattr(sizes, ours) for theirs, ours in _SETTINGS.items()},
        "bos_token_id": None,
        "eos_token_id": None,
    }


def _build(settings: Settings, architecture: str) -> GPT2:
    settings.only("scale_attn_weights", True)
    settings.only("add_cross_attention", False)
    return gpt2(**settings.sizes(_SETTINGS, GPT2Sizes))


FAMILY: Final = Family(
    model_types=("gpt2",),
    architectures=("GPT2LMHeadModel",),
    bodies=(),
    prefix="transformer.",
    heads=("lm_head.",),
    replaced=(),
    build=_build,
    weights=_weights,
    # Masks of the attention, which older files hold; and the output's weight where it is tied.
    ignored=re.compile(r"h\.\d+\.attn\.(masked_)?bias|lm_head\.weight"),
)
