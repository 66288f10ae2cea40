"""Activation layers."""

from __future__ import annotations

from typing import Unpack

from hybridnet import initializer
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike
from hybridnet.ops.core import registry

from ..block import HybridBlock
from ..types import BlockNames, Data, Operators

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "SiLU", "Swish"]


class Activation(HybridBlock):
    """An activation function by name.

    Args:
        activation: 'relu', 'sigmoid', 'tanh', 'softrelu' or 'softsign'. Another name is refused
            when the block is called, as in MXNet: packages test with names that they make up.

    The output has the shape of the input.
    """

    def __init__(self, activation: str, **kwargs: Unpack[BlockNames]) -> None:
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type  # relu0 and not activation0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return F.Activation(x, act_type=self._act_type, name="fwd")


def known_activation(where: str, name: str) -> str:
    """Returns the name of an activation.

    Raises:
        ParameterError: there is none of this name; `where` begins the message.
    """
    param = registry.get("Activation").params["act_type"]
    try:
        found: str = param.read(name)
        return found
    except ValueError:
        raise ParameterError(f"{where}: activation must be {param.kind}, got {name!r}") from None


def activation_of(block: HybridBlock, name: str | None) -> Activation | None:
    """Returns the activation inside a layer, called after the layer; None for None."""
    if name is None:
        return None
    known_activation(type(block).__name__, name)
    with block.name_scope():
        return Activation(name, prefix=name + "_")


class LeakyReLU(HybridBlock):
    """x where x > 0, alpha · x elsewhere.

    Args:
        alpha: the slope for negative x, >= 0.
    """

    def __init__(self, alpha: float, **kwargs: Unpack[BlockNames]) -> None:
        if not alpha >= 0:
            raise ParameterError(f"LeakyReLU: alpha must be >= 0, got {alpha}")
        super().__init__(**kwargs)
        self._alpha = alpha

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")


class PReLU(HybridBlock):
    """Leaky ReLU with a learned slope (He et al. 2015).

    Args:
        alpha_initializer: of the slope; default 0.25.
        in_channels: one slope for each channel, or 1 for one slope.
    """

    def __init__(
        self,
        alpha_initializer: InitLike | None = None,
        in_channels: int = 1,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        chosen = initializer.Constant(0.25) if alpha_initializer is None else alpha_initializer
        self.alpha = self.params.get("alpha", shape=(in_channels,), init=chosen)

    def hybrid_forward(self, F: Operators[Data], x: Data, alpha: Data) -> Data:
        """Applies the function."""
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """x where x > 0, alpha · (exp(x) - 1) elsewhere (Clevert et al. 2015).

    Args:
        alpha: the factor for negative x.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The self-normalizing ELU (Klambauer et al. 2017)."""

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """x · Φ(x), with Φ the normal distribution function (Hendrycks and Gimpel 2016).

    Args:
        approximation: 'erf' for Φ itself, 'tanh' for what stands for it in GPT-2.
    """

    def __init__(self, approximation: str = "erf", **kwargs: Unpack[BlockNames]) -> None:
        if approximation not in ("erf", "tanh"):
            raise ParameterError(
                f"GELU: approximation must be 'erf' or 'tanh', got {approximation!r}"
            )
        super().__init__(**kwargs)
        self._act_type = "gelu" if approximation == "erf" else "gelu_tanh"

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return F.LeakyReLU(x, act_type=self._act_type, name="fwd")


class SiLU(HybridBlock):
    """x · sigmoid(x) (Hendrycks and Gimpel 2016)."""

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return x * F.sigmoid(x, name="fwd")


class Swish(HybridBlock):
    """x · sigmoid(beta · x) (Ramachandran et al. 2017).

    Args:
        beta: the slope of the sigmoid.
    """

    def __init__(self, beta: float = 1.0, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Applies the function."""
        return x * F.sigmoid(self._beta * x, name="fwd")
