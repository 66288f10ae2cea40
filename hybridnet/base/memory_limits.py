"""Limits on a process's memory and what they leave: that of its container, and the machine's.

Linux promises more memory than there is, and ends a process without a word when what it was
promised is used and is not there. So this asks for the numbers beforehand: the control groups that
the process is in (their version 2, or 1), and what is available on the machine. Memory of the file
cache counts as left, since the kernel gives it up first; so does swap that may be used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

__all__ = ["MemoryLimit", "address_space", "tightest_limit"]

_GROUPS: Final = Path("/sys/fs/cgroup")
_PROC: Final = Path("/proc")
# Version 1 says "no limit" by a number near 2**63.
_NO_LIMIT: Final = 1 << 60


class MemoryLimit(NamedTuple):
    """A limit on memory.

    Attributes:
        name: what sets it, in words.
        size: bytes that it allows.
        left: bytes of these that can still be had.
    """

    name: str
    size: int
    left: int


def tightest_limit(groups: Path = _GROUPS, proc: Path = _PROC) -> MemoryLimit | None:
    """Returns the limit of memory that leaves least; None where the system tells of none.

    Args:
        groups: where the control groups are mounted.
        proc: where the system tells of processes and of itself.
    """
    told = _read(proc / "meminfo")
    machine = {name: int(size) << 10 for name, size in re.findall(r"(\w+):\s+(\d+) kB", told)}
    swap = machine.get("SwapFree", 0)
    limits = [*_of_groups(groups, _read(proc / "self" / "cgroup"), swap)]
    if "MemAvailable" in machine:
        left = machine["MemAvailable"] + swap
        limits.append(MemoryLimit("the machine's memory", machine.get("MemTotal", 0), left))
    return min(limits, key=lambda limit: limit.left, default=None)


def _of_groups(groups: Path, told: str, swap: int) -> Iterator[MemoryLimit]:
    """Yields the limits of the groups that the process is in, the outer ones included."""
    for number, controllers, path in re.findall(r"(?m)^(\d+):([^:]*):(.*)$", told):
        if number == "0" and not controllers:
            files = "memory.max", "memory.current", "memory.swap.max", "memory.swap.current"
            root, first = groups, ""
        elif "memory" in controllers.split(","):
            files = (
                *("memory.limit_in_bytes", "memory.usage_in_bytes"),
                *("memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes"),
            )
            root, first = groups / "memory", "total_"
        else:
            continue
        folder = root / path.strip("/")
        # (In a container a group may be named as it is outside, where nobody can look.)
        folders = [folder, *folder.parents] if folder.is_dir() else [root]
        for place in folders:
            size, used = (_number(place / name) for name in files[:2])
            if size is not None and used is not None:
                stat = dict(re.findall(r"(?m)^(\w+) (\d+)$", _read(place / "memory.stat")))
                cached = sum(int(stat.get(first + name, 0)) for name in _CACHED)
                most, taken = (_number(place / name) for name in files[2:])
                more = swap if most is None or taken is None else min(swap, max(most - taken, 0))
                left = max(size - used, 0) + min(cached, used) + more
                yield MemoryLimit("the memory limit of the container", size, left)
            if place == root:
                break


#: The file cache, as both versions of control groups count it.
_CACHED: Final = ("inactive_file", "active_file")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _number(path: Path) -> int | None:
    """Returns the number in a file; None where it is not there, or says that there is no limit."""
    text = _read(path).strip()
    return int(text) if text.isdigit() and int(text) < _NO_LIMIT else None


def address_space() -> int:
    """Returns the most bytes of addresses that this process may have (``ulimit -v``); 0: any."""
    if resource is None:
        return 0
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 0 if limit == resource.RLIM_INFINITY else limit
