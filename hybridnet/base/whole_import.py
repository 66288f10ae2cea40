"""Imports of packages that take long, in a thread of ours, so that nobody meets one in halves.

Some libraries look into `sys.modules` for others that they know: SciPy asks `jax.Array` of whatever
it is given, and would fail in the user's thread while JAX is imported in the background.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, cast


class _Unfinished(ModuleType):
    """A module that one thread loads, and in which others wait for the names that are missing."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            importlib.import_module(self.__name__)  # waits, but not in the thread that loads it
        return ModuleType.__getattribute__(self, name)  # it may be an ordinary module by now


class _Finder:
    """An import finder that loads one module as `_Unfinished`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == self._name else None
        if spec is not None and spec.loader is not None:
            spec.loader.create_module = _create  # type: ignore[method-assign]
        return spec


def _create(spec: ModuleSpec) -> ModuleType:
    return _Unfinished(spec.name)


def import_whole(name: str) -> ModuleType:
    """Imports a package; other threads that find it half loaded wait for the names they miss.

    Args:
        name: of a package, not of one within another.
    """
    if name in sys.modules:
        return importlib.import_module(name)
    finder = _Finder(name)
    sys.meta_path.insert(0, finder)
    try:
        module: Any = importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)
    if type(module) is _Unfinished:
        module.__class__ = ModuleType  # type: ignore[assignment]
    return cast("ModuleType", module)
