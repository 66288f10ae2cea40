"""`for` loops: over what Python knows in Python, unless that would make a large graph.

A loop of known length begins in Python: what its first turn does says whether it is about arrays
at all, gives variables their first values, and makes numbers to which arrays are added arrays.
Where many turns are left, these become one loop of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hybridnet.base.interrupts import is_from_signal
from hybridnet.runtime.recording import recorder

from ..control_flow import loop_rows, row_type
from .builtins import StagedRange
from .conditions import and_, is_staged, stage_if
from .lines import user_line
from .number import Number, is_number
from .prepare import REBOUND
from .rows import Rows, rows_of
from .staging import StagedLoop, Variables
from .while_loops import MOST_UNROLLED, UNROLLED, num_recorded, stage_while, too_long

Body = Callable[[Any], None]
Test = Callable[[], Any] | None


def for_stmt(
    iter_: Any,
    extra_test: Test,
    body: Body,
    get_state: Callable[[], tuple[object, ...]],
    set_state: Callable[[tuple[object, ...]], None],
    symbol_names: Sequence[str],
    opts: Mapping[str, Any],
) -> None:
    """A `for` statement.

    Args:
        iter_: what it goes over.
        extra_test: gives whether it goes on (there was no `break`); None where it always does.
        body: runs one turn, given an element.
        get_state, set_state: read and assign the variables that the body assigns.
        symbol_names: their names.
        opts: what was found out about the loop; see `prepare`.
    """
    if recorder.current_trace() is None:
        for element in iter_:
            if extra_test is not None and not extra_test():
                return
            body(element)
        return
    rebound = frozenset(opts[REBOUND])
    variables = Variables(symbol_names, get_state, set_state, rebound, (body, extra_test))
    if isinstance(iter_, StagedRange):
        _staged_range(iter_, extra_test, body, variables)
    elif (rows := rows_of(iter_)) is not None:
        _known_loop(rows, extra_test, body, variables)
    else:
        _python_loop(iter_, extra_test, body, variables)


def _python_loop(
    iterated: Iterable[object], extra_test: Test, body: Body, variables: Variables
) -> None:
    """A loop that Python runs; once a `break` depends on arrays, each turn is an `if`."""
    for element in iterated:
        if not _turn(element, True if extra_test is None else extra_test(), body, variables):
            return


def _turn(element: object, goes_on: Any, body: Body, variables: Variables) -> bool:
    """Runs a turn if there was no `break`; whether there may be more."""
    if is_staged(goes_on):
        branches = (lambda: body(element), lambda: None)
        state, names = (variables.get, variables.set), variables.names
        stage_if(goes_on, branches, state, names, len(names), variables.blocks)
    elif goes_on:
        body(element)
    else:
        return False
    return True


def _known_loop(rows: Rows, extra_test: Test, body: Body, variables: Variables) -> None:
    """A loop of known length."""
    failure: Exception | None = None
    is_large = False
    for number in range(rows.count):
        goes_on = True if extra_test is None else extra_test()
        left = rows.count - number
        wanted = is_large or is_staged(goes_on)
        if wanted and failure is None and left > UNROLLED:
            try:
                _stage(rows, number, extra_test, body, variables)
                return
            except Exception as error:
                if is_from_signal(error):
                    raise
                failure = error  # Python goes on, as nothing has been done
        if failure is not None and left > MOST_UNROLLED:
            raise too_long(failure) from failure
        before = num_recorded()
        if not _turn(rows.element(number), goes_on, body, variables):
            return
        is_large = num_recorded() > before


def _stage(rows: Rows, first: int, extra_test: Test, body: Body, variables: Variables) -> None:
    """Makes the turns from one on part of the graph."""
    if extra_test is not None:
        _stage_with_break(rows, first, extra_test, body, variables)
        return
    data = rows.data(first)
    types, kinds = list(map(row_type, data)), list(map(type, data))
    loop = StagedLoop(variables, user_line(), data[0].context, types, kinds)
    lasts: dict[int, object] = {}
    held: list[Any] = []

    def run(*stand_ins: Any) -> None:
        element = rows.built(iter(stand_ins), lasts)
        held.append(element)  # so that its id stays its own
        body(element)

    traced = loop.traced_body(run)
    appended = loop.appended(traced)
    flows = [*(flow for flow, _, _ in appended), *loop.flows(traced)]
    outputs = loop_rows(traced, data, loop.starts(), flows)
    loop.finish(traced, outputs[len(appended) :], lasts)
    if appended:
        loop.extend(outputs[: len(appended)], appended)


def _counted(variables: Variables, start: object) -> tuple[Variables, list[Any]]:
    """Returns the variables with a counter, and where this is held."""
    held = [start]

    def get() -> tuple[Any, ...]:
        return (*variables.get(), held[0])

    def assign(values: tuple[object, ...]) -> None:
        variables.set(values[:-1])
        held[0] = values[-1]

    name = "the loop's counter"
    made = variables._replace(
        names=(*variables.names, name), get=get, set=assign, rebound=variables.rebound | {name}
    )
    return made, held


def _stage_with_break(
    rows: Rows, first: int, extra_test: Callable[[], object], body: Body, variables: Variables
) -> None:
    """Makes a loop that may end early part of the graph."""
    trace = recorder.current_trace()
    assert trace is not None and trace.ctx is not None
    counted, held = _counted(variables, first)

    def test() -> Any:
        return and_(lambda: held[0] < rows.count, extra_test)

    def turn() -> None:
        body(rows.dynamic(held[0]))
        held[0] = held[0] + 1

    stage_while(counted, test, turn, trace.ctx, rows.count - first)


def _staged_range(numbers: StagedRange, extra_test: Test, body: Body, variables: Variables) -> None:
    """A loop whose length is known only when the function runs."""
    start, stop, step = numbers.start, numbers.stop, numbers.step
    known = next(end for end in (start, stop, step) if isinstance(end, Number))
    counted, held = _counted(variables, start)

    def inside() -> Any:
        if is_number(step):
            return held[0] < stop if step > 0 else held[0] > stop
        return ((step > 0) & (held[0] < stop)) | ((step < 0) & (held[0] > stop))

    def test() -> Any:
        return inside() if extra_test is None else and_(inside, extra_test)

    def turn() -> None:
        body(held[0])
        held[0] = held[0] + step

    stage_while(counted, test, turn, known.context)
