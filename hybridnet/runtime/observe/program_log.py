"""The log of the program cache's decisions: the logger ``hybridnet.programs``.

``HYBRIDNET_LOG=programs`` prints it on stderr. Otherwise it is written if this logger is given a
level. A script that sets the root logger's level to INFO, to print its losses, does not see it.
"""

from __future__ import annotations

import atexit
import logging
import sys
from collections.abc import Callable
from typing import Final

from hybridnet.base import config

from ..segments.code import Code
from .events import name_of

log: Final = logging.getLogger("hybridnet.programs")
if log.level == logging.NOTSET:
    log.setLevel(logging.WARNING)


def explaining() -> bool:
    """Whether the log is on; callers make texts only then."""
    return log.isEnabledFor(logging.INFO)


def say(text: str, *arguments: object) -> None:
    """Writes one decision to the log."""
    log.info(text, *arguments)


def describe(code: Code) -> str:
    """Returns '12 instructions (dot, tanh + 3 more) on cpu(0)'."""
    count = len(code.instructions)
    return f"{count} instruction{'s' * (count > 1)} ({name_of(code)}) on {code.ctx}"


def begin(summary: Callable[[], None]) -> None:
    """Prints the log on stderr where HYBRIDNET_LOG asks for it, with a summary at exit."""
    if "programs" not in config.log_topics():
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("hybridnet: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    atexit.register(summary)
