"""Nested arrays or symbols, as control flow takes and returns them.

MXNet's functions nest lists; those in TensorFlow's form tuples and dictionaries too, and return
what they are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .errors import ParameterError

_Leaf = TypeVar("_Leaf")
#: The structure of nested lists without their leaves: None for a leaf, else what is in the list.
Layout = Any


def flattened(structure: object, kind: type[_Leaf], what: str) -> tuple[list[_Leaf], Layout]:
    """Flattens nested lists and tuples.

    Args:
        structure: a leaf, or a list of such.
        kind: the class of the leaves.
        what: is being flattened, for messages.

    Returns:
        The leaves, and how they were nested.

    Raises:
        ParameterError: a leaf is of another class.
    """
    if isinstance(structure, (list, tuple)):
        leaves: list[_Leaf] = []
        layout = []
        for item in structure:
            inner, shape = flattened(item, kind, what)
            leaves += inner
            layout.append(shape)
        return leaves, layout
    if not isinstance(structure, kind):
        raise ParameterError(
            f"{what} must be a {kind.__name__} or (nested) lists of them, got "
            f"{type(structure).__name__}"
        )
    return [structure], None


def nested(layout: Layout, leaves: Iterable[object]) -> Any:
    """Puts leaves together as `flattened` found them; tuples come back as lists."""
    left = iter(leaves)  # of an iterator that is itself: what is inside takes its leaves from it
    return next(left) if layout is None else [nested(inner, left) for inner in layout]


def loop_arguments(layout: Layout, leaves: Sequence[object]) -> list[object]:
    """Returns loop variables as the arguments of a function: a list is several of them."""
    made = nested(layout, leaves)
    return made if isinstance(made, list) else [made]


def unpacked(
    what: str, result: object, num_states: int, kind: type[_Leaf]
) -> tuple[list[_Leaf], list[_Leaf], tuple[Layout, Layout]]:
    """Unpacks what the body of a loop returned: outputs, states, and how both were nested.

    Args:
        what: function and argument, for messages.
        result: what the body returned.
        num_states: how many states it got.
        kind: the class of the leaves.

    Raises:
        ParameterError: it is no pair, holds something else than leaves, or other states.
    """
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ParameterError(f"{what} must return a pair: the outputs and the new states")
    outs, out_layout = flattened(
        [] if result[0] is None else result[0], kind, f"{what}: the outputs"
    )
    states, state_layout = flattened(result[1], kind, f"{what}: the new states")
    if len(states) != num_states:
        raise ParameterError(
            f"{what} must return as many states as it gets, {num_states}, got {len(states)}"
        )
    return outs, states, (out_layout, state_layout)


def leaves_of(structure: object) -> list[Any]:
    """Returns the leaves of nested lists, tuples and dictionaries; these by their keys, sorted."""
    if isinstance(structure, Mapping):
        return [leaf for key in sorted(structure) for leaf in leaves_of(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for item in structure for leaf in leaves_of(item)]
    return [structure]


def with_leaves(structure: object, leaves: Iterable[object]) -> Any:
    """Returns the same nested lists, tuples and dictionaries with other leaves in them."""
    left = iter(leaves)
    if isinstance(structure, Mapping):
        found = {key: with_leaves(structure[key], left) for key in sorted(structure)}
        return type(structure)({key: found[key] for key in structure})  # type: ignore[call-arg]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(with_leaves(item, left) for item in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)(with_leaves(item, left) for item in structure)
    return next(left)
