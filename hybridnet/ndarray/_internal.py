"""`nd._internal`: a function for every operator by whatever name it has in the registry.

MXNet keeps there the operators that begin with an underscore, which its own Python code calls; some
programs do, too: ``nd._internal._square_sum(x, axis=1)``.
"""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing
from hybridnet.ops.core import operator_function
from hybridnet.ops.core.registry import REGISTRY

from .ndarray import NDArray

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted({*globals(), *REGISTRY})


def __getattr__(name: str) -> Any:
    if name == "NDArrayBase":
        return NDArray
    if name not in REGISTRY:
        raise missing("nd._internal", name, REGISTRY)
    made = globals()[name] = operator_function(REGISTRY[name], NDArray, name)
    return made
