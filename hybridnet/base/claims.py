"""How this process works together with others: by collectives, or by a parameter server.

A process of a gang ends when one of the others dies, and one of a parameter server goes on. So it
is either, and whoever comes second is refused.
"""

from __future__ import annotations

from typing import Final

from .errors import MXNetError

COLLECTIVES: Final = "collectives"
PARAMETER_SERVER: Final = "a parameter server"


class _Claim:
    """The claim on this process: what it is part of; None while it is on its own."""

    kind: str | None = None


def claim(kind: str, caller: str) -> None:
    """Makes this process part of a gang or of a parameter server; again is nothing new.

    Args:
        kind: `COLLECTIVES` or `PARAMETER_SERVER`.
        caller: who asks, for the message.

    Raises:
        MXNetError: it is part of the other.
    """
    if _Claim.kind not in (None, kind):
        raise MXNetError(
            f"{caller}: this process works by {_Claim.kind} already, and cannot work by {kind}, "
            "too: a process that dies ends all of a gang, which a parameter server is there to "
            "prevent; use one of them"
        )
    _Claim.kind = kind


def claimed() -> str | None:
    """Returns what this process is part of, or None."""
    return _Claim.kind


def disclaim() -> None:
    """Makes it part of nothing again."""
    _Claim.kind = None
