"""Nests of tensors: lists, tuples, named tuples and dicts (in the order of their sorted keys)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(structure: Any) -> bool:
    """Whether something is a nest, and not a leaf of one."""
    return isinstance(structure, (list, tuple, Mapping))


def flatten(structure: Any) -> list[Any]:
    """Returns the leaves of a nest, in order; a leaf is a nest of itself."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in flatten(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for one in structure for leaf in flatten(one)]
    return [structure]


def pack_sequence_as(structure: Any, flat_sequence: Sequence[Any]) -> Any:
    """Returns a nest like another one with other leaves.

    Raises:
        ValueError: there are more or fewer leaves.
    """
    leaves = list(flat_sequence)
    if len(leaves) != len(flatten(structure)):
        raise ValueError(
            f"a structure of {len(flatten(structure))} leaves cannot be packed of {len(leaves)}"
        )
    return _packed(structure, iter(leaves))


def _packed(structure: Any, leaves: Any) -> Any:
    kind: Any = type(structure)
    if isinstance(structure, Mapping):
        made = {key: _packed(structure[key], leaves) for key in sorted(structure)}
        return kind((key, made[key]) for key in structure)
    if isinstance(structure, (list, tuple)):
        parts = [_packed(one, leaves) for one in structure]
        return kind(*parts) if hasattr(structure, "_fields") else kind(parts)
    return next(leaves)


def map_structure(function: Callable[..., Any], *structures: Any) -> Any:
    """Returns a nest of what a function makes of the leaves of nests that are alike."""
    for one in structures[1:]:
        assert_same_structure(structures[0], one)
    leaves = zip(*(flatten(one) for one in structures), strict=True)
    return pack_sequence_as(structures[0], [function(*several) for several in leaves])


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raises ValueError (or TypeError) unless two nests are alike.

    Args:
        nest1: one.
        nest2: the other.
        check_types: whether lists and tuples are different.
    """
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(
            f"The two structures don't have the same nested structure: {nest1!r} and {nest2!r}"
        )
    if not is_nested(nest1):
        return
    if check_types and type(nest1) is not type(nest2):
        raise TypeError(
            "The two structures don't have the same sequence type: "
            f"{type(nest1).__name__} and {type(nest2).__name__}"
        )
    if len(nest1) != len(nest2):
        raise ValueError(
            f"The two structures don't have the same number of elements: {nest1!r} and {nest2!r}"
        )
    if isinstance(nest1, Mapping):
        if sorted(nest1) != sorted(nest2):
            raise ValueError(
                f"The two dictionaries don't have the same set of keys: {nest1!r} and {nest2!r}"
            )
        pairs = [(nest1[key], nest2[key]) for key in nest1]
    else:
        pairs = list(zip(nest1, nest2, strict=True))
    for one, other in pairs:
        assert_same_structure(one, other, check_types)
