"""`sym.image`: operators on pictures, ``_image_*`` in the registry."""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing

from .functions import operator_functions as _operator_functions

_operators = _operator_functions("_image_")
globals().update(_operators)

__all__ = [*_operators]


def __getattr__(name: str) -> Any:
    raise missing("sym.image", name, __all__)
