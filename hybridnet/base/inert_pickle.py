"""Pickles from elsewhere, read without running anything.

A pickle is a program: it names functions and classes, and what it wants called with what. Here
nothing that it names is imported. Each name stands for an `Inert` class of its own, whose objects
only remember what they were made with and what state they were given; whoever reads the pickle
then makes of them what it knows. Only plain containers and bytes are made as they are, and NumPy's
numbers, which this module decodes.

A pickle is looked through before it is read: Python's reader takes memory for lengths and places
that are only claimed (nine bytes claim gigabytes), and its stack for tuples in tuples.
"""

from __future__ import annotations

import io
import pickle
import re
import reprlib
from collections import OrderedDict
from typing import Any, ClassVar, Final

import numpy as np

from .errors import FormatError
from .lazy import pickletools

#: The codes of element types that NumPy's numbers are read of: booleans, integers, floats.
_CODES: Final = re.compile(r"[biuf][1248]")


class Inert:
    """An object of a class that was not looked for.

    Attributes:
        place: the name of its class or function, with its module: ``'mxnet.context.Context'``.
        state: what it was given afterwards, often the dict of its attributes; None if nothing.
    """

    place: ClassVar[str] = ""

    state: Any = None

    def __init__(self, *arguments: object, **named: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        self.state = state

    def __repr__(self) -> str:
        return f"<{self.place}, not made>"


class _Dtype:
    """A NumPy dtype in a pickle: its code, and the order of the bytes."""

    def __init__(self, code: object, *_flags: object) -> None:
        if isinstance(code, bytes):
            code = code.decode("latin-1")
        if not isinstance(code, str) or not _CODES.fullmatch(code):
            raise pickle.UnpicklingError(
                f"NumPy's numbers must be plain ones, got dtype {reprlib.repr(code)}"
            )
        self.code, self.order = code, "<"

    def __setstate__(self, state: Any) -> None:
        if state[1] in (">", b">"):
            self.order = ">"


def _scalar(dtype: object, data: object) -> Any:
    """Returns a NumPy number as Python's."""
    if isinstance(data, str):  # as Python 2 has written it
        data = data.encode("latin-1")
    if not isinstance(dtype, _Dtype) or not isinstance(data, bytes):
        raise pickle.UnpicklingError("a number of NumPy's must have a dtype and bytes")
    (value,) = np.frombuffer(data, dtype.order + dtype.code)
    return value.item()


def _bytes(data: object = b"", encoding: object = None) -> bytes:
    """Returns bytes that are given as such or as text, as older protocols do; makes none anew."""
    if isinstance(data, str) and encoding in ("latin-1", "latin1"):
        data = data.encode("latin-1")
    if not isinstance(data, bytes):
        raise pickle.UnpicklingError(f"bytes must be given as such, got {type(data).__name__}")
    return data


def _object(kind: object, *_base: object) -> Inert:
    """Returns an object as the two oldest protocols make those of plain classes."""
    if not isinstance(kind, type) or not issubclass(kind, Inert):
        raise pickle.UnpicklingError(
            f"an object must be of a class that is named, got {reprlib.repr(kind)}"
        )
    return kind()


#: What a pickle may name and have: none of it does anything but hold what it is given.
_KNOWN: Final[dict[str, Any]] = {
    "_codecs.encode": _bytes,
    "collections.OrderedDict": OrderedDict,
    "copyreg._reconstructor": _object,
    "copy_reg._reconstructor": _object,
    "numpy.dtype": _Dtype,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy._core.multiarray.scalar": _scalar,
    **{
        f"{module}.{name}": kind
        for module in ("builtins", "__builtin__")
        for name, kind in (("bytearray", _bytes), ("set", set), ("slice", slice))
    },
}


class _InertReader(pickle.Unpickler):
    """Gives each name that a pickle brings a class that does nothing."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="latin-1")
        self._classes: dict[str, object] = {}

    def find_class(self, module: str, name: str) -> Any:
        """Returns what stands for a name; nothing is imported."""
        place = f"{module}.{name}"
        if place in _KNOWN:
            return _KNOWN[place]
        if place not in self._classes:
            self._classes[place] = type(name, (Inert,), {"place": place})
        return self._classes[place]

    def persistent_load(self, pid: object) -> Any:
        """Refuses what lies outside the pickle."""
        raise pickle.UnpicklingError(
            f"something outside the bytes, {reprlib.repr(pid)}, is not looked for"
        )


#: How deep things may lie in others; those of states lie in fewer than ten.
_DEEPEST: Final = 100
#: What changes the container that lies below.
_FILLING: Final = frozenset({"APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"})
_MARK: Final = -1


def _look_through(data: bytes) -> None:
    """Raises where a pickle is not whole, or claims places or depths that it does not fill.

    Each step is one of `pickletools`, which says what it takes from the stack and leaves there. Of
    what lies on the stack only the depth is followed.
    """
    stack: list[int] = []
    memo: dict[int, int] = {}
    end = 0
    for number, (step, argument, place) in enumerate(pickletools.genops(data)):
        end = (place or 0) + 1
        if "PUT" in step.name or step.name == "MEMOIZE":
            index = len(memo) if argument is None else int(argument)
            if not 0 <= index <= number:
                raise pickle.UnpicklingError(f"place {index} is claimed after {number} steps")
            memo[index] = stack[-1]
        elif "GET" in step.name:
            stack.append(memo[int(argument or 0)])
        elif step.name == "MARK":
            stack.append(_MARK)
        elif step.name == "DUP":
            stack.append(stack[-1])
        else:
            _step(step, stack)
        if stack and stack[-1] > _DEEPEST:
            raise pickle.UnpicklingError(f"more than {_DEEPEST} things lie in each other")
    if end != len(data):
        raise pickle.UnpicklingError(f"it ends at byte {end} of {len(data)}")


def _step(step: Any, stack: list[int]) -> None:
    """Takes from the stack what a step takes, and leaves what it leaves."""
    taken = []
    kinds = list(step.stack_before)
    if pickletools.markobject in kinds:
        while (top := stack.pop()) != _MARK:
            taken.append(top)
        kinds = kinds[: kinds.index(pickletools.markobject)]
    for _ in kinds:
        taken.append(stack.pop())
    if step.name in _FILLING:
        *inside, whole = taken
        stack.append(max(whole, 1 + max(inside, default=0)))
    elif step.stack_after:
        stack.append(1 + max(taken, default=0))


def is_pickle(data: bytes) -> bool:
    """Whether bytes begin as a pickle of a container or an object does, of any protocol."""
    if data[:1] == b"\x80":
        return len(data) > 1 and data[1] in range(2, pickle.HIGHEST_PROTOCOL + 1)
    return data[:1] in (b"(", b"c", b"}") and data[-1:] == b"."


def read_inert(data: bytes, what: str) -> Any:
    """Returns what a pickle holds, with an `Inert` for each object that is no plain one.

    Args:
        data: the pickle.
        what: is named in errors.

    Raises:
        FormatError: the bytes are no whole pickle, or hold what is never read.
    """
    try:
        _look_through(data)
        return _InertReader(data).load()
    except Exception as error:  # damaged pickles fail in every way there is
        raise FormatError(
            f"{what}: the pickle is damaged or holds what cannot be read, {error}"
        ) from None
