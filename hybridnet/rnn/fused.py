"""`FusedRNNCell`: layers of cells as one operator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from hybridnet import initializer, ndarray, symbol
from hybridnet.base.errors import ParameterError
from hybridnet.initializer.fused import FusedParts
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from .base import Arrays, BaseRNNCell, RNNParams, SymbolState, normalize_sequence
from .dropout import DropoutCell
from .stacks import BidirectionalCell, SequentialRNNCell
from .weighted import GRUCell, LSTMCell, RNNCell

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Layers of cells that take a whole sequence, as the one operator `sym.RNN`.

    Args:
        num_hidden: the size of the hidden state.
        num_layers: how many layers; each gets what the one below gives.
        mode: the cell: 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.
        bidirectional: whether each layer has a second part that goes backward in time.
        dropout: the part of the elements between two layers that is dropped in training.
        get_next_state: whether `unroll` gives the last states, too.
        forget_bias: the first value of the bias of an LSTM's forget gate.
        prefix: of names; default the mode's.
        params: variables to share.
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._parts = FusedParts(mode, num_hidden, num_layers, bidirectional)
        init = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=init)

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of each state, (layers * directions, batch, hidden)."""
        layers = self._num_layers * (2 if self._bidirectional else 1)
        info: SymbolState = {"shape": (layers, 0, self._num_hidden), "__layout__": "LNC"}
        return [info.copy() for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Sequence[str]:
        return self._parts.gates

    def unpack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with the vector of parameters cut into one for each gate."""
        found = dict(args)
        vector = found.pop(self._parameter.name or "")
        for name, part in self._parts.cut(vector).items():
            found[self._prefix + name] = part.copy()
        return found

    def pack_weights(self, args: Arrays) -> dict[str, NDArray]:
        """Returns the arrays with those of the gates joined: undoes `unpack_weights`."""
        found = dict(args)
        first = found[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        names = self._parts.names(first.shape[1])
        parts = [found.pop(self._prefix + name).reshape((-1,)) for name in names]
        found[self._parameter.name or ""] = ndarray.concatenate(parts)
        return found

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Raises NotImplementedError: the operator takes the whole sequence."""
        raise NotImplementedError("FusedRNNCell: takes no single steps; use unroll, or unfuse")

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
        merged, axis = normalize_sequence(length, inputs, layout, True)
        if axis not in (0, 1):
            raise ParameterError(f"unroll: layout must be 'TNC' or 'NTC', got {layout!r}")
        if axis == 1:
            warnings.warn(
                "FusedRNNCell: the layout NTC is turned to TNC and back; TNC is faster",
                stacklevel=2,
            )
            merged = symbol.swapaxes(merged, dim1=0, dim2=1)
        states = self.begin_state() if begin_state is None else begin_state
        names = ("state", "state_cell")[: len(self.state_info)]
        made = symbol.RNN(
            data=merged,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **dict(zip(names, states, strict=True)),
        )
        after: list[Symbol] = []
        if self._get_next_state:
            made, *after = made
        if axis == 1:
            made = symbol.swapaxes(made, dim1=0, dim2=1)
        outputs, _ = normalize_sequence(length, made, layout, merge_outputs)
        return outputs, after

    def unfuse(self) -> SequentialRNNCell:
        """Returns cells that compute the same, with variables of their own.

        `unpack_weights` of this cell, and `pack_weights` of those, take arrays from one to the
        other.
        """

        def made(prefix: str) -> BaseRNNCell:
            if self._mode == "lstm":
                return LSTMCell(self._num_hidden, prefix=prefix)
            if self._mode == "gru":
                return GRUCell(self._num_hidden, prefix=prefix)
            return RNNCell(self._num_hidden, self._mode.removeprefix("rnn_"), prefix)

        stack = SequentialRNNCell()
        for layer in range(self._num_layers):
            cell = made(f"{self._prefix}l{layer}_")
            if self._bidirectional:
                other = made(f"{self._prefix}r{layer}_")
                name = f"{self._prefix}bi_l{layer}_"
                cell = BidirectionalCell(cell, other, output_prefix=name)
            stack.add(cell)
            if self._dropout > 0 and layer < self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{layer}_"))
        return stack
