"""Tokens, and vectors for them."""

from __future__ import annotations

from typing import Unpack

from hybridnet import initializer
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray

from ...block import HybridBlock
from ...types import BlockNames, Data, Operators


class Table(HybridBlock):
    """Vectors for whole numbers, as `nn.Embedding`; numbers that it has none for are an error.

    A tokenizer that is not the network's would go unnoticed otherwise.

    Args:
        rows: numbers are from 0 to rows - 1.
        units: length of a vector.
        spread: the standard deviation of new vectors.
        kwargs: ``prefix`` and ``params``.
    """

    def __init__(self, rows: int, units: int, spread: float, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        init = initializer.Normal(spread)
        self.weight = self.params.get("weight", shape=(rows, units), init=init)

    def __repr__(self) -> str:
        rows, units = self.weight.shape or (0, 0)
        return f"Table({rows} -> {units})"

    def hybrid_forward(self, F: Operators[Data], x: Data, weight: Data) -> Data:
        """Returns vectors, of the shape of `x` with one more axis.

        Raises:
            OutOfBoundsError: a number is outside; at once, or where a value is next read.
        """
        return F.take(weight, x, axis=0, mode="raise")


def check_tokens(where: str, tokens: object) -> None:
    """Checks what a decoder is given.

    Raises:
        ParameterError: it is no array, but a symbol perhaps; `where` begins the message.
        ShapeError: it is not (batch, length).
    """
    if not isinstance(tokens, NDArray):
        raise ParameterError(
            f"{where}: needs an NDArray of tokens, got {type(tokens).__name__}; a network with a "
            "cache is no symbol, and is exported by hn.export"
        )
    if len(tokens.shape) != 2:
        raise ShapeError(f"{where}: tokens must be (batch, length), got {tokens.shape}")
