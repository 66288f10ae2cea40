"""`Guards`: the things that must stay as they are for a function's names to mean what they meant.

`environment_key` finds out what they mean, by a walk; the same walk can note where it looked, and
what was there. Looking there again takes a tenth of the time.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final, final

_ABSENT: Final = object()
_ATOMS: Final = frozenset({bool, int, float, complex, str, bytes, type(None)})
# Set in the flags of classes that Python code has made, and may change (Py_TPFLAGS_HEAPTYPE).
_FROM_PYTHON: Final = 1 << 9
#: A value, and whether it is what refers to it.
_Expected = tuple[Any, bool]


@final
class Guards:
    """Places, and what was there.

    Attributes:
        is_complete: whether everything that the walk has seen is in them.
    """

    __slots__ = ("_attributes", "_cells", "_items", "_names", "is_complete")

    def __init__(self) -> None:
        self._names: list[tuple[Mapping[str, object], str, Any, bool]] = []
        self._attributes: list[tuple[Callable[[], object], str, Any, bool]] = []
        self._cells: list[tuple[types.CellType, Any, bool]] = []
        self._items: list[tuple[Any, Any, Any, bool]] = []
        self.is_complete = True

    def hold(self) -> bool:
        """Whether everything is as it was."""
        for names, key, expected, is_ref in self._names:
            found = names.get(key, _ABSENT)
            if found is not (expected() if is_ref else expected) or (is_ref and found is None):
                return False
        for owner, key, expected, is_ref in self._attributes:
            try:
                found = owner().__dict__.get(key, _ABSENT)
            except AttributeError:  # it is gone
                return False
            if found is not (expected() if is_ref else expected) or (is_ref and found is None):
                return False
        try:
            for cell, expected, is_ref in self._cells:
                found = cell.cell_contents
                if found is not (expected() if is_ref else expected) or (is_ref and found is None):
                    return False
            for owner, key, expected, is_ref in self._items:
                found = owner[key]
                if found is not (expected() if is_ref else expected) or (is_ref and found is None):
                    return False
        except (ValueError, LookupError, TypeError):
            return False
        return True

    def __bool__(self) -> bool:
        return bool(self._names or self._attributes or self._cells or self._items)

    def note_name(self, names: Mapping[str, object], name: str) -> None:
        """Notes what a dict of globals, of a module or of a class has under a name."""
        self._names.append((names, name, *_expected(names.get(name, _ABSENT))))

    def note_cell(self, cell: types.CellType) -> None:
        """Notes what a variable of a function around holds."""
        try:
            self._cells.append((cell, *_expected(cell.cell_contents)))
        except ValueError:  # not assigned yet
            self.is_complete = False

    def note_item(self, owner: Any, key: Any) -> None:
        """Notes what a list or dict holds."""
        if type(owner) not in (list, tuple, dict):
            self.is_complete = False
            return
        try:
            self._items.append((owner, key, *_expected(owner[key])))
        except (LookupError, TypeError):
            self.is_complete = False

    def note_attribute(self, owner: object, name: str) -> None:
        """Notes what an object has under a name, by itself or from its class."""
        if isinstance(owner, types.ModuleType):
            self.note_name(vars(owner), name)
            return
        if isinstance(owner, type):
            kinds = owner.__mro__
        else:
            kinds = type(owner).__mro__
            try:
                own = vars(owner).get(name, _ABSENT)
                self._attributes.append((weakref.ref(owner), name, *_expected(own)))
            except TypeError:  # it has no dict, or nothing can refer to it
                # What is read from a list or dict is always the same.
                self.is_complete &= not type(owner).__flags__ & _FROM_PYTHON
                return
            if own is not _ABSENT:
                return
        for kind in kinds:
            if kind is not object:
                self.note_name(vars(kind), name)
            if name in vars(kind):
                return


def _expected(value: object) -> _Expected:
    """Returns a value as it is compared: held only where nothing can refer to it."""
    if value is _ABSENT or type(value) in _ATOMS:
        return value, False
    try:
        return weakref.ref(value), True
    except TypeError:
        return value, False
