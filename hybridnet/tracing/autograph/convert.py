"""The door to conversion: what runs a user's function while it is traced."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Final

from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import thread as recorder_thread

from ..structure import flatten, unflatten
from .builtins import Picked, get_item, set_item, update_item
from .calls import OPERATORS, converted_call
from .conditions import and_, assert_stmt, chain, if_exp, if_stmt, not_, or_, raised
from .converters import Asked, asking
from .for_loops import for_stmt
from .lines import trimmed
from .number import Number
from .scope import FunctionScope, autograph_artifact, ld, ldu, with_function_scope
from .staging import forget_loops
from .state import Undefined, UndefinedReturnValue
from .user_operators import Converter, Operators
from .while_loops import while_stmt

vars(OPERATORS).update(
    {
        operator.__name__: operator
        for operator in (
            *(FunctionScope, Undefined, UndefinedReturnValue, autograph_artifact),
            *(and_, assert_stmt, chain, converted_call, for_stmt, get_item, if_exp, if_stmt, ld),
            *(ldu, not_, or_, raised, set_item, update_item, while_stmt, with_function_scope),
        )
    },
    STD=None,
    slice_=slice,
)


class _Active(threading.local):
    """The number of functions that this thread is tracing with conversion, one inside the other."""

    depth = 0


_active: Final = _Active()


def converted(
    function: Callable[..., object], converter: Converter | None = None
) -> Callable[..., Any]:
    """Returns what runs a function with its control flow converted.

    Only functions of the user's are converted, and only if they, or functions of the user's that
    they call, have control flow.

    Args:
        converter: what converts them; default ours.
    """

    def run(*args: object, **kwargs: object) -> Any:
        _active.depth += 1
        try:
            with asking(None if converter is None else Asked(converter, Operators())):
                result = converted_call(function, args, kwargs)
        except Exception as error:
            error.__traceback__ = trimmed(error.__traceback__)
            raise
        finally:
            _active.depth -= 1
            if not _active.depth:
                forget_loops()
        leaves, tree = flatten(result)
        for leaf in leaves:
            if isinstance(leaf, Undefined):
                leaf.read()
        if not any(isinstance(leaf, (Number, Picked)) for leaf in leaves):
            return result
        plain = [x.as_kind(NDArray) if isinstance(x, (Number, Picked)) else x for x in leaves]
        return unflatten(tree, plain)

    functools.update_wrapper(run, function, updated=())
    return run


def run_converted(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Any:
    """Runs a function of the user's for a library: converted where the code around it is."""
    if recorder_thread.trace is None or not _active.depth:
        return function(*args, **(kwargs or {}))
    return converted_call(function, args, kwargs)
