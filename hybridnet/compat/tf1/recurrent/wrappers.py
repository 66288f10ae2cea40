"""Cells made of cells: `MultiRNNCell`, `DropoutWrapper`, `ResidualWrapper`, `DeviceWrapper`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ..dtypes import as_dtype
from ..graph import Tensor, TensorShape, convert_to_tensor, device, name_scope, static_value
from ..nest import assert_same_structure, flatten, map_structure, pack_sequence_as
from ..operations import cast, concat, greater_equal, random_uniform, split
from ..operations.nn.activation import dropout
from ..variables.scope import variable_scope
from .cell import LSTMStateTuple, RNNCell, zero_states

__all__ = ["DeviceWrapper", "DropoutWrapper", "MultiRNNCell", "ResidualWrapper"]


class _OfCells(RNNCell):
    """A cell that is made of others, and has their variables."""

    _cells: list[Any]

    @property
    def weights(self) -> list[Any]:
        """The variables of the cells."""
        return [one for cell in self._cells for one in cell.weights]

    variables = weights

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables of the cells: those that optimizers update."""
        return [one for cell in self._cells for one in cell.trainable_weights]

    trainable_variables = trainable_weights


@final
class MultiRNNCell(_OfCells):
    """Cells one upon the other: the output of each is the input of the next.

    Args:
        cells: at least one.
        state_is_tuple: whether the state is a tuple of theirs; else they are joined.

    Attributes:
        cells: the cells.

    Raises:
        ValueError: there is none, or a state cannot be joined.
        TypeError: `cells` is no list.
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not isinstance(cells, (list, tuple)):
            raise TypeError(f"cells must be a list or tuple, got {cells!r}")
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        self.cells = self._cells = list(cells)
        self._is_tuple = state_is_tuple
        if not state_is_tuple and any(isinstance(one.state_size, tuple) for one in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. State "
                f"sizes are: {[one.state_size for one in cells]}"
            )

    @property
    def state_size(self) -> Any:
        """The state sizes of the cells: a tuple, or their sum."""
        found = tuple(one.state_size for one in self._cells)
        return found if self._is_tuple else sum(found)

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros; as `RNNCell.zero_state`."""
        with name_scope(f"{type(self).__name__}ZeroState"):
            if self._is_tuple:
                return tuple(one.zero_state(batch_size, dtype) for one in self._cells)
            return zero_states(self.state_size, batch_size, dtype)

    def call(self, inputs: Any, state: Any = None, *args: Any, **keywords: Any) -> tuple[Any, Any]:
        """Makes a step of each."""
        if not self._is_tuple:
            state = split(state, [one.state_size for one in self._cells], 1)
        elif len(state) != len(self._cells):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        made, now = [], inputs
        for number, (cell, own) in enumerate(zip(self._cells, state, strict=True)):
            with variable_scope(f"cell_{number}"):
                now, new = cell(now, own)
            made.append(new)
        return now, tuple(made) if self._is_tuple else concat(made, 1)


