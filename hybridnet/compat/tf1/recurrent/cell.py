"""`RNNCell`: one step of a recurrent network; `LSTMStateTuple`: the state of those of LSTM."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..dtypes import DType, as_dtype
from ..graph import Tensor, TensorShape, convert_to_tensor, name_scope
from ..layer.base import Layer
from ..nest import map_structure
from ..operations import concat, zeros

__all__ = ["LSTMStateTuple", "RNNCell", "zero_states"]


class LSTMStateTuple(NamedTuple):
    """The state of a cell of LSTM.

    Attributes:
        c: what it remembers, (batch, units).
        h: what it gave out last, (batch, outputs).
    """

    c: Any
    h: Any

    @property
    def dtype(self) -> DType:
        """The dtype of c and h.

        Raises:
            TypeError: their dtypes differ.
        """
        kind: DType = self.c.dtype
        if kind != self.h.dtype:
            raise TypeError(f"c and h must be of one dtype, got {kind} and {self.h.dtype}")
        return kind


class RNNCell(Layer):
    """One step of a recurrent network: ``output, new_state = cell(input, state)``.

    Those who derive from it say `state_size` and `output_size`, and override `call`.
    """

    @property
    def state_size(self) -> Any:
        """The size of the state of one example: a number, a `TensorShape`, or a nest of these."""
        raise NotImplementedError("an RNNCell must say its state_size")

    @property
    def output_size(self) -> Any:
        """The size of the output for one example, likewise."""
        raise NotImplementedError("an RNNCell must say its output_size")

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **keywords: Any) -> Any:
        """Makes a step.

        Args:
            inputs: (batch, inputs).
            args: the state, nested as `state_size`; and the scope of the variables, if this is the
                first call.
            scope: that scope.
            keywords: ``state=`` the state.

        Returns:
            The output, and the new state.
        """
        state, *rest = args if args else (keywords.pop("state"),)
        known = rest[0] if rest else scope
        given = map_structure(convert_to_tensor, state)
        return super().__call__(inputs, given, scope=known, **keywords)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros.

        Args:
            batch_size: how many examples: a number, or a tensor of one.
            dtype: of the state.
        """
        with name_scope(f"{type(self).__name__}ZeroState"):
            return zero_states(self.state_size, batch_size, dtype)


def zero_states(sizes: Any, batch_size: Any, dtype: Any) -> Any:
    """Returns zeros, nested as sizes of states."""
    kind = as_dtype(dtype).base_dtype

    def made(size: Any) -> Tensor:
        own = size.as_list() if isinstance(size, TensorShape) else [int(size)]
        known = isinstance(batch_size, int)
        first = convert_to_tensor([batch_size] if known else batch_size, name="batch")
        row = first if first.shape.ndims == 1 else [first]
        shape = [batch_size, *own] if known else concat([row, own], 0)
        found = zeros(shape, kind)
        found.set_shape([batch_size if known else None, *own])
        return found

    if isinstance(sizes, TensorShape):
        return made(sizes)
    return map_structure(made, sizes)
