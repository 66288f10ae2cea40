"""The types of the operands of `np`'s functions, for signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from hybridnet.base.array_types import NumpyArray
from hybridnet.ops.core import Operand

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ArrayLike"]


class _SupportsArray(Protocol):
    """An array-like of NumPy: its own arrays, and those of other libraries."""

    def __array__(self) -> NumpyArray: ...


#: An array, a symbol, or what `array` makes an array of. (NumPy's type of this name has texts in
#: it, which are no arrays here.)
ArrayLike: TypeAlias = (
    "Operand | _SupportsArray | complex | np.generic | list[Any] | tuple[Any, ...] | range"
)
