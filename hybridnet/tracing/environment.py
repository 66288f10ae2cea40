"""What a function finds outside its arguments: in closures, globals, and attributes of objects.

A trace holds what these names meant when it was made, so a name that means something else now must
make a new trace. What the names are is read off the function's code once: the variables that it
loads, and the attributes that it reads from them (``self.scale``, ``config.rate``). What they mean
is looked up at each call, in dicts, without running any code.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, final
from weakref import WeakKeyDictionary

from hybridnet.ndarray import NDArray

from .structure import Identity, static_key

__all__ = ["environment_key"]

#: Packages whose functions and modules are as they are.
_FIXED: Final = frozenset({"builtins", "functools", "hybridnet", "jax", "math", "numpy"})
_MISSING: Final = object()
# A list or dict with more in it than this, or deeper than this, is known by its identity alone.
_MAX_ITEMS: Final = 64
_MAX_DEPTH: Final = 3

#: A variable and the attributes read from it, one from another.
_Path = tuple[str, ...]


def environment_key(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    identities: list[Identity],
) -> tuple[Any, ...]:
    """Returns what the names in a function, and in functions of the user's that it calls, mean.

    Args:
        function: the function.
        args, kwargs: its arguments, of whose objects attributes count.
        identities: objects that are known by their identity only are added.
    """
    visit = _Visit(identities)
    visit.function(function, args, kwargs)
    return tuple(visit.found)


@final
class _Visit:
    """One walk over the names of a function."""

    def __init__(self, identities: list[Identity]) -> None:
        self.found: list[Any] = []
        self._identities = identities
        self._visited: set[int] = set()

    def function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Adds the meaning of a function's names."""
        function, args = _plain_function(function, args)
        if function is None or id(function) in self._visited:
            return
        self._visited.add(id(function))
        names = function.__code__.co_varnames
        local = {**dict(zip(names, args, strict=False)), **kwargs}
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for root, *attributes in _paths(function.__code__):
            name = root[1:]
            if root[0] == "g":
                self._follow(function.__globals__.get(name, _MISSING), attributes)
            elif name in local:
                # The arguments themselves are in the key already.
                if attributes and not isinstance(local[name], NDArray):
                    self._step(local[name], attributes)
            elif name in cells:
                try:
                    self._follow(cells[name].cell_contents, attributes)
                except ValueError:  # not assigned yet
                    self.found.append(None)

    def _follow(self, value: Any, attributes: Sequence[str], bound: Sequence[Any] = ()) -> None:
        """Adds a value and what is read from it."""
        if value is _MISSING:
            self.found.append(None)
            return
        if not isinstance(value, types.ModuleType):
            self.found.append(self._key(value, 0))
        if _is_followed(value):
            self.function(value, bound, {})
        elif attributes and not isinstance(value, NDArray):
            self._step(value, attributes)

    def _step(self, owner: Any, attributes: Sequence[str]) -> None:
        value, is_method = _attribute(owner, attributes[0])
        self._follow(value, attributes[1:], (owner,) if is_method else ())

    def _key(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in (list, tuple, dict) and len(value) <= _MAX_ITEMS and depth < _MAX_DEPTH:
            items = value.values() if kind is dict else value
            keys = tuple(value) if kind is dict else None
            return (kind, keys, *[self._key(one, depth + 1) for one in items])
        return static_key(value, self._identities)


def _plain_function(function: Any, args: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Unwraps methods, partial functions, traced functions and callable objects."""
    while not isinstance(function, types.FunctionType):
        if isinstance(function, types.MethodType):
            function, args = function.__func__, (function.__self__, *args)
        elif isinstance(function, functools.partial):
            function, args = function.func, (*function.args, *args)
        elif _traced_from(function) is not None:
            function = _traced_from(function)
        else:
            call, is_method = _attribute(function, "__call__")
            if not is_method:
                return None, args
            function, args = call, (function, *args)
    return function, args


def _is_followed(value: Any) -> bool:
    """Whether a value is a function whose own names count: the user's, not a library's."""
    if isinstance(value, types.FunctionType):
        return (value.__module__ or "").partition(".")[0] not in _FIXED
    wrappers = (functools.partial, types.MethodType)
    return isinstance(value, wrappers) or _traced_from(value) is not None


def _traced_from(value: Any) -> Any:
    """Returns the Python function of an `hn.function`; None for anything else."""
    try:
        return vars(value).get("python_function")
    except TypeError:
        return None


def _attribute(owner: Any, name: str) -> tuple[Any, bool]:
    """Returns what is stored under a name in an object or its class; runs no code to find it.

    Returns:
        The value, and whether it is a function that is called with the object.
    """
    if isinstance(owner, types.ModuleType):
        fixed = owner.__name__.partition(".")[0] in _FIXED
        return _MISSING if fixed else vars(owner).get(name, _MISSING), False
    try:
        if name in vars(owner):
            return vars(owner)[name], False
    except TypeError:
        pass  # it has no dict of attributes
    is_class = isinstance(owner, type)
    for kind in (owner if is_class else type(owner)).__mro__:
        if name in vars(kind):
            value = vars(kind)[name]
            if hasattr(type(value), "__set__"):  # a property: what it gives takes running it
                return _MISSING, False
            is_method = isinstance(value, types.FunctionType) or _traced_from(value) is not None
            return value, is_method and not is_class
    return _MISSING, False


_known: Final[WeakKeyDictionary[types.CodeType, tuple[_Path, ...]]] = WeakKeyDictionary()


def _paths(code: types.CodeType) -> tuple[_Path, ...]:
    """Returns the variables that a code loads, each with the attributes it reads from it.

    A variable begins with 'g' if it is a global, with 'l' if it is local or a closure's.
    """
    paths = _known.get(code)
    if paths is None:
        paths = _known.setdefault(code, tuple(dict.fromkeys(_load_paths(code))))
    return paths


def _load_paths(code: types.CodeType) -> Iterator[_Path]:
    path: list[str] = []
    for one in dis.get_instructions(code):
        operation = one.opname
        if operation in ("LOAD_ATTR", "LOAD_METHOD") and path:
            path.append(one.argval)
            continue
        if path:
            yield tuple(path)
            path = []
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            path = ["g" + one.argval]
        elif operation.startswith(("LOAD_FAST", "LOAD_DEREF")):
            # Newer Pythons load two variables at once; attributes are read from the second.
            names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
            for name in names[:-1]:
                yield ("l" + name,)
            path = ["l" + names[-1]]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _paths(constant)
