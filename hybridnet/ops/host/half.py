"""Sums of float16: added up in float32 and rounded once, as XLA has it (but running sums).

NumPy rounds after each element, so that the sum of 3,000 ones is 2048.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .table import FUNCTIONS, words


def sum_in_float32(names: str) -> None:
    """Makes functions of `FUNCTIONS`, by their names, compute float16 results in float32.

    Args:
        names: the names, with spaces in between.
    """
    for name in words(names):
        FUNCTIONS[name] = _in_float32(FUNCTIONS[name])


def _in_float32(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def computed(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("dtype")
        if wanted is not None:
            if np.dtype(wanted) != np.float16:
                return function(*args, **kwargs)
            return function(*args, **{**kwargs, "dtype": np.float32}).astype(np.float16)
        for x in args:
            if _is_half(x):
                wide = [x.astype(np.float32) if _is_half(x) else x for x in args]
                return function(*wide, **kwargs).astype(np.float16)
        return function(*args, **kwargs)

    computed.for_others = function  # type: ignore[attr-defined]
    return computed


def _is_half(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtype.char == "e"
