"""The programs that are kept: found by structure, and within bounds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, Final, final

from hybridnet.base import config
from hybridnet.base.allocator import release_memory
from hybridnet.base.context import Context
from hybridnet.ops.core.call import Call, Types

from ..observe.program_log import describe, explaining, say
from ..platform.background import later
from ..segments.code import Code
from .executable import size_of
from .program import Owner, Program

__all__ = ["Shelf", "say_runs"]

# Bytes of dropped programs after which the C library gives back what is free. A compilation takes
# many small blocks, between which those of others stay: without this, pages that are mostly free
# pile up. It takes some milliseconds.
_GIVE_BACK: Final = 64 << 20
# Programs of one call that are also found by what decides them, without a structure being made:
# recurring calls are most of what there is to find for structures that never recur themselves.
_MOST_PARTS: Final = 2048


class _Last(threading.local):
    """The last launch of this thread."""

    last: Program | None = None


@final
class Shelf:
    """Programs by structure; safe from many threads.

    Args:
        owner: the cache that they are of.
        capacity: structures kept.
        instructions: in all of them together.
        size: bytes of host memory that they may take; default what HYBRIDNET_PROGRAMS_SIZE says.

    Attributes:
        capacity: as given.
        size: bytes that they take, about.
    """

    def __init__(
        self, owner: Owner, capacity: int, instructions: int, size: int | None = None
    ) -> None:
        self.capacity = capacity
        self.size = 0
        self._max_size = size
        self._owner = owner
        self._programs: OrderedDict[Code, Program] = OrderedDict()
        # Re-entrant, like every lock here: a finalizer may compute with arrays.
        self._lock = threading.RLock()
        self._thread = _Last()
        self._max_instructions = instructions
        self._instructions = 0
        self._dropped = 0  # bytes, since memory was given back
        self._parts: dict[tuple[Context, Call, Types], tuple[Program, Types]] = {}

    def __len__(self) -> int:
        return len(self._programs)

    def all(self) -> list[Program]:
        """Returns the programs as they are now."""
        return list(self._programs.values())

    def get(self, code: Code) -> Program | None:
        """Returns the program of a structure; None where it is not kept."""
        return self._programs.get(code)

    def next(self, code: Code) -> Program:
        """Returns the program that this thread launches now; there is one from now on.

        Loops launch the same ones in turn, and to compare two structures takes a third of the time
        that looking one up in a dictionary takes, which hashes it, too.
        """
        thread = self._thread
        last = thread.last
        program = None if last is None else last.then
        if program is not None and program.kept and program.code == code:
            program.used = True
        else:
            program = self.find(code)
            if last is not None:
                last.then = program
        thread.last = program
        return program

    @property
    def last(self) -> Program | None:
        """The program that this thread launched last."""
        return self._thread.last

    def find(self, code: Code) -> Program:
        """Returns the program of a structure; there is one from now on."""
        with self._lock:
            program = self._programs.get(code)
            if program is not None:
                program.used = True
                return program
            if self._max_size is None:
                self._max_size = config.programs_size()
            program = self._programs[code] = Program(code, self._owner)
            self._instructions += len(code.instructions)
            while len(self._programs) > 1 and (
                len(self._programs) > self.capacity or self._instructions > self._max_instructions
            ):
                self._drop_one(program)
            return program

    def part(self, ctx: Context, call: Call, types: Types) -> tuple[Program, Types]:
        """Returns the program that runs a call by itself, and the types of its results.

        Args:
            ctx: where.
            call: what is run.
            types: of its inputs.
        """
        key = ctx, call, types
        found = self._parts.get(key)
        if found is not None and found[0].kept:
            found[0].used = True
            return found
        inputs = tuple(range(-1, ~len(types), -1))
        made = call.infer(types)
        program = self.find(Code(ctx, ((call, inputs),), types, tuple(range(call.num_outputs)), ()))
        if len(self._parts) >= _MOST_PARTS:
            self._parts.clear()
        found = self._parts[key] = program, made
        return found

    def note_made(self, program: Program, executable: Any) -> None:
        """Takes notice that a program has got an executable, or another; others may go for it."""
        size = size_of(executable)
        with self._lock:
            if not program.kept:
                return
            # Before it counts, so that nobody ever sees more than the bound.
            grown = size - program.size
            while self.size + grown > max(self._max_size or 0, size):
                self._drop_one(program, compiled=True)
            self.size += grown
            program.size = size
            enough = self._dropped >= _GIVE_BACK
            if enough:
                self._dropped = 0
        if enough:
            later(release_memory, "release memory")

    def _drop_one(self, new: Program, *, compiled: bool = False) -> None:
        """Drops the oldest program that was not used since it was looked at here (second chance).

        The order is that of a clock: whatever is spared goes to the end.

        Args:
            new: a program that stays.
            compiled: whether those without an executable stay, too.
        """
        while True:
            code, program = self._programs.popitem(last=False)
            if program is new or program.used or (compiled and not program.size):
                program.used = False
                self._programs[code] = program
                continue
            program.forget()
            self._instructions -= len(code.instructions)
            self.size -= program.size
            self._dropped += program.size
            say_runs(program)
            return

    def clear(self) -> None:
        """Forgets every program."""
        with self._lock:
            for program in self._programs.values():
                program.forget()
            self._programs.clear()
            self._parts.clear()
            self._instructions = self.size = 0

    def reset_after_fork(self) -> None:
        """In a forked child: forgets the programs, which belong to the parent's devices."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self.clear()


def say_runs(program: Program) -> None:
    """Says in the log how often a program ran."""
    if program.runs and explaining():
        runs = f"{program.runs} times" if program.runs > 1 else "once"
        say("%s: ran %s", describe(program.code), runs)
