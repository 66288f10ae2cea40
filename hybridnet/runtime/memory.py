"""`memory`: what the memory of this process is used for, the host's and accelerators'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from hybridnet.base.allocator import free_memory

from .live.arrays import live_arrays, nbytes_by_context
from .platform.device_memory import DeviceUse, uses
from .programs.cache import cache
from .specialize.constants import memory as constants


@final
@dataclass(frozen=True, slots=True)
class Memory:
    """The memory in use, in bytes, by what it is for; printed, it is a table.

    Attributes:
        arrays: of each context the arrays that are alive, JAX's own included.
        programs: what compiled programs take, about; at most HYBRIDNET_PROGRAMS_SIZE.
        num_programs: how many are compiled.
        constants: what was made once of weights that stay the same (part of `arrays`); at most
            HYBRIDNET_CONSTANTS_SIZE.
        free: freed, and kept by the C library for what is allocated next; at most
            HYBRIDNET_KEEP_MEMORY for each of its heaps. The system need not have given pages to it.
        resident: pages of this process in the machine's memory; 0 where it cannot be told.
        peak: the most that this ever was; likewise.
        accelerators: of each accelerator in use what its allocator has given out, the most that
            this ever was, and what it may. Small arrays of accelerators that are in host memory
            still are among those of cpu(0).
    """

    arrays: Mapping[str, int]
    programs: int
    num_programs: int
    constants: int
    free: int
    resident: int
    peak: int
    accelerators: Mapping[str, DeviceUse] = field(default_factory=dict)

    def __str__(self) -> str:
        rows = [(f"arrays on {name}", size) for name, size in self.arrays.items()]
        rows += [
            (f"{self.num_programs} programs", self.programs),
            ("constants, among the arrays", self.constants),
            ("free, kept for what comes next", self.free),
            ("resident, all in all", self.resident),
            ("resident at the most", self.peak),
        ]
        for name, use in self.accelerators.items():
            rows += [
                (f"in use on {name}", use.used),
                (f"in use on {name} at the most", use.peak),
                (f"JAX may take of {name}", use.limit),
            ]
        return "\n".join(f"{name:<32}{size / 2**20:12.2f} MiB" for name, size in rows)


def memory() -> Memory:
    """Returns what the memory of this process is used for.

    It waits for nothing: arrays that are still being computed count, and operators that are
    recorded and not launched yet have none.
    """
    compiled = [program for program in cache.programs() if program.compiled is not None]
    return Memory(
        arrays=nbytes_by_context(live_arrays()),
        programs=cache.statistics().nbytes,
        num_programs=len(compiled),
        constants=constants.nbytes(),
        free=free_memory(),
        resident=resident(),
        peak=_of_process("VmHWM"),
        accelerators=uses(),
    )


def resident() -> int:
    """Returns how many bytes of this process are in the machine's memory; 0 if nobody can tell."""
    return _of_process("VmRSS")


def _of_process(field: str) -> int:
    """Returns a number of bytes that Linux tells of this process; 0 on other systems."""
    try:
        found = re.search(
            rf"^{field}:\s*(\d+) kB$", Path("/proc/self/status").read_text(encoding="utf-8"), re.M
        )
    except OSError:
        return 0
    return 1024 * int(found[1]) if found else 0
