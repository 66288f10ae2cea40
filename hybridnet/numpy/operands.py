"""The types of the operands of `np`'s functions, for signatures."""

from __future__ import annotations

from typing import TypeAlias

from hybridnet.base import array_types
from hybridnet.ops.core import Operand

__all__ = ["ArrayLike"]

#: An array, a symbol, or what `array` makes an array of.
ArrayLike: TypeAlias = "Operand | array_types.ArrayLike"
