"""The variables that a branch or a loop changes, and the lists, dicts and objects that it may.

What is traced is only a part of the program, and may be traced again. So what it does to Python's
variables and containers is noted, taken back, and done once the result is known.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.ndarray import NDArray

from ..structure import Tree, flatten, unflatten
from .library import is_library_class, is_user_function

__all__ = [
    "Change",
    "Containers",
    "Leaves",
    "Undefined",
    "UndefinedReturnValue",
    "described",
    "same_plain",
]

# Containers are looked for this deep, and this many, from the variables of a block.
_DEPTH: Final = 4
_MOST: Final = 2000
_PLAIN: Final = (str, bytes, type(None), type(Ellipsis), range, slice, np.dtype, type)


class Undefined:
    """A variable that has no value (yet).

    Args:
        symbol_name: of the variable.
        reason: why reading it is an error; default as Python says it.
    """

    __slots__ = ("reason", "symbol_name")

    def __init__(self, symbol_name: str, reason: str = "") -> None:
        self.symbol_name = symbol_name
        self.reason = reason

    def read(self) -> Any:
        """Raises the error of a variable that is read and has no value."""
        name = self.symbol_name
        raise UnboundLocalError(
            self.reason
            or f"cannot access local variable {name!r} where it is not associated with a value"
        )

    def __getattr__(self, name: str) -> Any:
        return self.read()

    def __getitem__(self, key: Any) -> Any:
        return self.read()


class UndefinedReturnValue:
    """What a function returns that has not come to a `return`."""


def same_plain(value: Any, other: Any) -> bool:
    """Whether two objects are one, or plain values of Python that cannot be told apart."""
    if value is other:
        return True
    if type(value) is not type(other) or isinstance(value, NDArray):
        return False
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return bool(repr(value) == repr(other))
    return isinstance(value, _PLAIN) and bool(value == other)


def described(value: Any) -> str:
    """Returns what a value is, for messages."""
    if isinstance(value, Undefined):
        return "nothing"
    if isinstance(value, NDArray):
        return f"an array {value.type!r}"
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float, str)):
        return f"the {type(value).__name__} {value!r}"
    return f"a {type(value).__name__}"


@final
class Leaves:
    """Values taken apart, side by side.

    Attributes:
        all: the leaves of all values.
        spans: for each value where its leaves begin and end, and what puts them together.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.all: list[Any] = []
        self.spans: list[tuple[int, int, Tree]] = []
        for value in values:
            leaves, tree = flatten(value)
            self.spans.append((len(self.all), len(self.all) + len(leaves), tree))
            self.all += leaves

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        """Puts other leaves together."""
        return [unflatten(tree, leaves[start:stop]) for start, stop, tree in self.spans]


class Change(NamedTuple):
    """A container that a block has changed.

    Attributes:
        number: of the container.
        items: what was in it after the block: a list, or a dict.
    """

    number: int
    items: Any


class _Kept(NamedTuple):
    """A container.

    Attributes:
        name: how the user's code reaches it.
        container: the list, dict, set or cell; of an object the dict of its attributes.
        items: what was in it.
        is_object: whether it holds attributes.
        hides: whether attributes that begin with ``_`` are a library's affair: the object's class
            is made from one of a library (a block of gluon).
    """

    name: str
    container: Any
    items: Any
    is_object: bool
    hides: bool

    def now(self) -> Any:
        """Returns what is in it now."""
        if isinstance(self.container, types.CellType):
            return [self.container.cell_contents]
        return _shown(self.container) if self.hides else self.container


