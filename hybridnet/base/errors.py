"""The errors users see, and the one that says the fault is ours.

Every message has the form ``where: what is required, got what was given; how to mend it``.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "DTypeError",
    "FormatError",
    "GraphError",
    "InternalError",
    "MXNetError",
    "MissingFileError",
    "NonFiniteError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "OpError",
    "OutOfBoundsError",
    "OutOfMemoryError",
    "ParameterError",
    "RefusedError",
    "ShapeError",
    "ValuesNeededError",
]


class MXNetError(RuntimeError):
    """Base of every error that hybridnet raises on purpose; the name is MXNet's own."""


class ShapeError(MXNetError, ValueError):
    """The shapes given to an operator do not meet its requirement."""


class DTypeError(MXNetError, TypeError):
    """The dtypes given to an operator do not meet its requirement."""


class ParameterError(MXNetError, ValueError, TypeError):
    """An operator parameter is unknown, missing, of the wrong type, or out of its range."""


class RefusedError(ParameterError, AssertionError):
    """Something that MXNet refuses by `assert`: programs that wait for that find it, too."""


class GraphError(MXNetError, ValueError):
    """A graph is not well formed: a cycle, a missing or duplicate variable, a bad output."""


class ValuesNeededError(GraphError):
    """Something in a graph needs values, which a graph does not have, to say what comes out."""


def _called(function: object, alias: str | None, args: tuple[object, ...]) -> tuple[str, str]:
    """Returns, for messages, what was called, and with what."""
    also = f" (namely {alias})" if alias else ""
    given = f", got {', '.join(map(str, args))}" if args else ""
    return f"{getattr(function, '__name__', function)}{also}", given


class NotSupportedForSparseNDArray(MXNetError, AttributeError):
    """A sparse array has no such operation.

    Args:
        function: the function, or its name.
        alias: another name of it, or None.
        args: what it was called with.
    """

    def __init__(self, function: object, alias: str | None, *args: object) -> None:
        name, given = _called(function, alias, args)
        super().__init__(
            f"{name}: requires a dense NDArray{given}; make one with x.tostype('default')"
        )


class NotImplementedForSymbol(MXNetError, TypeError):
    """Arrays have such an operation, and symbols do not.

    Args:
        function: the function, or its name.
        alias: another name of it, or None.
        args: what it was called with.
    """

    def __init__(self, function: object, alias: str | None, *args: object) -> None:
        name, given = _called(function, alias, args)
        super().__init__(f"{name}: requires an NDArray, and not a symbol{given}")


class OpError(MXNetError):
    """An operator failed while it ran; the message names the line that called it."""


class OutOfBoundsError(OpError, IndexError):
    """Positions among the values given to an operator are outside of the array."""


class NonFiniteError(OpError, FloatingPointError):
    """Inside `hybridnet.debug.nans()` an operator has made a NaN or an infinity.

    Attributes:
        operator: its name.
        file, line: the user's line that called it; for a gradient, the line of the forward pass.
            None where that is not known.
    """

    operator: str = ""
    file: str | None = None
    line: int | None = None


class OutOfMemoryError(OpError, MemoryError):
    """There is no room for what a program would make; what it was to overwrite is as it was.

    Attributes:
        needed: bytes that were to be allocated; None where that is not known.
        limit: what did not leave as many, a `memory_limits.MemoryLimit`; None where not known.
        planned: in words what XLA planned; empty where it did not tell.
        structure: of the program, for messages; None where there is none.
    """

    needed: int | None = None
    limit: Any = None
    planned: str = ""
    structure: Any = None


class FormatError(MXNetError, ValueError):
    """A file or message is truncated, corrupt, or of a version we do not read."""


class MissingFileError(FileNotFoundError, MXNetError):
    """There is no such file; MXNet's scripts wait for an MXNetError, others for Python's own."""


class InternalError(RuntimeError):
    """This should never happen: it is a bug in hybridnet; please report it.

    Args:
        msg: what happened.
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg)
