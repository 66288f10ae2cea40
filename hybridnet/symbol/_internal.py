"""`sym._internal`: a function for every operator by whatever name it has in the registry.

MXNet keeps there the operators that begin with an underscore, which its own Python code calls;
programs do, too: ``sym._internal._plus_scalar(x, scalar=1)``.
"""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing
from hybridnet.ops.core.registry import REGISTRY

from .functions import symbol_function
from .symbol import Symbol

__all__: list[str] = []


def __dir__() -> list[str]:
    return sorted({*globals(), *REGISTRY})


def __getattr__(name: str) -> Any:
    if name == "SymbolBase":
        return Symbol
    if name not in REGISTRY:
        raise missing("sym._internal", name, REGISTRY)
    made = globals()[name] = symbol_function(REGISTRY[name], name)
    return made
