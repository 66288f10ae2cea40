"""Blocks, under the name of MXNet's module."""

from ._block import Block
from ._hybrid_block import HybridBlock
from ._naming import BlockScope as _BlockScope  # noqa: F401 (a name that programs import)
from ._nesting import flatten as _flatten  # noqa: F401
from ._nesting import regroup as _regroup  # noqa: F401
from ._symbol_block import SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
