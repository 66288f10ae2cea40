"""The error of processes that work together and have lost one."""

from typing import final

from hybridnet.base.errors import MXNetError
from hybridnet.kvstore import DeadNodeError

__all__ = ["DeadNodeError", "LostPeerError"]


@final
class LostPeerError(MXNetError, DeadNodeError):
    """A process that a call needs is gone: one of the gang, a worker or a server; which and how."""
