"""The program cache: finds, for the structure of a segment, the XLA executable that runs it.

`ProgramCache` has a `Shelf`, which keeps the programs, and a `Maker`, which decides when each one
is compiled. Programs that run often are improved later (`improvers`): they are compiled anew for
weights that stay the same, or by another recipe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from hybridnet.base import config

from ..observe import events, program_log
from ..platform.collecting import without_collecting
from ..segments.code import Code
from ..tiers.ledger import FIRST_LOOK
from .host_program import HostProgram
from .making import Decide, Maker
from .program import Program, ProgramState, Watcher
from .program_store import ProgramStore
from .recipe import Recipe
from .shelf import Shelf, say_runs
from .steps import Failed, plan, run_steps

__all__ = ["CacheStatistics", "Improver", "ProgramCache", "cache", "improvers"]

# The most programs that are kept, and the most instructions in all of them together. A training
# script uses some ten programs of some hundred instructions each. `Shelf` says which one goes.
_CAPACITY: Final = 2048
_INSTRUCTIONS: Final = 1 << 18

# The first launches, which are timed until XLA has computed their results.
_TIMED: Final = 4

#: A function that may improve a program. It is called with the program, its inputs and its scalars
#: when the program has run `Account.look` times, and returns the number of runs at which it wants
#: to be called again (`sys.maxsize`: never).
Improver = Callable[[Program, Sequence[Any], Sequence[Any]], int]
#: The improvers of all caches. Higher layers append theirs (see `hybridnet.runtime`).
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
        capacity: the most structures that are kept.
        instructions: the most instructions in all structures together.
        store: the programs on disk; default those in HYBRIDNET_CACHE_DIR.
        size: the most bytes of host memory that programs may take; default HYBRIDNET_PROGRAMS_SIZE.

    Attributes:
        watchers: functions that are called before each launch while there is an observer.
        dispatched: how many launches were a single dispatch; the programs count them.
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

    def run_awaited(self, code: Code, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
        """Does what `run` does, for a program whose outputs are waited for at once.

        What NumPy does in less time than it takes to wait for XLA is not compiled, and its outputs
        are `HostArray`.
        """
        program = self.next(code)
        program.account.note_read()
        return self.launch(program, inputs, scalars, stay=True)

    def next(self, code: Code) -> Program:
        """Returns the program of a structure, a new one if need be, for this thread to launch."""
        return self._shelf.next(code)

    def launch(
        self,
        program: Program,
        inputs: list[Any],
        scalars: list[Any],
        made: list[Sequence[Any]] | None = None,
        *,
        stay: bool = False,
    ) -> Sequence[Any]:
        """Runs a program; returns its outputs.

        A program that is not compiled yet is run step by step.

        Args:
            program: the program, from `next`.
            inputs: JAX arrays on the structure's context, or `Failed`. Donated ones cannot be used
                afterwards.
            scalars: the numbers, in the order of the instructions.
            made: a list to which the outputs are appended if one executable makes them all; see
                `dispatch`.
            stay: see `put_owned`.

        Returns:
            For each output an array, or `Failed` if it could not be computed.

        Raises:
            Exception: the structure is a single instruction, all its inputs are there, and it
                cannot be computed.
        """
        alone = program.is_alone
        if program.compiled is None and not alone:
            self._maker.obtain(program)
        if (alone or program.compiled is not None) and Failed not in map(type, inputs):
            return program.run(inputs, scalars, made)
        return self._run_steps(program, inputs, scalars, stay=stay)

    def _run_steps(
        self, program: Program, inputs: list[Any], scalars: list[Any], *, stay: bool
    ) -> list[Any]:
        """Runs a program step by step; `stay`: see `put_owned`."""
        self._cold += 1
        code, steps, account = program.code, program.steps, program.account
        with without_collecting():
            optimized = (steps is not None and steps.optimized) or program.repays_passes()
            if steps is None or not steps.is_kept or steps.optimized != optimized:
                steps = plan(code, self._shelf.part, optimized=optimized)
            program.steps = steps if account.launches > 1 and program.compiled is None else None
            started = perf_counter()
            with events.span("steps", code), np.errstate(all="ignore"):  # as XLA does
                outputs = run_steps(steps, inputs, scalars, stay=stay)
        account.is_by_numpy = steps.is_by_numpy
        if not (account.is_by_numpy or account.is_bought) and account.launches <= _TIMED:
            _finish(outputs)  # the clock is to see what XLA computes, too
        account.by_steps.note(perf_counter() - started)
        if len(code.instructions) == 1 and Failed not in map(type, inputs):
            for output in outputs:
                if type(output) is Failed:
                    error, cause = output.error, output.error.__cause__
                    raise cause if isinstance(cause, MemoryError) else error
        return outputs

    def obtain(self, program: Program) -> Any:
        """Compiles or loads the executable of a program if it is time for that.

        Returns:
            The executable; None if the program is to be run step by step this time.

        Raises:
            Exception: the structure is a single instruction, and it does not compile.
        """
        return self._maker.obtain(program)

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs a step of a larger structure on NumPy arrays; None if XLA runs it."""
        return self._maker.host_of(program)

    def obtain_compiled(self, program: Program) -> Any:
        """Returns the executable of a program that NumPy turned out not to be able to run."""
        return self._maker.obtain_compiled(program)

    def look_at(self, program: Program, inputs: Sequence[Any], scalars: Sequence[Any]) -> None:
        """Has the improvers look at a program that has run `Account.look` times.

        Args:
            program: the program.
            inputs: the arrays that it is about to run on.
            scalars: the numbers that it is about to run on.
        """
        account = program.account
        if account.look == FIRST_LOOK:
            self._maker.note_ran_again(program)
        chosen = () if config.deterministic() else improvers
        wanted = [improve(program, inputs, scalars) for improve in (self._maker.appraise, *chosen)]
        account.look = min(wanted)

    @property
    def decide(self) -> Decide:
        """What decides when programs are made."""
        return self._maker.decide

    @decide.setter
    def decide(self, decide: Decide) -> None:
        self._maker.decide = decide

    def compiling_soon(self) -> AbstractContextManager[None]:
        """A block in which a structure is compiled when this thread launches it a second time."""
        return self._maker.soon()

    def launches(self) -> int:
        """Returns how many launches there were; if the number stays the same, nothing ran."""
        return self._cold + sum([program.account.runs for program in self._shelf.all()])

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
        """Returns the state of a structure's program; None if it is not in the cache."""
        program = self._shelf.get(code)
        return None if program is None else program.state

    def compiled(self, code: Code) -> Program | None:
        """Returns the program of a structure if it is compiled; else None."""
        program = self._shelf.get(code)
        return None if program is None or program.compiled is None else program

    def last(self) -> Program | None:
        """Returns the program that this thread launched last if it is compiled; else None."""
        program = self._shelf.last
        return None if program is None or program.compiled is None else program

    def look_again(self, code: Code) -> None:
        """Has a program be tuned again when it has run as many times more."""
        program = self._shelf.get(code)
        if program is not None:
            program.look_again()

    def replace(self, code: Code, recipe: Recipe, executable: Any) -> None:
        """Has another executable run a structure from now on.

        Args:
            code: the structure.
            recipe: the recipe by which the executable was compiled.
            executable: the executable, from `compile_code`.
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
        """Logs for each program how often it ran."""
        for program in self._shelf.all():
            say_runs(program)


def _finish(arrays: Sequence[Any]) -> None:
    for array in arrays:
        if type(array) is not Failed:
            array.block_until_ready()


cache: Final = ProgramCache()
program_log.begin(cache.explain)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=cache.reset_after_fork)
