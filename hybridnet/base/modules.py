"""Modules that stand above who needs them, by their public names.

An array turned into one of NumPy's semantics needs the front end `np`, which is made of arrays and
is loaded when it is first used. Only the package `hybridnet` knows every module; it says here how
they are loaded, so that nobody imports what is above.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_loader: Callable[[str], Any]


def set_loader(loader: Callable[[str], Any]) -> None:
    """Says how modules are loaded; the package `hybridnet` does, before any other module is.

    Args:
        loader: returns the module of a public name, such as "np".
    """
    global _loader
    _loader = loader


def load(name: str) -> Any:
    """Returns a module by its public name, as ``hn.<name>`` does."""
    return _loader(name)
