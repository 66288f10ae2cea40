"""`sym.sparse`: the operators that have rules for sparse arrays, as in `nd.sparse`.

They are those of `sym`: by what a symbol is bound to an operator finds what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybridnet.ops.core import Functions, registry
from hybridnet.ops.sparse import SPARSE_OPERATORS

from .functions import symbol_function

if TYPE_CHECKING:
    from ._sparse_operators import *  # noqa: F403

_functions = Functions(
    "sym.sparse",
    globals(),
    {name: registry.get(home) for name, home in SPARSE_OPERATORS.items()},
    symbol_function,
)

__all__ = [*_functions]


def __dir__() -> list[str]:
    return _functions.names()


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return _functions.attribute(name)
