"""The process that a part runs in.

    python -m hybridnet.labs.child MODE FOLDER STACK NAME SECONDS

MODE is check or run; NAME that of the only property that is tried, or ``-``; SECONDS what each of
them, or the run, may take.

What it finds it prints as messages. What does not end in time is ended by `faulthandler`, which
writes into the file STACK where it was: it needs no Python for that, so that nothing can prevent
it.
"""

from __future__ import annotations

import faulthandler
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from .checking import found_in, tried
from .folder import Folder, load_part, opened
from .messages import ALL, as_line, as_table

if TYPE_CHECKING:  # it brings in all of nd, which processes that a run starts may not need
    from .training import Outcome


def main(mode: str, path: str, stack: str, name: str, seconds: str) -> None:
    """Tries or runs the part in a folder."""
    # What the part prints is the user's to see, and is no message.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as messages, open(stack, "wb") as file:
        os.dup2(2, 1)
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")  # it may print what the terminal has not

        def begin_limit() -> None:
            faulthandler.dump_traceback_later(int(seconds), exit=True, file=file)

        folder, send = opened(Path(path)), _Sender(messages)
        begin_limit()
        part = _loaded(folder, send)
        if part is not None and mode == "check":
            _check(folder, part, send, begin_limit, name)
        elif part is not None:
            _run(folder, part, send)
        send("end")
        faulthandler.cancel_dump_traceback_later()


class _Sender:
    """Sends messages."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def __call__(self, kind: str, **values: Any) -> None:
        self._file.write(as_line(kind, **values))
        self._file.flush()


def _loaded(folder: Folder, send: _Sender) -> Any:
    """Returns the part; None where it could not be loaded, which is sent."""
    file = folder.part
    try:
        return load_part(file)
    except OSError as error:
        send("unreadable", error=str(error))
    except Exception as error:
        send("found", check="", finding=as_table(found_in(error, str(file))))
    return None


def _check(
    folder: Folder, part: Any, send: _Sender, begin_limit: Callable[[], None], name: str
) -> None:
    for check in folder.lab.checks:
        if name in (ALL, check.name):
            send("begins", check=check.name)
            begin_limit()
            finding = tried(check, part, str(folder.part))
            if finding is not None:
                send("found", check=check.name, finding=as_table(finding))
                return
            send("holds", check=check.name)


def _run(folder: Folder, part: Any, send: _Sender) -> None:
    folder.pictures.mkdir(exist_ok=True)
    try:
        outcome: Outcome = folder.lab.runner.run(part, folder.pictures)
    except Exception as error:
        send("found", check="", finding=as_table(found_in(error, str(folder.part))))
        return
    send("outcome", **outcome.as_table())


if __name__ == "__main__":
    main(*sys.argv[1:])
