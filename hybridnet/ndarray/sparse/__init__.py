"""`nd.sparse`: arrays of which only some elements are stored, and the operators on them.

The operators are those of `nd`: an operator finds by the storage of its inputs what to do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hybridnet.ops.core import Functions, registry
from hybridnet.ops.sparse import SPARSE_OPERATORS

from ..functions import array_function
from ..functions import cast_storage as cast_storage
from ..ndarray import NDArray
from . import operators as operators
from . import products as products
from . import updates as updates
from .base import BaseSparseNDArray
from .creation import *  # noqa: F403
from .creation import __all__ as _creation_names
from .csr import CSRNDArray
from .row_sparse import RowSparseNDArray

if TYPE_CHECKING:
    from ._operators import *  # noqa: F403

_functions = Functions(
    "nd.sparse",
    globals(),
    {
        name: registry.get(home)
        for name, home in SPARSE_OPERATORS.items()
        if name != "cast_storage"  # the function of `nd`: what an operator makes of dense is dense
    },
    array_function,
)

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "cast_storage",
    "divide",
    "multiply",
    "subtract",
    *_creation_names,
    *_functions,
]


def _either(
    lhs: NDArray | float,
    rhs: NDArray | float,
    elementwise: str,
    otherwise: Callable[[Any, Any], Any],
) -> Any:
    """Applies the elementwise operator to two arrays of one shape, else what Python's does."""
    if isinstance(lhs, NDArray) and isinstance(rhs, NDArray) and lhs.shape == rhs.shape:
        return NDArray.apply_operator(registry.get(elementwise), (lhs, rhs), {})
    return otherwise(lhs, rhs)


def add(lhs: NDArray | float, rhs: NDArray | float) -> Any:
    """Returns lhs + rhs; either may be a number. Of two arrays of one storage, in that storage."""
    return _either(lhs, rhs, "elemwise_add", operator.add)


def subtract(lhs: NDArray | float, rhs: NDArray | float) -> Any:
    """Returns lhs - rhs; either may be a number. Of two arrays of one storage, in that storage.

    MXNet takes a number in front for the second.
    """
    return _either(lhs, rhs, "elemwise_sub", operator.sub)


def multiply(lhs: NDArray | float, rhs: NDArray | float) -> Any:
    """Returns lhs * rhs; either may be a number. What is stored of lhs and rhs is multiplied."""
    return _either(lhs, rhs, "elemwise_mul", operator.mul)


def divide(lhs: NDArray | float, rhs: NDArray | float) -> Any:
    """Returns lhs / rhs; either may be a number. Of a sparse array by a number, sparse.

    MXNet takes a number in front for the second.
    """
    return _either(lhs, rhs, "elemwise_div", operator.truediv)


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)
