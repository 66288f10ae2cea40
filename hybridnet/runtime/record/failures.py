"""Errors of launches and tasks: kept in the Values, and raised where these are waited for.

An error that no wait has raised is raised by `wait_all`, once. But if a wait has raised another
error since, `wait_all` does not mention it, as in MXNet. An array that is still held raises its
error whenever it is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final

from hybridnet.base.errors import MXNetError, OpError

from ..segments.segment import Value

__all__ = ["fail", "raise_first", "raise_kept", "was_told"]

# Errors that no wait has raised yet, oldest first, by identity. One that was raised says so itself
# (its attribute `told`), as long as there is a Value that holds it.
_unreported: Final[dict[int, BaseException]] = {}
_MAX_UNREPORTED: Final = 64


def fail(values: Sequence[Value], error: BaseException | None = None) -> None:
    """Notes that Values could not be made: reading one raises, and so does `wait_all`, once.

    Args:
        values: the Values.
        error: why; None where they hold their errors already.
    """
    # First: whoever sees an error in a Value raises it at once, and then it has been told.
    for value in values:
        why = value.error if error is None else error
        if why is None or len(_unreported) >= _MAX_UNREPORTED:
            continue
        _unreported[id(why)] = why
        # What depends on a failure may run, or be launched, long after a wait has raised it.
        if is_told(why):
            _unreported.pop(id(why), None)
    if error is not None:
        for value in values:
            value.error = error


def was_told(value: Value) -> bool:
    """Whether a Value could not be made, and some wait has raised why."""
    return value.error is not None and is_told(value.error)


def is_told(error: BaseException) -> bool:
    """Whether some wait has raised an error."""
    return "told" in vars(error)


def note_told(error: BaseException) -> None:
    """Notes that a wait raises an error."""
    # In this order, and in `fail` the other way round: between them none stays who was told.
    vars(error)["told"] = True
    _unreported.pop(id(error), None)


def raise_kept(error: BaseException) -> None:
    """Raises an error that is kept: a new one for each wait, so that tracebacks do not pile up."""
    note_told(error)
    _unreported.clear()
    if isinstance(error, MXNetError):
        raise type(error)(*error.args) from error.__cause__
    raise OpError(str(error)) from error


def raise_first() -> None:
    """Raises the first error that no wait has raised, if there is one; the others it forgets."""
    unreported = [failure for failure in list(_unreported.values()) if not is_told(failure)]
    for failure in unreported:
        note_told(failure)
    if unreported:
        raise_kept(unreported[0])


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unreported.clear)
