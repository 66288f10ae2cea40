"""`sym.contrib.foreach`, `while_loop` and `cond`: loops and choices as nodes of a symbol.

The functions that users give are run once, on variables that stand for what they will be given.
What they make becomes a graph inside the node; what they use of the symbols around them becomes
inputs of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.base.nested import Layout, flattened, loop_arguments, nested, unpacked
from hybridnet.graph import open_cond, open_foreach, open_while

from .inside import (
    Inside,
    distinct,
    joined,
    symbols_of,
)
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]


def foreach(
    body: Callable[..., object], data: object, init_states: object, name: str = "foreach"
) -> tuple[Any, Any]:
    """Runs a function for each row of some arrays, with states that go from row to row.

    Args:
        body: gets the row (or the rows, nested as `data`) and the states, and returns the output,
            a symbol or nested lists of them, and the new states.
        data: a symbol, or nested lists of symbols, whose first dimension counts the rows.
        init_states: the first states, likewise; every row must keep their shapes and dtypes.
        name: of the subgraph.

    Returns:
        The outputs of all rows, stacked, and the last states.

    Raises:
        ParameterError: an argument, or what the body returns, is something else.
    """
    rows, data_layout = flattened(data, Symbol, "foreach: data")
    states, state_layout = flattened(init_states, Symbol, "foreach: init_states")
    if not rows:
        raise ParameterError("foreach: data must hold at least one symbol")
    inside = Inside(name, [*rows, *states])
    with inside.scope:
        result = body(
            nested(data_layout, inside.symbols[: len(rows)]),
            nested(state_layout, inside.symbols[len(rows) :]),
        )
        outs, new, layouts = unpacked("foreach: body", result, len(states), Symbol)
        edges = distinct([*outs, *new], len(outs))
    (graph,), inputs = inside.cut([edges])
    call, numbers = open_foreach(graph, len(rows), len(states), len(outs))
    made = symbols_of(call, inputs, numbers, [inside])
    return _results(made, len(outs), layouts)


def while_loop(
    cond: Callable[..., object],
    func: Callable[..., object],
    loop_vars: object,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Runs a function over and over while a condition holds.

    Args:
        cond: gets the loop variables, each as an argument, and returns a symbol of one element.
        func: gets them too, and returns the output of this step, a symbol or nested lists of them
            ([] for none), and the new loop variables.
        loop_vars: the first loop variables, a symbol or nested lists of symbols; they keep their
            shapes and dtypes.
        max_iterations: how often `func` is run at most.
        name: of the subgraphs.

    Returns:
        The outputs of all steps, stacked to `max_iterations` rows of which those after the last
        step are zeros, and the last loop variables.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    limit = checked_limit(max_iterations)
    variables, layout = flattened(loop_vars, Symbol, "while_loop: loop_vars")
    if not variables:
        raise ParameterError("while_loop: loop_vars should contain at least one symbol")
    tested = Inside(f"{name}_cond", variables)
    with tested.scope:
        holds = cond(*loop_arguments(layout, tested.symbols))
        if not isinstance(holds, Symbol):
            raise ParameterError(
                f"while_loop: cond must return a Symbol of one element, got {type(holds).__name__}"
            )
        test = distinct([holds], 0)
    inside = Inside(f"{name}_func", variables)
    with inside.scope:
        result = func(*loop_arguments(layout, inside.symbols))
        outs, new, layouts = unpacked("while_loop: func", result, len(variables), Symbol)
        edges = distinct([*outs, *new], len(outs))
    (condition, body), inputs, places = joined([(tested, test), (inside, edges)])
    call, numbers = open_while(condition, body, places[: len(variables)], len(outs), limit)
    made = symbols_of(call, inputs, numbers, [tested, inside])
    return _results(made, len(outs), layouts)


def cond(
    pred: Symbol,
    then_func: Callable[[], object],
    else_func: Callable[[], object],
    name: str = "cond",
) -> Any:
    """Runs one of two functions, whichever a value says.

    Args:
        pred: a symbol of one element.
        then_func: run where it is not 0; takes nothing, and returns a symbol or nested lists.
        else_func: run where it is 0; returns as many symbols, of the same shapes and dtypes.
        name: of the subgraphs.

    Returns:
        What the function returned.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    if not isinstance(pred, Symbol) or len(pred) != 1:
        raise ParameterError(f"cond: pred must be a Symbol of one output, got {pred!r}")
    branches, layouts = [], []
    for function, suffix in ((then_func, "then"), (else_func, "else")):
        inside = Inside(f"{name}_{suffix}", [])
        with inside.scope:
            outs, layout = flattened(function(), Symbol, f"cond: what {suffix}_func returns")
            branches.append((inside, distinct(outs, 0)))
        layouts.append(layout)
    counts = [len(edges) for _, edges in branches]
    if counts[0] != counts[1] or not counts[0]:
        raise ParameterError(
            "cond: then_func and else_func must return the same number of symbols, at least one, "
            f"got {counts[0]} and {counts[1]}"
        )
    (then, other), inputs, _ = joined(branches)
    call, numbers = open_cond(then, other)
    insides = [inside for inside, _ in branches]
    symbols = symbols_of(call, (pred.edges[0], *inputs), numbers, insides)
    return nested(layouts[0], symbols)


def checked_limit(max_iterations: Any) -> int:
    """Returns `max_iterations` as an int.

    Raises:
        ParameterError: it is no positive whole number.
    """
    try:
        limit = int(max_iterations)
    except (TypeError, ValueError):
        limit = 0
    if limit <= 0:
        raise ParameterError(
            "while_loop: max_iterations should be specified, as a positive whole number, got "
            f"{max_iterations!r}"
        )
    return limit


def _results(
    symbols: Sequence[Symbol], num_out: int, layouts: tuple[Layout, Layout]
) -> tuple[Any, Any]:
    return nested(layouts[0], symbols[:num_out]), nested(layouts[1], symbols[num_out:])
