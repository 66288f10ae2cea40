"""The surroundings of a function: what it finds in closures, globals, and attributes of objects.

A trace holds what these names meant when it was made, so a name that means something else now must
make a new trace. What the names are is read off the function's code once: the variables that it
loads, and what it reads from them by name (``self.scale``, ``config["rate"]``, ``weights[0]``).
What they mean is looked up at each call, in dicts, without running any code.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder

from .call_arguments import CallArguments
from .code_names import Item, Path, paths_of
from .guards import Guards
from .structure import Identity, flatten, static_key

__all__ = ["FirstCall", "environment_key", "environment_names", "guards_of", "paths_of"]

#: Packages whose functions and modules are as they are.
_FIXED: Final = frozenset({"builtins", "functools", "hybridnet", "jax", "math", "numpy"})
_MISSING: Final = object()


def environment_key(
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    identities: list[Identity],
) -> tuple[Hashable, ...]:
    """Returns a key of everything outside its arguments that a traced function depends on.

    These are the objects that the names in the function refer to (globals, closures, attributes),
    and those in the user's functions that it calls. If one changes, the function is traced anew.

    Args:
        function: the function.
        args: its positional arguments.
        kwargs: its keyword arguments.
        identities: a list to which objects are added that can be told apart by their identity only.
    """
    visit = _Visit(identities)
    visit.function(function, args, kwargs)
    return tuple(visit.found)


def environment_names(
    function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
) -> list[str]:
    """Returns, for each element of `environment_key`, the name that stands for it in the code."""
    visit = _Visit([], with_names=True)
    visit.function(function, args, kwargs)
    return visit.names


class _Place(NamedTuple):
    """The place of a value that a function reads from outside.

    Attributes:
        owner: a dict of globals, a cell, an object, a list or a dict.
        key: the name in the dict of globals, None for a cell, the name of an attribute, or what the
            list or dict is indexed with.
        kind: 'global', 'cell', 'attribute' or 'item'.
    """

    owner: Any
    key: Any
    kind: str

    def get(self) -> Any:
        """Returns what is there now; None where nothing is."""
        try:
            if self.kind == "cell":
                return self.owner.cell_contents
            if self.kind == "attribute":
                value = _attribute(self.owner, self.key)[0]
                return None if value is _MISSING else value
            return self.owner[self.key]
        except (ValueError, LookupError, TypeError):
            return None

    def is_own(self) -> bool:
        """Whether it is there, and not only in the object's class."""
        if self.kind == "attribute":
            try:
                return self.key in vars(self.owner)
            except TypeError:
                return hasattr(self.owner, self.key)
        if self.kind == "cell":
            try:
                return self.owner.cell_contents is not _MISSING
            except ValueError:
                return False
        return self.kind == "global" or self.key in self.owner

    def clear(self, keep: bool) -> None:
        """Sets the place to None, or deletes it where that is possible and `keep` is false."""
        if self.kind == "cell":
            self.owner.cell_contents = None
        elif self.kind == "attribute":
            if keep:
                setattr(self.owner, self.key, None)
            else:
                delattr(self.owner, self.key)
        elif keep or not isinstance(self.owner, dict):
            self.owner[self.key] = None
        else:
            del self.owner[self.key]


@final
class FirstCall:
    """The surroundings of a function before it is traced.

    Functions may make, on their first call, arrays that they keep: ``if self.w is None: ...``. A
    trace cannot keep what it made. So where it turns out that one did, what it kept is taken back,
    and that call runs as it is, on arrays; the next one finds them there, and is traced.
    """

    def __init__(self, function: Callable[..., object], given: CallArguments) -> None:
        visit = _Visit([], with_names=True)
        visit.function(function, given.args, given.kwargs)
        #: Where nothing is yet, and whether None is kept there.
        self._empty = [(place, place.is_own()) for place in visit.places if place.get() is None]

    def takes_back(self) -> bool:
        """Whether the trace has put arrays of its own there, which are gone now."""
        made = [(place, kept) for place, kept in self._empty if _is_traced(place.get())]
        for place, kept in made:
            place.clear(kept)
        return bool(made)


def _is_traced(value: object) -> bool:
    """Whether a value is, or holds, an array that a trace has made."""
    trace = recorder.current_trace()
    arrays = [leaf for leaf in flatten(value)[0] if isinstance(leaf, NDArray)]
    return any(array.storage.owner not in (None, trace) for array in arrays)


def guards_of(function: Callable[..., object], args: Sequence[object]) -> Guards | None:
    """Returns what must not change for `environment_key` to be the same; None if too much."""
    guards = Guards()
    _Visit([], guards=guards).function(function, args, {})
    return guards if guards.is_complete else None


