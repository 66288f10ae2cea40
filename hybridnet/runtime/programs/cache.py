"""The program cache: from the structure of a segment to the XLA executable that runs it.

Programs are kept on a `Shelf`, made by a `Maker` when it is time, and run by themselves. What runs
often is improved (`improvers`): programs for weights that stay the same, other recipes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from ..observe import events, program_log
from ..segments.code import Code
from .host_program import HostProgram
from .making import Maker
from .program import FIRST_LOOK, Program, ProgramState, Watcher
from .program_store import ProgramStore
from .recipe import Recipe
from .shelf import Shelf, say_runs
from .steps import Failed, plan, run_steps

__all__ = ["CacheStatistics", "Improver", "ProgramCache", "cache", "improvers"]

# Programs kept, and instructions in all of them together; past it, the oldest goes that was not
# used again since it came, or was spared. A training script uses tens, of some hundred instructions
# each.
_CAPACITY: Final = 2048
_INSTRUCTIONS: Final = 1 << 18

#: Asked about a program whose runs have reached `Program.look`, with what it is about to be run on;
#: returns the number of runs at which it wants to be asked again, `sys.maxsize` for never.
Improver = Callable[[Program, Sequence[Any], Sequence[Any]], int]
#: Those of all caches; the floors above put theirs here (`hybridnet.runtime`).
improvers: Final[list[Improver]] = []


@dataclass(frozen=True, slots=True)
class CacheStatistics:
    """Counts since the process started."""

    #: Structures in the cache.
    size: int
    #: XLA compilations.
    compilations: int
    #: Launches that were one dispatch.
    hot: int
    #: Launches that ran instruction by instruction.
    cold: int
    #: Programs read from disk.
    loaded: int
    #: Bytes of host memory that the programs take, about.
    nbytes: int


class ProgramCache:
    """Programs by structure, for the whole process; safe from many threads.

    Args:
        capacity: structures kept.
        instructions: in all of them together.
        store: programs on disk; default those in HYBRIDNET_CACHE_DIR.
        size: bytes of host memory for them; default HYBRIDNET_PROGRAMS_SIZE.

    Attributes:
        watchers: told of every launch before it, while somebody observes.
        dispatched: launches that were one dispatch, counted by the programs.
    """

    def __init__(
        self,
        capacity: int = _CAPACITY,
        instructions: int = _INSTRUCTIONS,
        store: ProgramStore | None = None,
        size: int | None = None,
    ) -> None:
        self.watchers: list[Watcher] = []
        self.dispatched = 0
        self._cold = 0
        self._shelf = Shelf(self, capacity, instructions, size)
        self._maker = Maker(self._shelf, store or ProgramStore())

    def run(
        self,
        code: Code,
        inputs: list[Any],
        scalars: list[Any],
        made: list[Sequence[Any]] | None = None,
    ) -> Sequence[Any]:
        """Dispatches the program of this structure; returns its outputs; see `launch`."""
        return self.launch(self.next(code), inputs, scalars, made)

    def next(self, code: Code) -> Program:
        """Returns the program that this thread launches now; there is one from now on."""
        return self._shelf.next(code)

    def launch(
        self,
        program: Program,
        inputs: list[Any],
        scalars: list[Any],
        made: list[Sequence[Any]] | None = None,
    ) -> Sequence[Any]:
        """Dispatches a program, compiled or not; returns its outputs.

        Args:
            program: that of the structure, from `next`.
            inputs: JAX arrays on the structure's context, or `Failed`; donated ones are consumed.
            scalars: numbers, in the order of the instructions.
            made: gets the outputs, too, as soon as a program for the whole has given them; see
                `dispatch`.

        Returns:
            Arrays; `Failed` for what could not be computed, where the rest could.

        Raises:
            Exception: a structure of one instruction cannot be computed, though its inputs could.
        """
        code, alone = program.code, program.is_alone
        if program.compiled is None and not alone:
            self._maker.obtain(program)
        if (alone or program.compiled is not None) and Failed not in map(type, inputs):
            return program.run(inputs, scalars, made)
        self._cold += 1
        steps = program.steps
        if steps is None or not steps.is_kept:
            steps = plan(code, self._shelf.part)
        program.steps = steps if program.launches > 1 and program.compiled is None else None
        started = perf_counter()
        with events.span("steps", code), np.errstate(all="ignore"):  # as XLA does
            outputs = run_steps(steps, inputs, scalars)
        program.note_steps(perf_counter() - started)
        if len(code.instructions) == 1 and Failed not in map(type, inputs):
            for output in outputs:
                if type(output) is Failed:
                    error, cause = output.error, output.error.__cause__
                    raise cause if isinstance(cause, MemoryError) else error
        return outputs

    def obtain(self, program: Program) -> Any:
        """Returns the executable of a program that has none yet; None: run it step by step.

        Raises:
            Exception: a single instruction does not compile.
        """
        return self._maker.obtain(program)

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs an instruction, which is a part of a larger structure, on the host."""
        return self._maker.host_of(program)

    def obtain_compiled(self, program: Program) -> Any:
        """Returns the executable of a program that the host cannot run, though it was to."""
        return self._maker.obtain_compiled(program)

    def look_at(self, program: Program, inputs: Sequence[Any], scalars: Sequence[Any]) -> None:
        """Has the improvers look at a program whose runs have reached the number that it had set.

        Args:
            program: which.
            inputs: what it runs on.
            scalars: numbers, likewise.
        """
        if program.look == FIRST_LOOK:
            self._maker.note_ran_again(program.code)
        wanted = [improve(program, inputs, scalars) for improve in improvers]
        program.look = min(wanted, default=sys.maxsize)

    def compiling_soon(self) -> AbstractContextManager[None]:
        """A block in which a structure is compiled when this thread launches it a second time."""
        return self._maker.soon()

    def launches(self) -> int:
        """Returns how often programs were dispatched: the same number means that nothing ran."""
        return self._cold + sum([program.runs for program in self._shelf.all()])

    def statistics(self) -> CacheStatistics:
        """Returns how full the cache is and how often it was hit."""
        shelf, maker = self._shelf, self._maker
        return CacheStatistics(
            len(shelf), maker.compilations, self.dispatched, self._cold, maker.loaded, shelf.size
        )

    def programs(self) -> list[Program]:
        """Returns all programs in the cache, those that are not compiled yet included."""
        return self._shelf.all()

    def state(self, code: Code) -> ProgramState | None:
        """Returns what has become of a structure; None where it is not in the cache."""
        program = self._shelf.get(code)
        return None if program is None else program.state

    def compiled(self, code: Code) -> Program | None:
        """Returns the program of a structure, for who runs it by itself; None if it has none."""
        program = self._shelf.get(code)
        return None if program is None or program.compiled is None else program

    def last(self) -> Program | None:
        """Returns the program that this thread launched last; None if it has none."""
        program = self._shelf.last
        return None if program is None or program.compiled is None else program

    def look_again(self, code: Code) -> None:
        """Has a program tuned when it has run as often again."""
        program = self._shelf.get(code)
        if program is not None:
            program.look_again()

    def replace(self, code: Code, recipe: Recipe, executable: Any) -> None:
        """Lets a structure be run by another executable from now on.

        Args:
            code: the structure.
            recipe: how the executable was made.
            executable: what `compile_code` made.
        """
        self._maker.replace(self._shelf.find(code), recipe, executable)

    def clear(self) -> None:
        """Forgets every program in memory."""
        self._shelf.clear()

    def reset_after_fork(self) -> None:
        """In a forked child: forgets the programs, which belong to the parent's devices."""
        self._maker.reset_after_fork()
        self._shelf.reset_after_fork()

    def explain(self) -> None:
        """Says of each program how often it ran."""
        for program in self._shelf.all():
            say_runs(program)


cache: Final = ProgramCache()
program_log.begin(cache.explain)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=cache.reset_after_fork)
