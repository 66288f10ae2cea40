"""Scopes: ``with`` blocks whose innermost object counts, for each thread on its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class ScopeStack(Generic[_T]):
    """The objects of one kind whose ``with`` blocks this thread is in.

    `ScopedType` makes the innermost one the `current` of a class.

    Args:
        default: makes what counts outside all blocks, once for each thread.
    """

    def __init__(self, default: Callable[[], _T]) -> None:
        self._default = default
        self._local = threading.local()

    def _stack(self) -> list[_T]:
        try:
            stack: list[_T] = self._local.stack
        except AttributeError:
            stack = self._local.stack = [self._default()]
        return stack

    @property
    def innermost(self) -> _T:
        """The object whose block was entered last, or the default one."""
        return self._stack()[-1]

    def enter(self, scope: _T) -> None:
        """Makes `scope` the innermost."""
        self._stack().append(scope)

    def leave(self) -> None:
        """Goes back to what was innermost before."""
        self._stack().pop()

    def replace(self, scope: _T) -> None:
        """Makes `scope` the innermost in place of the one that is; leaving the block ends both."""
        self._stack()[-1] = scope


class ScopedType(type):
    """The class of classes whose `current` is in a `ScopeStack`, and can be set.

    ``AttrScope.current = AttrScope(...)`` sets it for the thread, as in MXNet.
    """

    #: Set by the class.
    _stack: ScopeStack[Any]

    @property
    def current(cls) -> Any:
        """The value that counts now in this thread."""
        return cls._stack.innermost

    @current.setter
    def current(cls, scope: object) -> None:
        cls._stack.replace(scope)
