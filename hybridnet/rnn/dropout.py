"""`DropoutCell`: a cell without weights and states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet import symbol
from hybridnet.base.errors import ParameterError
from hybridnet.symbol import Symbol

from .base import BaseRNNCell, RNNParams, SymbolState, normalize_sequence

__all__ = ["DropoutCell"]


class DropoutCell(BaseRNNCell):
    """Sets elements of its inputs to 0 while training, and scales the rest; it has no states.

    Args:
        dropout: the probability of each, 0 <= dropout < 1.
        prefix, params: as for `BaseRNNCell`.
    """

    def __init__(
        self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None
    ) -> None:
        super().__init__(prefix, params)
        if not isinstance(dropout, (int, float)):
            raise ParameterError(f"DropoutCell: dropout must be a number, got {dropout!r}")
        self.dropout = dropout

    @property
    def state_info(self) -> list[SymbolState]:
        """An empty list."""
        return []

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Drops, in training."""
        return (symbol.Dropout(inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Drops in all steps, at once where they are one symbol; as `BaseRNNCell.unroll`."""
        self.reset()
        inputs, _ = normalize_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            outputs, states = self(inputs, [])
            return outputs, states
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)
