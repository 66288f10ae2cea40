"""Arguments and results: nested structures, and what of them a trace depends on."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.lazy import jax
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray._tape import Leaf

__all__ = ["Arguments", "Identity", "environment_key", "flatten"]

_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))


def flatten(structure: Any) -> tuple[list[Any], Any]:
    """Takes nested lists, tuples, dicts and named tuples apart; None is a leaf.

    Returns:
        The leaves, and what puts leaves together again (``tree.unflatten``).
    """
    leaves, tree = jax.tree_util.tree_flatten(structure, is_leaf=lambda x: x is None)
    return leaves, tree


@final
class Identity:
    """Stands for an object that is compared by identity (and keeps it alive)."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


class Arguments:
    """The arguments of one call, flattened.

    Attributes:
        arrays: the NDArrays among them, each once; then the gradient arrays of those that are
            variables, since a function that records and differentiates writes these too.
        key: what the trace depends on.
        tree: puts leaves together.
        leaves: the leaves; an array stands at `places` as its number in `arrays`.
    """

    __slots__ = ("arrays", "key", "leaves", "num_given", "places", "tree")

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, self.tree = flatten((args, kwargs))
        self.arrays: list[NDArray] = []
        self.leaves = leaves
        self.places: dict[int, int] = {}
        numbers: dict[int, int] = {}
        keys: list[Any] = [self.tree]
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, np.ndarray):
                leaf = leaves[position] = array(leaf)
            if not isinstance(leaf, NDArray):
                keys.append(static_key(leaf))
                continue
            number = numbers.setdefault(id(leaf), len(self.arrays))
            if number == len(self.arrays):
                self.arrays.append(leaf)
            self.places[position] = number
            keys.append(number)
        self.num_given = len(self.arrays)
        for one in self.arrays[: self.num_given]:
            keys.append((one.type, one.context, _requirement(one)))
            if one.grad is not None and id(one.grad) not in numbers:
                self.arrays.append(one.grad)
        self.key = tuple(keys)


def _requirement(one: NDArray) -> str | None:
    edge = one.edge
    return edge.node.req if edge is not None and type(edge.node) is Leaf else None


def static_key(value: Any) -> Any:
    """Returns what stands for a Python value in a key: itself with its type, or its identity."""
    if isinstance(value, _PLAIN):
        # 1, 1.0 and True are equal and hash alike, but do not trace alike.
        return (type(value), value)
    return Identity(value)


def environment_key(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Returns the arrays and plain numbers that a function finds in its closure and globals.

    A trace holds what these names meant when it was made; a name that means something else now
    makes a new trace.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        return ()
    found: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            found.append(_named(cell.cell_contents))
        except ValueError:
            found.append(None)  # not assigned yet
    scope = function.__globals__
    for name in _global_names(code):
        found.append(_named(scope.get(name)))
    return tuple(found)


def _named(value: Any) -> Any:
    if isinstance(value, NDArray):
        return Identity(value)
    if isinstance(value, _PLAIN):
        return (type(value), value)
    return None


_names: Final[dict[types.CodeType, Sequence[str]]] = {}


def _global_names(code: types.CodeType) -> Sequence[str]:
    found = _names.get(code)
    if found is None:
        names = [one.argval for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"]
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                names.extend(_global_names(constant))
        found = _names.setdefault(code, tuple(dict.fromkeys(names)))
    return found
