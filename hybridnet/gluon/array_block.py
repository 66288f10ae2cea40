"""Blocks that give one array, as type checkers are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ._block import Block
from ._hybrid_block import HybridBlock

__all__ = ["ArrayBlock", "Chained"]

A = TypeVar("A")


class Chained(Block):
    """A block whose result is of the kind of what it is given: `nd`, `np` or a symbol."""

    if TYPE_CHECKING:

        def __call__(self, *args: A) -> A:
            """See `Block`."""


class ArrayBlock(Chained, HybridBlock):
    """The same, of a hybrid block: what most layers and all losses are."""
