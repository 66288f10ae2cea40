"""Gangs of processes on this machine, for tests of collective calls."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Ended", "await_end", "await_line", "free_port", "start_gang"]


@dataclass(frozen=True)
class Ended:
    """How a process ended: its status, and what it printed."""

    status: int
    out: str
    err: str


def free_port() -> int:
    """Returns a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_gang(script: str, size: int, **environ: str) -> list[subprocess.Popen[str]]:
    """Starts processes that all run a script.

    Args:
        script: Python's text; it may be indented.
        size: how many.
        environ: further variables of the environment.
    """
    port = free_port()
    return [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "DMLC_ROLE": "worker",
                "DMLC_PS_ROOT_URI": "127.0.0.1",
                "DMLC_PS_ROOT_PORT": str(port),
                "DMLC_NUM_WORKER": str(size),
                "DMLC_NUM_SERVER": "0",
                "DMLC_WORKER_ID": str(rank),
                **environ,
            },
        )
        for rank in range(size)
    ]


def await_line(process: subprocess.Popen[str], line: str) -> None:
    """Waits until a process prints a line; what Gloo prints before is passed over."""
    assert process.stdout is not None
    for text in process.stdout:
        if text == f"{line}\n":
            return
    raise AssertionError(f"{line!r} was not printed")


def await_end(gang: Sequence[subprocess.Popen[str]], seconds: float = 200) -> list[Ended]:
    """Returns how the processes of a gang ended; those that do not are killed, and it raises."""
    try:
        found = []
        for process in gang:
            out, err = process.communicate(timeout=seconds)
            found.append(Ended(process.returncode, out, err))
        return found
    finally:
        for process in gang:
            process.kill()
            process.communicate()
