"""Cells that change what another cell gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import symbol
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from .base import Arrays, BaseRNNCell, RNNParams, SymbolState, normalize_sequence
from .fused import FusedRNNCell
from .stacks import BidirectionalCell

__all__ = ["ModifierCell", "ResidualCell", "ZoneoutCell"]


class ModifierCell(BaseRNNCell):
    """Base of the cells that take another cell over and change what it gives.

    Args:
        base_cell: the cell, which is not called directly any more.
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The variables of the cell inside."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of each state of the cell inside."""
        return self.base_cell.state_info

    def begin_state(  # type: ignore[override]
        self, init_sym: Callable[..., Any] = symbol.zeros, **kwargs: Any
    ) -> list[Any]:
        """Returns states to begin with; see `BaseRNNCell.begin_state`."""
        self._check_own()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=init_sym, **kwargs)
        finally:
            self.base_cell._modified = True

    def unpack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of the cell inside cut into one for each gate."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of the gates joined: undoes `unpack_weights`."""
        return self.base_cell.pack_weights(args)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(inputs, states)")


class ZoneoutCell(ModifierCell):
    """Keeps elements of the step before, at random while training (Krueger et al. 2016).

    Args:
        base_cell: the cell.
        zoneout_outputs, zoneout_states: the probability that an element of the output, or of a
            state, stays what it was in the step before.

    Raises:
        ParameterError: the cell takes no single steps.
    """

    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, (FusedRNNCell, BidirectionalCell)):
            raise ParameterError(
                f"ZoneoutCell: a {type(base_cell).__name__} takes no single steps; make one of "
                "each cell in it (FusedRNNCell.unfuse gives these)"
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def reset(self) -> None:
        """Forgets the steps taken."""
        super().reset()
        self.prev_output: Symbol | None = None

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        output, after = self.base_cell(inputs, states)

        def mixed(p: float, new: Symbol, old: Symbol) -> Symbol:
            if not p:
                return new
            return symbol.where(symbol.Dropout(symbol.ones_like(new), p=p), new, old)

        before = symbol.zeros_like(output) if self.prev_output is None else self.prev_output
        output = mixed(self.zoneout_outputs, output, before)
        after = [mixed(self.zoneout_states, *both) for both in zip(after, states, strict=True)]
        self.prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """Adds a cell's inputs to its outputs (Wu et al. 2016); both have one size.

    Args:
        base_cell: the cell.
    """

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        output, states = self.base_cell(inputs, states)
        return _added(output, inputs), states

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Takes all steps; arguments as `BaseRNNCell.unroll`."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state, layout, merge_outputs
            )
        finally:
            self.base_cell._modified = True
        merged = isinstance(outputs, Symbol)
        steps, _ = normalize_sequence(length, inputs, layout, merged)
        if merged:
            return _added(outputs, steps), states
        return [_added(*both) for both in zip(outputs, steps, strict=True)], states


def _added(output: Symbol, inputs: Symbol) -> Symbol:
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
