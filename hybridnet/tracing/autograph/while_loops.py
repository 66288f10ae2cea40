"""`while` loops: in Python, as long as Python knows the condition, and else in the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.interrupts import is_from_signal
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder

from ..control_flow import loop_while
from .conditions import is_staged, truth
from .lines import user_line
from .prepare import REBOUND
from .slots import StagingError
from .staging import StagedLoop, Variables

#: Loops of no more turns are unrolled where Python can run them.
UNROLLED: Final = 32
#: No loop is unrolled for more turns than this, where that was not known to be needed.
MOST_UNROLLED: Final = 1000


def num_recorded() -> int:
    """Returns how many operations the trace has recorded."""
    trace = recorder.current_trace()
    return 0 if trace is None else len(trace.segment.instructions)


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], None],
    get_state: Callable[[], tuple[object, ...]],
    set_state: Callable[[tuple[object, ...]], None],
    symbol_names: Sequence[str],
    opts: Mapping[str, Any],
) -> None:
    """A `while` statement.

    Args:
        test: gives the condition.
        body: runs one turn, which assigns to the variables of the function around.
        get_state, set_state, symbol_names, opts: as for `for_stmt`.
    """
    trace = recorder.current_trace()
    if trace is None:
        while test():
            body()
        return
    rebound = frozenset(opts[REBOUND])
    variables = Variables(symbol_names, get_state, set_state, rebound, (body, test))
    turns = 0
    failure: Exception | None = None
    while True:
        holds = test()
        if is_staged(holds):
            truth(holds)
            stage_while(variables, test, body, holds.context)
            return
        if not holds:
            return
        before = num_recorded()
        body()
        turns += num_recorded() > before
        if turns == UNROLLED and failure is None and trace.ctx is not None:
            # A loop that Python could run, but that would make a large graph.
            try:
                stage_while(variables, test, body, trace.ctx)
                return
            except Exception as error:
                if is_from_signal(error):
                    raise
                failure = error  # Python goes on, as nothing has been done
        if turns > MOST_UNROLLED and failure is not None:
            raise too_long(failure) from failure


def too_long(error: Exception) -> MXNetError:
    """Returns the error of a loop that cannot be part of the graph, nor be unrolled."""
    return StagingError(
        f"{user_line()}: this loop cannot become part of the graph, and has more than "
        f"{MOST_UNROLLED} turns, too many to write them out one by one: {error}"
    )


def stage_while(
    variables: Variables,
    test: Callable[[], object],
    body: Callable[[], None],
    ctx: Context,
    limit: int | None = None,
) -> None:
    """Makes a loop part of the graph.

    Args:
        limit: how many turns there are at most, if that is known.

    Raises:
        StagingError: that cannot be done.
    """
    loop = StagedLoop(variables, user_line(), ctx)
    traced = loop.traced_body(body)
    loop.refuse_appended()
    tested = loop.traced("the condition", test)
    (found,) = tested.leaves
    if not isinstance(found, NDArray):
        raise StagingError(f"{loop.line}: the condition does not depend on what the loop changes")
    holds = tested.result(0)
    outputs = loop_while(tested, traced, loop.starts(), loop.flows(traced), holds, limit)
    # What the condition denies holds now: it has ended the loop.
    denied = getattr(found, "denies", None) if limit is None else None
    places = [number for number, value in enumerate(tested.given) if value is denied]
    loop.finish(traced, outputs, None, places)
