"""Who is asked, while a program for a mesh is traced, to have an array lie as a placement says.

Then operators have names in it, too: XLA keeps them beside what it puts in.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

from hybridnet.base.lazy import jax
from hybridnet.base.placement import Splits

Constrain = Callable[[Any, Splits], Any]


class _Thread(threading.local):
    """The tracing state of a thread: the constraint by which an array lies as a placement says.

    Attributes:
        constrain: returns an array that lies in a given way; None where there is no mesh.
    """

    constrain: Constrain | None = None


thread: Final = _Thread()


@contextmanager
def constraining(constrain: Constrain) -> Iterator[None]:
    """A scope in which arrays that are traced are placed by a function."""
    before, thread.constrain = thread.constrain, constrain
    try:
        yield
    finally:
        thread.constrain = before


def named(name: str) -> AbstractContextManager[None]:
    """Returns a scope in which what is traced for a mesh has a name; elsewhere it does nothing."""
    scope: AbstractContextManager[None]
    scope = nullcontext() if thread.constrain is None else jax.named_scope(name)
    return scope
