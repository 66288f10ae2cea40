"""Waiting for processes that are not children of ours to end."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Iterable
from pathlib import Path

__all__ = ["descriptors", "gone", "watched"]


def watched(processes: Iterable[int]) -> list[int]:
    """Returns a descriptor for each process, for `gone`; before whatever ends them."""
    return [os.pidfd_open(process) for process in processes]


def children(process: int) -> list[int]:
    """Returns the processes that one has started and not waited for."""
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def gone(watches: Iterable[int], seconds: float = 30) -> bool:
    """Waits until processes have ended; returns whether they all have."""
    all_gone = True
    for watch in watches:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        all_gone &= bool(poll.poll(1000 * seconds))
        with contextlib.suppress(OSError):
            os.close(watch)
    return all_gone


def descriptors() -> int:
    """Returns how many files this process has open."""
    return len(os.listdir("/proc/self/fd"))
