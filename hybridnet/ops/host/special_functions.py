"""Error functions and gamma functions of NumPy arrays: SciPy's, and some without it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.lazy import special

from .table import FUNCTIONS

# Elements up to which functions of our own are quicker than importing SciPy's, 0.1 s.
_FEW_ELEMENTS: Final = 1 << 15


def _special(path: str, name: str, own: Callable[[NumpyArray], NumpyArray] | None = None) -> None:
    """Takes a function from SciPy, which JAX needs, too; it is imported when there is much to do.

    Args:
        path: its name in JAX.
        name: its name in `scipy.special`.
        own: the same without SciPy; it raises where it has no answer.
    """

    def function(x: NumpyArray) -> Any:
        if own is not None and x.size <= _FEW_ELEMENTS and "scipy.special" not in sys.modules:
            try:
                return own(x)
            except (ValueError, OverflowError):
                pass
        made = getattr(special, name)(x)
        return made.astype(x.dtype) if x.dtype == np.float16 else made

    FUNCTIONS[path] = function


def _by_number(of_number: Callable[[float], float]) -> Callable[[NumpyArray], NumpyArray]:
    """Returns a function of arrays from one of `math`."""
    return lambda x: np.array([*map(of_number, x.ravel().tolist())], x.dtype).reshape(x.shape)


def digamma(x: NumpyArray) -> NumpyArray:
    """The derivative of log gamma, of positive numbers of float32 or less.

    ``digamma(x) = digamma(x + 1) - 1 / x``, and of 16 and more few terms of Stirling's series give
    it to the last places of float64.

    Raises:
        ValueError: some are negative or NaN, or of float64, whose last places near the function's
            zero take more.
    """
    if x.dtype.kind != "f" or x.dtype.itemsize > 4 or not (x > 0).all():
        raise ValueError
    at, steps = x.astype(np.float64), np.zeros(x.shape)
    for _ in range(16):
        steps += 1 / at
        at += 1
    y = 1 / (at * at)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return np.asarray((np.log(at) - 0.5 / at - series - steps).astype(x.dtype))


_special("lax.erf", "erf", _by_number(math.erf))
_special("lax.erfc", "erfc", _by_number(math.erfc))
_special("lax.erf_inv", "erfinv")
_special("lax.digamma", "digamma", digamma)
_special("scipy.special.gamma", "gamma", _by_number(math.gamma))
_special("scipy.special.gammaln", "gammaln", _by_number(math.lgamma))
_special("lax.lgamma", "gammaln", _by_number(math.lgamma))
