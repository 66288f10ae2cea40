"""BERT: Devlin et al., "BERT: pre-training of deep bidirectional transformers", 2018."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Unpack

from hybridnet import initializer
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames, Data, Operators
from ..folders import (
    Family,
    Settings,
    Weight,
    activation,
    check_count,
    weights_by_name,
    weights_of,
)
from .bert_config import HEADS, BertSizes, config_of, read_sizes
from .table import Table

__all__ = ["Bert", "BertClassifier", "BertMasked", "bert"]


def bert(head: str | None = None, classes: int = 2, **sizes: Any) -> HybridBlock:
    """Returns a new BERT, the smaller of the published ones where nothing else is said.

    Args:
        head: None for `Bert`, 'masked' for `BertMasked`, 'classifier' for `BertClassifier`.
        classes: of a classifier.
        sizes: the attributes of `BertSizes`: ``bert(layers=6, units=384, heads=6)``.
    """
    made = BertSizes(**sizes)
    if head is None:
        return Bert(made)
    if head == "masked":
        return BertMasked(made)
    if head == "classifier":
        return BertClassifier(made, classes)
    raise ParameterError(f"bert: head must be None, 'masked' or 'classifier', got {head!r}")


class Bert(HybridBlock):
    """Layers of attention over tokens, of which each sees all.

    Args:
        sizes: what it consists of.
        pooled: whether there is a pooled output.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        sizes: as given.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: BertSizes, pooled: bool = True, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self.sizes = sizes
        self.config = config_of(sizes, "BertModel")
        with self.name_scope():
            self.tokens = Table(sizes.vocab_size, sizes.units, sizes.spread)
            self.positions = Table(sizes.max_length, sizes.units, sizes.spread)
            self.token_types = Table(sizes.token_types, sizes.units, sizes.spread)
            self.norm = _norm(sizes)
            self.dropout = nn.Dropout(sizes.dropout)
            self.layers = nn.HybridSequential()
            with self.layers.name_scope():
                for _ in range(sizes.layers):
                    self.layers.add(_BertLayer(sizes))
            self.pooler = _dense(sizes, sizes.units, activation="tanh") if pooled else None

    def hybrid_forward(
        self,
        F: Operators[Data],
        tokens: Data,
        token_types: Data | None = None,
        lengths: Data | None = None,
        mask: Data | None = None,
    ) -> Any:
        """Returns the hidden states, and what the first token's say of the whole sequence.

        Args:
            F: `nd` or `sym`.
            tokens: (batch, length), whole numbers below `vocab_size`.
            token_types: (batch, length), which sentence a token is of; None for all of the first.
            lengths: (batch,), how many tokens of a sequence there are, from the front; what is
                computed of the others means nothing. None for all.
            mask: (batch, length), not 0 where there is a token, wherever that is. None for all.

        Returns:
            (batch, length, units) and (batch, units); the first alone without a pooled output.
        """
        if isinstance(tokens, NDArray) and tokens.shape[1] > self.sizes.max_length:
            raise ShapeError(
                f"bert: has {self.sizes.max_length} positions, got {tokens.shape[1]} tokens; cut "
                "them"
            )
        positions = self.positions(F.contrib.arange_like(tokens, axis=1))
        kinds = F.zeros_like(tokens) if token_types is None else token_types
        hidden = F.broadcast_add(self.tokens(tokens), F.expand_dims(positions, axis=0))
        hidden = self.dropout(self.norm(hidden + self.token_types(kinds)))
        if mask is not None:
            mask = F.expand_dims(mask, axis=1)
        for layer in self.layers:
            hidden = layer(hidden, lengths, mask)
        if self.pooler is None:
            return hidden
        first = F.reshape(F.slice_axis(hidden, axis=1, begin=0, end=1), shape=(0, -1))
        return hidden, self.pooler(first)


class BertMasked(HybridBlock):
    """Scores of the word at each position, for words that are masked.

    Args:
        sizes: what it consists of.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        features: a `Bert` without a pooled output.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: BertSizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self.sizes = sizes
        self.config = config_of(sizes, "BertForMaskedLM")
        with self.name_scope():
            self.features = Bert(sizes, pooled=False, prefix="features_")
            self.hidden = _dense(sizes, sizes.units)
            self.activation = activation(sizes.activation)
            self.norm = _norm(sizes)
            # The same dict of parameters is the same weight; the bias is the output's own.
            shared = self.features.tokens.params
            self.output = _dense(sizes, sizes.vocab_size, use_bias=False, params=shared)
            self.bias = self.params.get("bias", shape=(sizes.vocab_size,), init="zeros")

    def hybrid_forward(
        self, F: Operators[Data], tokens: Data, *args: Data | None, bias: Data
    ) -> Data:
        """Returns (batch, length, vocab_size).

        Args:
            F: `nd` or `sym`.
            tokens, args: as for `Bert`.
            bias: of the output.
        """
        hidden = self.norm(self.activation(self.hidden(self.features(tokens, *args))))
        return F.broadcast_add(self.output(hidden), bias)


class BertClassifier(HybridBlock):
    """Scores of classes for whole sequences.

    Args:
        sizes: what it consists of.
        classes: how many.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        features: a `Bert`.
        output: the scores of what it has pooled.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: BertSizes, classes: int = 2, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        check_count("bert", "classes", classes)
        self.sizes = sizes
        self.config = config_of(sizes, "BertForSequenceClassification", classes)
        with self.name_scope():
            self.features = Bert(sizes, prefix="features_")
            self.dropout = nn.Dropout(sizes.head_dropout)
            self.output = _dense(sizes, classes)

    def hybrid_forward(self, F: Operators[Data], tokens: Data, *args: Data | None) -> Data:
        """Returns (batch, classes).

        Args:
            F: `nd` or `sym`.
            tokens, args: as for `Bert`.
        """
        _, pooled = self.features(tokens, *args)
        scores: Data = self.output(self.dropout(pooled))
        return scores


