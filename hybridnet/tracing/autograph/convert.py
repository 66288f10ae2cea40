"""The door to conversion: what runs a user's function while it is traced."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Final

from hybridnet.ndarray import NDArray
from hybridnet.runtime.record.recorder import thread as recorder_thread

from ..structure import flatten, unflatten
from . import operators as operators  # fills the namespace that converted code calls
from .builtins import Picked
from .calls import converted_call
from .lines import trimmed
from .number import Number
from .staging import forget_loops

__all__ = ["converted", "run_converted"]


class _Active(threading.local):
    """How many functions this thread is tracing with conversion, one inside the other."""

    depth = 0


_active: Final = _Active()


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what runs a function with its control flow converted.

    Only functions of the user's are converted, and only if they, or functions of the user's that
    they call, have control flow.

    Args:
        function: to be traced: a function, method, class, partial or other callable.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        _active.depth += 1
        try:
            result = converted_call(function, args, kwargs)
        except Exception as error:
            error.__traceback__ = trimmed(error.__traceback__)
            raise
        finally:
            _active.depth -= 1
            if not _active.depth:
                forget_loops()
        leaves, tree = flatten(result)
        if not any(isinstance(leaf, (Number, Picked)) for leaf in leaves):
            return result
        return unflatten(tree, [_plain(leaf) for leaf in leaves])

    functools.update_wrapper(run, function, updated=())
    return run


def run_converted(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
) -> Any:
    """Runs a function of the user's for a library: converted where the code around it is."""
    if recorder_thread.trace is None or not _active.depth:
        return function(*args, **(kwargs or {}))
    return converted_call(function, args, kwargs)


def _plain(value: Any) -> Any:
    if not isinstance(value, (Number, Picked)):
        return value
    made = value.as_kind(NDArray)
    made.set_edge(value.edge)
    return made
