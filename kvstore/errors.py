"""The error of the parameter server."""

from __future__ import annotations

__all__ = ["KVStoreError"]


class KVStoreError(RuntimeError):
    """A message that the store must refuse, or a kind of store that does not exist."""
