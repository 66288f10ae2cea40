"""Cells made of cells: one after another, and one in each direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..block import Block
from ..types import Data, Operators, StateInfo
from .recurrent import HybridRecurrentCell, RecurrentCell, given_states
from .sequences import (
    begin_states,
    first_states,
    format_sequence,
    mask_sequence,
    reverse_sequences,
    state_infos,
)

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _Stack(RecurrentCell):
    """Base of the cells that are several cells, one after another."""

    def add(self, cell: Block) -> None:
        """Appends a cell."""
        self.register_child(cell)

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state, those of the first cell first."""
        return state_infos(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """Returns states to begin with, those of the first cell first; see `RecurrentCell`."""
        self._check_own()
        return begin_states(self._children.values(), **kwargs)

    def __call__(self, inputs: Data, states: list[Data]) -> Any:  # type: ignore[override]
        """Takes one step through all cells."""
        return super().__call__(inputs, states)

    def hybrid_forward(
        self, F: Operators[Data] | None, inputs: Data, states: list[Data]
    ) -> tuple[Data, list[Data]]:
        """Takes one step through all cells."""
        after: list[Any] = []
        at = 0
        for cell in self._children.values():
            count = len(cell.state_info())  # type: ignore[attr-defined]
            inputs, new = cell(inputs, states[at : at + count])
            after.extend(new)
            at += count
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Data | Sequence[Data],
        begin_state: Sequence[Data] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Data | None = None,
    ) -> tuple[Any, list[Data]]:
        """Takes all steps, one cell after another; arguments as `RecurrentCell.unroll`."""
        self.reset()
        inputs, _, F, batch_size = format_sequence(length, inputs, layout, None)
        before = first_states(self, F, begin_state, inputs, batch_size)
        after: list[Any] = []
        at = 0
        for number, cell in enumerate(self._children.values(), 1):
            count = len(cell.state_info())  # type: ignore[attr-defined]
            inputs, new = cell.unroll(  # type: ignore[attr-defined]
                length,
                inputs,
                before[at : at + count],
                layout,
                merge_outputs if number == len(self) else None,
                valid_length,
            )
            after.extend(new)
            at += count
        return inputs, after

    def __repr__(self) -> str:
        lines = "".join(f"({name}): {cell!r}\n" for name, cell in self._children.items())
        return f"{type(self).__name__}(\n{lines})"

    def __getitem__(self, i: int) -> Any:
        return list(self._children.values())[i]

    def __len__(self) -> int:
        return len(self._children)


class SequentialRNNCell(_Stack):
    """Cells one after another, in each step.

    Args:
        prefix, params: see `gluon.Block`.
    """

    def forward(self, inputs: Data, states: list[Data] | None = None) -> tuple[Data, list[Data]]:
        """Takes one step through all cells."""
        self._counter += 1
        return self.hybrid_forward(None, inputs, given_states(self, states))


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Hybrid cells one after another, in each step.

    Args:
        prefix, params: see `gluon.Block`.
    """


class BidirectionalCell(HybridRecurrentCell):
    """Two cells, one of which takes the sequence from its end; outputs are joined in each step.

    It can be unrolled, but takes no single steps.

    Args:
        l_cell: the cell that goes forward.
        r_cell: the one that goes backward.
        output_prefix: of the names of the outputs of symbols.
    """

    def __init__(
        self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_"
    ) -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Data, states: list[Data]) -> tuple[Data, list[Data]]:  # type: ignore[override]
        """Raises NotImplementedError: the backward cell needs the whole sequence."""
        raise NotImplementedError(
            f"{type(self).__name__}: takes no single steps, because one of its cells begins at the "
            "end; use unroll"
        )

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state, the forward cell's first."""
        return state_infos(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """Returns states to begin with, the forward cell's first; see `RecurrentCell`."""
        self._check_own()
        return begin_states(self._children.values(), **kwargs)

    def unroll(
        self,
        length: int,
        inputs: Data | Sequence[Data],
        begin_state: Sequence[Data] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Data | None = None,
    ) -> tuple[Any, list[Data]]:
        """Takes all steps in both directions; arguments as `RecurrentCell.unroll`."""
        self.reset()
        steps, axis, F, batch_size = format_sequence(length, inputs, layout, False)
        states = first_states(self, F, begin_state, steps, batch_size)
        left, right = self._children.values()
        count = len(left.state_info(batch_size))  # type: ignore[attr-defined]
        options = {"layout": layout, "valid_length": valid_length}
        first = left.unroll(  # type: ignore[attr-defined]
            length, steps, states[:count], merge_outputs=merge_outputs, **options
        )
        backwards = reverse_sequences(steps, length, valid_length)
        second = right.unroll(  # type: ignore[attr-defined]
            length, backwards, states[count:], merge_outputs=False, **options
        )
        forth = first[0]
        back = reverse_sequences(second[0], length, valid_length)
        if merge_outputs is None:
            merge_outputs = isinstance(forth, (NDArray, Symbol))
        if merge_outputs:
            back = F.stack(*back, axis=axis)
            outputs = F.concat(forth, back, dim=2, name=f"{self._output_prefix}out")
        else:
            outputs = [
                F.concat(*both, dim=1, name=f"{self._output_prefix}t{step}")
                for step, both in enumerate(zip(forth, back, strict=True))
            ]
        if valid_length is not None:
            outputs = mask_sequence(F, outputs, length, valid_length, axis, merge_outputs)
        return outputs, list(first[1]) + list(second[1])

    def __repr__(self) -> str:
        left, right = self._children.values()
        return f"{type(self).__name__}(forward={left!r}, backward={right!r})"
