"""The vision transformer: Dosovitskiy et al., "An image is worth 16x16 words", 2020."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Unpack

from hybridnet import initializer
from hybridnet.base.errors import ParameterError

from ... import nn
from ...block import HybridBlock
from ...types import BlockNames, Data, Operators
from ..folders import (
    Family,
    Settings,
    Weight,
    activation,
    check_count,
    check_sizes,
    class_names,
    weights_by_name,
    weights_of,
)

__all__ = ["ViT", "ViTFeatures", "ViTSizes", "vit"]


@dataclass(frozen=True)
class ViTSizes:
    """The configuration of a vision transformer.

    Attributes:
        image_size: height and width of the pictures, in pixels.
        patch_size: height and width of the squares that they are cut into; divides `image_size`.
        channels: of the pictures.
        units: the length of the vector of a square.
        layers: how many.
        heads: of the attention of each layer; they divide `units`.
        hidden_units: of the feed-forward part of a layer.
        activation: of the feed-forward part, by Hugging Face's name.
        query_bias: whether queries, keys and values have biases.
        pooled_units: of the pooled output; None for `units`.
        pooled_activation: of the pooled output.
        dropout, attention_dropout: probabilities, while training.
        epsilon: added to the variance by the norms.
        spread: the standard deviation of new weights.
    """

    image_size: int = 224
    patch_size: int = 16
    channels: int = 3
    units: int = 768
    layers: int = 12
    heads: int = 12
    hidden_units: int = 3072
    activation: str = "gelu"
    query_bias: bool = True
    pooled_units: int | None = None
    pooled_activation: str = "tanh"
    dropout: float = 0.0
    attention_dropout: float = 0.0
    epsilon: float = 1e-12
    spread: float = 0.02

    def __post_init__(self) -> None:
        check_sizes("vit", self)
        if self.image_size % self.patch_size:
            raise ParameterError(
                f"vit: patch_size must divide image_size, got {self.patch_size} and "
                f"{self.image_size}"
            )


def vit(classes: int | None = 1000, **sizes: Any) -> ViT | ViTFeatures:
    """Returns a new vision transformer, ViT-B/16 where nothing else is said.

    Args:
        classes: how many; None for the features with a pooled output, `ViTFeatures`.
        sizes: the attributes of `ViTSizes`: ``vit(10, image_size=32, patch_size=4)``.
    """
    made = ViTSizes(**sizes)
    return ViTFeatures(made) if classes is None else ViT(made, classes)


class ViT(HybridBlock):
    """Scores of classes for pictures.

    Args:
        sizes: what it consists of.
        classes: how many.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        features: a `ViTFeatures` without a pooled output.
        output: the scores of the hidden state that stands for the whole picture.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: ViTSizes, classes: int, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        check_count("vit", "classes", classes)
        self.sizes = sizes
        self.config = _config(sizes, "ViTForImageClassification")
        self.config["id2label"] = class_names(classes)
        with self.name_scope():
            self.features = ViTFeatures(sizes, pooled=False, prefix="features_")
            self.output = _dense(sizes, classes)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Returns a score for each class, (batch, classes), before the softmax.

        Args:
            F: `nd` or `sym`.
            x: (batch, channels, image_size, image_size).
        """
        return self.output(_first(F, self.features(x)))


class ViTFeatures(HybridBlock):
    """The hidden states of a picture as a whole and of each square of it.

    Args:
        sizes: what it consists of.
        pooled: whether there is a pooled output.
        kwargs: ``prefix`` and ``params``.

    Attributes:
        sizes: as given.
        config: the settings as Hugging Face's config.json has them.
    """

    def __init__(self, sizes: ViTSizes, pooled: bool = True, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self.sizes = sizes
        self.config = _config(sizes, "ViTModel")
        init = initializer.Normal(sizes.spread)
        units, side = sizes.units, sizes.patch_size
        squares = (sizes.image_size // side) ** 2
        with self.name_scope():
            self.squares = nn.Conv2D(
                units, side, side, in_channels=sizes.channels, weight_initializer=init
            )
            self.whole = self.params.get("whole", shape=(1, 1, units), init=init)
            self.positions = self.params.get("positions", shape=(1, 1 + squares, units), init=init)
            self.dropout = nn.Dropout(sizes.dropout)
            self.layers = nn.HybridSequential()
            with self.layers.name_scope():
                for _ in range(sizes.layers):
                    self.layers.add(_ViTLayer(sizes))
            self.norm = _norm(sizes)
            self.pooler = _dense(sizes, sizes.pooled_units or units) if pooled else None
            self.activation = activation(sizes.pooled_activation) if pooled else None

    def hybrid_forward(self, F: Operators[Data], x: Data, whole: Data, positions: Data) -> Any:
        """Returns the hidden states, and what that of the whole says.

        Args:
            F: `nd` or `sym`.
            x: (batch, channels, image_size, image_size).
            whole, positions: learned: the vector that stands for the whole picture, and those
                that are added.

        Returns:
            (batch, 1 + squares, units) and (batch, pooled_units); the first alone without a pooled
            output. Squares are counted along rows.
        """
        squares = F.transpose(F.reshape(self.squares(x), shape=(0, 0, -1)), axes=(0, 2, 1))
        # One for each picture: of the shape of a square, whose values do not matter.
        whole = F.broadcast_like(whole, squares, lhs_axes=(0,), rhs_axes=(0,))
        hidden = F.broadcast_add(F.concat(whole, squares, dim=1), positions)
        hidden = self.dropout(hidden)
        for layer in self.layers:
            hidden = layer(hidden)
        hidden = self.norm(hidden)
        if self.pooler is None or self.activation is None:
            return hidden
        return hidden, self.activation(self.pooler(_first(F, hidden)))


class _ViTLayer(HybridBlock):
    """Attention and a feed-forward part, each after a norm, and each added to what comes in."""

    def __init__(self, sizes: ViTSizes, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._heads = sizes.heads
        self._attention_dropout = sizes.attention_dropout
        bias, units = sizes.query_bias, sizes.units
        with self.name_scope():
            self.attention_norm = _norm(sizes)
            self.queries = _dense(sizes, units, use_bias=bias)
            self.keys = _dense(sizes, units, use_bias=bias)
            self.values = _dense(sizes, units, use_bias=bias)
            self.attention_output = _dense(sizes, units)
            self.hidden_norm = _norm(sizes)
            self.hidden = _dense(sizes, sizes.hidden_units)
            self.activation = activation(sizes.activation)
            self.hidden_output = _dense(sizes, units, in_units=sizes.hidden_units)
            self.dropout = nn.Dropout(sizes.dropout)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Returns (batch, 1 + squares, units) of the same."""
        normed = self.attention_norm(x)
        layers = (self.queries, self.keys, self.values)
        heads = [F.reshape(layer(normed), shape=(0, 0, self._heads, -1)) for layer in layers]
        attended = F.contrib.dot_product_attention(*heads, dropout=self._attention_dropout)
        attended = self.attention_output(F.reshape(attended, shape=(0, 0, -1)))
        x = x + self.dropout(attended)
        hidden = self.hidden_output(self.activation(self.hidden(self.hidden_norm(x))))
        return x + self.dropout(hidden)


