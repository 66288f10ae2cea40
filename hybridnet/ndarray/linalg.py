"""`nd.linalg`: linear algebra on batches of matrices, ``_linalg_*`` in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridnet.ops.core import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators

from .functions import array_function as _function

if TYPE_CHECKING:
    from ._linalg_operators import *  # noqa: F403

_functions = _Functions(
    "nd.linalg", globals(), _public_operators("_linalg_"), _function, "_linalg_"
)

__all__ = [*_functions]


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)
