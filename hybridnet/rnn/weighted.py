"""The cells whose gates are products of the inputs and of the hidden state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet import initializer, symbol
from hybridnet.symbol import Symbol

from .base import ActivationOfSymbols, BaseRNNCell, RNNParams, SymbolState

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "gru_step", "lstm_step"]


def lstm_step(
    gates: Symbol,
    states: Sequence[Symbol],
    at: str,
    activation: Callable[..., Symbol],
    axis: int = 1,
) -> tuple[Symbol, list[Symbol]]:
    """Returns what an LSTM cell makes of its gates: the output and the states.

    Args:
        gates: input, forget, new and output gate, side by side.
        states: the hidden and the cell state before.
        at: the beginning of names.
        activation: applies the activation of new and cell state to a symbol.
        axis: along which the gates are.
    """
    i, f, g, o = symbol.SliceChannel(gates, num_outputs=4, axis=axis, name=at + "slice")
    i = symbol.Activation(i, act_type="sigmoid", name=at + "i")
    f = symbol.Activation(f, act_type="sigmoid", name=at + "f")
    g = activation(g, name=at + "c")
    o = symbol.Activation(o, act_type="sigmoid", name=at + "o")
    cell = symbol.elemwise_add(f * states[1], i * g, name=at + "state")
    output = symbol.elemwise_mul(o, activation(cell), name=at + "out")
    return output, [output, cell]


def gru_step(
    i2h: Symbol,
    h2h: Symbol,
    before: Symbol,
    at: str,
    activation: Callable[..., Symbol],
    axis: int = 1,
) -> tuple[Symbol, list[Symbol]]:
    """Returns what a GRU cell makes of its gates: the output and the state.

    Args:
        i2h, h2h: reset, update and new gate, side by side: the parts of inputs and hidden state.
        before: the state before.
        at: the beginning of names.
        activation: applies the activation of the new state to a symbol.
        axis: along which the gates are.
    """
    cut = {"num_outputs": 3, "axis": axis}
    i2h_r, i2h_z, i2h_n = symbol.SliceChannel(i2h, name=at + "_i2h_slice", **cut)
    h2h_r, h2h_z, h2h_n = symbol.SliceChannel(h2h, name=at + "_h2h_slice", **cut)
    reset = symbol.Activation(i2h_r + h2h_r, act_type="sigmoid", name=at + "_r_act")
    update = symbol.Activation(i2h_z + h2h_z, act_type="sigmoid", name=at + "_z_act")
    new = activation(i2h_n + reset * h2h_n, name=at + "_h_act")
    output = symbol.elemwise_add((1.0 - update) * new, update * before, name=at + "out")
    return output, [output]


class _WeightedCell(BaseRNNCell):
    """Base of the cells here.

    Args:
        num_hidden: the size of the hidden state.
        prefix: of names.
        params: variables to share.
        i2h_bias: further arguments of the variable of the bias of the inputs' part.
    """

    def __init__(
        self, num_hidden: int, prefix: str, params: RNNParams | None, **i2h_bias: Any
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        self._iW = self.params.get("i2h_weight")
        self._iB = self.params.get("i2h_bias", **i2h_bias)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of the state, (batch, hidden)."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}]

    def _products(self, inputs: Symbol, hidden: Symbol, at: str) -> tuple[Symbol, Symbol]:
        """Returns the parts of all gates that the inputs and the hidden state make."""
        rows = self._num_hidden * self._num_gates
        i2h = symbol.FullyConnected(inputs, self._iW, self._iB, num_hidden=rows, name=at + "i2h")
        h2h = symbol.FullyConnected(hidden, self._hW, self._hB, num_hidden=rows, name=at + "h2h")
        return i2h, h2h


class RNNCell(_WeightedCell):
    """Elman's cell: ``h' = activation(W x + b + R h + c)``.

    Args:
        num_hidden: the size of the hidden state.
        activation: the name of an activation, or a function of symbols.
        prefix: of the names of its nodes and variables.
        params: variables to share with other cells.
    """

    def __init__(
        self,
        num_hidden: int,
        activation: ActivationOfSymbols = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("",)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        self._counter += 1
        at = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._products(inputs, states[0], at)
        output = self._get_activation(i2h + h2h, self._activation, name=at + "out")
        return output, [output]


class LSTMCell(_WeightedCell):
    """The cell of Hochreiter and Schmidhuber (1997), with a forget gate.

    Args:
        num_hidden: the size of each state.
        prefix: of the names of its nodes and variables.
        params: variables to share with other cells.
        forget_bias: the first value of the forget gate's bias.
    """

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        init = initializer.LSTMBias(forget_bias=forget_bias)
        super().__init__(num_hidden, prefix, params, init=init)

    @property
    def state_info(self) -> list[SymbolState]:
        """The shape and layout of the hidden and the cell state, (batch, hidden)."""
        return super().state_info * 2

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_i", "_f", "_c", "_o")

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        self._counter += 1
        at = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._products(inputs, states[0], at)
        return lstm_step(i2h + h2h, states, at, _tanh)


class GRUCell(_WeightedCell):
    """The cell of Cho et al. (2014), in the form whose reset gate acts on a product.

    Args:
        num_hidden: the size of the hidden state.
        prefix: of the names of its nodes and variables.
        params: variables to share with other cells.
    """

    def __init__(
        self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Sequence[str]:
        return ("_r", "_z", "_o")

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Takes one step."""
        self._counter += 1
        at = f"{self._prefix}t{self._counter}_"
        i2h, h2h = self._products(inputs, states[0], at + "_")
        return gru_step(i2h, h2h, states[0], at, _tanh)


def _tanh(x: Symbol, **kwargs: Any) -> Symbol:
    return symbol.Activation(x, act_type="tanh", **kwargs)
