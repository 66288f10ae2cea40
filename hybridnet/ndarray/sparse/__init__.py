"""`nd.sparse`: arrays of which only some elements are stored, and the operators on them.

The operators are those of `nd`: an operator finds by the storage of its inputs what to do.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from hybridnet.base.unsupported import missing
from hybridnet.ops.core import registry
from hybridnet.ops.core.handle import operator_function

from ..ndarray import NDArray
from . import operators as operators
from . import products as products
from . import updates as updates
from .base import BaseSparseNDArray
from .creation import *  # noqa: F403
from .creation import __all__ as _creation_names
from .csr import CSRNDArray
from .row_sparse import RowSparseNDArray

#: The operators by the names that they have in `nd` too.
_SHARED = (
    "ElementWiseSum Embedding FullyConnected LinearRegressionOutput LogisticRegressionOutput "
    "MAERegressionOutput abs adam_update add_n arccos arccosh arcsin arcsinh arctan arctanh "
    "broadcast_add broadcast_div broadcast_minus broadcast_mul broadcast_plus broadcast_sub "
    "cast_storage cbrt ceil clip concat cos cosh degrees dot elemwise_add elemwise_div "
    "elemwise_mul elemwise_sub exp expm1 fix floor ftrl_update gamma gammaln log log10 log1p log2 "
    "make_loss mean negative norm radians relu rint round rsqrt sgd_mom_update sgd_update sigmoid "
    "sign sin sinh slice sqrt square stop_gradient sum tan tanh trunc where zeros_like"
)
_registered = {name: name for name in _SHARED.split()} | {
    "adagrad_update": "_sparse_adagrad_update",
    "retain": "_sparse_retain",
}
_operators = {
    name: operator_function(registry.get(home), NDArray, name) for name, home in _registered.items()
}
globals().update(_operators)

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "RowSparseNDArray",
    "add",
    "divide",
    "multiply",
    "subtract",
    *_creation_names,
    *_operators,
]


def _either(lhs: Any, rhs: Any, elementwise: str, otherwise: Callable[[Any, Any], Any]) -> Any:
    """Applies the elementwise operator to two arrays of one shape, else what Python's does."""
    if isinstance(lhs, NDArray) and isinstance(rhs, NDArray) and lhs.shape == rhs.shape:
        return _operators[elementwise](lhs, rhs)
    return otherwise(lhs, rhs)


def add(lhs: Any, rhs: Any) -> Any:
    """Returns lhs + rhs; either may be a number. Of two arrays of one storage, in that storage."""
    return _either(lhs, rhs, "elemwise_add", operator.add)


def subtract(lhs: Any, rhs: Any) -> Any:
    """Returns lhs - rhs; either may be a number. Of two arrays of one storage, in that storage.

    MXNet takes a number in front for the second.
    """
    return _either(lhs, rhs, "elemwise_sub", operator.sub)


def multiply(lhs: Any, rhs: Any) -> Any:
    """Returns lhs * rhs; either may be a number. What is stored of lhs and rhs is multiplied."""
    return _either(lhs, rhs, "elemwise_mul", operator.mul)


def divide(lhs: Any, rhs: Any) -> Any:
    """Returns lhs / rhs; either may be a number. Of a sparse array by a number, sparse.

    MXNet takes a number in front for the second.
    """
    return _either(lhs, rhs, "elemwise_div", operator.truediv)


def __getattr__(name: str) -> Any:
    raise missing("nd.sparse", name, __all__)
