"""Arguments and results: nested structures, and what of them a trace depends on."""

from __future__ import annotations

import types
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.ndarray import NDArray, array
from hybridnet.tape import Leaf

_EXACT: Final = (bool, int, str, bytes, type(None), range)
_INEXACT: Final = (float, complex)

#: What is left of a structure without its leaves: None for a leaf, else the type of a container,
#: what else it needs (the keys of a dict, the factory of a defaultdict), and what is in it.
Tree = tuple[Any, Any, tuple[Any, ...]] | None


def flatten(structure: object) -> tuple[list[Any], Tree]:
    """Takes nested lists, tuples, named tuples and dicts apart; anything else is a leaf.

    Dicts keep the order of their keys.
    """
    leaves: list[Any] = []
    return leaves, _flatten(structure, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Tree:
    kind = type(value)
    if kind is tuple or kind is list or _is_named_tuple(value):
        return (kind, None, tuple([_flatten(part, leaves) for part in value]))
    if kind is dict or kind is OrderedDict or kind is defaultdict:
        extra = (getattr(value, "default_factory", None), tuple(value))
        return (kind, extra, tuple([_flatten(part, leaves) for part in value.values()]))
    leaves.append(value)
    return None


def _is_named_tuple(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def unflatten(tree: Tree, leaves: Sequence[object]) -> Any:
    """Puts a structure together again."""
    return _unflatten(tree, iter(leaves))


def _unflatten(tree: Tree, leaves: Iterator[object]) -> Any:
    if tree is None:
        return next(leaves)
    kind, extra, parts = tree
    made = [_unflatten(part, leaves) for part in parts]
    if kind is list:
        return made
    if kind is tuple:
        return tuple(made)
    if extra is None:
        return kind(*made)
    factory, keys = extra
    pairs = zip(keys, made, strict=True)
    return defaultdict(factory, pairs) if kind is defaultdict else kind(pairs)


@final
class Identity:
    """Stands for an object that is compared by identity.

    It holds the object, until it becomes part of a kept key: then it does so no more if it can,
    and says when the object is gone.
    """

    __slots__ = ("_hash", "_held", "_ref")

    def __init__(self, held: object) -> None:
        self._held = held
        self._ref: Callable[[], object] | None = None
        self._hash = id(held)

    def get(self) -> Any:
        """Returns the object; None if it is gone."""
        return self._held if self._ref is None else self._ref()

    def let_go(self, gone: Callable[[weakref.ref[Any]], None]) -> None:
        """Holds the object no more, if it can be referred to weakly; calls `gone` when it goes."""
        try:
            self._ref = weakref.ref(self._held, gone)
        except TypeError:
            return
        self._held = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return False
        held = self.get()
        return held is not None and held is other.get()

    def __hash__(self) -> int:
        return self._hash


def static_key(value: Any, identities: list[Identity]) -> Hashable:
    """Returns what stands for a Python value in a key: itself with its type, or its identity.

    Args:
        value: no array.
        identities: an object that is known by its identity only is added.
    """
    kind = type(value)
    if isinstance(value, np.generic):
        return (kind, value.tobytes())
    if isinstance(value, _EXACT):
        # 1, 1.0 and True are equal and hash alike, but do not trace alike.
        return (kind, value)
    if isinstance(value, _INEXACT):
        return (kind, repr(value))  # tells 0.0 from -0.0, and not NaN from itself
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        return (kind, *(static_key(part, identities) for part in parts))
    if kind is types.MethodType:  # made anew each time it is looked up
        bound = (value.__func__, value.__self__)
        return (kind, *(static_key(part, identities) for part in bound))
    made = Identity(value)
    identities.append(made)
    return made


@final
class Static:
    """An argument that is compared by its value, whatever it is.

    Raises:
        TypeError: it cannot be hashed.
    """

    __slots__ = ("key", "value")

    def __init__(self, value: object) -> None:
        hash(value)
        self.value = value
        # Equal values of two types (1, 1.0, True) do not trace alike.
        self.key = (Static, type(value), value)


@final
class Arguments:
    """The arguments of one call, flattened.

    Attributes:
        arrays: the NDArrays among them, each once; then the gradient arrays of those that are
            variables, since a function that records and differentiates writes these too.
        key: what the trace depends on.
        identities: those of the objects in the key.
        tree: puts leaves together.
        leaves: the leaves; an array stands at `places` as its number in `arrays`.
        grads: for the arrays that are variables, by number, the number of the gradient array.
    """

    __slots__ = ("arrays", "grads", "identities", "key", "leaves", "places", "tree")

    def __init__(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        self.leaves, self.tree = flatten((args, kwargs))
        self.arrays: list[NDArray] = []
        self.places: dict[int, int] = {}
        self.grads: dict[int, int] = {}
        self.identities: list[Identity] = []
        numbers: dict[int, int] = {}
        keys: list[Hashable] = [self.tree]
        for position, leaf in enumerate(self.leaves):
            if isinstance(leaf, np.ndarray):
                leaf = self.leaves[position] = array(leaf)
            if type(leaf) is Static:
                keys.append(leaf.key)
                self.leaves[position] = leaf.value
                continue
            if not isinstance(leaf, NDArray):
                keys.append(static_key(leaf, self.identities))
                continue
            number = self._number(leaf, numbers)
            self.places[position] = number
            keys.append(number)
        for number, x in enumerate(self.arrays[:]):
            if x.grad is not None:
                self.grads[number] = self._number(x.grad, numbers)
            facts = (type(x), x.type, x.context, requirement(x), self.grads.get(number))
            keys.append(facts)
        self.key = tuple(keys)

    def _number(self, x: NDArray, numbers: dict[int, int]) -> int:
        number = numbers.setdefault(id(x), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(x)
        return number


def requirement(x: NDArray) -> str | None:
    """Returns an array's grad_req; 'recorded' for a result on the tape, None for neither."""
    edge = x.edge
    if edge is None:
        return None
    if type(edge.node) is Leaf:
        req: str = edge.node.req
        return req
    return "recorded"
