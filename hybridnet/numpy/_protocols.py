"""NumPy's protocols: ``numpy.concatenate([a, b])`` and ``numpy.add(a, 1)`` on our arrays.

A function of NumPy's runs as ours of the same name; one that we do not have runs on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as onp

from hybridnet.base import modules

#: Names of NumPy's functions that are others of ours.
_RENAMED = {"conjugate": "copy", "left_shift": "", "right_shift": ""}


def _own(module: str, name: str) -> Any:
    """Returns our function for one of NumPy's, or None."""
    own = modules.load("np")
    if module == "numpy.linalg":
        own = own.linalg
    elif module != "numpy":
        return None
    return getattr(own, _RENAMED.get(name, name), None)


def _host(func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> Any:
    return modules.load("np").fallback.on_host(func, args, kwargs)


def array_function(
    self: object,
    func: Callable[..., object],
    types: object,
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> Any:
    """Runs one of NumPy's functions on arrays of ours; see NumPy's NEP 18."""
    own = _own(func.__module__, func.__name__)
    return _host(func, args, kwargs) if own is None else own(*args, **kwargs)


def array_ufunc(
    self: object, ufunc: Callable[..., object], method: str, *inputs: object, **kwargs: Any
) -> Any:
    """Runs one of NumPy's elementwise functions on arrays of ours; see NumPy's NEP 13."""
    if method != "__call__":
        return NotImplemented
    out = kwargs.pop("out", None)
    if out is not None:
        (kwargs["out"],) = out
        if isinstance(kwargs["out"], onp.ndarray):
            return NotImplemented
    own = _own("numpy", ufunc.__name__)
    return _host(ufunc, inputs, kwargs) if own is None else own(*inputs, **kwargs)
