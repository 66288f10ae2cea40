"""`sym.cond`, `sym.case` and `sym.while_loop`: control flow in the form that TensorFlow gave it.

    i, total = sym.while_loop(
        lambda i, total: i < 10,
        lambda i, total: (i + 1, total + x * i),
        (sym.zeros((1,)), sym.zeros_like(x)),
    )

The functions are run once, on symbols that stand for what they will be given; see
`hybridnet.symbol.control_flow`, whose functions are MXNet's. These differ in that loops stack
nothing and need no maximum, and that what is given and returned may be nested in tuples and
dictionaries too. They build the same nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.base.nested import leaves_of, with_leaves
from hybridnet.graph import open_cond, open_while
from hybridnet.passes import PARALLEL_ITERATIONS

from .inside import (
    Inside,
    distinct,
    joined,
    symbols_of,
)
from .symbol import Symbol

__all__ = ["case", "cond", "while_loop"]


def cond(
    pred: Symbol,
    true_fn: Callable[[], object],
    false_fn: Callable[[], object],
    name: str = "cond",
) -> Any:
    """Runs one of two functions, whichever a value says.

    Only what the function chosen makes is run; what both need of the outside is run before.

    Args:
        pred: a symbol of one element.
        true_fn: run where it is not 0; takes nothing, and returns a symbol, or symbols nested in
            lists, tuples and dictionaries.
        false_fn: run where it is 0; returns the same, of the same shapes and dtypes.
        name: what the node's name begins with.

    Returns:
        What the function returned.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    if not isinstance(pred, Symbol) or len(pred) != 1:
        raise ParameterError(f"cond: pred must be a Symbol of one output, got {pred!r}")
    made = []
    for function, which in ((true_fn, "true"), (false_fn, "false")):
        inside = Inside(f"{name}_{which}", [])
        with inside.scope:
            result = function()
            leaves = _symbols(result, f"cond: what {which}_fn returns")
            made.append((inside, distinct(leaves, 0), result))
    (_, edges, result), (_, others, other) = made
    if not edges or _form(result) != _form(other):
        raise ParameterError(
            "cond: true_fn and false_fn must return the same structure of symbols, at least one, "
            f"got {_form(result)} of {len(edges)} and {_form(other)} of {len(others)}"
        )
    (then, otherwise), inputs, _ = joined([(inside, edges) for inside, edges, _ in made])
    call, numbers = open_cond(then, otherwise)
    insides = [inside for inside, _, _ in made]
    symbols = symbols_of(call, (pred.edges[0], *inputs), numbers, insides, name)
    return with_leaves(result, symbols)


def case(
    pred_fn_pairs: Sequence[tuple[Symbol, Callable[[], Any]]] | Mapping[Symbol, Callable[[], Any]],
    default: Callable[[], object],
    name: str = "case",
) -> Any:
    """Runs the function of the first condition that holds.

    Args:
        pred_fn_pairs: conditions and functions, as for `cond`, in order.
        default: run where no condition holds.
        name: what the nodes' names begin with.

    Returns:
        What the function returned.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    items = pred_fn_pairs.items() if isinstance(pred_fn_pairs, Mapping) else pred_fn_pairs
    pairs = list(items)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise ParameterError(
                f"case: pred_fn_pairs must hold pairs of a Symbol and a function, got {pair!r}"
            )
    if not callable(default):
        raise ParameterError(f"case: default must be a function, got {default!r}")
    if not pairs:
        return default()
    (pred, function), rest = pairs[0], pairs[1:]
    return cond(pred, function, lambda: case(rest, default, name), name)


def while_loop(
    cond: Callable[..., Symbol],
    body: Callable[..., object],
    loop_vars: Sequence[object],
    parallel_iterations: int = 10,
    maximum_iterations: int | None = None,
    name: str = "while",
) -> Any:
    """Runs a function over and over while a condition holds.

    Args:
        cond: gets the loop variables, each as an argument, and returns a symbol of one element.
        body: gets them too, and returns the new loop variables, nested as `loop_vars`, of the same
            shapes and dtypes; of a single one itself will do.
        loop_vars: the first loop variables: a list or tuple of symbols, or of lists, tuples and
            dictionaries of them.
        parallel_iterations: how many iterations may be under way at a time, where the executor
            runs them; in one program they follow one another.
        maximum_iterations: how often `body` is run at most. With it, a loop that is differentiated
            is one program; without, its gradient asks how often it was run, and runs it again.
        name: what the node's name begins with.

    Returns:
        The last loop variables, nested as `loop_vars`.

    Raises:
        ParameterError: an argument, or what a function returns, is something else.
    """
    first = _symbols(loop_vars, "while_loop: loop_vars")
    if not isinstance(loop_vars, (list, tuple)) or not first:
        raise ParameterError(
            "while_loop: loop_vars must be a list or tuple with at least one symbol, got "
            f"{loop_vars!r}"
        )
    for what, number in (
        ("parallel_iterations", parallel_iterations),
        ("maximum_iterations", 1 if maximum_iterations is None else maximum_iterations + 1),
    ):
        if number < 1:
            raise ParameterError(f"while_loop: {what} is too small, got {number}")
    tested, inside = Inside(f"{name}_cond", first), Inside(f"{name}_body", first)
    with tested.scope:
        holds = cond(*with_leaves(loop_vars, tested.symbols))
        if not isinstance(holds, Symbol):
            raise ParameterError(
                f"while_loop: cond must return a Symbol of one element, got {type(holds).__name__}"
            )
        test = distinct([holds], 0)
    with inside.scope:
        result = body(*with_leaves(loop_vars, inside.symbols))
        if len(loop_vars) == 1 and not isinstance(result, (list, tuple)):
            result = [result]
        edges = distinct(_symbols(result, "while_loop: what body returns"), 0)
    if len(edges) != len(first):
        raise ParameterError(
            f"while_loop: body must return as many symbols as there are loop variables, "
            f"{len(first)}, got {len(edges)}"
        )
    (condition, graph), inputs, places = joined([(tested, test), (inside, edges)])
    carried = places[: len(first)]
    call, numbers = open_while(condition, graph, carried, 0, maximum_iterations)
    attrs = {PARALLEL_ITERATIONS: str(parallel_iterations)}
    symbols = symbols_of(call, inputs, numbers, [tested, inside], name, attrs)
    return with_leaves(loop_vars, symbols)


def _symbols(structure: object, what: str) -> list[Symbol]:
    leaves = leaves_of(structure)
    for leaf in leaves:
        if not isinstance(leaf, Symbol):
            raise ParameterError(
                f"{what} must be symbols, or lists, tuples and dictionaries of them, got "
                f"{type(leaf).__name__}"
            )
    return leaves


def _form(structure: object) -> Any:
    """Returns what a structure is without its symbols, as people write it."""
    return with_leaves(structure, [...] * len(leaves_of(structure)))
