"""The configuration of BERT, and its form in Hugging Face's config.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..folders import Settings, check_sizes, class_names

__all__ = ["BertSizes"]

#: Hugging Face's classes -> what `bert` calls their heads.
HEADS: Final = {
    "BertModel": None,
    "BertForMaskedLM": "masked",
    "BertForSequenceClassification": "classifier",
}


@dataclass(frozen=True)
class BertSizes:
    """The configuration of a BERT network.

    Attributes:
        vocab_size: how many tokens there are.
        units: the length of the vector of a position.
        layers: how many.
        heads: of the attention of each layer; they divide `units`.
        hidden_units: of the feed-forward part of a layer.
        max_length: the longest sequence.
        token_types: how many: of the first sentence and of the second.
        activation: of the feed-forward part, by Hugging Face's name.
        dropout, attention_dropout: probabilities, while training.
        classifier_dropout: that before a classifier; None for `dropout`.
        epsilon: added to the variance by the norms.
        spread: the standard deviation of new weights.
    """

    vocab_size: int = 30522
    units: int = 768
    layers: int = 12
    heads: int = 12
    hidden_units: int = 3072
    max_length: int = 512
    token_types: int = 2
    activation: str = "gelu"
    dropout: float = 0.1
    attention_dropout: float = 0.1
    classifier_dropout: float | None = None
    epsilon: float = 1e-12
    spread: float = 0.02

    def __post_init__(self) -> None:
        check_sizes("bert", self)

    @property
    def head_dropout(self) -> float:
        """The probability of the dropout before a classifier."""
        return self.dropout if self.classifier_dropout is None else self.classifier_dropout


#: Hugging Face's settings -> ours.
_SETTINGS: Final = {
    "vocab_size": "vocab_size",
    "hidden_size": "units",
    "num_hidden_layers": "layers",
    "num_attention_heads": "heads",
    "intermediate_size": "hidden_units",
    "max_position_embeddings": "max_length",
    "type_vocab_size": "token_types",
    "hidden_act": "activation",
    "hidden_dropout_prob": "dropout",
    "attention_probs_dropout_prob": "attention_dropout",
    "classifier_dropout": "classifier_dropout",
    "layer_norm_eps": "epsilon",
    "initializer_range": "spread",
}


def config_of(sizes: BertSizes, architecture: str, classes: int | None = None) -> dict[str, Any]:
    """Returns the settings of a network, ready to be written; `classes` are a classifier's."""
    found = {
        "architectures": [architecture],
        "model_type": "bert",
        **{theirs: getattr(sizes, ours) for theirs, ours in _SETTINGS.items()},
        "pad_token_id": 0,
    }
    return found if classes is None else {**found, "id2label": class_names(classes)}


def read_sizes(settings: Settings) -> dict[str, Any]:
    """Returns the sizes that a config.json says, by their names in `BertSizes`.

    Raises:
        FormatError: it asks for what is not implemented.
    """
    settings.only("is_decoder", False)
    settings.only("add_cross_attention", False)
    settings.only("position_embedding_type", "absolute")
    settings.only("tie_word_embeddings", True)
    return settings.sizes(_SETTINGS, BertSizes)
