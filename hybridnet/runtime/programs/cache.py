"""The program cache: from the structure of a segment to the XLA executable that runs it.

A structure that this process has not seen is looked for on disk, where earlier processes left
their programs. One that is new altogether runs instruction by instruction, each through a program
of its own, which most other structures share; unless most of those programs are missing too, when
compiling the whole at once is cheaper. Seen again, it is compiled in the background; once that is
done it is one dispatch. So no user waits for a compilation that running step by step would have
beaten.

Structures may also go on changing for ever. Then their parts recur, though they do not: a part that
was missing in a few structures is worth a program of its own, and does not count for the whole any
more. And a thread whose wholes are hardly ever run twice has to show one more often than others
before it is compiled.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, NamedTuple

from hybridnet.base import config

from ..observe import events as observe
from ..observe import program_log
from ..observe.program_log import describe, explaining, say
from ..platform.background import later
from ..segments.segment import Code
from ..specialize.constants import Settled, Watch
from .compiling import compile_code, lower
from .dispatch import dispatch
from .program_store import ProgramStore
from .recipe import Recipe
from .recipe_book import book
from .shape_advice import ShapeAdvice
from .steps import (
    Failed,
    Step,
    plan,
    run_steps,
)
from .turns import Turn, Turns

__all__ = [
    "CacheStatistics",
    "Failed",
    "ProgramCache",
    "ProgramState",
    "cache",
    "lower",
    "replaced",
]

# Programs kept, and instructions in all of them together; past it, the oldest goes that was not
# used again since it came, or was spared. A training script uses tens, of some hundred instructions
# each.
_CAPACITY: Final = 2048
_INSTRUCTIONS: Final = 1 << 18
# What compiling a structure as a whole takes, as a share of compiling each instruction alone.
# Measured on LeNet's training step: 33 instructions 2.7 s, their parts 4.2 s.
_WHOLE_SHARE: Final = 0.65
# Launches after which the whole structure is compiled: the first runs step by step.
_WARM: Final = 2
# The same, in a thread whose structures keep changing.
_WARM_UNSETTLED: Final = 8
# New structures in which an instruction was missing, after which it gets a program of its own.
_RECURRING: Final = 3
# Runs after which a program is worth tuning.
_HOT: Final = 64
# Instructions in wholes that were compiled and never run again (less twice as many in those that
# were), after which a thread's structures are said to keep changing; and after which the user is
# told. Making a network's parameters takes some tens of wholes that run once, but small ones.
_UNSETTLED: Final = 512
_TELL: Final = 4096

_CHANGING: Final = (
    "what this thread computes keeps changing: programs of %d operators in all were compiled that "
    "never ran again. Structures run operator by operator now until they are seen %d times. Pad "
    "arrays whose shapes vary to a few sizes (hn.Buckets), and keep conditions on values out of "
    "inner loops"
)


# What stands where an executable was, and hands launches on to it.
_AROUND: Final = (Settled, Turns)
#: How often an executable was replaced by a better one: who keeps one looks whether it still is.
replaced: Final = [0]


class _Program:
    """One structure, and what has been made of it so far."""

    __slots__ = (
        "compiled",
        "kept",
        "launches",
        "look",
        "missed",
        "on_disk",
        "runs",
        "steps",
        "submitted",
        "then",
        "tune",
        "used",
        "watch",
    )

    def __init__(self) -> None:
        self.compiled: Any = None
        #: Whether it is in the cache.
        self.kept = True
        #: Whether it was used again since it was put in, or spared.
        self.used = False
        #: The structure that the same thread launched next, last time, and its program.
        self.then: tuple[Code, _Program] | None = None
        #: Launches while it was not compiled.
        self.launches = 0
        #: Dispatches of what was compiled.
        self.runs = 0
        #: The number of runs at which it is looked at next.
        self.look = 2
        #: The one at which it is worth tuning.
        self.tune = sys.maxsize
        #: Looks for inputs that stay the same; None: not yet.
        self.watch: Watch | None = None
        self.submitted = False
        #: How to run it step by step; kept from the second time on.
        self.steps: list[Step] | None = None
        #: New structures that it was part of while it was not compiled.
        self.missed = 0
        #: Whether there is a file of it; None: not asked.
        self.on_disk: bool | None = None


class _Thread(threading.local):
    """What this thread has launched, and what became of the wholes that were compiled for it."""

    #: What it launched last.
    last: _Program | None = None
    #: Instructions in those that did not run again, less twice those that did.
    unused = 0
    told = False


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


class ProgramState(NamedTuple):
    """What has become of a structure.

    Attributes:
        compiled: whether it has a program.
        runs: how often that was dispatched.
        launches: how often it was launched before there was one.
    """

    compiled: bool
    runs: int
    launches: int


class ProgramCache:
    """Programs by structure, for the whole process; safe from many threads.

    Args:
        capacity: structures kept.
        instructions: in all of them together.
        store: programs on disk; default those in HYBRIDNET_CACHE_DIR.
    """

    def __init__(
        self,
        capacity: int = _CAPACITY,
        instructions: int = _INSTRUCTIONS,
        store: ProgramStore | None = None,
    ) -> None:
        #: Told of every launch before it, while somebody observes: (structure, inputs, scalars).
        self.watchers: list[Callable[[Code, list[Any], list[Any]], None]] = []
        self._programs: OrderedDict[Code, _Program] = OrderedDict()
        # Re-entrant, like every lock here: a finalizer may compute with arrays.
        self._lock = threading.RLock()
        self._thread = _Thread()
        self._advice = ShapeAdvice()
        self._store = store or ProgramStore()
        self._capacity = capacity
        self._max_instructions = instructions
        self._instructions = 0
        self._compilations = 0
        self._loaded = 0
        #: Launches that were one dispatch, counted by whoever makes them.
        self.dispatched = 0
        self._cold = 0

    def run(self, code: Code, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
        """Dispatches the program of this structure; returns its outputs.

        Args:
            code: the structure.
            inputs: JAX arrays on the structure's context, or `Failed`; donated ones are consumed.
            scalars: numbers, in the order of the instructions.

        Returns:
            Arrays; `Failed` for what could not be computed, where the rest could.
        """
        program = self._next(code)
        alone = len(code.instructions) == 1
        if program.compiled is None and not alone:
            self._obtain(code, program)
        if (alone or program.compiled is not None) and Failed not in map(type, inputs):
            return self._run(code, program, inputs, scalars)
        self._cold += 1
        steps = program.steps or plan(code, self._find)
        program.steps = steps if program.launches > 1 and program.compiled is None else None
        with observe.span("steps", code):
            return run_steps(self._run, code, steps, inputs, scalars)

    def _run(
        self, code: Code, program: _Program, inputs: list[Any], scalars: list[Any]
    ) -> Sequence[Any]:
        """Dispatches a structure that is compiled, or a single instruction; none has failed."""
        compiled = program.compiled
        if compiled is None:
            compiled = self._obtain(code, program)
        self.dispatched += 1
        program.runs += 1
        if program.runs >= program.look:
            self.look_at(code, program, inputs, scalars)
        if observe.observer is not None:
            for watch in self.watchers:
                watch(code, inputs, scalars)
            return _observed(code, compiled, inputs, scalars)
        return dispatch(code.ctx, compiled, inputs, scalars)

    def look_at(
        self, code: Code, program: _Program, inputs: Sequence[Any], scalars: Sequence[Any]
    ) -> None:
        """Looks at a program whose runs have reached the number that it had set.

        Args:
            code: the structure.
            program: what there is of it.
            inputs: what it runs on.
            scalars: numbers, likewise.
        """
        tuning = config.tuning()
        watch = program.watch
        if watch is None:  # its second run
            if self._thread.unused and len(code.instructions) > 1:
                self._thread.unused = max(0, self._thread.unused - 2 * _weight(code))
            watch = program.watch = Watch()
            if tuning == "background":
                program.tune = _HOT
            if tuning == "off" or not config.constants_size():
                watch.next = sys.maxsize
        elif program.runs >= watch.next:
            constant = watch.look(program.runs, inputs, code.donated)
            if constant:
                self._settle(code, program, inputs, scalars, constant)
        if program.runs >= program.tune:
            program.tune = sys.maxsize
            from ..tuning import tune_when_idle  # imports this module

            tune_when_idle(code, inputs, scalars)
        program.look = min(program.tune, watch.next)

    def _settle(
        self,
        code: Code,
        program: _Program,
        inputs: Sequence[Any],
        scalars: Sequence[Any],
        constant: Sequence[int],
    ) -> None:
        """Has a program made for inputs that stay the same, in the background."""
        from ..specialize.settling import Settling  # imports this module

        @contextmanager
        def turns() -> Iterator[Turn]:
            held = program.compiled = Turns(program.compiled)
            replaced[0] += 1
            try:
                yield held.turn
            finally:
                program.compiled = held.whole
                replaced[0] += 1

        def put(made: Settled) -> None:
            made.whole = _whole(program.compiled)  # which may have been replaced meanwhile
            program.compiled = made
            replaced[0] += 1

        def narrow(fewer: Sequence[int], arguments: Sequence[Any]) -> None:
            self._settle(code, program, arguments[:-1], scalars, fewer)

        settling = Settling(code, inputs, scalars, constant)
        later(lambda: settling.run(_whole(program.compiled), narrow, turns, put), "settle")

    def look_again(self, code: Code) -> None:
        """Has a program tuned when it has run as often again."""
        program = self._programs.get(code)
        if program is not None:
            program.tune = 2 * program.runs
            program.look = min(program.look, program.tune)

    def launches(self) -> int:
        """Returns how often programs were dispatched: the same number means that nothing ran."""
        return self._cold + sum([one.runs for one in list(self._programs.values())])

    def statistics(self) -> CacheStatistics:
        """Returns how full the cache is and how often it was hit."""
        return CacheStatistics(
            len(self._programs), self._compilations, self.dispatched, self._cold, self._loaded
        )

    def state(self, code: Code) -> ProgramState | None:
        """Returns what has become of a structure; None where it is not in the cache."""
        program = self._programs.get(code)
        if program is None:
            return None
        return ProgramState(program.compiled is not None, program.runs, program.launches)

    def compiled(self, code: Code) -> _Program | None:
        """Returns the program of a structure, for who runs it by itself; None if it has none."""
        program = self._programs.get(code)
        return None if program is None or program.compiled is None else program

    def replace(self, code: Code, recipe: Recipe, executable: Any) -> None:
        """Lets a structure be run by another executable from now on.

        Args:
            code: the structure.
            recipe: how the executable was made.
            executable: what `compile_code` made.
        """
        program = self._find(code)
        around = _around(program.compiled)
        if around is None:
            program.compiled = executable
        else:
            around.whole = executable
        replaced[0] += 1
        self._store.save(code, recipe, executable)

    def clear(self) -> None:
        """Forgets every program in memory."""
        with self._lock:
            for program in self._programs.values():
                program.kept, program.then = False, None
            self._programs.clear()
            self._instructions = 0

    def reset_after_fork(self) -> None:
        """In a forked child: forgets the programs, which belong to the parent's devices."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]
        self._store.reset_after_fork()
        self.clear()

    def explain(self) -> None:
        """Says of each program how often it ran."""
        for code, program in list(self._programs.items()):
            _say_runs(code, program)

    # -- finding, and keeping within bounds --------------------------------------------------

    def _next(self, code: Code) -> _Program:
        """Returns the program that this thread launches now.

        Loops launch the same ones in turn, and to compare two structures takes a third of the time
        that looking one up in a dictionary takes, which hashes it, too.
        """
        thread = self._thread
        last = thread.last
        expected = None if last is None else last.then
        if expected is not None and expected[1].kept and expected[0] == code:
            program = expected[1]
            program.used = True
        else:
            program = self._find(code)
            if last is not None:
                last.then = (code, program)
        thread.last = program
        return program

    def _find(self, code: Code) -> _Program:
        with self._lock:
            program = self._programs.get(code)
            if program is not None:
                program.used = True
                return program
            program = self._programs[code] = _Program()
            self._instructions += len(code.instructions)
            while len(self._programs) > 1 and (
                len(self._programs) > self._capacity or self._instructions > self._max_instructions
            ):
                self._drop_one(program)
            return program

    def _drop_one(self, new: _Program) -> None:
        """Drops the oldest program that was not used since it was looked at here (second chance).

        The order is that of a clock: whatever is spared goes to the end.
        """
        while True:
            code, program = self._programs.popitem(last=False)
            if program is new or program.used:
                program.used = False
                self._programs[code] = program
                continue
            program.kept, program.then = False, None
            self._instructions -= len(code.instructions)
            if explaining():
                _say_runs(code, program)
            return

    # -- deciding ----------------------------------------------------------------------------

    def _obtain(self, code: Code, program: _Program) -> Any:
        """Returns the executable of a structure that has none yet; None: run it step by step.

        Raises:
            Exception: a single instruction does not compile.
        """
        program.launches += 1
        thread = self._thread
        alone = len(code.instructions) == 1
        settled = thread.unused < _UNSETTLED
        if program.launches == 1:
            if (alone or settled) and self._load(code, program):
                return program.compiled
            if alone:
                return self._compile(code, program)
            missing, whole = self._costs(program, code)
            if missing >= _WHOLE_SHARE * whole:
                self._try_compile(code, program, "new, as most of its parts are")
                self._note_compiled(code, thread)
            elif explaining():
                say("%s: new, runs one by one; %d of %d missing", describe(code), missing, whole)
        elif alone:
            return self._compile(code, program)
        elif not program.submitted and program.launches >= (
            _WARM if settled else max(_WARM, _WARM_UNSETTLED)
        ):
            program.submitted = True
            self._note_compiled(code, thread)
            why = f"seen {program.launches} times"
            later(lambda: self._try_compile(code, program, why), "compile")
        return program.compiled

    def _costs(self, program: _Program, code: Code) -> tuple[int, int]:
        """Returns the weight of a new structure's missing parts, and of all its instructions.

        A part that keeps turning up does not count as missing: its program will be used again.
        """
        program.steps = plan(code, self._find)
        absent = {step.program: step.code for step in program.steps if not step.program.compiled}
        missing = 0
        for known, part in absent.items():
            known.missed += 1
            if known.on_disk is None:
                known.on_disk = self._store.has(part)
            if not known.on_disk and known.missed <= _RECURRING:
                missing += part.instructions[0][0].weight
        return missing, _weight(code)

    def _note_compiled(self, code: Code, thread: _Thread) -> None:
        thread.unused += _weight(code)
        if thread.unused >= _TELL and not thread.told:
            thread.told = True
            program_log.log.warning(_CHANGING, thread.unused, _WARM_UNSETTLED)

    # -- making ------------------------------------------------------------------------------

    def _load(self, code: Code, program: _Program) -> bool:
        """Takes the executable from disk; returns whether it was there."""
        started = perf_counter()
        program.compiled = self._store.load(code)
        if program.compiled is None:
            return False
        self._loaded += 1
        if explaining():
            say("%s: read from disk in %s", describe(code), _since(started))
        return True

    def _try_compile(self, code: Code, program: _Program, why: str) -> None:
        """Compiles a whole ahead; where that fails, running step by step says what is wrong."""
        started = perf_counter()
        try:
            self._compile(code, program)
        except Exception as error:
            program_log.log.info("%s: does not compile as a whole: %s", describe(code), error)
        else:
            if explaining():
                say("%s: compiled in %s: %s", describe(code), _since(started), why)

    def _compile(self, code: Code, program: _Program) -> Any:
        started = perf_counter()
        recipe = book.recipe(code)
        with observe.span("compile", code):
            program.compiled = compiled = compile_code(code, recipe)
        self._compilations += 1
        if _weight(code) > 1:
            self._advice.note(code)
        program.steps = None
        self._store.save(code, recipe, compiled)
        if len(code.instructions) == 1 and explaining():
            say("%s: compiled in %s", describe(code), _since(started))
        return compiled


def _observed(code: Code, compiled: Any, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
    """Dispatches a program while somebody listens."""
    if not observe.waits:
        with observe.span("program", code):
            return dispatch(code.ctx, compiled, inputs, scalars)
    with observe.span("device", code):
        with observe.span("program", code):
            outputs = dispatch(code.ctx, compiled, inputs, scalars)
        for array in outputs:
            array.block_until_ready()
    return outputs


def _weight(code: Code) -> int:
    return sum(call.weight for call, _ in code.instructions)


def _around(compiled: Any) -> Settled | Turns | None:
    """Returns what stands right before an executable; None where nothing does."""
    found = None
    while isinstance(compiled, _AROUND):
        found, compiled = compiled, compiled.whole
    return found


def _whole(compiled: Any) -> Any:
    around = _around(compiled)
    return compiled if around is None else around.whole


def _since(started: float) -> str:
    return f"{1e3 * (perf_counter() - started):.1f} ms"


def _say_runs(code: Code, program: _Program) -> None:
    if program.runs and explaining():
        say("%s: ran %s", describe(code), f"{program.runs} times" if program.runs > 1 else "once")


cache: Final = ProgramCache()
program_log.begin(cache.explain)

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=cache.reset_after_fork)
