"""The events of training: a handler is told of those whose classes it derives from.

Handlers with a `priority` are called in its order, others as with 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hybridnet.base.errors import ParameterError

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "TrainBegin",
    "TrainEnd",
    "as_handlers",
]


class EventHandler:
    """Base of what is told of events."""


def as_handlers(handlers: EventHandler | Iterable[EventHandler] | None) -> list[EventHandler]:
    """Returns handlers as a new list.

    Raises:
        ParameterError: one is none.
    """
    listed = [handlers] if isinstance(handlers, EventHandler) else list(handlers or ())
    if not all(isinstance(handler, EventHandler) for handler in listed):
        raise ParameterError(
            f"event_handlers must be an EventHandler or a list of them, got {handlers!r}"
        )
    return listed


class TrainBegin(EventHandler):
    """Is told when training begins."""

    def train_begin(self, estimator: Any, *args: object, **kwargs: Any) -> object:
        """Is called before the first epoch."""


class TrainEnd(EventHandler):
    """Is told when training ends."""

    def train_end(self, estimator: Any, *args: object, **kwargs: Any) -> object:
        """Is called after the last epoch."""


class EpochBegin(EventHandler):
    """Is told when an epoch begins, and when an evaluation does."""

    def epoch_begin(self, estimator: Any, *args: object, **kwargs: Any) -> object:
        """Is called before the first batch."""


class EpochEnd(EventHandler):
    """Is told when an epoch ends, and when an evaluation does."""

    def epoch_end(self, estimator: Any, *args: object, **kwargs: Any) -> bool | None:
        """Is called after the last batch; returns True to end training."""
        return False


class BatchBegin(EventHandler):
    """Is told when a batch begins."""

    def batch_begin(self, estimator: Any, *args: object, **kwargs: Any) -> object:
        """Is called before a batch, which is ``kwargs["batch"]``."""


class BatchEnd(EventHandler):
    """Is told when a batch ends."""

    def batch_end(self, estimator: Any, *args: object, **kwargs: Any) -> bool | None:
        """Is called after a batch, with ``batch``, ``pred``, ``label`` and ``loss``.

        Returns True to end the epoch.
        """
        return False
