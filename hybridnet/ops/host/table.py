"""The table of array functions on NumPy arrays, which the modules beside this one fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

#: The functions by the names that JAX has for them.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}
#: Of `FUNCTIONS`, those that are written with the others, and with brackets and arithmetic: they
#: do as they are where gradients are taken.
COMPOSED: Final[set[str]] = set()
#: Characters of the dtypes that NumPy computes with as XLA does. Of float16 both round each element
#: of a result once; what adds up many is computed in float32 here, as XLA has it (`in_float32`).
HOST_DTYPES: Final = frozenset("?bhilqBHILQefd")


def words(text: str) -> list[str]:
    """Returns the words of a text."""
    return text.split()


def named(path: str, *, composed: bool = False) -> Callable[[_F], _F]:
    """Decorator that puts a function into `FUNCTIONS`, and `COMPOSED`, by its name in JAX."""

    def put(function: _F) -> _F:
        FUNCTIONS[path] = function
        if composed:
            COMPOSED.add(path)
        return function

    return put
