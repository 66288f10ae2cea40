"""The layers of transformers: attention and a feed-forward part, each added to what comes in."""

from __future__ import annotations

from typing import Unpack

from ..block import HybridBlock
from ..types import ActivationLike, BlockNames, Data, Operators
from .activations import GELU, Activation, SiLU
from .attention import MultiHeadAttention
from .basic import Dense, Dropout, HybridLambda
from .norm import LayerNorm

__all__ = ["PositionwiseFFN", "SwiGLU", "TransformerDecoderLayer", "TransformerEncoderLayer"]


class SwiGLU(HybridBlock):
    """A feed-forward part with a gate: ``down(silu(gate(x)) * up(x))`` (Shazeer 2020).

    Args:
        hidden_units: of the gate and of what it lets through.
        units: of the output, and of the input.
        use_bias: whether the dense layers have biases.

    Input (..., units); output the same shape.
    """

    def __init__(
        self,
        hidden_units: int,
        units: int,
        use_bias: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.gate = _dense(hidden_units, units, use_bias, "gate_")
            self.up = _dense(hidden_units, units, use_bias, "up_")
            self.down = _dense(units, hidden_units, use_bias, "down_")
            self.silu = SiLU()

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Computes the layer."""
        return self.down(self.silu(self.gate(x)) * self.up(x))


class PositionwiseFFN(HybridBlock):
    """A feed-forward part: ``dropout(down(dropout(activation(up(x)))))``.

    Args:
        hidden_units: between the dense layers.
        units: of the output, and of the input.
        activation: 'relu', 'gelu', 'gelu_tanh', 'silu' or a name that `Activation` knows; or a
            function ``f(F, x)`` or a block.
        dropout: after the activation, in training.

    Input (..., units); output the same shape.
    """

    def __init__(
        self,
        hidden_units: int,
        units: int,
        activation: ActivationLike = "relu",
        dropout: float = 0.0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.up = _dense(hidden_units, units, True, "up_")
            self.activation = _activation(activation)
            self.dropout = Dropout(dropout)
            self.down = _dense(units, hidden_units, True, "down_")

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Computes the layer."""
        return self.down(self.dropout(self.activation(self.up(x))))


def _dense(units: int, in_units: int, use_bias: bool, prefix: str) -> Dense:
    return Dense(units, use_bias=use_bias, flatten=False, in_units=in_units, prefix=prefix)


def _activation(activation: ActivationLike) -> HybridBlock:
    if isinstance(activation, HybridBlock):
        return activation
    if not isinstance(activation, str):
        return HybridLambda(activation)
    if activation in ("gelu", "gelu_tanh"):
        return GELU("erf" if activation == "gelu" else "tanh")
    return SiLU() if activation == "silu" else Activation(activation)


class _Residual(HybridBlock):
    """Base of the layers: parts that are each added to what comes in, with a norm before or after.

    Args:
        units: of a position.
        parts: the names of the parts, which have a norm each, ``<name>_norm``.
        pre_norm: whether the norm comes before the part; else after the addition, as in the paper.
        dropout: of what a part gives.
        epsilon: of the norms.
    """

    def __init__(
        self,
        units: int,
        parts: tuple[str, ...],
        pre_norm: bool,
        dropout: float,
        epsilon: float,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        self._pre_norm = pre_norm
        with self.name_scope():
            for name in parts:
                norm = LayerNorm(epsilon=epsilon, in_channels=units, prefix=f"{name}_norm_")
                setattr(self, f"{name}_norm", norm)
            self.residual_dropout = Dropout(dropout)

    def _before(self, name: str, x: Data) -> Data:
        """Returns what a part is given."""
        found: Data = getattr(self, f"{name}_norm")(x) if self._pre_norm else x
        return found

    def _after(self, name: str, x: Data, made: Data) -> Data:
        """Adds what a part has made of `x`."""
        total: Data = x + self.residual_dropout(made)
        if self._pre_norm:
            return total
        normal: Data = getattr(self, f"{name}_norm")(total)
        return normal


class TransformerEncoderLayer(_Residual):
    """Self-attention and a feed-forward part (Vaswani et al. 2017).

    Args:
        units: of a position.
        hidden_units: of the feed-forward part.
        num_heads: of the attention; they divide `units`.
        dropout: of what each part gives, and after the activation.
        attention_dropout: of the shares of attention.
        activation: see `PositionwiseFFN`.
        pre_norm: whether norms come before the parts (Xiong et al. 2020), not after.
        epsilon: of the norms.

    Inputs x (batch, length, units), and optionally mask and lengths, as of `MultiHeadAttention`;
    output the shape of x.
    """

    def __init__(
        self,
        units: int,
        hidden_units: int,
        num_heads: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation: ActivationLike = "relu",
        pre_norm: bool = False,
        epsilon: float = 1e-5,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(units, ("attention", "ffn"), pre_norm, dropout, epsilon, **kwargs)
        with self.name_scope():
            self.attention = MultiHeadAttention(
                units, num_heads, dropout=attention_dropout, in_units=units, prefix="attention_"
            )
            self.ffn = PositionwiseFFN(hidden_units, units, activation, dropout, prefix="ffn_")

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        mask: Data | None = None,
        lengths: Data | None = None,
    ) -> Data:
        """Computes the layer."""
        attended = self.attention(self._before("attention", x), None, mask, lengths)
        x = self._after("attention", x, attended)
        return self._after("ffn", x, self.ffn(self._before("ffn", x)))


class TransformerDecoderLayer(_Residual):
    """Causal self-attention, attention to a memory, and a feed-forward part (Vaswani et al. 2017).

    Args:
        units: of a position, and of the memory.
        hidden_units, num_heads, dropout, attention_dropout, activation, pre_norm, epsilon: as of
            `TransformerEncoderLayer`.
        layer: which layer of a `KeyValueCache` its self-attention writes.

    Inputs x (batch, length, units), memory (batch, memory length, units), and optionally
    memory_lengths (batch,), how many of its positions there are, mask, as of `MultiHeadAttention`,
    for x, and a cache; output the shape of x.
    """

    def __init__(
        self,
        units: int,
        hidden_units: int,
        num_heads: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation: ActivationLike = "relu",
        pre_norm: bool = False,
        epsilon: float = 1e-5,
        layer: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        parts = ("attention", "memory_attention", "ffn")
        super().__init__(units, parts, pre_norm, dropout, epsilon, **kwargs)
        with self.name_scope():
            self.attention = MultiHeadAttention(
                units,
                num_heads,
                dropout=attention_dropout,
                causal=True,
                layer=layer,
                in_units=units,
                prefix="attention_",
            )
            self.memory_attention = MultiHeadAttention(
                units,
                num_heads,
                dropout=attention_dropout,
                in_units=units,
                prefix="memory_attention_",
            )
            self.ffn = PositionwiseFFN(hidden_units, units, activation, dropout, prefix="ffn_")

    def hybrid_forward(
        self,
        F: Operators[Data],
        x: Data,
        memory: Data,
        memory_lengths: Data | None = None,
        mask: Data | None = None,
        cache: object = None,
    ) -> Data:
        """Computes the layer."""
        attended = self.attention(self._before("attention", x), None, mask, None, cache)
        x = self._after("attention", x, attended)
        given = self._before("memory_attention", x)
        attended = self.memory_attention(given, memory, None, memory_lengths)
        x = self._after("memory_attention", x, attended)
        return self._after("ffn", x, self.ffn(self._before("ffn", x)))
