"""Whether passes are run over the graphs that are run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from hybridnet.base import config

_OFF: Final[ContextVar[bool]] = ContextVar("passes_off", default=False)


def enabled() -> bool:
    """Whether a graph that is bound or traced now will be run as the passes leave it."""
    return not _OFF.get() and config.passes()


@contextmanager
def off() -> Iterator[None]:
    """A scope in which graphs are bound and traced to be run as they were written.

    It makes no difference to those that have run before. ``HYBRIDNET_PASSES=off`` does it for a
    whole process.
    """
    token = _OFF.set(True)
    try:
        yield
    finally:
        _OFF.reset(token)
