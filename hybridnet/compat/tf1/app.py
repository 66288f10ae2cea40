"""``tf.app``: running a script's `main`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

__all__ = ["run"]


def run(main: Callable[..., Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Calls a function with the script's arguments, and ends the process with what it returns.

    Args:
        main: the function; default the script's own `main`.
        argv: the arguments, the script's name first; default those of the process.
    """
    function = sys.modules["__main__"].main if main is None else main
    sys.exit(function(list(sys.argv if argv is None else argv)))
