"""Where things of the source tree lie, for tests that read them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

#: The root of the source tree.
ROOT = Path(__file__).resolve().parents[2]
#: What other frameworks answered, and the scripts that asked them.
ORACLE = ROOT / "tests" / "oracle"


def site_module(name: str) -> ModuleType:
    """Returns a module of docs/_site, which is no package: its files are run by their paths."""
    sys.path.insert(0, str(ROOT / "docs" / "_site"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "docs" / "_site"))
