"""Modules that MXNet's scripts find in packages of Python's and NumPy's without importing them.

`import mxnet` has loaded `multiprocessing.pool`, so that scripts say ``multiprocessing.pool.Pool``
after a bare ``import multiprocessing``; and NumPy has renamed the modules of `numpy.lib`. Here they
are imported when they are asked for, and cost nothing before.
"""

from __future__ import annotations

import http
import importlib
import multiprocessing
import sys
import urllib
import xml
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final, final

import numpy as np

__all__ = ["MODULE_NAMES", "restore_modules"]

#: Package -> modules that are in it once MXNet has been imported.
_LOADED: Final[dict[ModuleType, tuple[str, ...]]] = {
    http: ("client", "cookiejar", "cookies"),
    importlib: ("metadata", "resources"),
    multiprocessing: ("connection", "pool", "queues"),
    urllib: ("error", "parse", "request", "response"),
    xml: ("parsers",),
}
#: Modules of `numpy.lib` that are called `_arraypad_impl` and so on since NumPy 2.0.
_RENAMED: Final = (
    "arraypad",
    "arraysetops",
    "function_base",
    "histograms",
    "index_tricks",
    "nanfunctions",
    "polynomial",
    "shape_base",
    "twodim_base",
    "type_check",
    "ufunclike",
    "utils",
)


#: The modules that scripts get back where the installed NumPy lacks them.
MODULE_NAMES: Final = frozenset(f"numpy.lib.{name}" for name in _RENAMED)


@final
class _Modules:
    """The ``__getattr__`` of a package: it imports a missing name that is one of its modules."""

    def __init__(
        self, package: ModuleType, names: tuple[str, ...], own: Callable[[str], Any] | None
    ) -> None:
        self.package, self.names, self.own = package, names, own

    def __call__(self, name: str) -> Any:
        path = f"{self.package.__name__}.{name}"
        if name in self.names:
            return importlib.import_module(path)
        if self.own is None:
            raise AttributeError(f"module {self.package.__name__!r} has no attribute {name!r}")
        return self.own(name)


def restore_modules() -> list[str]:
    """Makes packages import on demand the modules that MXNet's scripts take for imported.

    The modules of `numpy.lib` also get back the names that they had before NumPy 2.0. Both changes
    hold for the whole process; see `restore_numpy_names`.

    Returns:
        The old names of NumPy's modules that were added.
    """
    for package, names in _LOADED.items():
        own = vars(package).get("__getattr__")
        if not isinstance(own, _Modules):
            vars(package)["__getattr__"] = _Modules(package, names, own)
    added = []
    for name in _RENAMED:
        old, new = f"numpy.lib.{name}", f"numpy.lib._{name}_impl"
        if find_spec(new) is not None and old not in sys.modules:
            module = importlib.import_module(new)
            sys.modules[old] = module
            setattr(np.lib, name, module)
            added.append(old)
    return added
