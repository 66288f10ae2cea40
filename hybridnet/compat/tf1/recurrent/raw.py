"""`raw_rnn`: a cell in a loop whose inputs, states and end a function of the user's decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..graph import Tensor, TensorShape, constant, convert_to_tensor, known_numbers
from ..nest import assert_same_structure, flatten, map_structure, pack_sequence_as
from ..operations import add, concat, logical_not, logical_or, reduce_all, shape_of, zeros
from ..operations.arrays import TensorArray
from ..operations.while_loop import while_loop
from ..variables.scope import variable_scope
from .dynamic import beyond, require_cells

__all__ = ["raw_rnn"]


def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Runs a cell in a loop, of which a function tells what goes in and when it ends.

    How often it turns only a run tells, and the loop is run twice to learn it: see `TensorArray`.
    So what ends it must not depend on random numbers.

    Args:
        cell: an `RNNCell`.
        loop_fn: called with the step's number, the cell's output and new state, and the loop state.
            Returns: which examples have ended (batch,), the next input, the next state, what is
            given out of this step, and the next loop state. It is called first with 0 and None for
            the rest: then it returns the first input and state; what stands for one example of
            what is given out (None: outputs of the cell); and the first loop state, or None.
        parallel_iterations, swap_memory: without meaning here.
        scope: of the variables; default 'rnn'.

    Returns:
        A `TensorArray` of what was given out, or a nest of these, with zeros for examples that had
        ended; the last state; and the last loop state.

    Raises:
        TypeError: `cell` is none, or `loop_fn` is no function.
        ValueError: `loop_fn` returns another nest than before.
    """
    require_cells(cell)
    if not callable(loop_fn):
        raise TypeError("loop_fn must be a callable")
    with variable_scope(scope or "rnn") as own:
        reuse = own.reuse
        time = constant(0, dtypes.int32)
        ended, first, state, given_out, loop_state = loop_fn(time, None, None, None)
        assert_same_structure(state, cell.state_size, check_types=False)
        state = map_structure(convert_to_tensor, state)
        kept = constant(0) if loop_state is None else loop_state
        batch = _batch_of(first)
        blank = _blank(cell, given_out, state, batch)
        arrays = [_array(number, one) for number, one in enumerate(flatten(blank))]

        def body(time: Any, ended: Any, x: Any, made: Any, state: Any, kept: Any) -> Any:
            with variable_scope(own, reuse=reuse, auxiliary_name_scope=False):
                output, new = cell(x, state)
            now = add(time, 1)
            following, x, new, out, loop_state = loop_fn(now, output, new, kept)
            assert_same_structure(blank, out, check_types=False)
            out = _unless(ended, blank, out)
            new = _unless(ended, state, new)
            pairs = zip(flatten(made), flatten(out), strict=True)
            made = pack_sequence_as(blank, [array.write(time, one) for array, one in pairs])
            ended = logical_or(ended, following)
            return now, ended, x, made, new, kept if loop_state is None else loop_state

        start = [time, ended, first, pack_sequence_as(blank, arrays), state, kept]
        made = while_loop(lambda _, ended, *__: logical_not(reduce_all(ended)), body, start)
        outputs, last, kept = made[-3:]
        return outputs, last, None if loop_state is None else kept


def _batch_of(inputs: Any) -> Any:
    """Returns how many examples there are, as a number where it is known."""
    first = convert_to_tensor(flatten(inputs)[0])
    known = first.shape[0].value if first.shape.ndims else None
    return shape_of(first)[0] if known is None else known  # type: ignore[index]  # overloaded


def _blank(cell: Any, given_out: Any, state: Any, batch: Any) -> Any:
    """Returns zeros for what is given out of a step."""

    def of_size(size: Any, dtype: Any) -> Tensor:
        own = TensorShape(size).as_list() if isinstance(size, (list, TensorShape)) else [size]
        return zeros([batch, *own], dtype)

    def like(one: Any) -> Tensor:
        one = convert_to_tensor(one)
        if one.shape.is_fully_defined():
            return of_size(one.shape, one.dtype)
        return zeros(concat([convert_to_tensor([batch]), shape_of(one)], 0), one.dtype)

    if given_out is not None:
        return map_structure(like, given_out)
    kind = flatten(state)[0].dtype
    if isinstance(cell.output_size, TensorShape):
        return of_size(cell.output_size, kind)
    return map_structure(lambda size: of_size(known_numbers(size), kind), cell.output_size)


def _array(number: int, blank: Tensor) -> TensorArray:
    shape, name = blank.shape, f"rnn_output_{number}"
    return TensorArray(blank.dtype, 0, dynamic_size=True, element_shape=shape, name=name)


def _unless(ended: Tensor, before: Any, after: Any) -> Any:
    """Returns for examples that have ended what was before, and for others what is new."""

    def chosen(old: Any, new: Any) -> Any:
        if isinstance(new, TensorArray):
            return new
        old, new = convert_to_tensor(old), convert_to_tensor(new)
        return beyond(ended, old, new)

    assert_same_structure(before, after, check_types=False)
    pairs = zip(flatten(before), flatten(after), strict=True)
    return pack_sequence_as(before, [chosen(*pair) for pair in pairs])
