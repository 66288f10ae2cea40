"""`sym.image`: operators on pictures, ``_image_*`` in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridnet.ops.core import Functions as _Functions
from hybridnet.ops.core.registry import public_operators as _public_operators

from .functions import symbol_function as _function

if TYPE_CHECKING:
    from ._image_operators import *  # noqa: F403

_functions = _Functions("sym.image", globals(), _public_operators("_image_"), _function, "_image_")

__all__ = [*_functions]


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)
