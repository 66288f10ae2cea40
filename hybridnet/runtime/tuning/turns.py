"""Measuring a program that goes on being launched: both take turns.

A loop never pauses, and two programs that share the cores take as long as the scheduler pleases. So
launches are held up while something is measured, for two runs at a time, and one is let through in
between: the loop is slower for as long as measuring takes, as it would be if both ran at once, and
never stands still.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, final

from hybridnet.base.lazy import jax

from ..programs.executable import ExecutableWrapper

__all__ = ["Turn", "Turns"]

#: Keeps others from computing, within.
Turn = Callable[[], AbstractContextManager[None]]

# Seconds that a launch waits at most, should who measures be stuck.
_LONGEST: Final = 10.0
# Seconds that are waited for a launch after each turn: there need not be one.
_PAUSE: Final = 0.01


@final
class Turns(ExecutableWrapper):
    """An executable that stands still while somebody has a turn.

    Args:
        whole: the executable.
    """

    __slots__ = ("_last", "_open", "_passed")

    def __init__(self, whole: Any) -> None:
        super().__init__(whole)
        self._open = threading.Event()
        self._open.set()
        self._passed = threading.Event()
        self._last: Sequence[Any] = ()

    def __call__(self, *arguments: Any) -> Sequence[Any]:
        """Starts the program once nobody has a turn; arguments and outputs are those of `whole`."""
        self._open.wait(_LONGEST)
        outputs: Sequence[Any] = self.whole(*arguments)
        self._last = outputs
        self._passed.set()
        return outputs

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Holds up launches, once what was launched has ended; lets one through afterwards."""
        self._open.clear()
        try:
            with suppress(RuntimeError):  # somebody consumed it: then it had ended, too
                jax.block_until_ready(self._last)
            yield
        finally:
            self._last = ()
            self._passed.clear()
            self._open.set()
        self._passed.wait(_PAUSE)
