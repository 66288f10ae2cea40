"""Constructors that differ from their base's in defaults alone."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def with_defaults(**defaults: object) -> Callable[[_Class], _Class]:
    """Decorates a class: it gets its base's constructor with other defaults.

    These are true defaults: `help` and `inspect.signature` show them.
    """

    def decorate(cls: Any) -> Any:
        base = cls.__init__
        code = base.__code__
        optional = code.co_varnames[code.co_argcount - len(base.__defaults__) : code.co_argcount]
        before = dict(zip(optional, base.__defaults__, strict=True))
        values = tuple((before | defaults).values())
        made = FunctionType(code, base.__globals__, base.__name__, values, base.__closure__)
        made.__annotations__ = base.__annotations__
        made.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = made
        return cls

    return decorate
