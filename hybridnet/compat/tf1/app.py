"""``tf.app``: running a script's `main`, and its flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import flags as flags

__all__ = ["flags", "run"]


def run(main: Callable[..., Any] | None = None, argv: Sequence[str] | None = None) -> NoReturn:
    """Calls a function with the script's arguments, and ends the process with what it returns.

    The flags among the arguments are taken out of them. ``--help`` says what flags there are, and
    one with a wrong value ends the process with 1.

    Args:
        main: the function; default the script's own `main`.
        argv: the arguments, the script's name first; default those of the process.
    """
    script = sys.modules["__main__"]
    function = script.main if main is None else main
    given = list(sys.argv if argv is None else argv)
    about = f"{script.__doc__ or ''}\nflags:\n{flags.FLAGS.get_help()}"
    if any(one in ("--help", "-help", "-h") for one in given[1:]) and "help" not in flags.FLAGS:
        print(about)
        sys.exit(1)
    try:
        rest = flags.FLAGS(given, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}\n{about}", file=sys.stderr)
        sys.exit(1)
    sys.exit(function(rest))
