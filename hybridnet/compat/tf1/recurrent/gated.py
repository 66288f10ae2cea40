"""Cells: `BasicRNNCell`, `GRUCell`, `BasicLSTMCell`, `LSTMCell`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from ..graph import Tensor, TensorShape
from ..layer.base import known_sizes
from ..operations import clip_by_value, concat, matmul, sigmoid, split, tanh
from ..operations.nn.activation import bias_add
from ..variables.initial import constant_initializer, zeros_initializer
from .cell import LSTMStateTuple, RNNCell

__all__ = ["BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell"]

_gate: Final[Callable[[Any], Any]] = sigmoid


class _OneState(RNNCell):
    """The base class of the cells whose output is their state, h; see `BasicRNNCell`."""

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kwargs)
        self._units = int(num_units)
        self._activation = activation or tanh

    @property
    def state_size(self) -> int:
        """The size of h."""
        return self._units

    output_size = state_size


@final
class BasicRNNCell(_OneState):
    """h' = activation([x, h] W + b); the output is h', too.

    Args:
        num_units: the size of h.
        activation: default tanh.
        reuse: whether the variables must be there already.
        name: of the scope of the variables.
        dtype: of them; default that of the input.
        kwargs: those of `Layer`.
    """

    def build(self, input_shape: TensorShape) -> None:
        """Makes the variables."""
        (size,) = known_sizes("BasicRNNCell", input_shape, -1)
        self._kernel = self.add_weight("kernel", [size + self._units, self._units])
        self._bias = self.add_weight("bias", [self._units], initializer=zeros_initializer())

    def call(
        self, inputs: Tensor, state: Any = None, *args: Any, **keywords: Any
    ) -> tuple[Tensor, Tensor]:
        """Makes a step."""
        made = bias_add(matmul(concat([inputs, state], 1), self._kernel), self._bias)
        output = self._activation(made)
        return output, output


@final
class GRUCell(_OneState):
    """Gated recurrent unit (Cho et al., 2014): h' = u h + (1 - u) c.

    r, u = sigmoid([x, h] W + b), and c = activation([x, r h] V + d).

    Args:
        num_units: the size of h.
        kernel_initializer: sets W and V.
        bias_initializer: sets b and d; default ones for b, zeros for d.
        activation, reuse, name, dtype, kwargs: as for `BasicRNNCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._initializers = (kernel_initializer, bias_initializer)

    def build(self, input_shape: TensorShape) -> None:
        """Makes the variables."""
        (size,) = known_sizes("GRUCell", input_shape, -1)
        kernel, bias = self._initializers
        for name, count, first in (("gates", 2, 1.0), ("candidate", 1, 0.0)):
            width = count * self._units
            made = self.add_weight(f"{name}/kernel", [size + self._units, width], None, kernel)
            begun = bias or constant_initializer(first)
            pair = (made, self.add_weight(f"{name}/bias", [width], None, begun))
            setattr(self, f"_{name}", pair)

    def call(
        self, inputs: Tensor, state: Any = None, *args: Any, **keywords: Any
    ) -> tuple[Tensor, Tensor]:
        """Makes a step."""
        gates: Any = self._gates  # type: ignore[attr-defined]  # set in build
        candidate: Any = self._candidate  # type: ignore[attr-defined]
        both = _gate(bias_add(matmul(concat([inputs, state], 1), gates[0]), gates[1]))
        halves: Sequence[Any] = split(both, 2, 1)
        reset, update = halves
        kept = concat([inputs, reset * state], 1)
        new = self._activation(bias_add(matmul(kept, candidate[0]), candidate[1]))
        output = update * state + (1 - update) * new
        return output, output


class _LSTM(RNNCell):
    """The base class of the two LSTM cells: their step, and their state, a tuple or one tensor.

    Args: as for `BasicLSTMCell`.
    """

    _title = "LSTMCell"
    _initializer: Any = None
    _peepholes = False
    _clips: tuple[float | None, float | None] = (None, None)
    _projected = False

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, _reuse=reuse, **kwargs)
        self._units = self._outputs = int(num_units)
        self._forget = forget_bias
        self._is_tuple = state_is_tuple
        self._activation = activation or tanh

    @property
    def state_size(self) -> Any:
        """The sizes of c and h."""
        if self._is_tuple:
            return LSTMStateTuple(self._units, self._outputs)
        return self._units + self._outputs

    @property
    def output_size(self) -> int:
        """The size of h."""
        return self._outputs

    def _parts(self, state: Any) -> Any:
        if self._is_tuple:
            return state
        return split(state, [self._units, self._outputs], 1)

    def _gates(self, inputs: Tensor, h: Any) -> Sequence[Any]:
        """Returns i, j, f and o, before their activations."""
        made = bias_add(matmul(concat([inputs, h], 1), self._kernel), self._bias)
        gates: Sequence[Any] = split(made, 4, 1)
        return gates

    def build(self, input_shape: TensorShape) -> None:
        """Makes the variables."""
        (size,) = known_sizes(self._title, input_shape, -1)
        units, first = self._units, self._initializer
        self._kernel = self.add_weight("kernel", [size + self._outputs, 4 * units], None, first)
        self._bias = self.add_weight("bias", [4 * units], None, zeros_initializer())
        if self._peepholes:
            self._seen = [self.add_weight(f"w_{one}_diag", [units], None, first) for one in "fio"]
        if self._projected:
            shape = [units, self._outputs]
            self._projection = self.add_weight("projection/kernel", shape, None, first)

    def call(
        self, inputs: Tensor, state: Any = None, *args: Any, **keywords: Any
    ) -> tuple[Tensor, Any]:
        """Makes a step."""
        c, h = self._parts(state)
        i, j, f, o = self._gates(inputs, h)
        if self._peepholes:
            f, i = f + self._seen[0] * c, i + self._seen[1] * c
        new: Any = c * _gate(f + self._forget) + _gate(i) * self._activation(j)
        new = _clipped(new, self._clips[0])
        if self._peepholes:
            o = o + self._seen[2] * new
        output = self._activation(new) * _gate(o)
        if self._projected:
            output = _clipped(matmul(output, self._projection), self._clips[1])
        return output, LSTMStateTuple(new, output) if self._is_tuple else concat([new, output], 1)


@final
class BasicLSTMCell(_LSTM):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997; Zaremba et al., 2014).

    i, j, f, o = [x, h] W + b; c' = c sigmoid(f + forget_bias) + sigmoid(i) activation(j), and
    h' = activation(c') sigmoid(o), which is the output, too.

    Args:
        num_units: the size of c and h.
        forget_bias: see above.
        state_is_tuple: whether the state is an `LSTMStateTuple`; else c and h are joined.
        activation, reuse, name, dtype, kwargs: as for `BasicRNNCell`.
    """

    _title = "BasicLSTMCell"


@final
class LSTMCell(_LSTM):
    """As `BasicLSTMCell`, with peepholes, clipping and a projection (Sak et al., 2014).

    Args:
        num_units: the size of c.
        use_peepholes: whether the gates see c: i and f the old one, o the new one.
        cell_clip: the greatest size of what c holds; None: any.
        initializer: sets the weights.
        num_proj: the size of h, if it is projected.
        proj_clip: the greatest size of what h holds then.
        num_unit_shards, num_proj_shards: without meaning here.
        forget_bias, state_is_tuple, activation, reuse, name, dtype, kwargs: see `BasicLSTMCell`.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        how = (forget_bias, state_is_tuple, activation, reuse, name, dtype)
        super().__init__(num_units, *how, **kwargs)
        self._outputs = int(num_proj or num_units)
        self._peepholes = use_peepholes
        self._clips = (cell_clip, proj_clip)
        self._initializer = initializer
        self._projected = num_proj is not None


def _clipped(value: Tensor, limit: float | None) -> Tensor:
    return value if limit is None else clip_by_value(value, -limit, limit)
