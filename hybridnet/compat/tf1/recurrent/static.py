"""`static_rnn` and `static_bidirectional_rnn`: a cell over a list, a part of the graph each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import dtypes
from ..graph.values import convert_to_tensor
from ..nest import flatten, map_structure, pack_sequence_as
from ..operations import cast, concat, less_equal, reverse_sequence, size_of, stack, unstack
from ..variables.scope import variable_scope
from .dynamic import first_state, until

__all__ = ["static_bidirectional_rnn", "static_rnn"]


def static_rnn(
    cell: Any,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Runs a cell over a list of inputs.

    Args:
        cell: an `RNNCell`.
        inputs: tensors, (batch, ...), or nests of them: one for each step.
        initial_state: the first state, nested as `cell.state_size`; default zeros.
        dtype: of these zeros.
        sequence_length: (batch,) how long each sequence is: beyond, outputs are 0, and the state
            stays as it is. Default all of it.
        scope: of the variables; default 'rnn'.

    Returns:
        The outputs, a list, and the last state.

    Raises:
        TypeError: `inputs` is no list.
        ValueError: it is empty; or neither `initial_state` nor `dtype` is given.
    """
    if not isinstance(inputs, (list, tuple)):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")
    with variable_scope(scope or "rnn") as own:
        given = [map_structure(convert_to_tensor, one) for one in inputs]
        first = flatten(given[0])[0]
        state = first_state(cell, size_of(first, 0), initial_state, dtype)
        lengths = None
        if sequence_length is not None:
            lengths = cast(convert_to_tensor(sequence_length), dtypes.int32)
        outputs = []
        for time, one in enumerate(given):
            if time > 0:
                own.reuse_variables()
            output, new = cell(one, state)
            if lengths is not None:
                output, new = until(less_equal(lengths, time), output, new, state)
            state = new
            outputs.append(output)
        return outputs, state


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any, Any]:
    """Runs one cell over a list, and one over the same from its end; see `static_rnn`.

    Returns:
        The outputs of both, joined along the last axis, a list; and both last states.
    """
    common = (dtype, sequence_length)
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as own:
            forward, last = static_rnn(cell_fw, inputs, initial_state_fw, *common, scope=own)
        with variable_scope("bw") as own:
            turned = _turned(inputs, sequence_length)
            back, first = static_rnn(cell_bw, turned, initial_state_bw, *common, scope=own)
    back = _turned(back, sequence_length)
    joined = [
        pack_sequence_as(
            one, [concat(pair, 1) for pair in zip(flatten(one), flatten(two), strict=True)]
        )
        for one, two in zip(forward, back, strict=True)
    ]
    return joined, last, first


def _turned(inputs: Sequence[Any], lengths: Any) -> list[Any]:
    """Returns a list from its end, for each example from the end of its own."""
    if lengths is None:
        return list(reversed(inputs))
    columns = zip(*(flatten(one) for one in inputs), strict=True)
    made = [
        unstack(reverse_sequence(stack(column), lengths, 0, 1), len(inputs)) for column in columns
    ]
    return [pack_sequence_as(inputs[0], row) for row in zip(*made, strict=True)]
