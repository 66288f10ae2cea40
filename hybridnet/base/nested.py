"""Nested arrays or symbols, as control flow takes and returns them.

MXNet's functions nest lists; those in TensorFlow's form tuples and dictionaries too, and return
what they are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .errors import ParameterError

__all__ = ["Layout", "flattened", "leaves_of", "nested", "with_leaves"]

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


def leaves_of(structure: Any) -> list[Any]:
    """Returns what is in nested lists, tuples and dictionaries; these by their keys, sorted."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in leaves_of(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for one in structure for leaf in leaves_of(one)]
    return [structure]


def with_leaves(structure: Any, leaves: Sequence[Any]) -> Any:
    """Returns the same nested lists, tuples and dictionaries with other leaves in them."""
    return _with_leaves(structure, iter(leaves))


def _with_leaves(structure: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(structure, Mapping):
        found = {key: _with_leaves(structure[key], leaves) for key in sorted(structure)}
        return type(structure)({key: found[key] for key in structure})  # type: ignore[call-arg]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_with_leaves(one, leaves) for one in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(_with_leaves(one, leaves) for one in structure)
    return next(leaves)
