"""Cells made of cells: one after another, and one in each direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet import symbol
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from .base import Arrays, BaseRNNCell, RNNParams, SymbolState, normalize_sequence

__all__ = ["BidirectionalCell", "SequentialRNNCell"]


class _Compound(BaseRNNCell):
    """Base of the cells that have cells in them."""

    _cells: list[BaseRNNCell]

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None

    def _take_over(self, cell: BaseRNNCell) -> None:
        """Shares variables with a cell inside."""
        if self._override_cell_params:
            if not cell._own_params:
                raise ParameterError(
                    f"{type(self).__name__}: give params to it or to the cells in it, not to both"
                )
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of each state, those of the first cell first."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """Returns states to begin with, those of the first cell first; see `BaseRNNCell`."""
        self._check_own()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of all cells inside cut into one for each gate."""
        found = dict(args)
        for cell in self._cells:
            found = cell.unpack_weights(found)
        return found

    def pack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of the gates joined: undoes `unpack_weights`."""
        found = dict(args)
        for cell in self._cells:
            found = cell.pack_weights(found)
        return found


class SequentialRNNCell(_Compound):
    """Cells one after another, in each step.

    Args:
        params: variables to share.
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)
        self._cells = []

    def add(self, cell: BaseRNNCell) -> None:
        """Appends a cell."""
        self._cells.append(cell)
        self._take_over(cell)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step through all cells."""
        self._counter += 1
        after: list[Symbol] = []
        at = 0
        for cell in self._cells:
            count = len(cell.state_info)
            inputs, new = cell(inputs, states[at : at + count])
            after.extend(new)
            at += count
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Takes all steps, one cell after another; arguments as `BaseRNNCell.unroll`."""
        self.reset()
        before = self.begin_state() if begin_state is None else begin_state
        after: list[Symbol] = []
        at = 0
        for number, cell in enumerate(self._cells, 1):
            count = len(cell.state_info)
            merge = merge_outputs if number == len(self._cells) else None
            states = before[at : at + count]
            inputs, new = cell.unroll(length, inputs, states, layout, merge)
            after.extend(new)
            at += count
        return inputs, after


class BidirectionalCell(_Compound):
    """Two cells, one of which takes the sequence from its end; outputs are joined in each step.

    It can be unrolled, but takes no single steps.

    Args:
        l_cell: the cell that goes forward.
        r_cell: the one that goes backward.
        params: variables to share.
        output_prefix: of the names of the outputs.
    """

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._cells = [l_cell, r_cell]
        for cell in self._cells:
            self._take_over(cell)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Raises NotImplementedError: the backward cell needs the whole sequence."""
        raise NotImplementedError(
            f"{type(self).__name__}: takes no single steps, because one of its cells begins at the "
            "end; use unroll"
        )

    def unroll(
        self,
        length: int,
        inputs: Symbol | Sequence[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, Any]:
        """Takes all steps in both directions; arguments as `BaseRNNCell.unroll`.

        Returns:
            The outputs, and two lists: the states of the forward and of the backward cell.
        """
        self.reset()
        inputs, axis = normalize_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        left, right = self._cells
        count = len(left.state_info)
        forth, forth_states = left.unroll(length, inputs, states[:count], layout, merge_outputs)
        back, back_states = right.unroll(
            length, list(reversed(inputs)), states[count:], layout, merge_outputs
        )
        if merge_outputs is None:
            merge_outputs = isinstance(forth, Symbol) and isinstance(back, Symbol)
            if not merge_outputs:
                forth, _ = normalize_sequence(length, forth, layout, False)
                back, _ = normalize_sequence(length, back, layout, False)
        name = self._output_prefix
        if merge_outputs:
            back = symbol.reverse(back, axis=axis)
            outputs: Any = symbol.Concat(forth, back, dim=2, name=f"{name}out")
        else:
            outputs = [
                symbol.Concat(*both, dim=1, name=f"{name}t{step}")
                for step, both in enumerate(zip(forth, reversed(back), strict=True))
            ]
        return outputs, [forth_states, back_states]
