"""The configuration of Llama, Mistral and Qwen2, and its form in Hugging Face's config.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hybridnet.base.errors import ParameterError

from ..folders import Settings, check_sizes
from .rope import RopeScaling, read_scaling, rope_settings

__all__ = ["LlamaSizes"]

#: Kinds of networks -> Hugging Face's classes; and what only one kind has.
CLASSES: Final = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
}
_OF_KIND: Final = {"window": "mistral", "attention_bias": "llama", "hidden_bias": "llama"}


@dataclass(frozen=True)
class LlamaSizes:
    """The configuration of a Llama, Mistral or Qwen2 network.

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
        if self.kind not in CLASSES:
            raise ParameterError(
                f"llama: kind must be one of {', '.join(CLASSES)}, got {self.kind!r}"
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
        """The number of heads of keys and values."""
        return self.key_heads or self.heads

    @property
    def head_size(self) -> int:
        """The number of units of a head."""
        return self.head_units or self.units // self.heads


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


def config_of(sizes: LlamaSizes) -> dict[str, Any]:
    """Returns the settings of a network, ready to be written."""
    own = {"llama": _LLAMAS, "mistral": {"sliding_window": "window"}, "qwen2": {}}
    settings = {**_SETTINGS, **own[sizes.kind]}
    return {
        "architectures": [CLASSES[sizes.kind]],
        "model_type": sizes.kind,
        **{theirs: getattr(sizes, ours) for theirs, ours in settings.items()},
        "num_key_value_heads": sizes.keys_at,
        "head_dim": sizes.head_size,
        # As transformers 4 has it; 5 makes its rope_parameters of the two.
        "rope_scaling": None if sizes.rope_scaling is None else sizes.rope_scaling.config(),
        "bos_token_id": None,
        "eos_token_id": None,
    }


def read_sizes(settings: Settings, architecture: str) -> dict[str, Any]:
    """Returns the sizes that a config.json says, by their names in `LlamaSizes`.

    Args:
        settings: of the file.
        architecture: one of `CLASSES`.

    Raises:
        FormatError: it asks for what is not implemented.
    """
    kind = next(kind for kind, name in CLASSES.items() if name == architecture)
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
    return {**sizes, "kind": kind, "rope_scaling": read_scaling(rope, sizes["max_length"])}


def _window(settings: Settings) -> int | None:
    # Where it is missing it is that of the first Mistral; null is none.
    if "sliding_window" in settings.values and not settings.has("sliding_window"):
        return None
    return settings.size("sliding_window", 4096)
