"""The programs in memory, found by their structures, and limited in number and size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, final

from hybridnet.base import config
from hybridnet.base.allocator import release_memory
from hybridnet.base.context import Context
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock
from hybridnet.ops.core import Call, Types

from ..observe.program_log import describe, explaining, say
from ..platform.background import later
from ..segments.code import Code
from .executable import Executable, size_of
from .program import Owner, Program

# When about this many bytes became free, the C library is told to give free memory back to the
# system. A compilation allocates many small blocks between those of others, so that without this
# more and more pages are mostly free. It takes 5 to 40 ms.
_GIVE_BACK_BYTES: Final = 64 << 20
# Making a program leaves so many bytes free for each that it keeps (ResNet-18's step: 195 MB, 30).
_FREE_BYTES_PER_KEPT: Final = 6
# The most programs of one call that are also found by the call and the types of its inputs, without
# making a structure. New structures that never come again consist of such calls.
_MOST_PARTS: Final = 2048


@final
class _Entry:
    """A program on the shelf.

    Args:
        program: the program.

    Attributes:
        program: as given.
        then: the entry of the program that the same thread launched after this one, last time.
        asked: whether it was asked for since it came, or since it was last spared.
        runs: how often it had run by then. At least once, as the first run is no reason to keep
            it: it was compiled for that one.
        size: about how many bytes of host memory the executable takes; 0 if there is none.
    """

    __slots__ = ("asked", "program", "runs", "size", "then")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.then: _Entry | None = None
        self.asked = False
        self.runs = 1
        self.size = 0

    @property
    def is_used(self) -> bool:
        """Whether the program was used since it came, or since it was last spared."""
        return self.asked or self.program.account.runs > self.runs

    def spare(self) -> None:
        """Notes that it stays, for as long as it is used."""
        self.asked, self.runs = False, max(self.program.account.runs, 1)

    def drop(self) -> None:
        """Notes that it goes."""
        self.then = None
        self.program.forget()


class _Last(threading.local):
    """The last launch of this thread."""

    last: _Entry | None = None


@final
class Shelf:
    """The programs of a cache, by structure; threads may use it at the same time.

    If there are too many, the one goes that has been there longest without being used again.

    Args:
        owner: what makes the programs.
        capacity: the most structures that are kept.
        instructions: the most instructions in all structures together.
        size: the most bytes of host memory that programs may take; default HYBRIDNET_PROGRAMS_SIZE.

    Attributes:
        capacity: the most structures that are kept.
        size: about how many bytes the programs take now.
    """

    def __init__(
        self, owner: Owner, capacity: int, instructions: int, size: int | None = None
    ) -> None:
        self.capacity = capacity
        self.size = 0
        self._max_size = size
        self._owner = owner
        self._entries: OrderedDict[Code, _Entry] = OrderedDict()
        # Re-entrant, like every lock here: a finalizer may compute with arrays.
        self._lock = free_in_children(RLock())
        self._thread = _Last()
        self._max_instructions = instructions
        self._instructions = 0
        self._loose = 0  # the bytes that became free since memory was last given back, about
        self._parts: dict[tuple[Context, Call, Types], tuple[_Entry, tuple[Program, Types]]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def all(self) -> list[Program]:
        """Returns a list of all programs."""
        # The inner list is made in one go, whatever other threads add meanwhile.
        return [entry.program for entry in list(self._entries.values())]

    def get(self, code: Code) -> Program | None:
        """Returns the program of a structure; None if it is not here."""
        entry = self._entries.get(code)
        return None if entry is None else entry.program

    def next(self, code: Code) -> Program:
        """Returns the program of a structure, a new one if need be, for this thread to launch.

        As loops launch the same programs in turn, it first tries the one that followed this
        thread's last program before. To compare two structures takes a third of the time of a
        look-up in a dictionary, which has to hash the structure as well.
        """
        thread = self._thread
        last = thread.last
        entry = None if last is None else last.then
        if entry is not None:
            program = entry.program
            if program.kept and program.code == code:
                entry.asked = True
                thread.last = entry
                return program
        thread.last = entry = self._find(code)
        if last is not None:
            last.then = entry
        return entry.program

    @property
    def last(self) -> Program | None:
        """The program that this thread launched last."""
        last = self._thread.last
        return None if last is None else last.program

    def forget_last(self) -> None:
        """Notes that this thread has launched something that is no program."""
        self._thread.last = None

    def find(self, code: Code) -> Program:
        """Returns the program of a structure; adds a new one if there is none."""
        return self._find(code).program

    def _find(self, code: Code) -> _Entry:
        """Returns the entry of a structure; adds a new one if there is none."""
        with self._lock:
            entry = self._entries.get(code)
            if entry is not None:
                entry.asked = True
                return entry
            if self._max_size is None:
                self._max_size = config.programs_size()
            entry = self._entries[code] = _Entry(Program(code, self._owner))
            self._instructions += len(code.instructions)
            if len(self._entries) > self.capacity or self._instructions > self._max_instructions:
                self._make_room(entry)
            return entry

    def _make_room(self, new: _Entry) -> None:
        """Drops others than a new entry while there are too many."""
        while len(self._entries) > 1 and (
            len(self._entries) > self.capacity or self._instructions > self._max_instructions
        ):
            self._drop_one(new)

    def part(self, ctx: Context, call: Call, types: Types) -> tuple[Program, Types]:
        """Returns the program that runs a call alone, and the types of its results.

        Args:
            ctx: the context on which it runs.
            call: the call.
            types: the types of its inputs.
        """
        key = ctx, call, types
        found = self._parts.get(key)
        if found is not None:
            entry, part = found
            if part[0].kept:
                entry.asked = True
                return part
        inputs = tuple(range(-1, ~len(types), -1))
        made = call.infer(types)
        entry = self._find(Code(ctx, ((call, inputs),), types, tuple(range(call.num_outputs)), ()))
        part = entry.program, made
        if len(self._parts) >= _MOST_PARTS:
            self._parts.clear()
        self._parts[key] = entry, part
        return part

    def note_made(self, program: Program, executable: Executable) -> None:
        """Notes that a program has a new executable; drops other programs if memory is short."""
        size = size_of(executable)
        with self._lock:
            entry = self._entry_of(program)
            if entry is None:
                return
            # Others are dropped before the new one counts, so that `size` never exceeds the bound.
            grown = size - entry.size
            self._make_memory(entry, grown, max(self._max_size or 0, size))
            self.size += grown
            entry.size = size
        self._note_loose(_FREE_BYTES_PER_KEPT * size)

    def _note_loose(self, nbytes: int) -> None:
        """Notes that so many bytes became free, and gives memory back if they are many."""
        with self._lock:
            self._loose += nbytes
            enough = self._loose >= _GIVE_BACK_BYTES
            if enough:
                self._loose = 0
        if enough:
            later(release_memory, "release memory")

    def note_given_up(self, program: Program) -> None:
        """Notes that a program has no executable any more."""
        with self._lock:
            entry = self._entry_of(program)
            if entry is not None:
                self.size -= entry.size
                entry.size = 0

    def _entry_of(self, program: Program) -> _Entry | None:
        """Returns the entry of a program; None if it is not here any more."""
        entry = self._entries.get(program.code)
        return entry if entry is not None and entry.program is program else None

    def _make_memory(self, new: _Entry, grown: int, most: int) -> None:
        """Drops executables of others than a program while all of them take too much."""
        while self.size + grown > most:
            self._drop_one(new, compiled=True)

    def _drop_one(self, new: _Entry, *, compiled: bool = False) -> None:
        """Drops one program, chosen by the second-chance algorithm.

        That is the oldest one that was not used since it was last looked at here. One that was used
        is spared, and goes to the end of the order.

        Args:
            new: one that is never dropped.
            compiled: whether to drop only a program that has an executable.
        """
        while True:
            code, entry = self._entries.popitem(last=False)
            if entry is new or entry.is_used or (compiled and not entry.size):
                entry.spare()
                self._entries[code] = entry
                continue
            entry.drop()
            self._instructions -= len(code.instructions)
            self.size -= entry.size
            self._loose += entry.size
            say_runs(entry.program)
            return

    def clear(self) -> None:
        """Forgets every program."""
        with self._lock:
            for entry in self._entries.values():
                entry.drop()
            self._entries.clear()
            self._parts.clear()
            self._instructions = self.size = 0

    def reset_after_fork(self) -> None:
        """In a forked child: forgets the programs, which belong to the parent's devices."""
        self.clear()


def say_runs(program: Program) -> None:
    """Logs how often a program ran."""
    runs = program.account.runs
    if runs and explaining():
        often = f"{runs} times" if runs > 1 else "once"
        say("%s: ran %s", describe(program.code), often)
