"""Finds `hybridnet.engine` and `hybridnet.kvstore` in a source tree, beside this folder.

An installation has them where they are imported from. A source tree that is on Python's path before
one (``python -m pytest`` in it, ``PYTHONPATH=TREE``) would have no engine, or that of another tree.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

_ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_BESIDE: Final = tuple(f"hybridnet.{name}" for name in ("engine", "kvstore"))


class _TreeFinder:
    """The import finder that Python asks for modules before all others."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns where a module is; None for all but those that stand beside."""
        return PathFinder.find_spec(name, [_ROOT], target) if name in _BESIDE else None


if os.path.isdir(os.path.join(_ROOT, "engine")):  # else this is in an archive
    sys.meta_path.insert(0, _TreeFinder)
