"""Making programs: read from disk, compiled at once, or in the background.

In this module a *whole* is a structure of several instructions, and its *parts* are the structures
of one instruction each into which it can be taken apart. (The nodes of a graph count as
instructions here, see `Call.has_parts`.)

- A whole that this process has not seen before runs step by step: each part on NumPy arrays, if its
  operator has a host form (`host_program`), or else by a program of its own, which other wholes
  share. If making those that are missing costs more than the whole, the whole is made.
- A whole that is launched again and again is compiled in the background. Once that is done, a
  launch of it is a single dispatch.

When that is worth its price is decided in `hybridnet.runtime.tiers.choice`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any, Final, final

import numpy as np

from hybridnet.base import config
from hybridnet.base.allocator import release_memory
from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.mesh import Mesh
from hybridnet.base.processor import num_threads
from hybridnet.native import onednn

from ..observe import events, program_log
from ..observe.program_log import describe, explaining, say
from ..platform.background import (
    in_another_thread,
    in_turn,
    later,
    later_in_own_thread,
    side_by_side,
)
from ..platform.blas_threads import build_onednn, leave_one
from ..platform.collecting import without_collecting
from ..platform.jax_devices import copied, device_of, has_begun, platform_of, put_on_device
from ..platform.switch_interval import short_switch_interval
from ..segments.code import Code
from ..tiers.choice import (
    Decision,
    Load,
    Purchase,
    Whose,
    decide,
    is_quick,
    is_read,
    is_worth_timing,
    is_worth_twice,
    recurs,
)
from ..tiers.ledger import FIRST_LOOK, Account, Habits, current
from ..tiers.prices import SAMPLES, Prices, prices
from .compile_options import untuned
from .compiling import compile_code
from .dispatch import dispatch
from .executable import Executable
from .host_program import HostProgram
from .mesh_program import MeshExecutable
from .overpaid import Overpaid
from .prefix import find_prefix, is_prefix
from .program import Program, StepPlan, Watcher
from .program_rules import may_call_onednn
from .program_store import ProgramStore
from .recipe import Recipe
from .recipe_book import book
from .room import memory_of
from .shape_advice import ShapeAdvice
from .shelf import Shelf
from .steps import plan

#: A function that may improve a program: programs that run often are compiled anew for weights that
#: stay the same, or by another recipe. It is called with the program, its inputs and its scalars
#: when the program has run `Account.look` times, and returns the number of runs at which it wants
#: to be called again (`sys.maxsize`: never).
Improver = Callable[[Program, Sequence[Any], Sequence[Any]], int]
#: Higher layers append theirs (see `hybridnet.runtime`).
improvers: Final[list[Improver]] = []

#: A function like `hybridnet.runtime.tiers.choice.decide`.
Decide = Callable[[Whose, Account, Prices, Load], Decision]

# With this many operators in programs that never ran again the user is told.
_MANY_UNUSED_OPERATORS: Final = 4096
_CHANGING: Final = (
    "what this thread computes keeps changing: programs of %d operators in all were compiled that "
    "never ran again. Structures run operator by operator now until that has cost more. Pad "
    "arrays whose shapes vary to a few sizes (hn.Buckets), and keep conditions on values out of "
    "inner loops"
)


@final
class Maker:
    """Makes programs when it is decided that they are worth their price.

    Args:
        store: the programs on disk.

    Attributes:
        shelf: the programs in memory, among which it finds those of parts; set before the first.
        dispatched: how many launches were a single dispatch; the programs count them.
        watchers: functions that are called before each launch while there is an observer.
        compilations: how many programs XLA has compiled.
        loaded: how many programs were read from disk.
        decide: what decides.
        habits: what is known of the calling thread's purchases.
        overpaid: what earlier processes have overpaid.
    """

    shelf: Shelf

    def __init__(self, store: ProgramStore) -> None:
        self.dispatched = 0
        self.watchers: list[Watcher] = []
        self.compilations = 0
        self.loaded = 0
        self.decide: Decide = decide
        self.habits = Habits()
        self.overpaid = Overpaid()
        self._store = store
        self._advice = ShapeAdvice()
        # The wholes that are being compiled in the background, or wait for it.
        self._underway: set[Program] = set()
        # Parts whose executables are ready, and take over when a whole begins a pair of launches.
        self._ready_parts: set[Program] = set()
        self._begun = False  # see `_begin`

    # -- deciding ----------------------------------------------------------------------------

    def obtain(self, program: Program) -> Any:
        """Counts a launch of a program that is not compiled, and makes it if that is worth it.

        Returns:
            The executable; None if the program is to be run step by step this time.

        Raises:
            Exception: the structure is a single instruction, and it does not compile.
        """
        account = current.account = program.account
        account.launches += 1
        if type(program.code.ctx) is Mesh or (config.deterministic() and config.host() == "off"):
            return self._obtain_before(program)
        if program.ready is not None and account.launches % 2 and not self._waits(account):
            made = program.take_over()
            if made is not None:  # None if the cache has dropped it meanwhile
                if account.is_by_numpy and memory_of(program.code, made):
                    release_memory()  # what NumPy took for the same is of no use to XLA's threads
                return made
        if program.is_alone:
            return self._on_host(program, Whose.ALONE) or self.obtain_compiled(program)
        self.habits.whole = account
        if self._ready_parts and account.launches % 2:
            while self._ready_parts:
                self._ready_parts.pop().take_over()
        prefix = program.prefix
        if prefix is not None:
            is_used = is_read(account) or account.launches % 2 == 0  # a pair is computed in one way
            if not is_used or not prefix.is_kept:
                program.prefix, account.follow, account.due = None, 0, 0
        if account.launches >= account.due and not account.is_bought:
            if account.launches == 1 and config.host() != "only":
                account.missing = self._missing(program)
            if not self._waits_for_prefix(program):
                self._decide(program, Whose.WHOLE)
        return program.compiled

    def _waits_for_prefix(self, program: Program) -> bool:
        """Looks for a program that a structure begins with, which it runs from then on.

        That is for structures whose results are read at once: NumPy, which runs what follows, waits
        for what XLA computes. That pays where the steps take longer. The prefix takes over where a
        pair of launches begins, as all programs do; see `Program.take_over`.

        Returns:
            Whether that is to come: another launch has to pass, or it is being compiled.
        """
        account = program.account
        if account.launches == 1 or program.prefix is not None or not is_read(account):
            return False
        if config.host() != "auto" or config.deterministic() or is_quick(account, prices):
            return False
        prefix = find_prefix(program, self.shelf.all(), self.shelf.part)
        if prefix is None:
            waits = any(is_prefix(one, program) for one in [*self._underway])
        else:
            waits = account.launches % 2 == 0
        if waits:
            account.due = account.launches + 1
        elif prefix is not None:
            program.prefix, program.steps = prefix, None
            account.follow = len(prefix.rest.programs)
            if explaining():
                both = describe(program.code), describe(prefix.program.code)
                say("%s: runs the program of %s, and then the rest", *both)
        return waits

    def _waits(self, account: Account) -> bool:
        """Whether an executable that is ready waits until it can be timed, see `appraise`.

        What NumPy runs in less time than it takes to wait for XLA may well become slower.
        """
        return bool(self._underway) and is_quick(account, prices) and config.host() == "auto"

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs a part of a whole on NumPy arrays; None if XLA runs it."""
        return self._on_host(program, Whose.PART)

    def _on_host(self, program: Program, whose: Whose) -> HostProgram | None:
        """Returns what runs one instruction on NumPy arrays; has it be compiled if it is time."""
        host, account = program.find_host(), program.account
        if host is not None and not account.is_bought and account.by_numpy.runs >= account.due:
            self._decide(program, whose)
        return host

    def _decide(self, program: Program, whose: Whose) -> None:
        """Asks `decide` whether to make a program, and makes it."""
        account = program.account
        if account.kinds is None and (program.steps or program.is_alone) and account.launches > 1:
            self._measure(program)
        while True:
            decision = program.decision = self.decide(whose, account, prices, self.load())
            if decision.purchase is Purchase.NONE:
                account.due = decision.due
                if account.missing and program.code.ctx.is_accelerator:
                    self._make_missing(program)
                if account.launches == 1 and not program.is_alone and explaining():
                    say("%s: new, runs one by one: %s", describe(program.code), decision.why)
                return
            if account.kinds is None:
                self._measure(program)
            elif decision.purchase is Purchase.READ and account.on_disk is None:
                account.on_disk = self._is_on_disk(program.code)
            elif decision.purchase is not Purchase.READ or not decision.waits:
                break
            elif self._load(program):
                return
            else:
                account.on_disk = False
        self._buy(program, decision)

    def load(self) -> Load:
        """Returns what counts for a decision now beside the structure, in this thread."""
        return Load(
            config.host(),
            has_begun(),
            1 / num_threads(),
            self.habits.share_again,
            bool(self._underway),
            self.habits.soon,
            self.habits.whole,
        )

    def _buy(self, program: Program, decision: Decision) -> None:
        """Compiles a program, or has the background make it."""
        account = program.account
        if not program.is_alone and decision.purchase is Purchase.COMPILE:
            self._note_compiled(account)
        if decision.waits and account.launches == 1:
            self._try_compile(program, f"new, {decision.why}")
            return
        if not self._begun:
            in_another_thread(lambda: self._begin(program.code), "load JAX")
            self._begun = True
        why = f"seen {account.launches} times, {decision.why}"
        try:
            account.is_bought = True
            if not program.is_alone:
                self._underway.add(program)
            self._make_later(program, why, decision)
        except BaseException:  # a Ctrl-C before anybody was asked to make it
            account.is_bought = False
            self._underway.discard(program)
            raise

    def _begin(self, code: Code) -> None:
        """Loads JAX, and reads what names programs, while the thread that launches waits.

        Beside a loop it would get the interpreter's lock for a moment only at each of a thousand
        files: small operators went on at 2.5 times their time for more than 5 s. This takes 0.3.
        """
        device_of(code.ctx)
        self._store.may_keep(code, book.recipe(code))

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
            if not program.account.is_bought:  # else it was tried
                program.account.is_bought = True
                self._try_compile(program, "before it runs")
        return program.compiled

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

    def _plan(self, program: Program) -> StepPlan:
        with without_collecting():
            return plan(program.code, self.shelf.part, optimized=program.repays_passes())

    def _missing(self, program: Program) -> float:
        """Returns what it costs to make the programs that a new whole's parts need, in seconds.

        Those do not count that were missing so often that they will be used again.
        """
        program.steps = self._plan(program)
        cost = 0.0
        for part in {part for part in program.steps.programs if part.compiled is None}:
            if part.find_host() is not None:
                continue
            account = part.account
            account.missed += 1
            if account.on_disk is None:
                account.on_disk = self._has(part.code)
            if account.on_disk:
                cost += prices.reading(account.weight)
            elif not recurs(account, prices):
                cost += prices.compiling(account.weight)
        return cost

    def _make_missing(self, program: Program) -> None:
        """Compiles what the steps of a new whole need side by side, which waits for all of it."""
        program.account.missing = 0.0
        steps = program.steps
        parts = dict.fromkeys(steps.programs if steps is not None else ())
        missing = [x for x in parts if x.compiled is None and x.ready is None and x.host is None]
        if len(missing) > 1:
            side_by_side([partial(self.obtain_compiled, x) for x in missing], "compile")

    def _measure(self, program: Program) -> None:
        """Notes in the account of what size a structure is."""
        account = program.account
        parts = [program] if program.is_alone else (program.steps or self._plan(program)).programs
        draw = [part.code.instructions[0][0].takes_state for part in parts]
        if not program.is_alone and config.host() == "auto":
            account.before = self.overpaid.before(program.code)
        account.kinds = len(set(parts)) + sum(draw)

    def _note_compiled(self, account: Account) -> None:
        habits = self.habits
        habits.note_bought(account)
        if habits.unused >= _MANY_UNUSED_OPERATORS and not habits.told:
            habits.told = True
            program_log.log.warning(_CHANGING, habits.unused)

    def look_at(
        self, program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]
    ) -> None:
        """Lets the improvers look at a program that has run `Account.look` times.

        Args:
            program: the program.
            inputs: the arrays that it is about to run on.
            scalars: the numbers that it is about to run on.
        """
        account = program.account
        if account.look == FIRST_LOOK and not program.is_alone:
            self.habits.note_ran_again(account)
        chosen = () if config.deterministic() else improvers
        wanted = [improve(program, inputs, scalars) for improve in (self.appraise, *chosen)]
        account.look = min(wanted)

    def appraise(
        self, program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]
    ) -> int:
        """Times a program that took over from NumPy, and gives it up if that was quicker.

        What a program would take was a guess; and the clock of a launch does not see how long a
        thread waits that reads the results, which for small arrays is most of it. That depends on
        what the loop does between two launches (XLA's threads sleep if it takes long), and on what
        else the machine does. So this times a run, and two of which the second goes on from the
        first, each time that it is called, ever later, as the first ones are slower, and takes the
        one in the middle; of longer ones, which hardly wait, one run, and the quickest. NumPy was
        timed at its best; so nothing is timed beside a compilation, nor at the first run of a pair.

        Args:
            program: a program that is about to run.
            inputs, scalars: what it runs on.

        Returns:
            The number of runs at which to call this again; `sys.maxsize`: never.
        """
        account, code, host = program.account, program.code, config.host()
        by_numpy = account.is_by_numpy or (program.is_alone and program.find_host() is not None)
        if host != "auto" or account.by_program.runs or not by_numpy:
            return sys.maxsize
        if not is_worth_timing(account, prices):
            return sys.maxsize
        if self._underway or account.runs % 2 or account.is_plain:  # soon it has oneDNN's calls
            return account.runs + 2 - account.runs % 2
        one = _time(program, inputs, scalars, 1)
        two = _time(program, inputs, scalars, 2) if is_quick(account, prices) else 2 * one
        account.samples += ((one, two - one),)
        if len(account.samples) < SAMPLES:
            return 2 * account.runs
        # How long a thread waits for another one differs from run to run; all else is noise.
        best = median if is_quick(account, prices) else min
        took, in_row = zip(*account.samples, strict=True)
        account.by_program.note(best(took))
        account.in_row = best(in_row)
        account.samples = ()
        whose = Whose.ALONE if program.is_alone else Whose.WHOLE
        found = self.decide(whose, account, prices, Load(host))
        if found.purchase is Purchase.GO_BACK:
            program.give_up()
            account.due = sys.maxsize
            self.shelf.note_given_up(program)
            if explaining():
                took = 1e6 * found.overpaid, 1e6 * found.price
                say("%s: NumPy again: compiled %.0f us, by NumPy %.0f", describe(code), *took)
        return sys.maxsize

    @contextmanager
    def soon(self) -> Iterator[None]:
        """A scope in which a whole is compiled when this thread launches it a second time."""
        before, self.habits.soon = self.habits.soon, True
        try:
            yield
        finally:
            self.habits.soon = before

    # -- making ------------------------------------------------------------------------------

    def _make_later(self, program: Program, why: str, decision: Decision) -> None:
        """Makes an executable in the background, while this launch waits or goes on.

        Where it is to call oneDNN, and what calls that is not built yet, either this is built
        first, or the executable does without until an improver makes another (`tuning.again`).
        """

        def make() -> None:
            beside = in_turn if program.code.ctx.is_accelerator else later
            do = in_another_thread if decision.waits else beside
            do(lambda: self._make(program, why, decision), "compile")

        def build_first() -> None:
            try:
                build_onednn()
            finally:
                make()

        account = program.account
        if not may_call_onednn(program.code) or onednn.is_built():
            make()
        elif config.host() == "auto" and is_worth_twice(account, prices):
            account.is_plain = True
            make()
        else:
            later_in_own_thread(build_first, "build")  # other programs need not wait for it

    def _make(self, program: Program, why: str, decision: Decision) -> None:
        """Makes an executable, in the background: reads it from disk, or compiles it."""
        account = program.account
        try:
            if not program.kept:  # it was dropped while it waited for its turn
                return
            with short_switch_interval():
                # Also what was not there: another device may have had it made since.
                if self._load(program, in_pairs=True):
                    return
            if decision.purchase is Purchase.READ:  # it was not there, and is not worth more
                account.on_disk = account.is_bought = False
            else:
                self._try_compile(program, why, in_pairs=True, awaited=decision.waits)
        finally:
            self._underway.discard(program)

    def _is_on_disk(self, code: Code) -> bool:
        """Whether there is a file of a structure's program, with oneDNN's calls or without."""
        if not has_begun():
            return self._store.may_have(code)
        if self._has(code):
            return True
        if not _may_be_plain(code):
            return False
        with onednn.left_out():
            return self._store.has(code)

    def _has(self, code: Code) -> bool:
        """Whether there is a file of a program on disk, tuned or not."""
        if self._store.has(code):
            return True
        if platform_of(code.ctx) != "gpu":
            return False
        with untuned():
            return self._store.has(code)

    def _load(self, program: Program, *, in_pairs: bool = False) -> bool:
        """Reads the executable from disk; returns whether it was there.

        Args:
            program: the program.
            in_pairs: whether it takes over when a pair of launches begins; see `Program.take_over`.
        """
        started, code = perf_counter(), program.code
        found, is_plain = self._store.load(code), False
        if found is None and _may_be_plain(code):
            with onednn.left_out():
                found, is_plain = self._store.load(code), True
        if found is None and platform_of(code.ctx) == "gpu":
            with untuned():
                found = self._store.load(code)
            program.account.is_untuned = found is not None
        if found is None:
            return False
        program.account.is_plain = is_plain
        self._give(program, found, in_pairs=in_pairs)
        self.loaded += 1
        if explaining():
            say("%s: read from disk in %s", describe(program.code), _since(started))
        return True

    def _give(self, program: Program, executable: Executable, *, in_pairs: bool) -> None:
        """Gives a program its executable, at once or when a pair of launches begins."""
        program.take(executable, in_pairs=in_pairs)
        if in_pairs and program.is_alone and not program.account.launches:
            self._ready_parts.add(program)
        self.shelf.note_made(program, executable)

    def _try_compile(
        self, program: Program, why: str, *, in_pairs: bool = False, awaited: bool = True
    ) -> Any:
        """Compiles a program. If that fails it only logs: running step by step raises the error."""
        started = perf_counter()
        try:
            with leave_one(), short_switch_interval():
                self._compile(program, in_pairs=in_pairs, awaited=awaited)
        except Exception as error:
            if is_from_signal(error):
                raise
            program.account.is_bought = True  # in vain, and so not again
            described = describe(program.code)
            program_log.log.info("%s: does not compile as a whole: %s", described, error)
        else:
            if explaining():
                how = " without oneDNN" if program.account.is_plain else ""
                took = _since(started)
                say("%s: compiled%s in %s: %s", describe(program.code), how, took, why)

    def _compile(self, program: Program, *, in_pairs: bool = False, awaited: bool = True) -> Any:
        """Compiles a program, and keeps it.

        Args:
            program: the program.
            in_pairs: as for `_load`.
            awaited: whether somebody waits for it: then it does without what takes XLA long.
        """
        started = perf_counter()
        code = program.code
        recipe = book.recipe(code)
        account = program.account
        account.is_untuned = awaited and platform_of(code.ctx) == "gpu"
        without = onednn.left_out() if account.is_plain else nullcontext()
        quickly = untuned() if account.is_untuned else nullcontext()
        with events.span("compile", code), events.compiling(awaited), without, quickly:
            for_disk = self._store.may_keep(code, recipe)
            made = compile_code(code, recipe, for_disk=for_disk, in_background=in_pairs)
            # Under another name where it does without oneDNN. What was dropped meanwhile may have
            # been made by passes that are no more.
            if for_disk and program.kept:
                self._store.save(code, recipe, made)
        self._give(program, made, in_pairs=in_pairs)
        self.compilations += 1
        took = perf_counter() - started
        if type(made) is not MeshExecutable:
            prices.note_compiled(account.weight, account.kinds, took)
        if account.weight > 1:
            self._advice.note(code)
        if len(code.instructions) == 1 and explaining():
            say("%s: compiled in %s", describe(code), _since(started))
        return made

    def save(self, code: Code, recipe: Recipe, executable: Executable) -> None:
        """Keeps an executable for later processes; args as for `ProgramStore.save`."""
        self._store.save(code, recipe, executable)

    def replace(self, program: Program, executable: Executable) -> None:
        """Replaces a program's executable from now on in this process."""
        program.replace(executable)
        self.shelf.note_made(program, program.compiled)

    def reset_after_fork(self) -> None:
        """In a forked child, where nothing is being made."""
        self._underway.clear()
        self._ready_parts.clear()


def _may_be_plain(code: Code) -> bool:
    """Whether a program that does without oneDNN will do, until an improver replaces it.

    Not where the same bits are wanted each time (`config.deterministic`), whatever other processes
    have left on disk.
    """
    return config.host() == "auto" and may_call_onednn(code)


def _time(
    program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float], runs: int
) -> float:
    """Returns the seconds of runs of a program, each of which overwrites what the last one made."""
    code, given = program.code, list(inputs)
    copies = [_copied(code.ctx, given[slot]) for slot in code.donated]
    made: Sequence[DeviceArray] = copies
    started = perf_counter()
    for _ in range(runs):
        for slot, array in zip(code.donated, made, strict=False):  # as `Segment.code` pairs them
            given[slot] = array
        made = dispatch(code.ctx, program.compiled, given, scalars)
    for array in made:
        array.block_until_ready()
    return perf_counter() - started


def _copied(ctx: Context, array: DeviceArray) -> DeviceArray:
    """Returns a copy of an array that programs can be called with."""
    if ctx.is_accelerator and type(array) is not HostArray:
        return copied(array)
    return put_on_device(ctx, np.array(array))


def _since(started: float) -> str:
    return f"{1e3 * (perf_counter() - started):.1f} ms"
