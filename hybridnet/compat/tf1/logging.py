"""``tf.logging``: Python's logger named 'tensorflow'."""

from __future__ import annotations

import logging as _python
from collections.abc import Callable
from typing import Any, Final

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "get_verbosity", "info",
    "log", "set_verbosity", "vlog", "warn", "warning",
]  # fmt: skip

DEBUG: Final = _python.DEBUG
ERROR: Final = _python.ERROR
FATAL: Final = _python.FATAL
INFO: Final = _python.INFO
WARN: Final = _python.WARNING

_LOGGER: Final = _python.getLogger("tensorflow")


def log(level: int, msg: str, *args: Any) -> None:
    """Logs a message of a level."""
    _LOGGER.log(level, msg, *args)


vlog = log  # its older name


def _logging(name: str, level: int, doc: str) -> Callable[..., None]:
    """Returns a function that logs messages of a level."""

    def logged(msg: str, *args: Any) -> None:
        _LOGGER.log(level, msg, *args)

    logged.__name__ = logged.__qualname__ = name
    logged.__doc__ = doc
    return logged


debug = _logging("debug", DEBUG, "Logs what helps to find a mistake.")
info = _logging("info", INFO, "Logs what happens.")
warn = warning = _logging("warning", WARN, "Logs what may be wrong.")
error = _logging("error", ERROR, "Logs what is wrong.")
fatal = _logging("fatal", FATAL, "Logs what the program cannot go on after.")


def set_verbosity(v: int) -> None:
    """Sets the least level that is logged."""
    _LOGGER.setLevel(v)


def get_verbosity() -> int:
    """Returns the least level that is logged."""
    return _LOGGER.getEffectiveLevel()
