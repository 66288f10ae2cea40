"""The variables that a function's code loads, and what it reads from them by name."""

from __future__ import annotations

import dis
import types
from collections.abc import Hashable, Iterator
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary


class Item(NamedTuple):
    """A constant with which a list or dict is indexed."""

    key: Hashable


#: What is read, one from another, beginning with a variable: attributes by name, and items.
Path = tuple[str | Item, ...]

#: A variable that a code loads: whether it is a global, its name, and what is read from it.
_Load = tuple[bool, str, Path]

_known: Final[WeakKeyDictionary[types.CodeType, tuple[_Load, ...]]] = WeakKeyDictionary()

#: What loads a constant; small integers since Python 3.14 by an instruction of their own.
_CONSTANTS: Final = ("LOAD_CONST", "LOAD_SMALL_INT")


def paths_of(code: types.CodeType) -> tuple[_Load, ...]:
    """Returns the variables that a code, and what is defined in it, loads."""
    found = _known.get(code)
    if found is None:
        found = _known.setdefault(code, tuple(dict.fromkeys(_loads(code))))
    return found


def inner_codes(code: types.CodeType) -> list[types.CodeType]:
    """Returns the codes of the functions and classes that a code defines.

    Since Python 3.14 annotations have a code of their own, which nothing runs here.
    """
    return [
        constant
        for constant in code.co_consts
        if isinstance(constant, types.CodeType) and constant.co_name != "__annotate__"
    ]


def _is_indexing(step: dis.Instruction) -> bool:
    # Since Python 3.14 it is a binary operation as others are.
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def _loads(code: types.CodeType) -> Iterator[_Load]:
    variable: tuple[bool, str] | None = None
    path: list[str | Item] = []
    index: Item | None = None
    for step in dis.get_instructions(code):
        operation = step.opname
        if variable is not None:
            if index is not None and _is_indexing(step):
                path.append(index)
                index = None
                continue
            if operation in ("LOAD_ATTR", "LOAD_METHOD") and index is None:
                path.append(step.argval)
                continue
            if operation in _CONSTANTS and index is None and isinstance(step.argval, (int, str)):
                index = Item(step.argval)
                continue
            yield (*variable, tuple(path))
            variable, path, index = None, [], None
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            variable = (True, step.argval)
        elif "LOAD_FAST" in operation or operation == "LOAD_DEREF":
            # Newer Pythons load two variables, or store one and load another, in one instruction;
            # what follows is read from the second.
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            for name in names[:-1]:
                yield (False, name, ())
            variable = (False, names[-1])
    for inner in inner_codes(code):
        yield from paths_of(inner)
