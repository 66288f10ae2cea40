"""Functions of the library's that a program may put its own in the place of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, ParamSpec, Protocol, TypeVar, cast, final

from .errors import ParameterError
from .removable import Removable

P = ParamSpec("P")
T = TypeVar("T")
_T = TypeVar("_T", covariant=True)


@final
class Replacement(Removable):
    """A function in the place of another; of several the one put there last counts."""

    def __init__(self, stack: list[Any], function: Any) -> None:
        self._stack: Final = stack
        self._function: Final = function
        stack.append(self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it."""
        return self._function(*args, **kwargs)

    def remove(self) -> None:
        """Takes it away; again, it does nothing."""
        if self in self._stack:
            self._stack.remove(self)


class Replaceable(Protocol[P, _T]):
    """A function that another one may take the place of."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> _T:
        """Calls the function, or what stands in its place."""
        ...

    def replaced_by(self, function: Callable[..., Any]) -> Replacement:
        """Puts a function in its place, everywhere in the library, for what is made from now on.

        It is called with the same arguments, and must return what the function's own docstring
        says.

        Raises:
            ParameterError: it cannot be called.
        """
        ...

    @property
    def own(self) -> Callable[P, _T]:
        """The library's own, whatever stands in its place."""
        ...


def replaceable(function: Callable[P, T]) -> Replaceable[P, T]:
    """Makes a function one that another may take the place of; a decorator."""
    stack: list[Callable[..., Any]] = [function]

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return cast(T, stack[-1](*args, **kwargs))

    def replaced_by(other: Callable[..., Any]) -> Replacement:
        if not callable(other):
            name = function.__name__
            raise ParameterError(f"{name}.replaced_by: needs a function, got {other!r}")
        return Replacement(stack, other)

    made = cast(Any, call)
    made.replaced_by, made.own = replaced_by, function
    return cast("Replaceable[P, T]", made)
