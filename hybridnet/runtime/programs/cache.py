"""The program cache: finds, for the structure of a segment, the XLA executable that runs it.

`ProgramCache` has a `Shelf`, which keeps the programs, and a `Maker`, which decides when each one
is compiled. A launch goes from here to the program, and from it to its `Maker` where it is not
compiled, or is to be improved.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

from hybridnet.base.host_array import DeviceArray
from hybridnet.ops.core import on_extended
from hybridnet.passes import PIPELINE

from ..observe import events, program_log
from ..platform.blas_threads import others
from ..platform.collecting import without_collecting
from ..segments.code import Code
from ..tiers.ledger import current
from .executable import Executable
from .making import Decide, Maker
from .program import Program, ProgramState
from .program_store import ProgramStore
from .recipe import Recipe
from .shelf import Shelf, say_runs
from .steps import Failed, plan, run_steps

# The most programs that are kept, and the most instructions in all of them together. A training
# script uses some ten programs of some hundred instructions each. `Shelf` says which one goes.
_MAX_PROGRAMS: Final = 2048
_MAX_INSTRUCTIONS: Final = 1 << 18

# The first launches, which are timed until XLA has computed their results.
_TIMED_LAUNCHES: Final = 4

# Python's garbage collector stands still while so many steps are run; see `collecting`.
_MANY_STEPS: Final = 64


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
        load: returns what counts for a decision beside the structure, see `tiers.choice`.
        next: returns the program of a structure, a new one if need be, for this thread to launch.
        part: returns the program that runs one call by itself, and the types of its results.
    """

    def __init__(
        self,
        capacity: int = _MAX_PROGRAMS,
        instructions: int = _MAX_INSTRUCTIONS,
        store: ProgramStore | None = None,
        size: int | None = None,
    ) -> None:
        self._cold = 0
        self._maker = Maker(store or ProgramStore())
        self._shelf = self._maker.shelf = Shelf(self._maker, capacity, instructions, size)
        self.watchers: Final = self._maker.watchers
        self.load: Final = self._maker.load
        self.next: Final = self._shelf.next
        self.part: Final = self._shelf.part

    def run(
        self,
        code: Code,
        inputs: list[DeviceArray],
        scalars: list[float],
        made: list[Sequence[DeviceArray]] | None = None,
    ) -> Sequence[DeviceArray]:
        """Dispatches the program of this structure; returns its outputs; see `launch`."""
        return self.launch(self.next(code), inputs, scalars, made)

    def run_awaited(
        self, code: Code, inputs: list[DeviceArray], scalars: list[float]
    ) -> Sequence[DeviceArray]:
        """Does what `run` does, for a program whose outputs are waited for at once.

        What NumPy does in less time than it takes to wait for XLA is not compiled, and its outputs
        are `HostArray`.
        """
        program = self.next(code)
        program.account.note_read()
        return self.launch(program, inputs, scalars, stay=True)

    def launch(
        self,
        program: Program,
        inputs: list[DeviceArray],
        scalars: list[float],
        made: list[Sequence[DeviceArray]] | None = None,
        *,
        stay: bool = False,
    ) -> Sequence[DeviceArray]:
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
        prefix = program.prefix  # another thread may take it away
        if prefix is not None and Failed not in map(type, inputs):
            outputs: list[Any] = prefix.run(inputs, scalars)
            current.account = program.account  # not that of what it ended with
            return outputs
        return self._run_steps(program, inputs, scalars, stay=stay)

    def launch_apart(
        self, program: Program, inputs: list[DeviceArray], scalars: list[float]
    ) -> list[Any]:
        """Runs a program of several instructions step by step, though it may be compiled.

        What a step lacks memory for is not computed, and nothing else is lost. No input is donated.

        Returns:
            For each output an array, or `Failed`.
        """
        self._cold += 1
        with without_collecting():
            steps = plan(program.code, self._shelf.part, optimized=program.repays_passes())
            return run_steps(steps, inputs, scalars)

    def _run_steps(
        self, program: Program, inputs: list[DeviceArray], scalars: list[float], *, stay: bool
    ) -> list[Any]:
        """Runs a program step by step; `stay`: see `put_owned`."""
        self._cold += 1
        code, steps, account = program.code, program.steps, program.account
        optimized = (steps is not None and steps.optimized) or program.repays_passes()
        if steps is None or not steps.is_kept or steps.optimized != optimized:
            with without_collecting():
                steps = plan(code, self._shelf.part, optimized=optimized)
        program.steps = steps if account.launches > 1 and program.compiled is None else None
        started = perf_counter()
        if events.observer is None and len(steps.programs) < _MANY_STEPS:
            outputs = run_steps(steps, inputs, scalars, stay=stay)
        else:
            with without_collecting(), events.span("steps", code):
                outputs = run_steps(steps, inputs, scalars, stay=stay)
        account.is_by_numpy = steps.is_by_numpy
        if account.is_by_numpy:
            ended = perf_counter()
            account.by_steps.note(ended - started)
            if ended > others.due:
                others.look(ended)
        elif account.launches <= _TIMED_LAUNCHES and not account.is_bought:
            _finish(outputs)  # the clock is to see what the device computes, too
            account.by_steps.note(perf_counter() - started)
        else:
            account.by_steps.runs += 1
        if len(code.instructions) == 1 and Failed not in map(type, inputs):
            for output in outputs:
                if type(output) is Failed:
                    error, cause = output.error, output.error.__cause__
                    raise cause if isinstance(cause, MemoryError) else error
        return outputs

    @property
    def decide(self) -> Decide:
        """The function that decides when programs are made."""
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
            len(shelf), maker.compilations, maker.dispatched, self._cold, maker.loaded, shelf.size
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

    def forget_last(self) -> None:
        """Notes that this thread has launched something that is no program."""
        self._shelf.forget_last()

    def look_again(self, code: Code) -> None:
        """Sets a program to be tuned again when it has run as many times more."""
        program = self._shelf.get(code)
        if program is not None:
            program.look_again()

    def save(self, code: Code, recipe: Recipe, executable: Executable) -> None:
        """Keeps an executable for later processes; once, as it is given away.

        Args:
            code: the structure.
            recipe: the recipe by which the executable was compiled.
            executable: the executable, from `compile_code`.
        """
        self._maker.save(code, recipe, executable)

    def replace(self, code: Code, executable: Executable) -> None:
        """Replaces the executable of a structure from now on in this process."""
        self._maker.replace(self._shelf.find(code), executable)

    def clear(self) -> None:
        """Forgets every program in memory."""
        self._shelf.clear()

    def reset_after_fork(self) -> None:
        """In a forked child: forgets the programs, which belong to the parent's devices."""
        self._maker.reset_after_fork()
        self._shelf.reset_after_fork()

    def keep_overpaid(self) -> None:
        """Tells the next process what this one has overpaid for structures without a program."""
        self._maker.overpaid.keep(self._shelf.all())

    def explain(self) -> None:
        """Logs for each program how often it ran."""
        for program in self._shelf.all():
            say_runs(program)


def _finish(arrays: Sequence[Any]) -> None:
    for array in arrays:
        if type(array) is not Failed:
            array.block_until_ready()


cache: Final = ProgramCache()
# Which of its programs the passes had a part in, also those that are being made, nobody knows: all
# are made anew, most of them from disk.
PIPELINE.on_change(cache.clear)
on_extended.append(cache.clear)
program_log.begin(cache.explain)
atexit.register(cache.keep_overpaid)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=cache.reset_after_fork)