@final
class Containers:
    """The lists, dicts and objects that blocks of code can reach by their variables.

    Args:
        blocks: functions that are the blocks.
    """

    def __init__(self, blocks: Sequence[Callable[..., Any] | None]) -> None:
        self._kept: list[_Kept] = []
        seen: set[int] = set()
        for block in blocks:
            for name, value in _variables(block):
                self._add(name, value, seen, _DEPTH)

    def _add(self, name: str, value: Any, seen: set[int], depth: int) -> None:
        if depth == 0 or id(value) in seen or len(self._kept) >= _MOST:
            return
        if isinstance(value, types.MethodType):
            value = value.__self__
        is_object = hides = False
        inside: Iterator[tuple[str, Any]]
        if isinstance(value, (list, tuple)):
            inside = ((f"{name}[{number}]", item) for number, item in enumerate(value))
            kept: Any = list(value)
        elif isinstance(value, dict):
            inside = ((f"{name}[{key!r}]", one) for key, one in list(value.items()))
            kept = dict(value)
        elif isinstance(value, set):
            inside, kept = iter(()), set(value)
        elif isinstance(value, types.CellType):
            inside, kept = iter([(name, value.cell_contents)]), [value.cell_contents]
        elif is_user_function(value):
            # A function may change variables that are not its own.
            inside, kept = chain(_cells(value), _globals(value)), ()
        elif _has_attributes(value):
            seen.add(id(value))
            hides = any(map(is_library_class, type(value).__mro__[:-1]))
            methods = list(_methods(type(value)))
            value, is_object = vars(value), True
            kept = _shown(value) if hides else dict(value)
            parts = [(f"{name}.{key}", one) for key, one in kept.items()]
            inside = iter([*parts, *methods])
        else:
            return
        seen.add(id(value))
        if not isinstance(value, (tuple, types.FunctionType)):
            self._kept.append(_Kept(name, value, kept, is_object, hides))
        for inner, one in islice(inside, _MOST):
            self._add(inner, one, seen, depth - 1)

    def take_back(self) -> list[Change]:
        """Undoes what a block has done to containers; returns what that was."""
        changes = []
        for number, one in enumerate(self._kept):
            now = one.now()
            if _same_items(now, one.items):
                continue
            items: Any = type(one.items)(now)
            if isinstance(items, dict):
                items = {key: v for key, v in items.items() if not isinstance(v, Undefined)}
                if _same_items(items, one.items):
                    self.put(number, one.items)
                    continue
            changes.append(Change(number, items))
            self.put(number, one.items)
        return changes

    def put(self, number: int, items: Any) -> None:
        """Sets what is in a container."""
        container = self._kept[number].container
        if isinstance(container, list):
            container[:] = items
            return
        if isinstance(container, types.CellType):
            container.cell_contents = items[0]
            return
        if isinstance(container, dict):
            for key in [key for key in self._kept[number].now() if key not in items]:
                container.pop(key)
            container.update(items)
            return
        container.clear()
        container.update(items)

    def set_item(self, number: int, key: Any, value: Any) -> None:
        """Sets one item of a list or dict."""
        container = self._kept[number].container
        if isinstance(container, types.CellType):
            container.cell_contents = value
            return
        container[key] = value

    def name(self, number: int) -> str:
        """Returns how the user's code reaches a container."""
        return self._kept[number].name

    def label(self, number: int, key: Any) -> str:
        """Returns how the user's code reaches an item of a container."""
        one = self._kept[number]
        if isinstance(one.container, types.CellType):
            return one.name
        return f"{one.name}.{key}" if one.is_object else f"{one.name}[{key!r}]"

    def before(self, number: int) -> Any:
        """Returns what was in a container before the block."""
        return self._kept[number].items

    def container(self, number: int) -> Any:
        """Returns a container."""
        return self._kept[number].container


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Yields the methods of a class that are the user's."""
    for one in kind.__mro__:
        for name, value in vars(one).items():
            if is_user_function(value):
                yield name, value


def _shown(attributes: dict[str, Any]) -> dict[str, Any]:
    """Returns the attributes that are the user's."""
    return {key: value for key, value in attributes.items() if not key.startswith("_")}


def _same_items(value: Any, other: Any) -> bool:
    if len(value) != len(other):
        return False
    if isinstance(value, dict):
        return all(key in value and value[key] is other[key] for key in other)
    if isinstance(value, set):
        return bool(value == other)
    return all(a is b for a, b in zip(value, other, strict=True))


def _variables(block: Any) -> Iterator[tuple[str, Any]]:
    """Yields the variables that a function shares with the one around it."""
    for name, cell in _cells(block):
        yield name, cell.cell_contents
    yield from _globals(block)


def _globals(function: Any) -> Iterator[tuple[str, Any]]:
    """Yields the global variables that a function of the user's names."""
    if is_user_function(function):
        known = function.__globals__
        for name in _names(function.__code__):
            if name in known and not isinstance(known[name], types.ModuleType):
                yield name, known[name]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _names(one)


def _cells(function: Any) -> Iterator[tuple[str, types.CellType]]:
    """Yields the variables of functions around that a function uses, and that have values."""
    if not isinstance(function, types.FunctionType):
        return
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        if name != "ag__" and cell != types.CellType():
            yield name, cell


def _has_attributes(value: Any) -> bool:
    """Whether a value is an object of a class of the user's, whose attributes may change."""
    plain = (NDArray, type, types.ModuleType, types.FunctionType, types.MethodType, np.ndarray)
    if isinstance(value, (*plain, Undefined, UndefinedReturnValue)):
        return False
    return type(getattr(value, "__dict__", None)) is dict and not is_library_class(type(value))
