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

from ..code_names import inner_codes
from ..structure import Tree, flatten, unflatten
from .library import is_library_class, is_user_function

# Containers are looked for this deep, and this many, from the variables of a block.
_DEPTH: Final = 4
_MAX_CONTAINERS: Final = 2000
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

    def __getitem__(self, key: object) -> Any:
        return self.read()

    def _told(self, *others: object) -> Any:
        return self.read()

    # Python looks for these in the class.
    __bool__ = __len__ = __iter__ = __call__ = __int__ = __float__ = __index__ = _told
    __neg__ = __pos__ = __abs__ = __invert__ = __contains__ = __setitem__ = _told
    __lt__ = __le__ = __gt__ = __ge__ = _told
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = _told
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _told
    __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = __rand__ = __ror__ = __rxor__ = _told


class UndefinedReturnValue:
    """The result of a function that has not come to a `return`."""


def same_plain(value: object, other: object) -> bool:
    """Whether two objects are one, or plain values of Python that cannot be told apart."""
    if value is other:
        return True
    if type(value) is not type(other) or isinstance(value, NDArray):
        return False
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return bool(repr(value) == repr(other))
    return isinstance(value, _PLAIN) and bool(value == other)


def described(value: object) -> str:
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

    def __init__(self, values: Sequence[object]) -> None:
        self.all: list[Any] = []
        self.spans: list[tuple[int, int, Tree]] = []
        for value in values:
            leaves, tree = flatten(value)
            self.spans.append((len(self.all), len(self.all) + len(leaves), tree))
            self.all += leaves

    def values(self, leaves: Sequence[object]) -> list[Any]:
        """Puts other leaves together."""
        return [unflatten(tree, leaves[start:stop]) for start, stop, tree in self.spans]


class Container(NamedTuple):
    """A container that blocks of code may change.

    Attributes:
        name: how the user's code reaches it.
        container: the list, dict, set or cell; of an object the dict of its attributes.
        before: what was in it before the block.
        is_object: whether it holds attributes.
        hides: whether attributes that begin with ``_`` are a library's affair: the object's class
            is made from one of a library (a block of gluon).
    """

    name: str
    container: Any
    before: Any
    is_object: bool
    hides: bool

    def label(self, key: object) -> str:
        """Returns how the user's code reaches an item."""
        if isinstance(self.container, types.CellType):
            return self.name
        return f"{self.name}.{key}" if self.is_object else f"{self.name}[{key!r}]"

    def now(self) -> Any:
        """Returns what is in it now."""
        if isinstance(self.container, types.CellType):
            return [self.container.cell_contents]
        return _shown(self.container) if self.hides else self.container

    def put(self, items: Any) -> None:
        """Sets what is in it."""
        container = self.container
        if isinstance(container, list):
            container[:] = items
        elif isinstance(container, types.CellType):
            container.cell_contents = items[0]
        elif isinstance(container, dict):
            for key in [key for key in self.now() if key not in items]:
                container.pop(key)
            container.update(items)
        else:
            container.clear()
            container.update(items)

    def set_item(self, key: object, value: object) -> None:
        """Sets one item of a list or dict."""
        if isinstance(self.container, types.CellType):
            self.container.cell_contents = value
        else:
            self.container[key] = value


@final
class Containers:
    """The lists, dicts and objects that blocks of code can reach by their variables.

    Args:
        blocks: functions that are the blocks.

    Attributes:
        all: the containers, which go by their numbers here.
    """

    def __init__(self, blocks: Sequence[Callable[..., object] | None]) -> None:
        self.all: list[Container] = []
        seen: set[int] = set()
        for block in blocks:
            for name, value in _variables(block):
                self._add(name, value, seen, _DEPTH)

    def _add(self, name: str, value: object, seen: set[int], depth: int) -> None:
        if depth == 0 or id(value) in seen or len(self.all) >= _MAX_CONTAINERS:
            return
        if isinstance(value, types.MethodType):
            value = value.__self__
        is_object = hides = False
        inside: Iterator[tuple[str, object]]
        if isinstance(value, (list, tuple)):
            inside = ((f"{name}[{number}]", item) for number, item in enumerate(value))
            kept: Any = list(value)
        elif isinstance(value, dict):
            inside = ((f"{name}[{key!r}]", item) for key, item in list(value.items()))
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
            parts = [(f"{name}.{key}", part) for key, part in kept.items()]
            inside = iter([*parts, *methods])
        else:
            return
        seen.add(id(value))
        if not isinstance(value, (tuple, types.FunctionType)):
            self.all.append(Container(name, value, kept, is_object, hides))
        for inner, part in islice(inside, _MAX_CONTAINERS):
            self._add(inner, part, seen, depth - 1)

    def take_back(self) -> dict[int, Any]:
        """Undoes what a block has done to containers; returns what was in those it changed."""
        changed = {}
        for number, container in enumerate(self.all):
            now = container.now()
            if _same_items(now, container.before):
                continue
            items: Any = type(container.before)(now)
            if isinstance(items, dict):
                items = {key: v for key, v in items.items() if not isinstance(v, Undefined)}
            if not _same_items(items, container.before):
                changed[number] = items
            container.put(container.before)
        return changed


def _methods(kind: type) -> Iterator[tuple[str, object]]:
    """Yields the methods of a class that are the user's."""
    for base in kind.__mro__:
        for name, value in vars(base).items():
            if is_user_function(value):
                yield name, value


def _shown(attributes: dict[str, object]) -> dict[str, object]:
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


def _variables(block: object) -> Iterator[tuple[str, object]]:
    """Yields the variables that a function shares with the one around it, or was given by it."""
    for name, cell in _cells(block):
        yield name, cell.cell_contents
    if isinstance(block, types.FunctionType) and block.__defaults__:
        code = block.__code__
        names = code.co_varnames[: code.co_argcount]
        yield from zip(names[-len(block.__defaults__) :], block.__defaults__, strict=True)
    yield from _globals(block)


def _globals(function: Any) -> Iterator[tuple[str, object]]:
    """Yields the global variables that a function of the user's names."""
    if is_user_function(function):
        known = function.__globals__
        for name in _names(function.__code__):
            if name in known and not isinstance(known[name], types.ModuleType):
                yield name, known[name]


def _names(code: types.CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in inner_codes(code):
        yield from _names(inner)


def _cells(function: object) -> Iterator[tuple[str, types.CellType]]:
    """Yields the variables of functions around that a function uses, and that have values."""
    if not isinstance(function, types.FunctionType):
        return
    names = function.__code__.co_freevars
    for name, cell in zip(names, function.__closure__ or (), strict=True):
        if name != "ag__" and cell != types.CellType():
            yield name, cell


def _has_attributes(value: object) -> bool:
    """Whether a value is an object of a class of the user's, whose attributes may change."""
    plain = (NDArray, type, types.ModuleType, types.FunctionType, types.MethodType, np.ndarray)
    if isinstance(value, (*plain, Undefined, UndefinedReturnValue)):
        return False
    return type(getattr(value, "__dict__", None)) is dict and not is_library_class(type(value))
