"""The order of what is done in a folder: each has a Var, which saving and reading tasks write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hybridnet import engine

__all__ = ["folder_var", "wait_for_saves"]

_folders: Final[dict[str, engine.Var]] = {}


def folder_var(folder: Path) -> engine.Var:
    """Returns the Var that stands for what is in a folder."""
    key = os.path.realpath(folder)
    return _folders.get(key) or _folders.setdefault(key, engine.new_variable(key))


def wait_for_saves(folder: Path) -> None:
    """Waits for what this process has asked to be saved in a folder so far."""
    if os.path.realpath(folder) in _folders:
        engine.wait_for_var(folder_var(folder))
