"""The door to conversion: what runs a user's function while it is traced."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..structure import flatten, unflatten
from .calls import converted_call
from .lines import trimmed
from .number import Number
from .staging import forget_loops

__all__ = ["converted"]


def converted(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what runs a function with its control flow converted.

    Only functions of the user's are converted, and only if they, or functions of the user's that
    they call, have control flow.

    Args:
        function: to be traced: a function, method, class, partial or other callable.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            result = converted_call(function, args, kwargs)
        except Exception as error:
            raise error.with_traceback(trimmed(error.__traceback__)) from error.__cause__
        finally:
            forget_loops()
        leaves, tree = flatten(result)
        if not any(isinstance(one, Number) for one in leaves):
            return result
        return unflatten(tree, [_plain(one) for one in leaves])

    functools.update_wrapper(run, function, updated=())
    return run


def _plain(one: Any) -> Any:
    if not isinstance(one, Number):
        return one
    made = one.as_python()
    made.set_edge(one.edge)
    return made
