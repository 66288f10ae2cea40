"""``tf.logging``: Python's logger named 'tensorflow'."""

from __future__ import annotations

import logging as _logging
from typing import Any, Final

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "WARN", "debug", "error", "fatal", "get_verbosity", "info",
    "log", "set_verbosity", "vlog", "warn", "warning",
]  # fmt: skip

DEBUG: Final = _logging.DEBUG
ERROR: Final = _logging.ERROR
FATAL: Final = _logging.FATAL
INFO: Final = _logging.INFO
WARN: Final = _logging.WARNING

_LOGGER: Final = _logging.getLogger("tensorflow")


def log(level: int, msg: str, *args: Any) -> None:
    """Logs a message of a level."""
    _LOGGER.log(level, msg, *args)


def vlog(level: int, msg: str, *args: Any) -> None:
    """Logs a message of a level, by its older name."""
    _LOGGER.log(level, msg, *args)


def debug(msg: str, *args: Any) -> None:
    """Logs what helps to find a mistake."""
    _LOGGER.debug(msg, *args)


def info(msg: str, *args: Any) -> None:
    """Logs what happens."""
    _LOGGER.info(msg, *args)


def warning(msg: str, *args: Any) -> None:
    """Logs what may be wrong."""
    _LOGGER.warning(msg, *args)


warn = warning


def error(msg: str, *args: Any) -> None:
    """Logs what is wrong."""
    _LOGGER.error(msg, *args)


def fatal(msg: str, *args: Any) -> None:
    """Logs what the program cannot go on after."""
    _LOGGER.critical(msg, *args)


def set_verbosity(v: int) -> None:
    """Sets the least level that is logged."""
    _LOGGER.setLevel(v)


def get_verbosity() -> int:
    """Returns the least level that is logged."""
    return _LOGGER.getEffectiveLevel()
