"""The error of a gang that has lost a process."""

from __future__ import annotations

from typing import final

from hybridnet.base.errors import MXNetError
from hybridnet.kvstore import DeadNodeError

__all__ = ["DeadNodeError", "LostPeerError"]


@final
class LostPeerError(MXNetError, DeadNodeError):
    """A process of the gang is gone: which, where and how."""