class _BertLayer(HybridBlock):
    """Attention and a feed-forward part, each added to what comes in, and then normed."""

    def __init__(self, sizes: BertSizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._heads = sizes.heads
        self._attention_dropout = sizes.attention_dropout
        with self.name_scope():
            self.queries = _dense(sizes, sizes.units)
            self.keys = _dense(sizes, sizes.units)
            self.values = _dense(sizes, sizes.units)
            self.attention_output = _dense(sizes, sizes.units)
            self.attention_norm = _norm(sizes)
            self.hidden = _dense(sizes, sizes.hidden_units)
            self.activation = activation(sizes.activation)
            self.hidden_output = _dense(sizes, sizes.units, in_units=sizes.hidden_units)
            self.hidden_norm = _norm(sizes)
            self.dropout = nn.Dropout(sizes.dropout)

    def hybrid_forward(
        self, F: Operators[Data], x: Data, lengths: Data | None = None, mask: Data | None = None
    ) -> Data:
        """Returns (batch, length, units) of the same."""
        layers = (self.queries, self.keys, self.values)
        heads = [F.reshape(layer(x), shape=(0, 0, self._heads, -1)) for layer in layers]
        attended = F.contrib.dot_product_attention(
            *heads, mask=mask, lengths=lengths, dropout=self._attention_dropout
        )
        attended = self.attention_output(F.reshape(attended, shape=(0, 0, -1)))
        x = self.attention_norm(self.dropout(attended) + x)
        hidden = self.hidden_output(self.activation(self.hidden(x)))
        return self.hidden_norm(self.dropout(hidden) + x)


def _norm(sizes: BertSizes) -> nn.LayerNorm:
    return nn.LayerNorm(epsilon=sizes.epsilon, in_channels=sizes.units)


def _dense(sizes: BertSizes, units: int, in_units: int | None = None, **kwargs: Any) -> nn.Dense:
    init = initializer.Normal(sizes.spread)
    inputs = sizes.units if in_units is None else in_units
    return nn.Dense(units, flatten=False, weight_initializer=init, in_units=inputs, **kwargs)


# -- folders ---------------------------------------------------------------------------------------

#: Hugging Face's names of tensors -> ours; and of the parts of each layer, and of the heads.
_BODY: Final = {
    "embeddings.word_embeddings": "tokens",
    "embeddings.position_embeddings": "positions",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "norm",
    "pooler.dense": "pooler",
}
_LAYER: Final = {
    "attention.self.query": "queries",
    "attention.self.key": "keys",
    "attention.self.value": "values",
    "attention.output.dense": "attention_output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "hidden",
    "output.dense": "hidden_output",
    "output.LayerNorm": "hidden_norm",
}
_MASKED: Final = {
    "cls.predictions.transform.dense": "hidden",
    "cls.predictions.transform.LayerNorm": "norm",
}


def _weights(net: Bert | BertMasked | BertClassifier) -> Iterator[Weight]:
    body = net if isinstance(net, Bert) else net.features
    yield from weights_by_name(body, _BODY)
    for number, layer in enumerate(body.layers):
        yield from weights_by_name(layer, _LAYER, f"encoder.layer.{number}.")
    if isinstance(net, BertMasked):
        yield from weights_by_name(net, _MASKED)
        yield Weight("cls.predictions.bias", net.bias)
    elif isinstance(net, BertClassifier):
        yield from weights_of("classifier", net.output)


def _build(settings: Settings, architecture: str) -> HybridBlock:
    head = HEADS[architecture]
    return bert(head, classes=settings.classes(), **read_sizes(settings))


FAMILY: Final = Family(
    model_types=("bert",),
    architectures=tuple(HEADS),
    bodies=("BertModel",),
    prefix="bert.",
    heads=("cls.", "classifier."),
    replaced=("cls.", "classifier.", "pooler."),
    build=_build,
    weights=_weights,
    # Numbers of positions, which older files hold; the output's weight and bias, which are tied;
    # and what networks for masked words have learned beside: whether a sentence is the next one.
    ignored=re.compile(
        r"embeddings\.position_ids|cls\.predictions\.decoder\.(weight|bias)"
        r"|(pooler\.dense|cls\.seq_relationship)\.(weight|bias)"
    ),
    renamed=(
        (re.compile(r"LayerNorm\.gamma$"), "LayerNorm.weight"),
        (re.compile(r"LayerNorm\.beta$"), "LayerNorm.bias"),
    ),
)
