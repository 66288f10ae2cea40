"""Cells with a projection, dropout that stays the same in all steps, and loops as one operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.initializer.base import InitLike
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ...nn.axes import deferred
from ...parameter import ParameterDict
from ...rnn import BidirectionalCell, HybridRecurrentCell, ModifierCell, RecurrentCell
from ...rnn.sequences import first_states, format_sequence, mask_sequence
from ...types import Data, Operators, StateInfo

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class VariationalDropoutCell(ModifierCell):
    """Drops the same elements in all steps of a sequence (Gal and Ghahramani 2016).

    What is dropped is drawn in the first step, and again after `reset`, which `unroll` begins with.

    Args:
        base_cell: the cell.
        drop_inputs, drop_states, drop_outputs: the part that is dropped in training of the inputs,
            of the first state (the hidden one), and of the outputs.

    Raises:
        ParameterError: states are to be dropped of a cell that takes no single steps.
    """

    _keeps_arrays = True

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise ParameterError(
                f"{type(self).__name__}: drop_states needs a cell that takes single steps, got a "
                "BidirectionalCell; make one of each cell in it"
            )
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        """Forgets the steps taken, and what is dropped."""
        super().reset()
        self.drop_inputs_mask: Any = None
        self.drop_states_mask: Any = None
        self.drop_outputs_mask: Any = None

    def hybrid_forward(
        self, F: Operators[Data], inputs: Data, states: list[Data]
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        if self.drop_states:
            if self.drop_states_mask is None:
                self.drop_states_mask = _mask(F, states[0], self.drop_states)
            states = list(states)
            states[0] = states[0] * self.drop_states_mask
        if self.drop_inputs:
            if self.drop_inputs_mask is None:
                self.drop_inputs_mask = _mask(F, inputs, self.drop_inputs)
            inputs = inputs * self.drop_inputs_mask
        output, after = self.base_cell(inputs, states)
        if self.drop_outputs:
            if self.drop_outputs_mask is None:
                self.drop_outputs_mask = _mask(F, output, self.drop_outputs)
            output = output * self.drop_outputs_mask
        return output, after

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
        if self.drop_states:
            return super().unroll(
                length, inputs, begin_state, layout, merge_outputs, valid_length=valid_length
            )
        # A mask that all steps share is one Dropout of the whole sequence, drawn once along time.
        self.reset()
        sequence, time, F, batch_size = format_sequence(length, inputs, layout, True)

        def dropped(whole: Data, share: float) -> Data:
            return F.Dropout(whole, p=share, axes=(time,)) if share else whole

        found, states = self.base_cell.unroll(
            length,
            dropped(sequence, self.drop_inputs),
            first_states(self, F, begin_state, sequence, batch_size),
            layout,
            merge_outputs=True,
            valid_length=valid_length,
        )
        found = dropped(found, self.drop_outputs)  # what is padded is 0, and stays that
        if merge_outputs is False:
            found = format_sequence(length, found, layout, False)[0]
        return found, states

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"


def _mask(F: Operators[Data], like: Data, p: float) -> Data:
    return F.Dropout(F.ones_like(like), p=p)


class LSTMPCell(HybridRecurrentCell):
    """An LSTM cell whose hidden state is multiplied by a matrix (Sak et al. 2014).

    Args:
        hidden_size: the size of the cell state.
        projection_size: the size of the hidden state and of the output.
        i2h_weight_initializer, h2h_weight_initializer, h2r_weight_initializer: first values of the
            weights for inputs and hidden state, and of that matrix.
        i2h_bias_initializer, h2h_bias_initializer: first values of the biases.
        input_size: the size of the inputs; 0 to find out from the first.
        prefix, params: see `gluon.Block`.

    Inputs (batch, input_size) and a list of the states, (batch, projection_size) and
    (batch, hidden_size); output (batch, projection_size) and a list of the new states.
    """

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        h2r_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._projection_size = projection_size
        rows = 4 * hidden_size
        for name, shape, init in (
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, projection_size), h2h_weight_initializer),
            ("h2r_weight", (projection_size, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, deferred(self, name, shape, init))

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state."""
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def _alias(self) -> str:
        return "lstmp"

    def hybrid_forward(
        self,
        F: Operators[Data],
        inputs: Data,
        states: list[Data],
        i2h_weight: Data,
        h2h_weight: Data,
        h2r_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        at, rows = f"t{self._counter}_", 4 * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=at + "i2h")
        h2h = F.FullyConnected(states[0], h2h_weight, h2h_bias, num_hidden=rows, name=at + "h2h")
        i, f, g, o = F.SliceChannel(i2h + h2h, num_outputs=4, name=at + "slice")
        i = F.Activation(i, act_type="sigmoid", name=at + "i")
        f = F.Activation(f, act_type="sigmoid", name=at + "f")
        g = F.Activation(g, act_type="tanh", name=at + "c")
        o = F.Activation(o, act_type="sigmoid", name=at + "o")
        cell = F.elemwise_add(f * states[1], i * g, name=at + "state")
        hidden = F.elemwise_mul(o, F.Activation(cell, act_type="tanh"), name=at + "hidden")
        size = self._projection_size
        shown = F.FullyConnected(hidden, h2r_weight, num_hidden=size, no_bias=True, name=at + "out")
        return shown, [shown, cell]

    def __repr__(self) -> str:
        rows, inputs = self._reg_params["i2h_weight"].shape or (0, 0)
        return f"{type(self).__name__}({inputs or None} -> {rows} -> {self._projection_size})"


def dynamic_unroll(
    cell: RecurrentCell,
    inputs: NDArray | Symbol,
    begin_state: NDArray | Symbol | Sequence[NDArray | Symbol],
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: NDArray | Symbol | None = None,
) -> tuple[Any, list[Any]]:
    """Takes all steps of a sequence as one loop, whose graph does not grow with its length.

    Args:
        cell: the cell.
        inputs: an array or symbol of `layout`.
        begin_state: the first states.
        drop_inputs, drop_outputs: the part of the inputs and of the outputs that is dropped in
            training, the same in all steps.
        layout: 'TNC' or 'NTC': time T, batch N, channels C.
        valid_length: (batch,), how many steps of each sequence count; or None.

    Returns:
        The outputs, of `layout`, and the states after the last step that counts.
    """
    inputs, axis, F, _ = format_sequence(0, inputs, layout, True)
    turned = axis != 0
    if turned:
        inputs = F.swapaxes(inputs, dim1=0, dim2=axis)
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(0,))
    single = isinstance(begin_state, (NDArray, Symbol))
    states = [begin_state] if single else list(begin_state)

    def step(now: Any, before: Any) -> Any:
        *before, number = before
        output, after = cell(now, before)
        if valid_length is not None:
            goes_on = F.broadcast_greater(valid_length, number)
            after = [F.where(goes_on, *both) for both in zip(after, before, strict=True)]
        return output, [*after, number + 1]

    outputs, (*states, _) = F.contrib.foreach(step, inputs, [*states, F.zeros((1,))])
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(0,))
    if turned:
        outputs = F.swapaxes(outputs, dim1=0, dim2=axis)
    if valid_length is not None:
        outputs = mask_sequence(F, outputs, 0, valid_length, axis, True)
    return outputs, states
