"""`nd.contrib`: the operators that MXNet keeps apart, ``_contrib_*`` in the registry."""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing

from .control_flow import cond, foreach, while_loop
from .functions import operator_functions as _operator_functions
from .ndarray import NDArray

_operators = _operator_functions("_contrib_")
globals().update(_operators)

__all__ = ["cond", "foreach", "isfinite", "isinf", "isnan", "while_loop", *_operators]


def isfinite(data: NDArray) -> Any:
    """Returns 1 where an element is neither infinite nor NaN, else 0, in the dtype of `data`."""
    return (data == data) * (data.abs() != float("inf"))


def isinf(data: NDArray) -> Any:
    """Returns 1 where an element is infinite, else 0, in the dtype of `data`."""
    return data.abs() == float("inf")


def isnan(data: NDArray) -> Any:
    """Returns 1 where an element is NaN, else 0, in the dtype of `data`."""
    return data != data


def __getattr__(name: str) -> Any:
    raise missing("nd.contrib", name, __all__)
