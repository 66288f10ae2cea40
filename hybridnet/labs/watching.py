"""Runs a part in a process of its own, and hears what it finds, however that ends."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from hybridnet.base.config import lab_seconds
from hybridnet.base.lazy import subprocess, tempfile

from .finding import Finding, PartLine
from .folder import Folder
from .messages import ALL, as_message, as_table

_CHILD: Final = (sys.executable, "-m", "hybridnet.labs.child")
#: Seconds that a whole run may take.
_RUN: Final = 300
#: Seconds that a process has to end after its last word.
_GRACE: Final = 5
_FRAME: Final = re.compile(r'File "(.+)", line (\d+) in (.+)')


def messages(mode: str, folder: Folder, name: str = ALL) -> Iterator[dict[str, Any]]:
    """Yields the messages of a process that checks or runs a part, as they come.

    The last is one of kind "found" if it did not end by itself, or before its end.

    Args:
        mode: 'check' or 'run'.
        folder: where the part is.
        name: of the only property that is checked; default all.

    Raises:
        ParameterError: HYBRIDNET_LAB_SECONDS is no number of seconds.
    """
    seconds = lab_seconds() if mode == "check" else _RUN
    with tempfile.TemporaryDirectory() as place:
        stack = Path(place) / "stack"
        process = subprocess.Popen(
            [*_CHILD, mode, folder.path, stack, name, str(seconds)],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # so that processes of its own end with it
        )
        # What the part has started may hold the pipe open when the process is gone.
        threading.Thread(target=_end_when_done, args=(process,), daemon=True).start()
        now, ended = "", False
        try:
            assert process.stdout is not None
            for line in process.stdout:
                message = as_message(line)
                if message is not None:
                    now = message.get("check", now)
                    ended = message["kind"] == "end"
                    if not ended:
                        yield message
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE)
        finally:  # also where the user, or who reads this, ends it
            _end_group(process)
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        if not ended:
            finding = _unfinished(process.returncode, stack, folder)
            yield {"kind": "found", "check": now, "finding": as_table(finding)}


def _end_when_done(process: subprocess.Popen[str]) -> None:
    process.wait()
    _end_group(process)


def _end_group(process: subprocess.Popen[str]) -> None:
    """Ends the process and those that it has started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _unfinished(status: int, stack: Path, folder: Folder) -> Finding:
    """Returns what is wrong with a part whose process did not come to its end."""
    text = stack.read_text(encoding="utf-8", errors="replace") if stack.exists() else ""
    if not text:
        return Finding("check.died", {"status": str(status)})
    lines = folder.part.read_text(encoding="utf-8", errors="replace").splitlines()
    for file, number, function in _FRAME.findall(text):
        if file == str(folder.part):
            line = lines[int(number) - 1].strip() if int(number) <= len(lines) else ""
            return Finding("check.endless", {}, "", PartLine(int(number), line, function))
    return Finding("check.endless")
