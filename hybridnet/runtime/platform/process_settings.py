"""Settings of the whole process that are others for a time, while anybody wants it so."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final, final

from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock


@final
class TemporarySetting:
    """One such setting, which several threads may want at a time.

    Args:
        read: returns what it is.
        change: changes it.
        restore: given what it was, sets it back.

    Attributes:
        lock: held while it is changed.
    """

    def __init__(
        self, read: Callable[[], object], change: Callable[[], None], restore: Callable[[Any], None]
    ) -> None:
        self.lock: Final = free_in_children(RLock())
        self._read = read
        self._change = change
        self._restore = restore
        #: the blocks that are inside, by their `id`, with their threads.
        self._wanting: dict[int, int] = {}
        #: what it was, if it is changed.
        self._before: tuple[Any] | None = None
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_others)

    def changed(self) -> _Block:
        """A block in which it is changed."""
        return _Block(self)

    def enter(self, block: _Block) -> None:
        """Changes the setting for a block, if no other block has."""
        self._wanting[id(block)] = threading.get_ident()
        self.settle()

    def leave(self, block: _Block) -> None:
        """Sets it back, if no other block wants it changed; once more does nothing."""
        self._wanting.pop(id(block), None)
        self.settle()

    def settle(self) -> None:
        """Changes it or sets it back, as blocks want; who was interrupted in it calls it again."""
        with self.lock:
            if self._wanting and self._before is None:
                self._before = (self._read(),)
                self._change()
            elif self._before is not None and not self._wanting:
                self._restore(self._before[0])
                self._before = None

    def _forget_others(self) -> None:
        """Forgets, in a forked child, the blocks of threads that it does not have."""
        me = threading.get_ident()
        self._wanting = {block: thread for block, thread in self._wanting.items() if thread == me}
        self.settle()


@final
class _Block:
    """A ``with`` block that a signal's handler may end at any point, as Ctrl-C does.

    One that is interrupted while it begins or ends has no other end than that of this object.
    """

    __slots__ = ("_setting",)

    def __init__(self, setting: TemporarySetting) -> None:
        self._setting = setting

    def __enter__(self) -> None:
        self._setting.enter(self)

    def __exit__(self, *_: object) -> None:
        self._setting.leave(self)

    def __del__(self) -> None:
        self._setting.leave(self)
