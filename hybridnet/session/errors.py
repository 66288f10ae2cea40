"""Errors of a run: each names the variable or value that it is about."""

from __future__ import annotations

from hybridnet.base.errors import MXNetError
from hybridnet.graph import Node


class _NodeError(MXNetError):
    """An error about a node.

    Args:
        message: what is required, got, and how to mend it.
        node: the node; None where there is none.

    Attributes:
        node: as given.
    """

    def __init__(self, message: str, node: Node | None = None) -> None:
        super().__init__(message)
        self.node = node


class UninitializedError(_NodeError):
    """A variable that is saved has no value yet."""


class MissingFeedError(_NodeError, ValueError):
    """A run needs a value that it was not given."""


class FeedError(_NodeError, ValueError, TypeError):
    """A value that a run is given is of another shape or dtype than what it stands for."""
