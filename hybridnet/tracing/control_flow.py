"""Loops and choices on arrays inside a trace: each becomes one node, with graphs inside.

Bodies are traced first (`Body`); what becomes of their results is known then, and the functions
here make the node. `nd.contrib.foreach`, `while_loop` and `cond`, and the control flow of Python in
traced functions (`hybridnet.tracing.autograph`), are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.attribute import subgraph_name
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.nested import Layout, flattened, loop_arguments, nested, unpacked
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import CondCall, ForeachCall, ForeachSpec, WhileCall, opened, shared
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import TRACED
from hybridnet.ops.core.registry import get

from .bodies import Bodies, Body, Flow


def choose(
    pred: NDArray, branches: tuple[Body, Body], results: Sequence[tuple[Flow, Flow]]
) -> list[NDArray]:
    """Records a choice between two branches.

    Args:
        pred: one number; where it is not 0, the first branch runs.
        branches: traced; they are given nothing.
        results: what the one, and what the other gives.
    """
    bodies = Bodies(branches, [], branches)
    if not results and not bodies.written:
        return []
    (then, flows), (other, others) = (
        bodies.graph(number, [result[number] for result in results]) for number in range(2)
    )
    tracked = [a or b for a, b in zip(flows, others, strict=True)]
    parts, scalars = opened(then, other)
    count = len(results)
    call = shared(CondCall((parts[0], parts[1]), count, len(scalars), written=bodies.written))
    return bodies.apply(call, scalars, count, tracked, (pred,))


def loop_rows(
    body: Body, rows: Sequence[NDArray], states: Sequence[NDArray], results: Sequence[Flow]
) -> list[NDArray]:
    """Records a loop over the rows of arrays.

    Args:
        body: traced; it is given a row of each array, and the states.
        states: the first states.
        results: of the body: outputs, which will be stacked, and a new value for each state.

    Returns:
        The stacked outputs, and the last states.
    """
    count = len(rows)
    bodies = Bodies([body], [*rows, *states], [body])
    graph, tracked = bodies.graph(0, results)
    parts, scalars = opened(graph)
    carried = (*range(count, count + len(states)), *bodies.written)
    loop = ForeachSpec(count, len(results) - len(states), carried, len(states), flat=True)
    call = shared(ForeachCall(parts[0], loop, len(scalars)))
    return bodies.apply(call, scalars, len(results), tracked)


def loop_while(
    test: Body,
    body: Body,
    states: Sequence[NDArray],
    results: Sequence[Flow],
    holds: Flow,
    limit: int | None = None,
) -> list[NDArray]:
    """Records a loop that goes on while a condition holds.

    Args:
        test: the condition, traced; it is given the states.
        body: traced; it is given the states too.
        states: the first states.
        results: of the body: outputs, which will be stacked, and a new value for each state.
        holds: of the condition: one number.
        limit: how often the body is run at most; None for no limit, if nothing is stacked.

    Returns:
        The stacked outputs, and the last states.

    Raises:
        MXNetError: the condition changes something.
    """
    if test.plan.writes:
        raise MXNetError(
            "while_loop: in a traced function cond must neither draw random numbers nor overwrite "
            "arrays nor print; do it in func"
        )
    count = len(states)
    bodies = Bodies([test, body], states, [body])
    condition, _ = bodies.graph(0, [holds], writes=False)
    graph, tracked = bodies.graph(1, results)
    parts, scalars = opened(condition, graph)
    carried = (*range(count), *bodies.written)
    num_out = len(results) - count
    call = shared(WhileCall((parts[0], parts[1]), num_out, carried, count, limit, len(scalars)))
    return bodies.apply(call, scalars, len(results), tracked)


def row_type(array: NDArray) -> TensorType:
    """Returns the type of an array's rows."""
    return tensor_type(array.shape[1:] or (1,), array.inferred_dtype)


def _foreach(
    body: Callable[..., object],
    rows: Sequence[NDArray],
    data_layout: Layout,
    states: Sequence[NDArray],
    state_layout: Layout,
) -> tuple[Any, Any]:
    """Traces a loop over rows; see `hybridnet.ndarray.control_flow`."""
    count = len(rows)
    layouts: list[Any] = []

    def run(*arrays: NDArray) -> list[NDArray]:
        result = body(nested(data_layout, arrays[:count]), nested(state_layout, arrays[count:]))
        outs, new, found = unpacked("foreach: body", result, len(states), NDArray)
        layouts.append(found)
        return [*outs, *new]

    types = [*map(row_type, rows), *(state.type for state in states)]
    traced = Body("foreach: body", run, types, rows[0].context)
    outputs = loop_rows(traced, rows, states, traced.results)
    num_out = len(outputs) - len(states)
    return nested(layouts[0][0], outputs[:num_out]), nested(layouts[0][1], outputs[num_out:])


def _while_loop(
    cond: Callable[..., object],
    func: Callable[..., object],
    variables: Sequence[NDArray],
    layout: Layout,
    limit: int,
) -> tuple[Any, Any]:
    """Traces a loop; see `hybridnet.ndarray.control_flow`."""
    layouts: list[Any] = []
    ctx = variables[0].context

    def test(*arrays: NDArray) -> list[NDArray]:
        holds = cond(*loop_arguments(layout, arrays))
        if not isinstance(holds, NDArray):
            attrs = {"shape": (1,), "value": float(bool(holds))}
            holds = NDArray.apply_operator(get("_full"), (), attrs, ctx=ctx)
        return [holds]

    def run(*arrays: NDArray) -> list[NDArray]:
        result = func(*loop_arguments(layout, arrays))
        outs, new, found = unpacked("while_loop: func", result, len(variables), NDArray)
        layouts.append(found)
        return [*outs, *new]

    types = [variable.type for variable in variables]
    tested = Body("while_loop: cond", test, types, ctx)
    traced = Body("while_loop: func", run, types, ctx)
    outputs = loop_while(tested, traced, variables, traced.results, tested.result(0), limit)
    num_out = len(outputs) - len(variables)
    return nested(layouts[0][0], outputs[:num_out]), nested(layouts[0][1], outputs[num_out:])


def _cond(
    pred: NDArray, then_func: Callable[[], object], else_func: Callable[[], object], name: str
) -> Any:
    """Traces a choice; see `hybridnet.ndarray.control_flow`."""
    layouts: list[Any] = []

    # Named as those of symbols; MXNet counts that of the condition, too.
    _, *names = [subgraph_name(f"{name}_{part}") for part in ("pred", "then", "else")]

    def traced(what: str, named: str, function: Callable[[], object]) -> Body:
        def run() -> list[NDArray]:
            outs, layout = flattened(function(), NDArray, f"cond: what {what} returns")
            layouts.append(layout)
            return outs

        return Body(f"cond: {what} ({named})", run, [], pred.context)

    then = traced("then_func", names[0], then_func)
    other = traced("else_func", names[1], else_func)
    pairs = list(zip(then.results, other.results, strict=False))
    if len(then.leaves) != len(other.leaves) or not pairs:
        raise ParameterError(
            "cond: in a traced function then_func and else_func must return the same number of "
            f"arrays, at least one, got {len(then.leaves)} and {len(other.leaves)}"
        )
    return nested(layouts[0], choose(pred, (then, other), pairs))


TRACED.update(foreach=_foreach, while_loop=_while_loop, cond=_cond)