@final
class _Visit:
    """One walk over the names of a function.

    Args:
        identities: objects that are known by their identity only are added.
        with_names: whether `names` and `places` are made.
        guards: notes where the walk looks; None if nobody wants that.

    Attributes:
        found: what the names mean.
        names: of these, as in the code.
        places: of what is read.
    """

    def __init__(
        self,
        identities: list[Identity],
        with_names: bool = False,
        guards: Guards | None = None,
    ) -> None:
        self._guards = guards
        self.found: list[object] = []
        self.names: list[str] = []
        self.places: list[_Place] = []
        self._with_names = with_names
        self._identities = identities
        self._visited: set[int] = set()

    def function(self, function: Any, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Adds the meaning of a function's names."""
        function, args = _plain_function(function, args)
        if function is None or id(function) in self._visited:
            return
        self._visited.add(id(function))
        names = function.__code__.co_varnames
        local = {**dict(zip(names, args, strict=False)), **kwargs}
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for is_global, name, path in paths_of(function.__code__):
            if self._with_names and name not in local:
                if is_global:
                    self.places.append(_Place(function.__globals__, name, "global"))
                elif name in cells:
                    self.places.append(_Place(cells[name], None, "cell"))
            if self._guards is not None:
                if is_global:
                    self._guards.note_name(function.__globals__, name)
                elif name in cells and name not in local:
                    self._guards.note_cell(cells[name])
            if is_global:
                self._follow(name, function.__globals__.get(name, _MISSING), path)
            elif name in local:
                # The arguments themselves, and what is in their lists and dicts, are in the key.
                value, rest = local[name], path
                while rest and isinstance(rest[0], Item):
                    value, rest = _item(value, rest[0].key), rest[1:]
                if rest and value is not _MISSING and not isinstance(value, NDArray):
                    self._step(name, value, rest)
            elif name in cells:
                try:
                    held = cells[name].cell_contents
                except ValueError:  # not assigned yet
                    held = _MISSING
                self._follow(name, held, path)

    def _add(self, name: str, key: object) -> None:
        self.found.append(key)
        if self._with_names:
            self.names.append(name)

    def _follow(self, name: str, value: object, path: Path, bound: Sequence[object] = ()) -> None:
        """Adds a value and what is read from it."""
        if value is _MISSING:
            self._add(name, None)
            return
        if not isinstance(value, types.ModuleType):
            self._add(name, static_key(value, self._identities))
        if _is_followed(value):
            self.function(value, bound, {})
        elif path and not isinstance(value, NDArray):
            self._step(name, value, path)

    def _step(self, name: str, owner: object, path: Path) -> None:
        first = path[0]
        if isinstance(first, Item):
            value, is_method = _item(owner, first.key), False
            if self._guards is not None:
                self._guards.note_item(owner, first.key)
        else:
            value, is_method = _attribute(owner, first)
            if self._guards is not None and not _is_fixed(owner):
                self._guards.note_attribute(owner, first)
        if self._with_names:
            key, kind = (first.key, "item") if isinstance(first, Item) else (first, "attribute")
            self.places.append(_Place(owner, key, kind))
            name += f"[{key!r}]" if kind == "item" else f".{key}"
        self._follow(name, value, path[1:], (owner,) if is_method else ())


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


def _is_followed(value: object) -> bool:
    """Whether a value is a function whose own names count: the user's, not a library's."""
    if isinstance(value, types.FunctionType):
        return (value.__module__ or "").partition(".")[0] not in _FIXED
    wrappers = (functools.partial, types.MethodType)
    return isinstance(value, wrappers) or _traced_from(value) is not None


def _is_fixed(value: object) -> bool:
    """Whether a value is a module whose attributes are taken as they are."""
    return isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in _FIXED


def _traced_from(value: object) -> Any:
    """Returns the Python function of an `hn.function`; None for anything else."""
    try:
        return vars(value).get("python_function")
    except TypeError:
        return None


def _attribute(owner: Any, name: str) -> tuple[object, bool]:
    """Returns what an object or its class has under a name, and whether that is a method.

    No code is run to find it.
    """
    if isinstance(owner, types.ModuleType):
        return _MISSING if _is_fixed(owner) else vars(owner).get(name, _MISSING), False
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


def _item(owner: Any, key: Any) -> Any:
    """Returns what a list, tuple or dict holds."""
    try:
        if isinstance(owner, dict):
            return dict.get(owner, key, _MISSING)
        if type(owner) in (list, tuple):
            return owner[key]
    except (TypeError, IndexError):
        pass
    return _MISSING
