"""`dynamic_rnn` and `bidirectional_dynamic_rnn`: a cell over sequences, as one loop."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from ..graph.adding import Tensor, convert_to_tensor, identity, name_scope
from ..nest import flatten, map_structure
from ..operations import cast, folded, greater_equal, reverse, reverse_sequence, transpose, where
from ..operations.creation import range_of, size_of, zeros_like
from ..variables.scope import variable_scope
from .cell import zero_states

__all__ = [
    "beyond", "bidirectional_dynamic_rnn", "dynamic_rnn", "first_state", "require_cells", "until",
]  # fmt: skip


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Runs a cell over sequences, whose length only a run may tell.

    Args:
        cell: an `RNNCell`.
        inputs: (batch, time, ...), or a nest of such tensors.
        sequence_length: (batch,) how long each sequence is: beyond, outputs are 0, and the state
            stays as it is. Default all of it.
        initial_state: the first state, nested as `cell.state_size`; default zeros.
        dtype: of these zeros.
        parallel_iterations, swap_memory: without meaning here.
        time_major: whether inputs and outputs are (time, batch, ...).
        scope: of the variables; default 'rnn'.

    Returns:
        The outputs, (batch, time, ...), and the last state.

    Raises:
        TypeError: `cell` is none.
        ValueError: neither `initial_state` nor `dtype` is given, or a number of dimensions is not
            known.
    """
    require_cells(cell)
    with variable_scope(scope or "rnn") as own:
        given = map_structure(convert_to_tensor, inputs)
        if not time_major:
            given = map_structure(swapped, given)
        first = flatten(given)[0]
        lengths = None
        if sequence_length is not None:
            lengths = cast(convert_to_tensor(sequence_length), dtypes.int32)
            lengths = identity(lengths, name="sequence_length")
        state = first_state(cell, size_of(first, 1), initial_state, dtype)
        reuse = own.reuse

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            x, time = row
            with variable_scope(own, reuse=reuse, auxiliary_name_scope=False):
                output, new = cell(x, state)
            if lengths is None:
                return output, new
            return until(greater_equal(time, lengths), output, new, state)

        steps = range_of(size_of(first, 0))
        outputs, last = folded(step, (given, steps), state)
        if not time_major:
            outputs = map_structure(swapped, outputs)
        return outputs, last


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Runs one cell over sequences, and one over the same from their ends; see `dynamic_rnn`.

    Returns:
        Both outputs, in the order of the inputs, and both last states.
    """
    require_cells(cell_fw, cell_bw)
    common = (dtype, parallel_iterations, swap_memory, time_major)
    axis, batch = (0, 1) if time_major else (1, 0)

    def turned(one: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(one, [axis])
        return reverse_sequence(one, sequence_length, axis, batch)

    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as own:
            forward, last = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, *common, scope=own
            )
        with variable_scope("bw") as own:
            given = map_structure(lambda one: turned(convert_to_tensor(one)), inputs)
            back, first = dynamic_rnn(
                cell_bw, given, sequence_length, initial_state_bw, *common, scope=own
            )
    return (forward, map_structure(turned, back)), (last, first)


def require_cells(*cells: Any) -> None:
    """Raises TypeError unless all are cells."""
    for one in cells:
        if not (hasattr(one, "state_size") and hasattr(one, "output_size") and callable(one)):
            raise TypeError(f"The argument 'cell' ({one!r}) is not an RNNCell")


def first_state(cell: Any, batch: Any, initial_state: Any, dtype: Any) -> Any:
    """Returns the state that a loop begins with.

    Raises:
        ValueError: neither the state nor the dtype of zeros is given.
    """
    if initial_state is not None:
        return map_structure(convert_to_tensor, initial_state)
    if dtype is None:
        raise ValueError("If there is no initial_state, you must give a dtype.")
    if hasattr(cell, "zero_state"):
        return cell.zero_state(batch, dtype)
    return zero_states(cell.state_size, batch, dtype)


def beyond(ended: Tensor, value: Tensor, other: Tensor) -> Tensor:
    """Returns one value for the examples that have ended, and another for the rest."""
    if value.shape.ndims == 0:  # of no example: a count of steps
        return other
    made = where(ended, value, other)
    made.set_shape(other.shape)
    return made


def until(ended: Tensor, output: Any, new: Any, old: Any) -> tuple[Any, Any]:
    """Returns zeros and the old state for the examples that have ended."""
    return (
        map_structure(lambda one: beyond(ended, zeros_like(one), one), output),
        map_structure(lambda before, one: beyond(ended, before, one), old, new),
    )


def swapped(x: Tensor) -> Tensor:
    """Returns a tensor with its first two axes swapped.

    Raises:
        ValueError: the number of dimensions is not known.
    """
    rank = x.shape.ndims
    if rank is None or rank < 2:
        raise ValueError(f"dynamic_rnn: inputs must be (batch, time, ...), got shape {x.shape}")
    with name_scope(None, "transpose", [x]) as scope:
        return transpose(x, [1, 0, *range(2, rank)], name=scope)
