"""`nd.contrib.foreach`, `while_loop` and `cond`: on arrays plain Python loops and choices.

Inside a traced function (`hn.function`, ``hybridize()``) they are one node of its graph each: then
`hybridnet.tracing` takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.nested import Layout, flattened, loop_arguments, nested, unpacked
from hybridnet.ops.core.registry import get
from hybridnet.runtime.recording import recorder

from .blank import zeros_of
from .ndarray import NDArray

__all__ = ["TRACED", "cond", "foreach", "while_loop"]

#: What does the same in a trace, by name.
TRACED: Final[dict[str, Callable[..., Any]]] = {}

_Function = TypeVar("_Function", bound=Callable[..., Any])
#: An array, or nested lists of arrays.
Nested: TypeAlias = "NDArray | Sequence[Nested]"


def foreach(
    body: Callable[..., object], data: Nested, init_states: Nested, name: str = "foreach"
) -> tuple[Any, Any]:
    """Runs a function for each row of some arrays, with states that go from row to row.

    Args:
        body: gets the row (or the rows, nested as `data`) and the states, and returns the output,
            an array or nested lists of them, and the new states.
        data: an array, or nested lists of arrays with the same first dimension, the rows.
        init_states: the first states: an array or nested lists of them, [] for none.
        name: what symbols call the subgraph; without meaning here.

    Returns:
        The outputs of all rows, stacked, and the last states.

    Raises:
        ParameterError: an argument, or what the body returns, is something else.
        ShapeError: the arrays have different numbers of rows, or none.
    """
    rows, data_layout = flattened(data, NDArray, "foreach: data")
    states, state_layout = flattened(init_states, NDArray, "foreach: init_states")
    lengths = {row.shape[0] if row.shape else 0 for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise ShapeError(
            "foreach: the data must be arrays with the same number of rows, at least 1, got "
            f"{', '.join(str(row.shape) for row in rows) or 'no array'}"
        )
    if recorder.current_trace() is not None:
        found: tuple[Any, Any] = TRACED["foreach"](body, rows, data_layout, states, state_layout)
        return found
    stacked: list[list[NDArray]] = []
    out_layout: Layout = None
    for number in range(lengths.pop()):
        step = nested(data_layout, [array[number] for array in rows])
        result = body(step, nested(state_layout, states))
        outs, states, layouts = unpacked("foreach: body", result, len(states), NDArray)
        out_layout, state_layout = layouts
        stacked.append(outs)
    return nested(out_layout, [_stack(steps) for steps in zip(*stacked, strict=True)]), nested(
        state_layout, states
    )


def while_loop(
    cond: Callable[..., object],
    func: Callable[..., object],
    loop_vars: Nested,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Runs a function over and over while a condition holds.

    Args:
        cond: gets the loop variables, each as an argument, and returns an array of one element.
        func: gets them too, and returns the output of this step, an array or nested lists of them
            ([] or None for none), and the new loop variables.
        loop_vars: the first loop variables: an array or nested lists of arrays.
        max_iterations: how often `func` is run at most.
        name: what symbols call the subgraphs; without meaning here.

    Returns:
        The outputs of all steps, stacked to `max_iterations` rows of which those after the last
        step are zeros (in MXNet anything); [] where there was no step. And the last loop variables.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    variables, layout = flattened(loop_vars, NDArray, "while_loop: loop_vars")
    if not variables:
        raise ParameterError("while_loop: loop_vars should contain at least one element")
    if not isinstance(max_iterations, (int, float)) or int(max_iterations) < 1:
        raise ParameterError(
            "while_loop: max_iterations should be specified, as a positive whole number, got "
            f"{max_iterations!r}"
        )
    limit = int(max_iterations)
    if recorder.current_trace() is not None:
        found: tuple[Any, Any] = TRACED["while_loop"](cond, func, variables, layout, limit)
        return found
    stacked: list[list[NDArray]] = []
    out_layout: Layout = []
    while len(stacked) < limit and bool(cond(*loop_arguments(layout, variables))):
        result = func(*loop_arguments(layout, variables))
        outs, variables, layouts = unpacked("while_loop: func", result, len(variables), NDArray)
        out_layout, layout = layouts
        stacked.append(outs)
    if not stacked:
        return [], nested(layout, variables)
    missing = limit - len(stacked)
    made = [_with_zeros(_stack(steps), missing) for steps in zip(*stacked, strict=True)]
    return nested(out_layout, made), nested(layout, variables)


def cond(
    pred: NDArray | float,
    then_func: Callable[[], object],
    else_func: Callable[[], object],
    name: str = "cond",
) -> Any:
    """Runs one of two functions, whichever a value says.

    Args:
        pred: an array of one element, or a number.
        then_func: run where it is not 0; takes nothing, and returns an array or nested lists.
        else_func: run where it is 0.
        name: of the subgraphs inside a traced function.

    Returns:
        What the function returned. Inside a traced function both are traced, and must return
        arrays of the same shapes and dtypes.
    """
    if recorder.current_trace() is not None and isinstance(pred, NDArray):
        return TRACED["cond"](pred, then_func, else_func, name)
    outs, layout = flattened(
        then_func() if bool(pred) else else_func(), NDArray, "cond: what the function returns"
    )
    return nested(layout, outs)


def _with_zeros(rows: NDArray, missing: int) -> NDArray:
    """Returns rows with some of zeros behind them: one array, however many rows these are."""
    if not missing:
        return rows
    zeros = zeros_of((missing, *rows.shape[1:]), rows.context, rows.dtype)
    made: NDArray = NDArray.apply_operator(get("Concat"), (rows, zeros), {"dim": 0})
    return made


def _stack(arrays: Sequence[NDArray]) -> NDArray:
    made: NDArray = NDArray.apply_operator(get("stack"), arrays, {"axis": 0})
    return made
