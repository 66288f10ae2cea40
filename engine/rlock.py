"""`RLock`: a re-entrant lock that no exception of a signal's handler leaves locked."""

from __future__ import annotations

import sys
from _thread import RLock as _RLock
from typing import Any, Final, final


@final
class RLock(_RLock):  # type: ignore[misc]  # typeshed has it final, CPython does not
    """As `threading.RLock`; a ``with`` block that has taken it gives it back, on Python 3.14, too.

    There the block begins by a call of `__enter__`, and as a call of C code ends, the handler of a
    signal may run: it has taken the lock by then, and what the handler raises passes by the end of
    the block (python/cpython#148874; 3.15 looks for no signal there). As a function of Python's
    returns, nobody looks, nor as an attribute is read. So there is such a function, which takes the
    lock by reading an attribute.
    """

    __slots__ = ()

    if (3, 14) <= sys.version_info < (3, 15):
        _taken: Final[Any] = property(_RLock.acquire)

        def __enter__(self) -> bool:  # type: ignore[override]
            return self._taken  # type: ignore[no-any-return]
