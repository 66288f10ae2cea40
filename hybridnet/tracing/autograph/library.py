"""Tells the user's code, which is converted, from that of libraries, which is left as it is."""

from __future__ import annotations

import functools
import os
import site
import sysconfig
import types
from pathlib import Path
from typing import Final

from hybridnet import engine


def _folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    found = {Path(path) for name in names if (path := sysconfig.get_path(name))}
    found |= {*map(Path, site.getsitepackages())}
    found |= {Path(__file__).parents[2], Path(engine.__file__).parent}
    return tuple(f"{path}{os.sep}" for path in found)


_LIBRARIES: Final = _folders()


@functools.lru_cache(4096)
def _is_library_file(file: str) -> bool:
    return file.startswith(("<frozen", *_LIBRARIES))


def is_user_function(function: object) -> bool:
    """Whether a plain function is the user's."""
    return isinstance(function, types.FunctionType) and not _is_library_file(
        function.__code__.co_filename
    )


def is_library_class(kind: type) -> bool:
    """Whether a class is part of a library."""
    name = kind.__module__
    if name == "builtins":
        return True
    for value in vars(kind).values():
        if isinstance(value, types.FunctionType) and value.__module__ == name:
            return _is_library_file(value.__code__.co_filename)
    return name.partition(".")[0] in ("hybridnet", "numpy", "jax", "collections")


def user_function(value: object) -> types.FunctionType | None:
    """Returns the user's function that runs when a value is called; None where there is none."""
    while isinstance(value, functools.partial):
        value = value.func
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType):
        return value if is_user_function(value) else None
    is_class = isinstance(value, type)
    found = getattr(
        value if is_class else type(value), "__init__" if is_class else "__call__", None
    )
    return found if is_user_function(found) else None
