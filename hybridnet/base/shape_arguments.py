"""Reading the shapes that users give: a size, or several."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .errors import MXNetError, ParameterError, ShapeError

_INTEGERS: Final = frozenset({int})


def size_of(where: str, size: Any) -> int:
    """Returns a whole number that a user gave; one without a fraction may be a float.

    Raises:
        ParameterError: it is none; `where` begins the message.
    """
    try:
        # Text is not read as a number, although int() would.
        if not isinstance(size, (str, bytes)):
            number = int(size)
            if not isinstance(size, (float, np.floating)) or number == size:
                return number
    except MXNetError:
        raise  # of an array that has no value yet, which says so better
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(f"{where}: the sizes must be whole numbers, got {size!r}")


def listed_sizes(where: str, shape: object) -> tuple[int, ...]:
    """Returns the shape that a user gave; a size below 0 is left for the caller to understand.

    Raises:
        ParameterError: it is neither a whole number nor a sequence of them.
    """
    if isinstance(shape, (int, np.integer)):
        return (int(shape),)
    if isinstance(shape, (str, bytes)) or not hasattr(shape, "__iter__"):
        raise ParameterError(
            f"{where}: the shape must be a whole number or a tuple of them, got {shape!r}"
        )
    return tuple([size if type(size) is int else size_of(where, size) for size in shape])


def sizes_of(where: str, shape: object) -> tuple[int, ...]:
    """Returns the shape that a user gave, as plain numbers.

    Args:
        where: what he called, to begin the message.
        shape: a whole number, or a sequence of them; 0 is one.

    Raises:
        ParameterError: it is neither.
        ShapeError: a size is less than 0.
    """
    if type(shape) is tuple and _INTEGERS.issuperset(map(type, shape)):
        found = shape  # as most are
    else:
        found = listed_sizes(where, shape)
    if found and min(found) < 0:
        raise ShapeError(f"{where}: the dimensions must be >= 0, got {found}")
    return found
