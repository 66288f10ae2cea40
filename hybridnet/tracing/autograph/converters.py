"""Conversion by a function of the user's, `hn.function(convert=...)`: what asks and checks it."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, final

from hybridnet.base.errors import ParameterError


@final
class Asked:
    """A converter that is asked while a function is traced: once for each function.

    Args:
        converter: the user's.
        operators: what the functions that it makes call.
    """

    def __init__(
        self, converter: Callable[[types.FunctionType, Any], Any], operators: object
    ) -> None:
        self._converter: Final = converter
        self._operators: Final = operators
        self._made: Final[dict[types.FunctionType, Any]] = {}

    def __call__(self, function: types.FunctionType) -> Any:
        """Returns what the converter makes of a function.

        Raises:
            ParameterError: that is no function.
        """
        made = self._made.get(function)
        if made is None:
            made = self._converter(function, self._operators)
            if not callable(made) or isinstance(made, type):
                code = function.__code__
                raise ParameterError(
                    f"hn.function: convert must return a function for {function.__qualname__} "
                    f"({code.co_filename}:{code.co_firstlineno}), got {made!r}"
                )
            self._made[function] = made
        return made


class _Force(threading.local):
    """The converter in force in this thread; None for ours."""

    asked: Asked | None = None


_force: Final = _Force()


def in_force() -> Asked | None:
    """Returns the user's converter that is to be asked now; None where it is ours."""
    return _force.asked


@contextmanager
def asking(asked: Asked | None) -> Iterator[None]:
    """A block in which functions are converted by a converter of the user's, or by ours."""
    before, _force.asked = _force.asked, asked
    try:
        yield
    finally:
        _force.asked = before
