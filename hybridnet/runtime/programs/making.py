"""When programs are made: read from disk, compiled at once, in the background, or not at all.

In this module a *whole* is a structure of several instructions, and its *parts* are the structures
of one instruction each into which it can be taken apart. (The nodes of a graph count as
instructions here, see `Call.has_parts`.)

- A whole that this process has not seen before runs step by step: each part on NumPy arrays, if its
  operator has a host form (`host_program`), or else by a program of its own, which other wholes
  share.
- If the programs of some parts are missing, the whole is looked for on disk, where earlier
  processes have left their programs.
- If most of them are missing, the whole is compiled at once: that is cheaper than compiling the
  parts.
- A whole that is launched again and again is compiled in the background. Once that is done, a
  launch of it is a single dispatch.

So no user waits for a compilation when running step by step would have been quicker.

Some programs compute a new structure each time, without end. Their wholes do not come again, but
the parts do. So a part that was missing in a few wholes gets a program of its own, and from then on
is no reason to compile a whole. And if a thread's compiled wholes hardly ever run a second time, a
whole must be launched more often than usual before it is compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, final

from hybridnet.base import config
from hybridnet.base.interrupts import is_from_signal
from hybridnet.native import onednn

from ..observe import events, program_log
from ..observe.program_log import describe, explaining, say
from ..platform.background import later, later_in_own_thread
from ..platform.blas_threads import leave_one
from ..platform.collecting import without_collecting
from ..platform.jax_devices import has_begun
from ..platform.turns import short_turns
from ..segments.code import Code
from .compiling import compile_code
from .host_program import HostProgram
from .program import ENOUGH_OF_PART, Program
from .program_rules import may_call_onednn
from .program_store import ProgramStore
from .recipe import Recipe
from .recipe_book import book
from .shape_advice import ShapeAdvice
from .shelf import Shelf
from .steps import plan

__all__ = ["Maker"]

# The time that compiling a whole takes, as a share of compiling all its parts. Measured on LeNet's
# training step of 33 instructions: 2.7 s as a whole, 4.2 s for the parts.
_WHOLE_SHARE: Final = 0.65

# When a single instruction that runs on NumPy arrays is compiled: after _SEVERAL launches that took
# _ENOUGH seconds in all (about what compiling takes; a network has fewer layers of one shape, which
# are initialized once); or after _OFTEN launches that took _LEAST, so that loops settle.
_ENOUGH: Final = 0.03
_SEVERAL: Final = 6
_OFTEN: Final = 64
# A part of a whole is compiled only if each run takes longer than this many seconds, and all runs
# more than ENOUGH_OF_PART: usually the whole is compiled before that.
_LONG: Final = 5e-4

# When a whole is compiled: not before launch number _WARM, and then if one of two is true.
# (1) It was launched again _STREAK times in a row, each time within _NEAR launches of this thread,
# as loops do. (Sentences of random lengths come again, too, but not so soon.) If it has fewer than
# _SMALL instructions it must be _STREAK_SMALL times; and _OFTEN times if it has no inputs either,
# like the initialization of parameters. And running it step by step has taken _LEAST seconds an
# instruction, or _LEAST_OF_ALL: launches of small arrays cost so little that a compilation, which
# takes half a second of a processor, would not be repaid by hundreds of them.
# (2) Running it step by step has taken _SHARE of the time that compiling it will take, at _EACH
# seconds an instruction.
_WARM: Final = 2
_NEAR: Final = 8
_STREAK: Final = 4
_STREAK_SMALL: Final = 16
_SMALL: Final = 8
_SHARE: Final = 0.25
_EACH: Final = 0.05
_LEAST: Final = 5e-3
_LEAST_OF_ALL: Final = 0.02

# The first compilation of a process costs the loop that runs meanwhile about _FIRST seconds: it
# shares the processors, and Python while JAX is loaded (`docs/performance.md`). So a whole whose
# launches take at least _LASTING seconds each is not compiled before NumPy has computed for _FIRST
# seconds in all; then as much is likely to follow, and repays it.
_FIRST: Final = 1.2
_LASTING: Final = 0.02

# What _WARM is in a thread whose structures keep changing.
_WARM_CHANGING: Final = 8
# A part that was missing in more new wholes than this gets a program of its own.
_RECURRING: Final = 3
# A thread's structures count as changing when its compiled wholes that never ran again have this
# many instructions, less two for each instruction of wholes that did. (Initializing a network takes
# some tens of small wholes that run once.)
_MOST_UNUSED: Final = 512
# With this many the user is told.
_TELL: Final = 4096
# The most instructions that one whole counts for: a single large one does not mean change.
_MOST_OF_ONE: Final = 128

_CHANGING: Final = (
    "what this thread computes keeps changing: programs of %d operators in all were compiled that "
    "never ran again. Structures run operator by operator now until they are seen %d times. Pad "
    "arrays whose shapes vary to a few sizes (hn.Buckets), and keep conditions on values out of "
    "inner loops"
)


class _Making(threading.local):
    """What is known of the wholes that a thread has launched."""

    #: The instructions of compiled wholes that never ran again; see _MOST_UNUSED.
    unused = 0
    #: The number of launches of wholes that were not compiled.
    turn = 0
    #: Whether every whole is compiled at its second launch; see `Maker.soon`.
    soon = False
    #: Whether the user has been told that the structures keep changing.
    told = False


@final
class Maker:
    """Decides when programs are compiled or read from disk, and does it.

    Args:
        shelf: the programs in memory, among which it finds those of parts.
        store: the programs on disk.

    Attributes:
        compilations: how many programs XLA has compiled.
        loaded: how many programs were read from disk.
    """

    def __init__(self, shelf: Shelf, store: ProgramStore) -> None:
        self.compilations = 0
        self.loaded = 0
        self._shelf = shelf
        self._store = store
        self._advice = ShapeAdvice()
        self._thread = _Making()
        # The wholes that are being compiled in the background, or wait for it.
        self._underway: set[Program] = set()

    # -- deciding ----------------------------------------------------------------------------

    def obtain(self, program: Program) -> Any:
        """Counts a launch of a program that is not compiled, and compiles it if it is time.

        Returns:
            The executable; None if the program is to be run step by step this time.

        Raises:
            Exception: the structure is a single instruction, and it does not compile.
        """
        code = program.code
        program.launches += 1
        if config.deterministic() and config.host() == "off":
            return self._obtain_before(program)
        if program.ready is not None and program.launches % 2:  # see `Program.take_over`
            made = program.take_over()
            if made is not None:  # None if the cache has dropped it meanwhile
                return made
        alone = program.is_alone
        if alone:
            return self._on_host(program, as_part=False) or self.obtain_compiled(program)
        if config.host() == "only":
            return None
        self._note_turn(program)
        steady = self._thread.unused < _MOST_UNUSED
        if program.launches == 1:
            missing, whole, at_hand = self._costs(program)
            # If all its parts can run at once, that is as quick as looking on disk.
            if steady and not at_hand and self._load(program):
                return program.compiled
            if missing >= _WHOLE_SHARE * whole:
                self._try_compile(program, "new, as most of its parts are")
                self._note_compiled(code)
            elif explaining():
                say("%s: new, runs one by one; %d of %d missing", describe(code), missing, whole)
        elif not program.submitted:
            look = steady and not program.is_looked_for
            # To look on disk may mean to wait until JAX is loaded; and for a small whole, reading
            # the file takes longer than many runs.
            if look and has_begun() and _weight(code) >= _SMALL:
                look, program.is_looked_for = False, True
                if self._load(program):
                    return program.compiled
            if self._is_due(program, steady):
                program.submitted = True
                self._note_compiled(code)
                self._submit(program, look)
        return program.compiled

    def _obtain_before(self, program: Program) -> Any:
        """Returns the executable, compiled now if it must be; see `config.deterministic`.

        Returns:
            None if the whole does not compile, and its parts are to run one by one.
        """
        if program.ready is not None:
            program.take_over()
        if program.compiled is None and not self._load(program):
            if may_call_onednn(program.code):
                onednn.build()
            if program.is_alone:
                return self._compile(program)
            if not program.submitted:  # else it was tried
                program.submitted = True
                self._try_compile(program, "before it runs")
        return program.compiled

    def _submit(self, program: Program, look: bool) -> None:
        """Has a whole be compiled in the background, after a look on disk if `look` is true."""
        why = f"seen {program.launches} times"
        self._underway.add(program)
        self._make_later(program, why, look=look)

    def _is_due(self, program: Program, steady: bool) -> bool:
        """Whether a whole that was launched again is to be compiled now; see _WARM."""
        if program.launches < (_WARM if steady else _WARM_CHANGING):
            return False
        if config.host() == "off" or self._thread.soon:
            return True
        weight = _weight(program.code)
        if weight < _SMALL and program.launches < _SEVERAL:
            return False
        if weight >= _SMALL:
            streak = _STREAK
        else:
            streak = _STREAK_SMALL if program.code.input_types else _OFTEN
        least = min(_LEAST * weight, _LEAST_OF_ALL)
        goes_on = program.streak >= streak and program.seconds >= least
        settled = goes_on or program.seconds >= _SHARE * _EACH * weight
        return settled and self._repays_jax(program)

    def _repays_jax(self, program: Program) -> bool:
        """Whether it is worth loading JAX to compile a whole, or to read it from disk."""
        if has_begun() or program.seconds >= _FIRST:
            return True
        if program.seconds < _LASTING * program.launches:
            return True
        if program.on_disk is None:
            program.on_disk = self._store.may_have(program.code)
        return program.on_disk

    def _note_turn(self, program: Program) -> None:
        """Notes how soon after its last launch this thread has launched a whole again."""
        thread = self._thread
        thread.turn += 1
        if program.launches > 1:
            near = thread.turn - program.turn <= _NEAR
            program.streak = program.streak + 1 if near else 0
        program.turn = thread.turn

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs a part of a whole on NumPy arrays; None if XLA runs it."""
        program.launches += 1
        return self._on_host(program, as_part=True)

    def _on_host(self, program: Program, as_part: bool) -> HostProgram | None:
        """Returns what runs one instruction on NumPy arrays; has it be compiled if it is time."""
        host = program.find_host()
        if host is None or program.submitted:
            return host
        # A part that runs in less time than XLA takes to start a program stays on NumPy arrays. So
        # do all while some whole is being compiled, or waits for oneDNN's calls to be: with the
        # whole a part's own program has no use any more, and until then it only delays it.
        if as_part:
            long = host.seconds > ENOUGH_OF_PART and host.seconds > _LONG * host.runs
            due = long and not self._underway
        else:
            enough = _ENOUGH if has_begun() else _FIRST
            several = program.launches >= _SEVERAL and host.seconds > enough
            due = several or (program.launches >= _OFTEN and host.seconds > _LEAST)
        if due:
            program.submitted = True
            if config.host() != "only":
                self._make_later(program, "runs often")
        return host

    def obtain_compiled(self, program: Program) -> Any:
        """Returns the executable of a structure of one instruction, from disk or compiled.

        Raises:
            Exception: it does not compile.
        """
        program.host = None
        if program.ready is not None:
            made = program.take_over()
            if made is not None:
                return made
        return program.compiled if self._load(program) else self._compile(program)

    def _costs(self, program: Program) -> tuple[int, int, bool]:
        """Returns what compiling the missing parts of a new whole would cost.

        Returns:
            The weight of the parts whose programs are missing; the weight of all instructions; and
            whether all parts can run at once, without a look on disk. A part that was missing more
            than _RECURRING times does not count, since its program will be used again.
        """
        with without_collecting():
            optimized = program.repays_passes()
            program.steps = plan(program.code, self._shelf.part, optimized=optimized)
        absent = {part for part in program.steps.programs if part.compiled is None}
        missing, at_hand = 0, True
        for known in absent:
            if known.find_host() is not None:
                continue
            at_hand = False
            known.missed += 1
            if known.on_disk is None:
                known.on_disk = self._store.has(known.code)
            if not known.on_disk and known.missed <= _RECURRING:
                missing += known.code.instructions[0][0].weight
        return missing, _weight(program.code), at_hand

    def _note_compiled(self, code: Code) -> None:
        thread = self._thread
        thread.unused += min(_weight(code), _MOST_OF_ONE)
        if thread.unused >= _TELL and not thread.told:
            thread.told = True
            program_log.log.warning(_CHANGING, thread.unused, _WARM_CHANGING)

    def note_ran_again(self, code: Code) -> None:
        """Notes that a compiled program has run a second time in this thread."""
        thread = self._thread
        if thread.unused and len(code.instructions) > 1:
            thread.unused = max(0, thread.unused - 2 * min(_weight(code), _MOST_OF_ONE))

    @contextmanager
    def soon(self) -> Iterator[None]:
        """A scope in which a whole is compiled when this thread launches it a second time."""
        before, self._thread.soon = self._thread.soon, True
        try:
            yield
        finally:
            self._thread.soon = before

    # -- making ------------------------------------------------------------------------------

    def _make_later(self, program: Program, why: str, *, look: bool = True) -> None:
        """Has the background make an executable, and first oneDNN's calls if it needs them."""

        def make() -> None:
            later(lambda: self._make(program, why, look=look), "compile")

        def build_first() -> None:
            onednn.build()
            make()

        if may_call_onednn(program.code) and not onednn.is_decided():
            later_in_own_thread(build_first, "build")  # other programs need not wait for it
        else:
            make()

    def _make(self, program: Program, why: str, *, look: bool = True) -> None:
        """Makes an executable, in the background: reads it from disk if `look`, or compiles it."""
        try:
            if not (look and self._load(program, in_pairs=True)):
                self._try_compile(program, why, in_pairs=True)
        finally:
            self._underway.discard(program)

    def _load(self, program: Program, *, in_pairs: bool = False) -> bool:
        """Reads the executable from disk; returns whether it was there.

        Args:
            program: the program.
            in_pairs: whether it takes over when a pair of launches begins; see `Program.take_over`.
        """
        started = perf_counter()
        found = self._store.load(program.code)
        if found is None:
            return False
        self._give(program, found, in_pairs=in_pairs)
        self.loaded += 1
        if explaining():
            say("%s: read from disk in %s", describe(program.code), _since(started))
        return True

    def _give(self, program: Program, executable: Any, *, in_pairs: bool) -> None:
        """Gives a program its executable, at once or when a pair of launches begins."""
        if in_pairs:
            program.ready = executable
        else:
            program.compiled, program.steps = executable, None
        self._shelf.note_made(program, executable)

    def _try_compile(self, program: Program, why: str, *, in_pairs: bool = False) -> None:
        """Compiles a program. If that fails it only logs: running step by step raises the error."""
        started = perf_counter()
        try:
            with leave_one(), short_turns():
                self._compile(program, in_pairs=in_pairs)
        except Exception as error:
            if is_from_signal(error):
                raise
            described = describe(program.code)
            program_log.log.info("%s: does not compile as a whole: %s", described, error)
        else:
            if explaining():
                say("%s: compiled in %s: %s", describe(program.code), _since(started), why)

    def _compile(self, program: Program, *, in_pairs: bool = False) -> Any:
        started = perf_counter()
        code = program.code
        recipe = book.recipe(code)
        with events.span("compile", code):
            made = compile_code(
                code, recipe, for_disk=self._store.is_open(), in_background=in_pairs
            )
        self._give(program, made, in_pairs=in_pairs)
        self.compilations += 1
        if _weight(code) > 1:
            self._advice.note(code)
        self._store.save(code, recipe, made)
        if len(code.instructions) == 1 and explaining():
            say("%s: compiled in %s", describe(code), _since(started))
        return made

    def replace(self, program: Program, recipe: Recipe, executable: Any) -> None:
        """Has another executable run a program from now on, and in later processes.

        Args:
            program: the program.
            recipe: the recipe by which the executable was compiled.
            executable: the executable, from `compile_code`.
        """
        program.replace(executable)
        self._shelf.note_made(program, program.compiled)
        self._store.save(program.code, recipe, executable)

    def reset_after_fork(self) -> None:
        """In a forked child, where nothing is being made."""
        self._underway.clear()


def _weight(code: Code) -> int:
    return sum(call.weight for call, _ in code.instructions)


def _since(started: float) -> str:
    return f"{1e3 * (perf_counter() - started):.1f} ms"
