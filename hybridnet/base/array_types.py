"""Names of types for signatures: what users give, and what NumPy calls its arrays and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from types import EllipsisType

    import numpy.typing as npt

#: A NumPy array of any shape and dtype.
NumpyArray: TypeAlias = np.ndarray[Any, Any]
#: A NumPy dtype of any kind.
DType: TypeAlias = np.dtype[Any]
#: What NumPy makes an array of: one of its own or of ours, a number, nested lists of such.
ArrayLike: TypeAlias = "npt.ArrayLike"
#: What users name a dtype by; None for the default.
DTypeLike: TypeAlias = "npt.DTypeLike | None"
#: The size of each axis.
Shape: TypeAlias = tuple[int, ...]
#: A size, or several: a shape, as users give it.
Dims: TypeAlias = int | Sequence[int]
#: An axis, or several; None for all, or for the last.
Axes: TypeAlias = int | Sequence[int] | None
#: What an operator reads a parameter from: a whole number, ...
Whole: TypeAlias = "SupportsIndex | str"
#: ... several of them or one, None for all, ...
Wholes: TypeAlias = "Whole | Sequence[SupportsIndex] | None"
#: ... of a size, ...
Sizes: TypeAlias = "Wholes | NumpyArray"
#: ... with None among them, ...
Places: TypeAlias = "Sizes | Sequence[SupportsIndex | None]"
#: ... a number, ...
Real: TypeAlias = "SupportsFloat | SupportsIndex | str"
#: ... several, ...
Reals: TypeAlias = "Real | Sequence[Real] | NumpyArray"
#: ... yes or no, of which 1.0 and 0.0 are other names.
Switch: TypeAlias = "Real | np.bool_"
#: What is written in brackets after an array: ``x[index]``.
Index: TypeAlias = "slice | EllipsisType | npt.ArrayLike | tuple[Index, ...] | None"
