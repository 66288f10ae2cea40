"""The failures of the parameter server, as errors of this package."""

from __future__ import annotations

from typing import Any, final

from hybridnet.base.errors import MXNetError
from hybridnet.distributed import LostPeerError
from hybridnet.kvstore import DeadNodeError, KVStoreError


def as_error(error: BaseException) -> BaseException:
    """Returns the error of this package for one of the parameter server's; others as they are."""
    if isinstance(error, MXNetError) or not isinstance(error, KVStoreError):
        return error
    kind = LostPeerError if isinstance(error, DeadNodeError) else MXNetError
    made = kind(str(error))
    made.__cause__ = error.__cause__
    return made


@final
class translated:
    """A block that raises the errors of this package for those of the parameter server."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, KVStoreError):
            raise as_error(error) from error.__cause__
