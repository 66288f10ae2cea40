"""The names that NumPy dropped after MXNet's last release, for scripts that still use them."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

__all__ = ["NUMPY_NAMES", "restore_numpy_names"]

#: Name that NumPy had -> what it stood for.
_VALUES: Final[dict[str, Any]] = {
    # Removed by 1.24: Python's own types.
    "bool": bool,
    "complex": complex,
    "float": float,
    "int": int,
    "long": int,
    "object": object,
    "str": str,
    "unicode": str,
    # Removed by 2.0: second names.
    "Inf": np.inf,
    "Infinity": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "PINF": np.inf,
    "PZERO": 0.0,
    "infty": np.inf,
    "cfloat": np.complex128,
    "complex_": np.complex128,
    "float_": np.float64,
    "longfloat": np.longdouble,
    "singlecomplex": np.complex64,
    "string_": np.bytes_,
    "unicode_": np.str_,
    "alltrue": np.all,
    "cumproduct": np.cumprod,
    "product": np.prod,
    "round_": np.round,
    "row_stack": np.vstack,
    "sometrue": np.any,
}


def _asfarray(a: Any, dtype: Any = np.float64) -> np.ndarray[Any, Any]:
    """Returns an array of floating numbers."""
    return np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64)


def _asscalar(a: np.ndarray[Any, Any]) -> Any:
    """Returns the one number of an array."""
    return a.item()


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Returns which numbers of a flattened array are in another."""
    return np.isin(np.ravel(ar1), ar2, assume_unique, invert)


def _msort(a: Any) -> np.ndarray[Any, Any]:
    """Returns an array sorted along the first axis."""
    return np.sort(a, axis=0)


def _trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    """Returns the integral by the trapezoidal rule."""
    return np.trapezoid(y, x, dx, axis)


def _binary_fromstring(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "") -> Any:
    """Returns the numbers in bytes or, with a separator, in text."""
    if sep:
        return _fromstring(string, dtype, count, sep=sep)
    data = string.encode("latin1") if isinstance(string, str) else string
    return np.frombuffer(data, dtype, count).copy()


_fromstring: Final[Any] = np.fromstring


def _reads_bytes() -> bool:
    """Whether `np.fromstring` reads bytes, which NumPy 2.3 no longer does."""
    read: Any = np.fromstring
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read(b"\0", np.uint8)
        except ValueError:
            return False
    return True


_FUNCTIONS: Final[dict[str, Any]] = {
    "asfarray": _asfarray,
    "asscalar": _asscalar,
    "in1d": _in1d,
    "msort": _msort,
    "trapz": _trapz,
}


#: The names that scripts get back where the installed NumPy lacks them.
NUMPY_NAMES: Final = frozenset((*_VALUES, *_FUNCTIONS, "lib.pad"))


def restore_numpy_names() -> list[str]:
    """Gives NumPy the names back that it dropped, such as ``np.bool`` and ``np.float``.

    `np.fromstring` reads bytes again, and `np.lib.pad` is `np.pad`.

    Names that the installed NumPy has are left alone. It changes NumPy for the whole process, also
    for libraries that ask which names there are; so it is done where a script is run by MXNet's
    name, and nowhere by itself.

    Returns:
        The names that were added.
    """
    added = []
    for name, value in (*_VALUES.items(), *_FUNCTIONS.items()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # names about to go warn when they are asked for
            if hasattr(np, name):
                continue
        setattr(np, name, value)
        added.append(name)
    if not hasattr(np.lib, "pad"):
        setattr(np.lib, "pad", np.pad)  # noqa: B010  # its stub has no such name
        added.append("lib.pad")
    if not _reads_bytes():
        setattr(np, "fromstring", _binary_fromstring)  # noqa: B010  # its type has overloads
        added.append("fromstring")
    return added
