"""Operators around the bodies of converted functions, and of their variables."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import NDArray

from .lines import user_line
from .state import Undefined, UndefinedReturnValue

_SOMETIMES: Final = (
    "{line}: the function returns a value on some paths and ends without `return` on others; which "
    "one is taken depends on an array, so that it must return the same kind of value on all"
)


@final
class FunctionScope:
    """The body of a converted function."""

    def __init__(self, function_name: str, scope_name: str, options: object) -> None:
        self.name = function_name

    def __enter__(self) -> FunctionScope:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def ret(self, value: object, did_return: object) -> Any:
        """Returns what the function returns.

        Args:
            value: of the last `return`.
            did_return: whether there was one.
        """
        if isinstance(value, UndefinedReturnValue):
            return None
        if isinstance(did_return, NDArray) and value is not None:
            raise MXNetError(_SOMETIMES.format(line=user_line()))
        return value


def with_function_scope(thunk: Callable[[Any], Any], scope_name: str, options: object) -> Any:
    """The body of a converted lambda."""
    with FunctionScope("lambda", scope_name, options) as scope:
        return thunk(scope)


def autograph_artifact(function: Any, extras: object = None) -> Any:
    """Marks a function that is defined in converted code, and so is converted."""
    with suppress(AttributeError):  # a decorator may have made something else of it
        function.is_converted = True
    return function


def ld(value: object) -> Any:
    """Reads a variable."""
    return value.read() if isinstance(value, Undefined) else value


def ldu(load: Callable[[], object], name: str) -> Any:
    """Reads an attribute or an item that may not be there."""
    try:
        return load()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)
