"""`sym.sparse`: the operators that have rules for sparse arrays, as in `nd.sparse`.

They are those of `sym`: by what a symbol is bound to an operator finds what to do.
"""

from __future__ import annotations

from typing import Any

from hybridnet.base.unsupported import missing
from hybridnet.ops.core import registry
from hybridnet.ops.sparse.names import SPARSE_OPERATORS

from .functions import symbol_function

_operators = {
    name: symbol_function(registry.get(home), name) for name, home in SPARSE_OPERATORS.items()
}
globals().update(_operators)

__all__ = [*_operators]


def __getattr__(name: str) -> Any:
    raise missing("sym.sparse", name, __all__)
