"""`log`: loggers with one line a message: level, time, place and text, the level in colour."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING
from typing import Any, Final, final

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "NOTSET",
    "WARNING",
    "getLogger",
    "get_logger",
]

_RED, _GREEN, _BLUE, _PLAIN = (f"\x1b[{number}m" for number in (31, 32, 34, 0))
_SET: Final = "_set_by_hybridnet"


@final
class _OneLine(logging.Formatter):
    """Writes ``I1124 23:10:05 4242 train.py:fit:17] text``."""

    def __init__(self) -> None:
        super().__init__(
            "%(mark)s%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]%(plain)s "
            "%(message)s",
            "%m%d %H:%M:%S",
        )

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line."""
        level = record.levelno
        colour = _RED if level >= WARNING else _GREEN if level >= INFO else _BLUE
        name = record.levelname if level % 10 == 0 else "U"  # a level of the user's own
        record.mark, record.plain = colour + name[:1], _PLAIN
        return super().format(record)


def get_logger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """Returns a logger; one with a name gets a handler and the level the first time.

    Args:
        name: its name; None is the root logger, which stays as it is.
        filename: a file to write to; default standard error, in colour.
        filemode: how that is opened; default 'a'.
        level: what is less important is left out.
    """
    logger = logging.getLogger(name)
    if name is None or getattr(logger, _SET, False):
        return logger
    setattr(logger, _SET, True)
    handler: Any
    if filename:
        handler = logging.FileHandler(filename, filemode or "a", encoding="utf-8")
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLine())
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(
    name: str | None = None,
    filename: str | None = None,
    filemode: str | None = None,
    level: int = WARNING,
) -> logging.Logger:
    """Is the old name of `get_logger`."""
    warnings.warn("log.getLogger is now log.get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
