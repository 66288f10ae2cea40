"""Another user of this machine, for tests of what one can do to another.

Only root can become somebody else; elsewhere the tests are skipped.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["STRANGER", "needs_strangers", "open_folder", "stranger"]

#: The number of a user who has nothing here: nobody.
STRANGER = 65534
needs_strangers = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can have a process of another user",
)

# What it may need is imported before: Python itself may be where the other user cannot read.
_BECOME = """
    import contextlib, ctypes, errno, json, os, shutil, signal, socket, stat, sys, time, zlib
    from pathlib import Path
    libc = ctypes.CDLL(None, use_errno=True)
    os.setgroups([])
    os.setresgid({number}, {number}, {number})
    os.setresuid({number}, {number}, {number})
"""


@contextlib.contextmanager
def stranger(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Runs a script as another user; begins when it has printed a line, and ends it at the end.

    Args:
        code: Python's text; it may be indented. What it needs of the standard library is imported.
        arguments: what it finds in ``sys.argv[1:]``.
    """
    text = textwrap.dedent(_BECOME.format(number=STRANGER)) + textwrap.dedent(code)
    process = subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the other user's process has ended"
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def open_folder(mode: int) -> Iterator[Path]:
    """A folder of a mode that all users reach, which those of pytest are not."""
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as made:
        os.chmod(made, mode)
        yield Path(made)
