"""`if`, conditional expressions, `and`, `or`, `not`, chained comparisons, `assert` and `raise`."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import NDArray
from hybridnet.ops.core.registry import get
from hybridnet.runtime.recording import recorder

from ..host_call import HostCall, world
from .branches import choice
from .lines import user_line
from .number import Number, to_number

Thunk = Callable[[], Any]

_COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda item, items: item in items,
    "NotIn": lambda item, items: item not in items,
}


def is_staged(value: object) -> bool:
    """Whether a value is known only when the traced function runs."""
    return isinstance(value, NDArray) and recorder.current_trace() is not None


def if_stmt(
    cond: Any,
    body: Thunk,
    orelse: Thunk,
    get_state: Callable[[], tuple[object, ...]],
    set_state: Callable[[tuple[object, ...]], None],
    symbol_names: Sequence[str],
    nouts: int,
) -> None:
    """An `if` statement.

    Args:
        body, orelse: run the branches, which assign to the variables of the function around.
        get_state, set_state: read and assign the variables that the branches assign.
        symbol_names: their names.
        nouts: how many of them, from the first, are used afterwards.
    """
    if not is_staged(cond):
        (body if cond else orelse)()
        return
    state = (get_state, set_state)
    stage_if(cond, (body, orelse), state, symbol_names, nouts, (body, orelse))


def stage_if(
    cond: NDArray,
    branches: tuple[Thunk, Thunk],
    state: tuple[Callable[[], tuple[Any, ...]], Callable[[tuple[Any, ...]], None]],
    names: Sequence[str],
    nouts: int,
    blocks: Sequence[Callable[..., object] | None],
) -> None:
    """Makes an `if` part of the graph.

    Args:
        branches, names, nouts: as for `if_stmt`.
        state: read and assign the variables that the branches assign.
        blocks: functions whose variables lead to what the branches may change.
    """
    get_state, set_state = state
    before = get_state()

    def branch(block: Thunk) -> Callable[[], Sequence[object]]:
        def run() -> Sequence[Any]:
            try:
                _run_branch(block, cond)
                return get_state()[:nouts]
            finally:
                set_state(before)

        return run

    functions = (branch(branches[0]), branch(branches[1]))
    values = choice(cond, functions, names[:nouts], blocks, user_line())
    set_state((*values, *before[nouts:]))


def _run_branch(block: Thunk, cond: Any) -> None:
    """Runs a branch; one that raises does so when the function runs and comes there."""
    try:
        block()
    except Exception as error:
        line = vars(error).pop("raised_at", None)
        if line is None:
            raise
        _fail(cond, False, f"{line}: {error}", functools.partial(_again, type(error)))


def _again(kind: type[BaseException], message: str) -> BaseException:
    try:
        return kind(message)
    except Exception:
        return MXNetError(message)


def raised(error: object) -> Any:
    """Notes where an exception is raised by the user's own `raise`."""
    if isinstance(error, type) and issubclass(error, BaseException):
        error = error()
    if isinstance(error, Exception) and recorder.current_trace() is not None:
        vars(error)["raised_at"] = user_line(False)
    return error


def if_exp(cond: Any, if_true: Thunk, if_false: Thunk, expr_repr: str = "") -> Any:
    """``a if cond else b``."""
    if not is_staged(cond):
        return if_true() if cond else if_false()
    return _chosen(cond, if_true, if_false, "the expression")


def _chosen(cond: NDArray, then: Thunk, other: Thunk, name: str) -> Any:
    functions = (lambda: [then()], lambda: [other()])
    return choice(cond, functions, [name], (then, other), user_line())[0]


def truth(value: Any) -> Number:
    """Returns whether an array of one element is not 0."""
    if value.type.size != 1:
        raise MXNetError(
            f"{user_line()}: a truth value must have one element, got {value.type!r}; use "
            "(x > 0).min() for all of them, or .max() for any"
        )
    if isinstance(value, Number) and value.type.dtype.kind == "b":
        return value
    return to_number(value, "bool")


def not_(a: object) -> Any:
    """``not a``."""
    if not is_staged(a):
        return not a
    made = NDArray.apply_operator(get("logical_not"), (truth(a).as_python(),), {})
    found = to_number(made, "bool")
    found.denies = a
    return found


def and_(a: Thunk, b: Thunk) -> Any:
    """``a and b``: the first if it is false, else the second."""
    left = a()
    if not is_staged(left):
        return left and b()
    return _chosen(left, b, lambda: left, "the expression with `and`")


def or_(a: Thunk, b: Thunk) -> Any:
    """``a or b``: the first if it is true, else the second."""
    left = a()
    if not is_staged(left):
        return left or b()
    return _chosen(left, lambda: left, b, "the expression with `or`")


def chain(left: object, operators: Sequence[str], rights: Sequence[Thunk]) -> Any:
    """``a < b < c``, of which each part is computed once, and only if it is needed."""
    right = rights[0]()
    found = _COMPARE[operators[0]](left, right)
    if len(rights) == 1:
        return found
    return and_(lambda: found, lambda: chain(right, operators[1:], rights[1:]))


def assert_stmt(test: Any, message: Thunk, source: str) -> None:
    """``assert test, message``: on arrays it is checked each time the function runs."""
    staged = is_staged(test)
    if not staged and test:
        return
    said = message()
    if not staged:
        raise AssertionError(*(() if said is None else (said,)))
    text = f"{user_line(False)}: assert {source}" + ("" if said is None else f": {said}")
    _fail(test, True, text, AssertionError)


def _fail(value: NDArray, wanted: bool, text: str, error: Callable[[str], BaseException]) -> None:
    """Makes the traced function raise an exception when it runs.

    Args:
        value: an array that must be true, if `wanted`; else the exception is raised whatever it is.
        text, error: of the exception, and what makes it.
    """

    def check(array: Any) -> Sequence[object]:
        if not wanted or not array.all():
            made = error(text)
            vars(made)["for_caller"] = True
            raise made
        return ()

    call = HostCall("assert" if wanted else "raise", check, 1, (), waits=True)
    NDArray.apply_call(call, [value.detach(), world(value.context)])