def _first(F: Operators[Data], hidden: Data) -> Data:
    """Returns (batch, units), the first of (batch, 1 + squares, units)."""
    return F.reshape(F.slice_axis(hidden, axis=1, begin=0, end=1), shape=(0, -1))


def _norm(sizes: ViTSizes) -> nn.LayerNorm:
    return nn.LayerNorm(epsilon=sizes.epsilon, in_channels=sizes.units)


def _dense(sizes: ViTSizes, units: int, in_units: int | None = None, **kwargs: Any) -> nn.Dense:
    init = initializer.Normal(sizes.spread)
    inputs = sizes.units if in_units is None else in_units
    return nn.Dense(units, flatten=False, weight_initializer=init, in_units=inputs, **kwargs)


# -- folders ---------------------------------------------------------------------------------------

#: Hugging Face's settings -> ours.
_SETTINGS: Final = {
    "image_size": "image_size",
    "patch_size": "patch_size",
    "num_channels": "channels",
    "hidden_size": "units",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "hidden_units",
    "hidden_act": "activation",
    "qkv_bias": "query_bias",
    "pooler_output_size": "pooled_units",
    "pooler_act": "pooled_activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "layer_norm_eps": "epsilon",
    "initializer_range": "spread",
}
#: Hugging Face's names of tensors -> ours; and of the parts of each layer.
_BODY: Final = {
    "embeddings.patch_embeddings.projection": "squares",
    "layernorm": "norm",
    "pooler.dense": "pooler",
}
_LAYER: Final = {
    "layernorm_before": "attention_norm",
    "attention.attention.query": "queries",
    "attention.attention.key": "keys",
    "attention.attention.value": "values",
    "attention.output.dense": "attention_output",
    "layernorm_after": "hidden_norm",
    "intermediate.dense": "hidden",
    "output.dense": "hidden_output",
}


def _weights(net: ViT | ViTFeatures) -> Iterator[Weight]:
    body = net if isinstance(net, ViTFeatures) else net.features
    yield Weight("embeddings.cls_token", body.whole)
    yield Weight("embeddings.position_embeddings", body.positions)
    yield from weights_by_name(body, _BODY)
    for number, layer in enumerate(body.layers):
        yield from weights_by_name(layer, _LAYER, f"encoder.layer.{number}.")
    if isinstance(net, ViT):
        yield from weights_of("classifier", net.output)


def _config(sizes: ViTSizes, architecture: str) -> dict[str, Any]:
    return {
        "architectures": [architecture],
        "model_type": "vit",
        **{theirs: getattr(sizes, ours) for theirs, ours in _SETTINGS.items()},
        "pooler_output_size": sizes.pooled_units or sizes.units,
    }


def _build(settings: Settings, architecture: str) -> HybridBlock:
    classes = settings.classes() if architecture == "ViTForImageClassification" else None
    return vit(classes, **settings.sizes(_SETTINGS, ViTSizes))


FAMILY: Final = Family(
    model_types=("vit",),
    architectures=("ViTModel", "ViTForImageClassification"),
    bodies=("ViTModel",),
    prefix="vit.",
    heads=("classifier.",),
    replaced=("classifier.", "pooler."),
    build=_build,
    weights=_weights,
    # Some files of classifiers have a pooled output, too.
    ignored=re.compile(r"pooler\.dense\.(weight|bias)"),
)