class _Wrapper(_OfCells):
    """A cell that changes what another one does, and has the variables of that.

    Attributes:
        wrapped_cell: the other cell.
    """

    def __init__(self, cell: Any) -> None:
        super().__init__()
        self.wrapped_cell = self._cell = cell
        self._cells = [cell]

    @property
    def state_size(self) -> Any:
        """The state size of the wrapped cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The output size of the wrapped cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Returns a state of zeros of the other cell."""
        with name_scope(f"{type(self).__name__}ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **keywords: Any) -> Any:
        """Makes a step; see `RNNCell.__call__`."""
        state, *rest = args if args else (keywords.pop("state"),)
        return self._step(inputs, state, rest[0] if rest else scope)

    def _step(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        raise NotImplementedError


@final
class DropoutWrapper(_Wrapper):
    """A cell whose inputs, outputs and states are set to 0 in part, at random.

    Args:
        cell: the cell.
        input_keep_prob: the part of the inputs that is kept on average, a number or a tensor.
        output_keep_prob: likewise of the outputs.
        state_keep_prob: likewise of the new states, but what a cell of LSTM remembers.
        variational_recurrent: whether what is set to 0 is the same in all steps of a run (Gal and
            Ghahramani, 2015).
        input_size: that of the inputs, which is needed for that if they are not all kept.
        dtype: of all three, which is needed for that.
        seed: without meaning here; see `tf.set_random_seed`.
        dropout_state_filter_visitor: gets a state, and says which parts of it may be set to 0, in a
            nest like it, or for all of it.
        kwargs: without meaning here.

    Raises:
        TypeError: `cell` is none.
        ValueError: a part is not between 0 and 1, or what `variational_recurrent` needs is missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not (hasattr(cell, "state_size") and callable(cell)):
            raise TypeError(f"cell must be an RNNCell, got {cell!r}")
        super().__init__(cell)
        kept = (input_keep_prob, output_keep_prob, state_keep_prob)
        self._parts = dict(zip(("input", "output", "state"), kept, strict=True))
        for name, part in self._parts.items():
            known = None if isinstance(part, Tensor) else static_value(part)
            if known is not None and not 0 <= known <= 1:
                raise ValueError(f"Parameter {name}_keep_prob must be between 0 and 1: {part}")
        self._filter = dropout_state_filter_visitor or _not_memory
        self._noise: dict[str, list[Tensor]] = {}
        if variational_recurrent:
            self._draw(input_size, dtype)

    def _draw(self, input_size: Any, dtype: Any) -> None:
        """Draws what is the same in all steps."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        if self._drops("input") and input_size is None:
            raise ValueError(
                "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                "input_size must be provided"
            )
        sizes = {"input": input_size, "output": self.output_size, "state": self.state_size}
        kind = as_dtype(dtype).base_dtype
        for name, size in sizes.items():
            if self._drops(name):
                leaves = [size] if isinstance(size, TensorShape) else flatten(size)
                self._noise[name] = [
                    random_uniform([1, *TensorShape(one).as_list()], dtype=kind) for one in leaves
                ]

    def _drops(self, name: str) -> bool:
        part = self._parts[name]
        return isinstance(part, Tensor) or static_value(part) != 1

    def _step(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        if self._drops("input"):
            inputs = self._dropped("input", inputs, True)
        output, new = self._cell(inputs, state, scope=scope)
        if self._drops("state"):
            new = self._dropped("state", new, self._filter(new))
        if self._drops("output"):
            output = self._dropped("output", output, True)
        return output, new

    def _dropped(self, name: str, values: Any, allowed: Any) -> Any:
        leaves = flatten(values)
        may = [allowed] * len(leaves) if isinstance(allowed, bool) else flatten(allowed)
        part, noises = self._parts[name], self._noise.get(name)
        made = []
        for number, (one, drop) in enumerate(zip(leaves, may, strict=True)):
            if not drop:
                made.append(one)
            elif noises is None:
                made.append(dropout(one, keep_prob=part))
            else:
                made.append(_kept(convert_to_tensor(one), noises[number], part))
        return pack_sequence_as(values, made)


def _kept(x: Tensor, noise: Tensor, part: Any) -> Tensor:
    whole: Any = convert_to_tensor(part, x.dtype.base_dtype)
    mask = cast(greater_equal(noise, 1 - whole), x.dtype.base_dtype)
    made: Tensor = x / whole * mask
    made.set_shape(x.shape)
    return made


def _not_memory(state: Any) -> Any:
    """Returns for each part of a state whether dropout may zero it: all but an LSTM's memory c."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    if isinstance(state, (list, tuple)):
        return [_not_memory(one) for one in state]
    return True


@final
class ResidualWrapper(_Wrapper):
    """A cell whose inputs are added to its outputs.

    Args:
        cell: the cell.
        residual_fn: of inputs and outputs; default their sum.
        kwargs: without meaning here.
    """

    def __init__(self, cell: Any, residual_fn: Any = None, **kwargs: Any) -> None:
        super().__init__(cell)
        self._function = residual_fn or _sum

    def _step(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        output, new = self._cell(inputs, state, scope=scope)
        return self._function(inputs, output), new


def _sum(inputs: Any, outputs: Any) -> Any:
    assert_same_structure(inputs, outputs)
    for one, other in zip(flatten(inputs), flatten(outputs), strict=True):
        one.shape.assert_is_compatible_with(other.shape)
    return map_structure(lambda one, other: one + other, inputs, outputs)


@final
class DeviceWrapper(_Wrapper):
    """A cell on a device.

    Args:
        cell: the cell.
        device: as for `tf.device`.
        kwargs: without meaning here.
    """

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell)
        self._device = device

    def _step(self, inputs: Any, state: Any, scope: Any) -> tuple[Any, Any]:
        with device(self._device):
            output, new = self._cell(inputs, state, scope=scope)
            return output, new
