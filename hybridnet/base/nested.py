"""Nested lists of arrays or symbols, as control flow takes and returns them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .errors import ParameterError

__all__ = ["Layout", "flattened", "nested"]

#: What is left of nested lists without their leaves: None for a leaf, else what is in the list.
Layout = Any


def flattened(structure: Any, kind: type, what: str) -> tuple[list[Any], Layout]:
    """Takes nested lists and tuples apart.

    Args:
        structure: a leaf, or a list of such.
        kind: the class of the leaves.
        what: is being taken apart, for messages.

    Returns:
        The leaves, and how they were nested.

    Raises:
        ParameterError: a leaf is of another class.
    """
    if isinstance(structure, (list, tuple)):
        leaves: list[Any] = []
        layout = []
        for one in structure:
            inner, shape = flattened(one, kind, what)
            leaves += inner
            layout.append(shape)
        return leaves, layout
    if not isinstance(structure, kind):
        raise ParameterError(
            f"{what} must be a {kind.__name__} or (nested) lists of them, got "
            f"{type(structure).__name__}"
        )
    return [structure], None


def nested(layout: Layout, leaves: Sequence[Any]) -> Any:
    """Puts leaves together as `flattened` found them; tuples come back as lists."""
    return _nested(layout, iter(leaves))


def _nested(layout: Layout, leaves: Iterator[Any]) -> Any:
    return next(leaves) if layout is None else [_nested(one, leaves) for one in layout]
