"""Blocks, under the name of MXNet's module."""

from ._block import Block as Block
from ._hybrid_block import HybridBlock as HybridBlock
from ._symbol_block import SymbolBlock as SymbolBlock

__all__ = ["Block", "HybridBlock", "SymbolBlock"]
