"""When programs are made: read from disk, compiled at once, in the background, or not at all.

A structure that this process has not seen runs instruction by instruction: on NumPy arrays where
its operators have host forms (`host_program`), or each through a program of its own, which most
other structures share. Where some of those are missing, the whole is looked for on disk, where
earlier processes left their programs; where most are, compiling the whole at once is cheaper. Seen
again and again, it is compiled in the background; once that is done it is one dispatch. So no user
waits for a compilation that running step by step would have beaten. The nodes of a graph are its
instructions for this purpose (`Call.has_parts`).

Structures may also go on changing for ever. Then their parts recur, though they do not: a part that
was missing in a few structures is worth a program of its own, and does not count for the whole any
more. And a thread whose wholes are hardly ever run twice has to show one more often than others
before it is compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, final

from hybridnet.base import config
from hybridnet.native import onednn

from ..observe import events, program_log
from ..observe.program_log import describe, explaining, say
from ..platform.background import in_own_thread, later
from ..platform.blas_threads import leave_one
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

# What compiling a structure as a whole takes, as a share of compiling each instruction alone.
# Measured on LeNet's training step: 33 instructions 2.7 s, their parts 4.2 s.
_WHOLE_SHARE: Final = 0.65
# Seconds for which a program of one instruction has run on the host when it is compiled: about what
# that takes; and how often, which is more than a network has layers of one shape, that are made
# once. Or just how often, so that loops settle. A part of a larger structure may run longer, since
# that is compiled as a whole soon.
_ENOUGH: Final = 0.03
_SEVERAL: Final = 6
_OFTEN: Final = 64
_LONG: Final = 5e-4
# When a whole is compiled: at the second launch at the earliest; when it came again so often in a
# row, each time in as many turns as loops have (more often where it is small, and as often as above
# where it has no inputs either, as what makes the parameters of a network); or when running it step
# by step has taken this share of what its compilation will, by the seconds that it takes for each
# instruction. Sentences of random lengths come again, too, but not soon.
_WARM: Final = 2
_NEAR: Final = 8
_STREAK: Final = 4
_STREAK_SMALL: Final = 16
_SMALL: Final = 8
_SHARE: Final = 0.25
_EACH: Final = 0.05
# Seconds that the first compilation of a process costs the loop beside it, which has to share the
# processors with it, and Python while JAX is loaded (`docs/performance.md`). A structure whose
# launches take at least so long each (what takes less is over soon, or comes often) has to have
# taken as much by NumPy before: then as much is likely to come, and repays it.
_FIRST: Final = 1.2
_LASTING: Final = 0.02
# The same, in a thread whose structures keep changing.
_WARM_CHANGING: Final = 8
# New structures in which an instruction was missing, after which it gets a program of its own.
_RECURRING: Final = 3
# Instructions in wholes that were compiled and never run again (less twice as many in those that
# were), after which a thread's structures are said to keep changing; and after which the user is
# told. Making a network's parameters takes some tens of wholes that run once, but small ones.
_MOST_UNUSED: Final = 512
_TELL: Final = 4096
# What one of them counts at most: a single large one says nothing of change.
_MOST_OF_ONE: Final = 128

_CHANGING: Final = (
    "what this thread computes keeps changing: programs of %d operators in all were compiled that "
    "never ran again. Structures run operator by operator now until they are seen %d times. Pad "
    "arrays whose shapes vary to a few sizes (hn.Buckets), and keep conditions on values out of "
    "inner loops"
)


class _Making(threading.local):
    """Counts of the wholes that a thread launched."""

    #: Instructions in those that did not run again, less twice those that did.
    unused = 0
    #: How many launches of wholes there were without a program.
    turn = 0
    #: Whether what comes again is compiled, however soon it came and whatever it took.
    soon = False
    told = False


@final
class Maker:
    """Gives programs their executables.

    Args:
        shelf: where the programs of single instructions are found.
        store: programs on disk.

    Attributes:
        compilations: XLA compilations.
        loaded: programs read from disk.
    """

    def __init__(self, shelf: Shelf, store: ProgramStore) -> None:
        self.compilations = 0
        self.loaded = 0
        self._shelf = shelf
        self._store = store
        self._advice = ShapeAdvice()
        self._thread = _Making()
        # Wholes that were handed to the background, and are not made yet.
        self._underway: set[Program] = set()

    # -- deciding ----------------------------------------------------------------------------

    def obtain(self, program: Program) -> Any:
        """Returns the executable of a structure that has none yet; None: run it step by step.

        Raises:
            Exception: a single instruction does not compile.
        """
        code = program.code
        program.launches += 1
        if program.ready is not None and program.launches % 2:  # a pair begins
            made = program.take_over()
            if made is not None:  # else it was dropped from the cache meanwhile
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
            # Where all its parts are at hand, running these is as quick as looking on disk.
            if steady and not at_hand and self._load(program):
                return program.compiled
            if missing >= _WHOLE_SHARE * whole:
                self._try_compile(program, "new, as most of its parts are")
                self._note_compiled(code)
            elif explaining():
                say("%s: new, runs one by one; %d of %d missing", describe(code), missing, whole)
        elif not program.submitted:
            look = steady and not program.is_looked_for
            # Else it would wait for JAX, or for what takes longer than many runs of a small one.
            if look and has_begun() and _weight(code) >= _SMALL:
                look, program.is_looked_for = False, True
                if self._load(program):
                    return program.compiled
            if self._is_due(program, steady):
                program.submitted = True
                self._note_compiled(code)
                self._submit(program, look)
        return program.compiled

    def _submit(self, program: Program, look: bool) -> None:
        """Has a structure compiled in the background; `look`: unless it is on disk."""
        why = f"seen {program.launches} times"
        self._underway.add(program)
        self._make_later(program, why, look=look)

    def _is_due(self, program: Program, steady: bool) -> bool:
        """Whether a structure that came again is compiled now."""
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
        settled = program.streak >= streak or program.seconds >= _SHARE * _EACH * weight
        return settled and self._repays_jax(program)

    def _repays_jax(self, program: Program) -> bool:
        """Whether JAX may be loaded for a structure; of what is on disk nothing is compiled."""
        if has_begun() or program.seconds >= _FIRST:
            return True
        if program.seconds < _LASTING * program.launches:
            return True
        if program.on_disk is None:
            program.on_disk = self._store.may_have(program.code)
        return program.on_disk

    def _note_turn(self, program: Program) -> None:
        """Takes notice of when this thread launched a structure."""
        thread = self._thread
        thread.turn += 1
        if program.launches > 1:
            near = thread.turn - program.turn <= _NEAR
            program.streak = program.streak + 1 if near else 0
        program.turn = thread.turn

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs an instruction, which is a part of a larger structure, on the host."""
        program.launches += 1
        return self._on_host(program, as_part=True)

    def _on_host(self, program: Program, as_part: bool) -> HostProgram | None:
        """Returns what runs one instruction on the host, until it is compiled."""
        host = program.find_host()
        if host is None or program.submitted:
            return host
        # A part runs in many structures, which say nothing of each other; what takes less time than
        # to hand it to XLA stays here. So do convolutions while a whole is compiled: they take long
        # to compile, and oneDNN computes them here, too.
        if as_part:
            long = host.seconds > ENOUGH_OF_PART and host.seconds > _LONG * host.runs
            due = long and not (self._underway and may_call_onednn(program.code))
        else:
            enough = _ENOUGH if has_begun() else _FIRST
            several = program.launches >= _SEVERAL and host.seconds > enough
            due = several or program.launches >= _OFTEN
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
        """Returns the weight of a new structure's missing parts, and of all its instructions.

        And whether all parts can be run at once, without a look at the disk. A part that keeps
        turning up does not count as missing: its program will be used again.
        """
        program.steps = plan(program.code, self._shelf.part)
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
        """Takes notice that a structure's program ran a second time, in this thread."""
        thread = self._thread
        if thread.unused and len(code.instructions) > 1:
            thread.unused = max(0, thread.unused - 2 * min(_weight(code), _MOST_OF_ONE))

    @contextmanager
    def soon(self) -> Iterator[None]:
        """A block in which a structure is compiled when this thread launches it a second time."""
        before, self._thread.soon = self._thread.soon, True
        try:
            yield
        finally:
            self._thread.soon = before

    # -- making ------------------------------------------------------------------------------

    def _make_later(self, program: Program, why: str, *, look: bool = True) -> None:
        """Has the background make an executable; where that calls oneDNN, once these calls are."""

        def make() -> None:
            later(lambda: self._make(program, why, look=look), "compile")

        def build_first() -> None:
            onednn.build()
            make()

        if may_call_onednn(program.code) and not onednn.is_built():
            in_own_thread(build_first, "hybridnet-build")  # other programs need not wait for it
        else:
            make()

    def _make(self, program: Program, why: str, *, look: bool = True) -> None:
        """In the background: takes the executable from disk, after a look there, or compiles."""
        try:
            if not (look and self._load(program, in_pairs=True)):
                self._try_compile(program, why, in_pairs=True)
        finally:
            self._underway.discard(program)

    def _load(self, program: Program, *, in_pairs: bool = False) -> bool:
        """Takes the executable from disk; returns whether it was there."""
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
        """Lets an executable run a program, at once or when a pair of launches begins."""
        if in_pairs:
            program.ready = executable
        else:
            program.compiled, program.steps = executable, None
        self._shelf.note_made(program, executable)

    def _try_compile(self, program: Program, why: str, *, in_pairs: bool = False) -> None:
        """Compiles a whole ahead; where that fails, running step by step says what is wrong."""
        started = perf_counter()
        try:
            with leave_one(), short_turns():
                self._compile(program, in_pairs=in_pairs)
        except Exception as error:
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
        """Lets a program be run by another executable from now on, in later processes, too.

        Args:
            program: which.
            recipe: how the executable was made.
            executable: what `compile_code` made.
        """
        program.replace(executable)
        self._shelf.note_made(program, program.compiled)
        self._store.save(program.code, recipe, executable)

    def reset_after_fork(self) -> None:
        """In a forked child: see `ProgramStore.reset_after_fork`; nothing is being made there."""
        self._underway.clear()
        self._store.reset_after_fork()


def _weight(code: Code) -> int:
    return sum(call.weight for call, _ in code.instructions)


def _since(started: float) -> str:
    return f"{1e3 * (perf_counter() - started):.1f} ms"
