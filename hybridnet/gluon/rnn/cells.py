"""The cells with weights: Elman's, LSTM and GRU.

The formulas, the order of the gates and the names of the parameters are those of operator `RNN`, so
that cells and layers take each other's weights.
"""

from __future__ import annotations

from hybridnet.initializer.base import InitLike

from ..nn.axes import deferred
from ..parameter import Parameter, ParameterDict
from ..types import ActivationLike, Data, Operators, StateInfo
from .recurrent import HybridRecurrentCell

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "WeightedCell"]


class WeightedCell(HybridRecurrentCell):
    """Base of the cells whose gates are products of the inputs and of the hidden state.

    Args:
        gates: how many gates.
        num_states: how many states of the hidden size.
        hidden_size: the size of the hidden state.
        initializers: of the weights for inputs and hidden state, and of the two biases.
        input_size: the size of the inputs; 0 to find out from the first.
        prefix, params: see `gluon.Block`.
    """

    i2h_weight: Parameter
    h2h_weight: Parameter
    i2h_bias: Parameter
    h2h_bias: Parameter

    def __init__(
        self,
        gates: int,
        num_states: int,
        hidden_size: int,
        initializers: tuple[InitLike | None, InitLike | None, InitLike | None, InitLike | None],
        input_size: int,
        prefix: str | None,
        params: ParameterDict | None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._num_states = num_states
        rows = gates * hidden_size
        shapes = {
            "i2h_weight": (rows, input_size),
            "h2h_weight": (rows, hidden_size),
            "i2h_bias": (rows,),
            "h2h_bias": (rows,),
        }
        for (name, shape), init in zip(shapes.items(), initializers, strict=True):
            setattr(self, name, deferred(self, name, shape, init))

    def state_info(self, batch_size: int = 0) -> list[StateInfo]:
        """Returns the shape and layout of each state, (batch, hidden)."""
        info: StateInfo = {"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
        return [info.copy() for _ in range(self._num_states)]

    def _products(
        self,
        F: Operators[Data],
        at: str,
        inputs: Data,
        hidden: Data,
        weights: tuple[Data, Data, Data, Data],
    ) -> tuple[Data, Data]:
        """Returns the parts of all gates that the inputs and the hidden state make."""
        rows = (self.i2h_bias.shape or (0,))[0]
        i2h_weight, h2h_weight, i2h_bias, h2h_bias = weights
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=at + "i2h")
        h2h = F.FullyConnected(hidden, h2h_weight, h2h_bias, num_hidden=rows, name=at + "h2h")
        return i2h, h2h

    def __repr__(self) -> str:
        rows, inputs = self.i2h_weight.shape or (0, 0)
        return f"{type(self).__name__}({inputs or None} -> {rows})"


class RNNCell(WeightedCell):
    """Elman's cell: ``h' = activation(W x + b + R h + c)``.

    Args:
        hidden_size: the size of the hidden state.
        activation: the name of an activation, or a function.
        i2h_weight_initializer, h2h_weight_initializer: first values of W and R.
        i2h_bias_initializer, h2h_bias_initializer: first values of b and c.
        input_size: the size of the inputs; 0 to find out from the first.
        prefix, params: see `gluon.Block`.

    Inputs (batch, input_size) and a list of one state (batch, hidden_size); output
    (batch, hidden_size) and the new state in a list.
    """

    def __init__(
        self,
        hidden_size: int,
        activation: ActivationLike = "tanh",
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        weights = (i2h_weight_initializer, h2h_weight_initializer)
        biases = (i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(1, 1, hidden_size, (*weights, *biases), input_size, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def hybrid_forward(
        self,
        F: Operators[Data],
        inputs: Data,
        states: list[Data],
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        at = f"t{self._counter}_"
        weights = (i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h, h2h = self._products(F, at, inputs, states[0], weights)
        total = F.elemwise_add(i2h, h2h, name=at + "plus0")
        output = self._get_activation(F, total, self._activation, name=at + "out")
        return output, [output]

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._activation})"


class LSTMCell(WeightedCell):
    """The cell of Hochreiter and Schmidhuber (1997), with a forget gate.

    The gates are ``i, f, g, o = W x + b + R h + c``; with ``i``, ``f`` and ``o`` through the
    recurrent activation and ``g`` through the other, ``c' = f c + i g`` and ``h' = o tanh(c')``.

    Args:
        hidden_size: the size of each state.
        i2h_weight_initializer, h2h_weight_initializer: first values of W and R.
        i2h_bias_initializer, h2h_bias_initializer: first values of b and c; `init.LSTMBias` sets
            the forget gate's part.
        input_size: the size of the inputs; 0 to find out from the first.
        prefix, params: see `gluon.Block`.
        activation, recurrent_activation: names of activations.

    Inputs (batch, input_size) and a list of the states h and c, (batch, hidden_size) each; output
    h' and a list of the new states.
    """

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: ActivationLike = "tanh",
        recurrent_activation: ActivationLike = "sigmoid",
    ) -> None:
        weights = (i2h_weight_initializer, h2h_weight_initializer)
        biases = (i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(4, 2, hidden_size, (*weights, *biases), input_size, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def hybrid_forward(
        self,
        F: Operators[Data],
        inputs: Data,
        states: list[Data],
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        at = f"t{self._counter}_"
        weights = (i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h, h2h = self._products(F, at, inputs, states[0], weights)
        gates = F.elemwise_add(i2h, h2h, name=at + "plus0")
        i, f, g, o = F.SliceChannel(gates, num_outputs=4, name=at + "slice")
        i = self._get_activation(F, i, self._recurrent_activation, name=at + "i")
        f = self._get_activation(F, f, self._recurrent_activation, name=at + "f")
        g = self._get_activation(F, g, self._activation, name=at + "c")
        o = self._get_activation(F, o, self._recurrent_activation, name=at + "o")
        kept = F.elemwise_mul(f, states[1], name=at + "mul0")
        new = F.elemwise_mul(i, g, name=at + "mul1")
        cell = F.elemwise_add(kept, new, name=at + "state")
        shown = self._get_activation(F, cell, self._activation, name=at + "activation0")
        hidden = F.elemwise_mul(o, shown, name=at + "out")
        return hidden, [hidden, cell]


class GRUCell(WeightedCell):
    """The cell of Cho et al. (2014), in the form whose reset gate acts on a product (Chung et al.).

    Of the gates ``r, z, n``, ``r`` and ``z`` are sigmoids of ``W x + b + R h + c``;
    ``n = tanh(W x + b + r (R h + c))``, and ``h' = (1 - z) n + z h``.

    Args:
        hidden_size: the size of the hidden state.
        i2h_weight_initializer, h2h_weight_initializer: first values of W and R.
        i2h_bias_initializer, h2h_bias_initializer: first values of b and c.
        input_size: the size of the inputs; 0 to find out from the first.
        prefix, params: see `gluon.Block`.

    Inputs (batch, input_size) and a list of one state (batch, hidden_size); output
    (batch, hidden_size) and the new state in a list.
    """

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: InitLike | None = None,
        h2h_weight_initializer: InitLike | None = None,
        i2h_bias_initializer: InitLike | None = "zeros",
        h2h_bias_initializer: InitLike | None = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        weights = (i2h_weight_initializer, h2h_weight_initializer)
        biases = (i2h_bias_initializer, h2h_bias_initializer)
        super().__init__(3, 1, hidden_size, (*weights, *biases), input_size, prefix, params)

    def _alias(self) -> str:
        return "gru"

    def hybrid_forward(
        self,
        F: Operators[Data],
        inputs: Data,
        states: list[Data],
        i2h_weight: Data,
        h2h_weight: Data,
        i2h_bias: Data,
        h2h_bias: Data,
    ) -> tuple[Data, list[Data]]:
        """Takes one step."""
        at = f"t{self._counter}_"
        before = states[0]
        weights = (i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        i2h, h2h = self._products(F, at, inputs, before, weights)
        i2h_r, i2h_z, i2h_n = F.SliceChannel(i2h, num_outputs=3, name=at + "i2h_slice")
        h2h_r, h2h_z, h2h_n = F.SliceChannel(h2h, num_outputs=3, name=at + "h2h_slice")
        reset = F.elemwise_add(i2h_r, h2h_r, name=at + "plus0")
        reset = F.Activation(reset, act_type="sigmoid", name=at + "r_act")
        update = F.elemwise_add(i2h_z, h2h_z, name=at + "plus1")
        update = F.Activation(update, act_type="sigmoid", name=at + "z_act")
        inner = F.elemwise_mul(reset, h2h_n, name=at + "mul0")
        new = F.elemwise_add(i2h_n, inner, name=at + "plus2")
        new = F.Activation(new, act_type="tanh", name=at + "h_act")
        ones = F.ones_like(update, name=at + "ones_like0")
        rest = F.elemwise_sub(ones, update, name=at + "minus0")
        taken = F.elemwise_mul(rest, new, name=at + "mul1")
        kept = F.elemwise_mul(update, before, name=at + "mul20")
        output = F.elemwise_add(taken, kept, name=at + "out")
        return output, [output]
