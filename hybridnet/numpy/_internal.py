"""`np._internal`: a function for every operator whose name begins with ``_npi_``.

MXNet's own Python code calls them, and some programs do, as ``np._internal.add(x, y)``.
"""

from __future__ import annotations

from typing import Any, Final

from hybridnet.base.unsupported import missing
from hybridnet.ops.core import operator_function
from hybridnet.ops.core.registry import REGISTRY

from .multiarray import ndarray

__all__: list[str] = []

_PREFIX: Final = "_npi_"


def __dir__() -> list[str]:
    found = [name.removeprefix(_PREFIX) for name in REGISTRY if name.startswith(_PREFIX)]
    return sorted({*globals(), *found})


def __getattr__(name: str) -> Any:
    operator = REGISTRY.get(_PREFIX + name)
    if operator is None:
        raise missing("np._internal", name, __dir__())
    made = globals()[name] = operator_function(operator, ndarray, name)
    return made
