"""The kind of processor of this machine."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

__all__ = ["processor"]


@cache
def processor() -> str:
    """Returns the model of the processor and all that it can do, as the system describes it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor()
    wanted = ("flags", "Features", "model name", "CPU part")
    return "\n".join(sorted({line for line in lines if line.startswith(wanted)}))
