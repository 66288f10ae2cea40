"""Scopes: ``with`` blocks whose innermost object counts, for each thread on its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["ScopeStack"]

_T = TypeVar("_T")


class ScopeStack(Generic[_T]):
    """The objects of one kind whose ``with`` blocks this thread is in.

    Put on a class, it reads as the innermost one: ``NameManager.current``.

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

    def __get__(self, instance: Any, owner: type[Any]) -> _T:
        return self.innermost
