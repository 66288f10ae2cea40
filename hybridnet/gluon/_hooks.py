"""Handles of hooks, by which they are taken away again."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, Final, final

_numbers: Final = itertools.count()


class HookDict(dict[int, Callable[..., Any]]):
    """Hooks in the order in which they were attached; can be referred to weakly."""


@final
class HookHandle:
    """The handle of a hook (`Block.register_forward_hook`): ``handle.detach()`` takes it away.

    As a ``with`` block it does so at the end.
    """

    def __init__(self) -> None:
        self._hooks: weakref.ref[HookDict] | None = None
        self._number = -1

    def attach(self, hooks_dict: HookDict, hook: Callable[..., object]) -> None:
        """Adds a hook, once."""
        if not callable(hook):
            raise TypeError(f"a hook must be callable, got {type(hook).__name__}")
        if self._hooks is not None:
            raise RuntimeError("this handle has a hook already; make another one")
        self._number = next(_numbers)
        hooks_dict[self._number] = hook
        self._hooks = weakref.ref(hooks_dict)

    def detach(self) -> None:
        """Takes the hook away; does nothing where it is gone."""
        hooks = None if self._hooks is None else self._hooks()
        if hooks is not None:
            hooks.pop(self._number, None)

    def __getstate__(self) -> tuple[HookDict | None, int]:
        """Returns what pickle keeps: the hooks, and which of them is this handle's."""
        return None if self._hooks is None else self._hooks(), self._number

    def __setstate__(self, state: tuple[HookDict | None, int]) -> None:
        """Becomes the handle whose ``__getstate__`` gave this state."""
        hooks, self._number = state
        self._hooks = None if hooks is None else weakref.ref(hooks)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.detach()
