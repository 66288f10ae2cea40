"""Cells without weights: dropout, and cells that change what another cell gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import symbol
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..parameter import ParameterDict
from ..types import Data, Operators, StateInfo
from .recurrent import HybridRecurrentCell, RecurrentCell
from .sequences import format_sequence, mask_sequence
from .stacks import BidirectionalCell

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(HybridRecurrentCell):
    """Sets elements of its inputs to 0 while training, and scales the rest; it has no states.

    Args:
        rate: the probability of each, 0 <= rate < 1.
        axes: axes along which the same elements are dropped.
        prefix, params: see `gluon.Block`.
    """

    def __init__(
        self,
        rate: float,
        axes: tuple[int, ...] = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, (int, float)):
            raise ParameterError(f"{type(self).__name__}: rate must be a number, got {rate!r}")
        self._rate = rate
        self._axes = axes

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns an empty list."""
        return []

    def _alias(self) -> str:
        return "dropout"

    def hybrid_forward(
        self, F: Operators[Data], inputs: Data, states: list[Data]
    ) -> tuple[Data, list[Data]]:
        """Drops, in training."""
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Data | Sequence[Data],
        begin_state: Sequence[Data] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Data | None = None,
    ) -> tuple[Any, list[Data]]:
        """Drops in all steps, at once where they are one array; as `RecurrentCell.unroll`."""
        self.reset()
        given, _, F, _ = format_sequence(length, inputs, layout, merge_outputs)
        if isinstance(given, (NDArray, Symbol)):
            outputs, states = self.hybrid_forward(F, given, list(begin_state or ()))
            return outputs, states
        return super().unroll(length, given, begin_state, layout, merge_outputs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """Base of the cells that take another cell over and change what it gives.

    Args:
        base_cell: the cell, which is not called directly any more.

    Raises:
        ParameterError: another modifier has it.
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        if base_cell._modified:
            raise ParameterError(
                f"{type(self).__name__}: {base_cell.name} belongs to another modifier already; "
                "make one of that modifier"
            )
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> ParameterDict:
        """The parameters of the cell inside."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state of the cell inside."""
        return self.base_cell.state_info(batch_size)

    def begin_state(  # type: ignore[override]
        self, func: Callable[..., NDArray | Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Any]:
        """Returns states to begin with; see `RecurrentCell.begin_state`."""
        self._check_own()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def hybrid_forward(
        self, F: Operators[Data], inputs: Data, states: list[Data]
    ) -> tuple[Data, list[Data]]:
        """Takes one step; subclasses define it."""
        raise NotImplementedError(
            f"{type(self).__name__} must define hybrid_forward(F, inputs, states)"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell!r})"


class ZoneoutCell(ModifierCell):
    """Keeps elements of the step before, at random while training (Krueger et al. 2016).

    Args:
        base_cell: the cell.
        zoneout_outputs, zoneout_states: the probability that an element of the output, or of a
            state, stays what it was in the step before.

    Raises:
        ParameterError: the cell takes no single steps.
    """

    _keeps_arrays = True

    def __init__(
        self,
        base_cell: RecurrentCell,
        zoneout_outputs: float = 0.0,
        zoneout_states: float = 0.0,
    ) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise ParameterError(
                f"{type(self).__name__}: a BidirectionalCell takes no single steps; make one of "
                "each cell in it"
            )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        """Forgets the steps taken."""
        super().reset()
        self._prev_output: Any = None

    def hybrid_forward(
        self, F: Operators[Data], inputs: Data, states: list[Data]
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        output, after = self.base_cell(inputs, states)

        def mixed(p: float, new: Data, old: Data) -> Data:
            if not p:
                return new
            return F.where(F.Dropout(F.ones_like(new), p=p), new, old)

        before = F.zeros_like(output) if self._prev_output is None else self._prev_output
        output = mixed(self.zoneout_outputs, output, before)
        after = [mixed(self.zoneout_states, *both) for both in zip(after, states, strict=True)]
        self._prev_output = output
        return output, after

    def __repr__(self) -> str:
        shown = f"p_out={self.zoneout_outputs}, p_state={self.zoneout_states}"
        return f"{type(self).__name__}({shown}, {self.base_cell!r})"


class ResidualCell(ModifierCell):
    """Adds a cell's inputs to its outputs (Wu et al. 2016); both have one size.

    Args:
        base_cell: the cell.
    """

    def hybrid_forward(
        self, F: Operators[Data], inputs: Data, states: list[Data]
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self,
        length: int,
        inputs: Data | Sequence[Data],
        begin_state: Sequence[Data] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Data | None = None,
    ) -> tuple[Any, list[Data]]:
        """Takes all steps; arguments as `RecurrentCell.unroll`."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state, layout, merge_outputs, valid_length
            )
        finally:
            self.base_cell._modified = True
        merged = isinstance(outputs, (NDArray, Symbol))
        inputs, axis, F, _ = format_sequence(length, inputs, layout, merged)
        if valid_length is not None:
            inputs = mask_sequence(F, inputs, length, valid_length, axis, merged)
        if merged:
            return F.elemwise_add(outputs, inputs), states
        pairs = zip(outputs, inputs, strict=True)
        return [F.elemwise_add(*both) for both in pairs], states
