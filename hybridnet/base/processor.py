"""The processors of this machine: of what kind they are, and how many of them to compute with."""

from __future__ import annotations

import contextlib
import math
import os
import platform
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final

from . import config

#: What is added to the niceness of what nobody waits for: of a processor that others want, too, it
#: has a tenth of what each of them has.
LOW_PRIORITY: Final = 10
#: How many processes share the processors that this one may use.
_sharing: Final = [1]


@cache
def processor() -> str:
    """Returns the model of the processor and all that it can do, as the system describes it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor()
    wanted = ("flags", "Features", "model name", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))


@cache
def num_threads() -> int:
    """Returns with how many threads XLA and oneDNN compute, each.

    HYBRIDNET_NUM_THREADS or OMP_NUM_THREADS say so; else it is the number of processors that this
    process may use (its affinity), or that the time which its control groups may use comes to,
    which containers limit; its share of them where others compute, too (`share_processors`). More
    threads than that would wait for each other to be scheduled.
    """
    asked = config.num_threads() or os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if str(asked).isdecimal() and int(asked):
        return int(asked)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limit = cgroup_quota(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))
    usable = min(usable or 1, math.ceil(limit)) if limit else usable or 1
    return max(1, usable // _sharing[0])


def share_processors(processes: int) -> None:
    """Notes that so many processes, this one among them, are to compute here at the same time."""
    _sharing[0] = processes
    num_threads.cache_clear()


def set_batch_policy() -> None:
    """Makes this thread, and those that it begins, wait for their turn when they wake up.

    A thread that wakes up takes the processor from one that runs, as a rule. To one that computes
    for long this makes no difference; but the other may be a server that was about to answer others
    (SCHED_BATCH, see sched(7)). Systems without that policy, or that forbid it, stay as they are.
    """
    if hasattr(os, "SCHED_BATCH"):
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def idle_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    """Returns how long the processors that this process may use have had nothing to do, together.

    None where nobody counts that.

    Args:
        stat: the file that tells, see proc(5).
    """
    try:
        usable = os.sched_getaffinity(0)
        lines = stat.read_bytes().splitlines()
        # cpu0 user nice system idle iowait ..., in ticks; the first line sums them up
        rows = [line.split() for line in lines[1:] if line.startswith(b"cpu")]
        found = [row for row in rows if int(row[0][3:]) in usable]
        ticks = sum(int(row[4]) + int(row[5]) for row in found)
    except (AttributeError, OSError, ValueError, IndexError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else None


def cgroup_quota(membership: Path, root: Path) -> float | None:
    """Returns how many processors' time the control groups of a process allow it; None: no limit.

    Args:
        membership: the file that names its groups, see cgroups(7).
        root: where the groups' folders are mounted.
    """
    found = []
    with contextlib.suppress(OSError):
        for line in membership.read_text(encoding="utf-8").splitlines():
            _, controllers, name = line.split(":", 2)
            mount = root if not controllers else root / controllers
            if controllers and "cpu" not in controllers.split(","):
                continue
            # A limit of a group holds for those in it. What a container cannot see is not there.
            group = PurePosixPath(name.lstrip("/"))
            for folder in (mount / group, *(mount / parent for parent in group.parents)):
                found += _limit(folder)
    return min(found, default=None)


def _limit(folder: Path) -> list[float]:
    """Returns the limit of one group, in processors, if it has one."""
    with contextlib.suppress(OSError, ValueError):  # of version 2; the quota may be 'max'
        quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()
        return [int(quota) / int(period)]
    with contextlib.suppress(OSError, ValueError):  # of version 1; -1 where there is none
        quota, period = (
            (folder / f"cpu.cfs_{what}_us").read_text(encoding="utf-8")
            for what in ("quota", "period")
        )
        return [int(quota) / int(period)] if int(quota) > 0 else []
    return []


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Sets environment variables inside a block, for libraries that read them as they begin."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
