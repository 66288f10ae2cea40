"""`error`: classes of errors, and the table in which they are found by their names.

MXNet's library names the class of an error in its text, and Python looks it up. Here errors are
raised as what they are; the table is for programs that add classes of their own, or look for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from hybridnet.base.errors import InternalError as InternalError
from hybridnet.base.errors import MXNetError as MXNetError
from hybridnet.base.errors import NonFiniteError as NonFiniteError
from hybridnet.base.errors import NotImplementedForSymbol, ParameterError
from hybridnet.base.errors import OutOfBoundsError as OutOfBoundsError
from hybridnet.base.errors import OutOfMemoryError as OutOfMemoryError

__all__ = [
    "InternalError",
    "MXNetError",
    "NonFiniteError",
    "OutOfBoundsError",
    "OutOfMemoryError",
    "error_types",
    "register",
    "register_error",
]

_Error = TypeVar("_Error", bound=type[BaseException])

#: Name -> class.
error_types: Final[dict[str, type[BaseException]]] = {
    kind.__name__: kind
    for kind in (
        MXNetError,
        InternalError,
        NotImplementedForSymbol,
        ValueError,
        TypeError,
        AttributeError,
        IndexError,
        NotImplementedError,
        FloatingPointError,
        RuntimeError,
    )
} | {"IOError": OSError}


def register_error(func_name: Any = None, cls: Any = None) -> Callable[[_Error], _Error] | Any:
    """Adds a class of errors to the table: ``@register_error``, or with a name of its own.

    Args:
        func_name: the name, or the class itself; default the class's name.
        cls: the class; without it a decorator is returned.

    Returns:
        The class, or a decorator.

    Raises:
        ParameterError: it is no class of errors.
    """
    if isinstance(func_name, type):
        func_name, cls = None, func_name

    def add(kind: _Error) -> _Error:
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            raise ParameterError(f"register_error: needs a class of errors, got {kind!r}")
        error_types[func_name or kind.__name__] = kind
        return kind

    return add if cls is None else add(cls)


register = register_error
