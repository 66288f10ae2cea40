"""`npx.image`: the operators on pictures, ``_image_*`` in the registry."""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing
from hybridnet.ops.core.registry import public_operators as _public_operators

from .operators import operator_of_either as _operator_of_either

_operators = {
    name: _operator_of_either(op, name) for name, op in _public_operators("_image_").items()
}
globals().update(_operators)

__all__ = [*_operators]


def __getattr__(name: str) -> Any:
    raise missing("npx.image", name, __all__)
