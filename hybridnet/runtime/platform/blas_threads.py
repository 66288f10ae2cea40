"""With how many threads NumPy multiplies matrices: OpenBLAS has a number of its own.

Its threads wait for each other in turns. Where a compilation holds a processor, a product on all
processors takes twice as long as on one less, and the compilation takes longer, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Final

from hybridnet.base.lazy import threadpoolctl
from hybridnet.base.processor import num_threads

from .passing import PassingSetting

__all__ = ["keep_to_limit", "leave_one"]


@cache
def _libraries() -> Any:
    return threadpoolctl.ThreadpoolController().select(internal_api="openblas").lib_controllers


def _set(numbers: Sequence[int]) -> None:
    for library, number in zip(_libraries(), numbers, strict=True):
        library.set_num_threads(number)
        # Else no other thread could set the number any more.
        getattr(library, "clear_controlling_thread", lambda: None)()


def _limit(number: int) -> tuple[int, ...]:
    """Lets OpenBLAS have at most so many threads; returns how many it had."""
    before = tuple([library.get_num_threads() for library in _libraries()])
    _set([min(number, each) for each in before])
    return before


@cache
def keep_to_limit() -> None:
    """Lets NumPy have no more threads than were asked for; see `num_threads`."""
    with _leaving.lock:
        _limit(num_threads())


def leave_one() -> AbstractContextManager[None]:
    """A block in which NumPy leaves a processor to what the block does."""
    return _leaving.changed()


_leaving: Final = PassingSetting(lambda: _limit(max(1, num_threads() - 1)), _set)
