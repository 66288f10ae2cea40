"""The names that Python dropped after MXNet's last release, for scripts that still use them."""

from __future__ import annotations

import collections
import collections.abc
import fractions
import inspect
import math
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NamedTuple

__all__ = ["PYTHON_NAMES", "restore_python_names"]


class ArgSpec(NamedTuple):
    """The named tuple that `inspect.getargspec` returned: the parameters of a function."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def _getargspec(func: Callable[..., Any]) -> ArgSpec:
    """Returns names and defaults of a function's arguments.

    Raises:
        ValueError: it has keyword-only arguments.
    """
    spec = inspect.getfullargspec(func)
    if spec.kwonlyargs:
        raise ValueError(f"{func!r} has keyword-only arguments; use inspect.signature")
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


#: Module -> name that it had -> what it stood for.
_NAMES: Final[dict[ModuleType, dict[str, Any]]] = {
    collections: {name: getattr(collections.abc, name) for name in collections.abc.__all__},
    fractions: {"gcd": math.gcd},
    inspect: {"getargspec": _getargspec},
    time: {"clock": time.perf_counter},
}


#: The names that scripts get back where the running Python lacks them, with their modules.
PYTHON_NAMES: Final = frozenset(
    f"{module.__name__}.{name}" for module in _NAMES for name in _NAMES[module]
)


def restore_python_names() -> list[str]:
    """Gives Python's modules the names back that they lost, such as ``collections.Mapping``.

    Names that the running Python has are left alone. It is for the whole process; see
    `restore_numpy_names`.

    Returns:
        The names that were added, with their modules.
    """
    added = []
    for module, names in _NAMES.items():
        for name, value in names.items():
            if not hasattr(module, name):
                setattr(module, name, value)
                added.append(f"{module.__name__}.{name}")
    return added
