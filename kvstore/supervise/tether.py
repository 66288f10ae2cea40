"""Runs a command on the machine that this was started on, for a supervisor on another one.

    ssh HOST python -P -m hybridnet.kvstore.supervise       # then one line of JSON on stdin

The line holds the command, its variables (with the run's secret, which so is on no command line)
and the folder to run it in. The command ends when the connection does: standard input is the
tether. The exit status is the command's, and 128 + n where signal n has ended it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.supervise.deadlines import GRACE
from hybridnet.kvstore.supervise.local import ProcessHandle, start_process
from hybridnet.kvstore.supervise.words import status

#: How this is started.
MODULE: Final = "hybridnet.kvstore.supervise"
_LONGEST: Final = 1 << 20  # bytes of the line


def line(command: Sequence[str], environment: Mapping[str, str], folder: str | None) -> str:
    """Returns what the other end of the tether reads."""
    return json.dumps({"command": list(command), "env": dict(environment), "folder": folder}) + "\n"


def untranslated(code: int) -> int:
    """Returns the exit status of the command from that of the tether (or of ssh)."""
    return 128 - code if 128 < code < 128 + 65 else code


def main() -> int:
    """Runs the command that standard input describes; returns its exit status."""
    try:
        command, environment, folder = _read(sys.stdin.readline(_LONGEST))
        if folder is not None:
            os.chdir(os.path.expanduser(folder))
        handle = start_process("the command", command, environment, output=(1, 2))
    except (KVStoreError, OSError) as error:
        print(f"{MODULE}: {error}", file=sys.stderr)
        return 127
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, frame: handle.signal(signal.SIGTERM))
    return status(_wait(handle))


def _read(text: str) -> tuple[list[str], dict[str, str], str | None]:
    try:
        whole: Any = json.loads(text)
        command, environment, folder = whole["command"], whole["env"], whole["folder"]
    except (ValueError, TypeError, KeyError):
        raise KVStoreError("standard input must begin with a line of JSON: what to run") from None
    texts = [*command, *environment, *environment.values(), folder or ""]
    if not command or not all(isinstance(one, str) for one in texts):
        raise KVStoreError("the command, its variables and its folder must be texts")
    return command, environment, folder


def _wait(handle: ProcessHandle) -> int:
    """Waits for the command's end, or for that of standard input, which then ends the command."""
    tether = sys.stdin.fileno()
    asked = False
    while True:
        code = handle.poll()
        if code is not None:
            return code
        waits = [one for one in (handle.fileno(), None if asked else tether) if one is not None]
        found = select.select(waits, [], [], GRACE if asked else 0.2)[0]
        if asked and not found:
            handle.signal(signal.SIGKILL)
        elif not asked and tether in found and not os.read(tether, 4096):
            asked = True
            handle.signal(signal.SIGTERM)
