"""Sequences as one array or as a list of steps, and the states that cells begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hybridnet import ndarray, symbol
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from ..types import Data, Operators, StateInfo

__all__ = [
    "begin_states",
    "first_states",
    "format_sequence",
    "mask_sequence",
    "reverse_sequences",
    "state_infos",
]


def state_infos(cells: Iterable[Any], batch_size: int = 0) -> list[StateInfo]:
    """Returns what several cells say about their states, in one list."""
    return [info for cell in cells for info in cell.state_info(batch_size)]


def begin_states(cells: Iterable[Any], **kwargs: Any) -> list[Any]:
    """Returns the first states of several cells, in one list."""
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def first_states(
    cell: Any,
    F: Any,
    begin_state: Sequence[Data] | None,
    inputs: Any,
    batch_size: int,
) -> Any:
    """Returns the states that a cell begins with: those given, or zeros beside the inputs.

    Args:
        cell: the cell.
        F: `nd` or `sym`.
        begin_state: what the user gave, or None.
        inputs: the sequence, as one array or as a list.
        batch_size: how many sequences; of symbols 0, which is found from the inputs.
    """
    if begin_state is not None:
        return begin_state
    if F is not ndarray:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
    first = inputs if isinstance(inputs, NDArray) else inputs[0]
    kind = {"dtype": first.dtype} if is_float(first.inferred_dtype) else {}
    states = cell.begin_state(func=F.zeros, batch_size=batch_size, ctx=first.context, **kind)
    if first.kind_of_results is not None:
        states = [state.as_np_ndarray() for state in states]
    return states


def format_sequence(
    length: int | None,
    inputs: Any,
    layout: str,
    merge: bool | None,
    in_layout: str | None = None,
) -> tuple[Any, int, Any, int]:
    """Makes a sequence one array, or a list of its steps.

    Args:
        length: the number of steps; None where the inputs say it.
        inputs: an array or symbol of layout `in_layout`, or a list of steps (batch, ...).
        layout: the order of the axes of one array, such as 'NTC': batch, time, channels.
        merge: True for one array, False for a list, None to leave it as it is.
        in_layout: default `layout`.

    Returns:
        The sequence; the axis of the time; `nd` or `sym`; and the batch size, of symbols 0.

    Raises:
        ParameterError: there are no inputs, or they are a symbol of several outputs.
        ShapeError: the sequence has another length.
    """
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    if inputs is None:
        raise ParameterError("unroll: needs inputs, an array or a list of one for each step")
    whole = isinstance(inputs, (NDArray, Symbol))
    F = symbol if isinstance(inputs if whole else inputs[0], Symbol) else ndarray
    batch_size = 0
    if whole and F is symbol:
        if merge is False:
            inputs = _steps_of_symbol(length, inputs, in_axis)
    elif whole:
        batch_size = inputs.shape[layout.find("N")]
        if merge is False:
            size = inputs.shape[in_axis]
            if length not in (None, size):
                raise ShapeError(
                    f"unroll: length must be the inputs' size {size} along axis {in_axis}, got "
                    f"{length} for inputs of shape {inputs.shape}"
                )
            inputs = _split(F, inputs, size, in_axis)
    else:
        if length not in (None, len(inputs)):
            raise ShapeError(f"unroll: needs {length} inputs, one for each step, got {len(inputs)}")
        if F is ndarray:
            batch_size = inputs[0].shape[0]
        if merge:
            inputs, in_axis = F.stack(*inputs, axis=axis), axis
    if isinstance(inputs, (NDArray, Symbol)) and axis != in_axis:
        inputs = F.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis, F, batch_size


def _steps_of_symbol(length: int | None, inputs: Symbol, axis: int) -> list[Symbol]:
    if len(inputs) != 1:
        raise ParameterError(
            f"unroll: inputs must be one symbol or a list, got a symbol of {len(inputs)} outputs; "
            "use list(inputs)"
        )
    if length is None:
        raise ParameterError("unroll: needs length to split a symbol into steps")
    return _split(symbol, inputs, length, axis)


def _split(F: Operators[Data], data: Data, count: int, axis: int) -> list[Data]:
    found = F.split(data, axis=axis, num_outputs=count, squeeze_axis=True)
    return [found] if isinstance(found, NDArray) else list(found)


def mask_sequence(
    F: Operators[Data],
    data: Data | Sequence[Data],
    length: int,
    valid_length: Data,
    time_axis: int,
    merge: bool | None,
) -> Data | list[Data]:
    """Sets the steps of each sequence after its valid length to 0.

    Args:
        F: `nd` or `sym`.
        data: the sequences, as one array or as a list of steps.
        length: the number of steps.
        valid_length: (batch,).
        time_axis: 0 or 1.
        merge: whether to return one array, or a list of steps.
    """
    if not isinstance(data, (NDArray, Symbol)):
        data = F.stack(*data, axis=time_axis)
    masked = F.SequenceMask(
        data, sequence_length=valid_length, use_sequence_length=True, axis=time_axis
    )
    return masked if merge else _split(F, masked, length, time_axis)


def reverse_sequences(
    sequences: Sequence[Data], unroll_step: int, valid_length: Data | None = None
) -> list[Data]:
    """Reverses steps; with valid lengths the valid ones, and the padding stays behind them.

    Args:
        sequences: the steps, (batch, ...) each.
        unroll_step: how many there are.
        valid_length: (batch,) or None.
    """
    if valid_length is None:
        return list(reversed(sequences))
    F = symbol if isinstance(sequences[0], Symbol) else ndarray
    turned = F.SequenceReverse(
        F.stack(*sequences, axis=0), sequence_length=valid_length, use_sequence_length=True
    )
    return _split(F, turned, unroll_step, 0)
