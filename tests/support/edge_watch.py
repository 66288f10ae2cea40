"""Runs calls at the edges of dtypes in processes that may hang or crash, and says which did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from edge_calls import Found

__all__ = ["watch"]

_HERE: Final = Path(__file__).resolve().parent
#: Seconds that a process has to start, which takes an import on a busy machine.
_START: Final = 120


def watch(
    operators: Sequence[str],
    dtypes: Mapping[str, Sequence[str]],
    *,
    every: bool,
    draws: int,
    hurry: bool,
    limit: float,
    worker: Path = _HERE / "edge_worker.py",
    told: Callable[[str], None] = lambda call: None,
) -> list[Found]:
    """Returns what is wrong with the calls of operators.

    Args:
        operators: their names.
        dtypes: of each, the names of the dtypes to try.
        every: try all its samples, and not the first alone.
        draws: how often each call is made, with other numbers.
        hurry: compile as fast as can be.
        limit: seconds that one call may take; one that takes longer is a 'hang', and the
            operators after it are tried in another process.
        worker: the script.
        told: called with each call before it is made.
    """
    found: list[Found] = []
    left = list(operators)
    while left:
        asked = {
            "operators": left,
            "dtypes": {name: list(dtypes[name]) for name in left},
            "every": every,
            "draws": draws,
            "hurry": hurry,
        }
        ended = _run(worker, asked, limit, found, told)
        if ended is None:
            break
        found.append(ended)
        left = left[left.index(ended.operator) + 1 :]
    return found


def _run(
    worker: Path, asked: Any, limit: float, found: list[Found], told: Callable[[str], None]
) -> Found | None:
    """Runs one process; returns None at its end, or the call at which it hung or crashed."""
    path = os.pathsep.join([str(_HERE), str(_HERE.parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, str(worker), json.dumps(asked)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    lines: SimpleQueue[str | None] = SimpleQueue()
    errors: list[str] = []
    assert process.stdout is not None and process.stderr is not None
    output, error_output = process.stdout, process.stderr

    def read() -> None:
        for line in output:
            lines.put(line)
        lines.put(None)

    readers = [
        threading.Thread(target=read, daemon=True),
        threading.Thread(target=lambda: errors.extend(error_output), daemon=True),
    ]
    for reader in readers:
        reader.start()
    operator, call, seconds = asked["operators"][0], "its start", _START
    try:
        while True:
            try:
                line = lines.get(timeout=seconds)
            except Empty:
                return Found(operator, call, "hang", f"has not ended after {seconds} s")
            if line is None:
                process.wait()
                text = f"ended with {process.returncode}: {''.join(errors)[-600:]}"
                return Found(operator, call, "crash", text)
            kind, *words = json.loads(line)
            if kind == "end":
                return None
            if kind == "begin":
                operator, call = words
                told(call)
            else:
                found.append(Found(*words))
            seconds = limit
    finally:
        process.kill()
        process.wait()
        for reader in readers:
            reader.join()
        output.close()
        error_output.close()
