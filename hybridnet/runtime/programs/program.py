"""`Program`: a structure, and the executable that was made of it, if any.

The cache has a `Program` for each structure, from the first launch on, compiled or not. A prepared
call keeps one and starts its executable without asking the cache again; it counts each start by
`Program.note_run`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol, final

from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.locks import free_in_children
from hybridnet.base.mesh import Mesh
from hybridnet.engine import RLock
from hybridnet.ops.host import NoHostForm

from ..observe import events
from ..platform.blas_threads import others
from ..platform.jax_devices import place
from ..segments.code import Code
from ..tiers.choice import Decision, is_quick, repays_passes
from ..tiers.ledger import Account, current
from ..tiers.prices import prices
from .dispatch import dispatch
from .executable import Executable, ExecutableWrapper, innermost, last_wrapper
from .host_program import HostProgram, computes_by_numpy, host_program
from .room import LEAST_BYTES, look_for_room, memory_of, promise

_is_kept: Final = attrgetter("kept")
_host_of: Final = attrgetter("host")
_executable_of: Final = attrgetter("compiled")

#: Called with (structure, inputs, scalars) before each launch, while there is an observer.
Watcher = Callable[[Code, list[Any], list[Any]], None]

#: How often any executable was made, replaced or dropped. Code that keeps an executable compares
#: this number to notice that its own may be out of date, or that there may be one now.
replaced: Final = [0]
# Held while `replaced` grows, so that no step is lost. Re-entrant, like every lock here, since a
# finalizer may run at any point and compute with arrays.
_replacing: Final = free_in_children(RLock())


class ProgramState(NamedTuple):
    """The state of a structure's program.

    Attributes:
        compiled: whether it has an executable.
        runs: how often that was dispatched.
        launches: how often the structure was launched before there was an executable.
        is_quick: see `Program.is_quick`.
        seconds: what a launch took by its steps at best; infinite if none was timed.
        why: in words why it has no program yet; empty if nothing was decided.
    """

    compiled: bool
    runs: int
    launches: int
    is_quick: bool
    seconds: float
    why: str


class Owner(Protocol):
    """The maker of programs, as these see it; `Maker` says what each method does.

    Attributes:
        dispatched: how often its programs were dispatched, all together.
        watchers: functions that are called before each launch while there is an observer.
    """

    dispatched: int
    watchers: list[Watcher]

    def obtain(self, program: Program) -> Executable | None:
        """Returns the executable of a program that has none; None if it is to run step by step."""

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs a step of a larger structure on NumPy arrays; None if XLA runs it."""

    def obtain_compiled(self, program: Program) -> Any:
        """Returns the executable of a program that NumPy turned out not to be able to run."""

    def look_at(
        self, program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]
    ) -> None:
        """Lets the improvers look at a program that has run `Account.look` times."""


class Holder(Protocol):
    """An object, such as a prepared call, that keeps a program's executable."""

    def release(self) -> None:
        """Lets go of the executable, since the cache has dropped the program."""


class StepPlan(NamedTuple):
    """A plan to run a structure step by step, each step one instruction.

    The steps are described by lists of equal length, one item for each step, and not by a list of
    objects, since so many objects would be most of what Python's garbage collector has to visit.

    Attributes:
        ctx: the context on which all steps run.
        programs: the program that runs the step. Its inputs are the operands of the instruction; an
            operand that is used twice is two inputs, so ``x + x`` needs no other program than
            ``x + y``.
        operands: the numbers of the step's operands: results of earlier steps (>= 0), or ``~i`` for
            input ``i`` of the structure.
        counts: how many scalars the step takes.
        needed: for each result of the step, whether anything reads it.
        dead: the results of earlier steps that nothing reads after this step.
        rewritten: whether the step may write into its first operand: its call returns that operand
            with a part changed, and nothing reads the operand afterwards.
        origins: the number of the result of the structure that an error of this step is reported
            for.
        num_results: how many results all steps have together.
        outputs: the numbers of the results that are returned, or ``~i`` for input ``i``.
        scalars: where the scalars of the steps come from, see `hybridnet.ops.core.call.Parts`; None
            if they are those of the structure.
        optimized: whether the passes were run over its graphs; true if it has none.
    """

    ctx: Context
    programs: list[Program]
    operands: list[tuple[int, ...]]
    counts: list[int]
    needed: list[tuple[bool, ...]]
    dead: list[tuple[int, ...]]
    rewritten: list[bool]
    origins: list[int]
    num_results: int
    outputs: tuple[int, ...]
    scalars: tuple[int | float, ...] | None
    optimized: bool

    @property
    def is_kept(self) -> bool:
        """Whether all its programs are still in the cache."""
        return all(map(_is_kept, self.programs))

    @property
    def is_by_numpy(self) -> bool:
        """Whether NumPy runs all steps, once they have run."""
        programs = self.programs
        return all(map(_host_of, programs)) and not any(map(_executable_of, programs))


@final
class Program:
    """A structure, and what was made of it so far.

    Args:
        code: the structure.
        owner: what makes it.

    Attributes:
        code: the structure.
        compiled: the executable, or a wrapper around it; None if there is none yet.
        ready: an executable that was compiled in the background and has not taken over yet; see
            `take_over`.
        host: what runs a single instruction on NumPy arrays while it is not compiled; None if
            nothing can, or nobody has asked. It is set by `find_host`.
        hostless: whether nothing can, as far as who computes at once need know.
        memory: how many bytes each run allocates; 0 if they are few, None if not known yet.
        kept: whether the program is in the cache.
        account: what is known of its launches, and of what they cost.
        steps: how to run it step by step; kept from the second launch on.
        decision: what was decided last of whether it is to be made.
        prefix: the program that it begins with, which is run in its stead, and then what follows;
            None: there is none, or nobody has looked (see `Maker`).
        checked: what is launched in its place, and answers questions beside; of what is launched
            so, the same; see `checks`. False: it itself is launched, as nothing is asked; None:
            nobody has looked.
    """

    __slots__ = (
        *("_holders", "_owner", "account", "checked", "code", "compiled", "decision", "host"),
        *("hostless", "is_alone", "kept", "memory", "prefix", "ready", "steps"),
    )

    def __init__(self, code: Code, owner: Owner) -> None:
        self._owner = owner
        self._holders: weakref.WeakSet[Holder] | None = None
        self.code = code
        instructions = code.instructions
        self.is_alone = len(instructions) == 1 and not instructions[0][0].has_parts
        self.account = Account(sum([call.weight for call, _ in instructions]))
        self.memory: int | None = None
        if type(code.ctx) is Mesh:  # nobody improves it, and its memory is several devices'
            self.account.look, self.memory = sys.maxsize, 0
        if self.is_alone:  # nothing is known of it before it has run twice
            self.account.due = 2
        self.compiled: Any = None
        self.ready: Executable | None = None
        self.kept = True
        self.hostless = False
        self.host: HostProgram | None = None
        self.steps: StepPlan | None = None
        self.decision: Decision | None = None
        self.prefix: Any = None
        self.checked: Any = None

    @property
    def state(self) -> ProgramState:
        """Whether it is compiled, and how often it was run and launched."""
        account, decision = self.account, self.decision
        why = "" if decision is None else decision.why
        if self.prefix is not None:
            why = f"runs the program that it begins with, {why}"
        return ProgramState(
            self.compiled is not None,
            account.runs,
            account.launches,
            self.is_quick,
            account.by_steps.best,
            why,
        )

    @property
    def is_quick(self) -> bool:
        """Whether NumPy has run it in less time than it takes to wait for XLA."""
        account = self.account
        return self.compiled is None and account.is_by_numpy and is_quick(account, prices)

    def run(
        self,
        inputs: list[DeviceArray],
        scalars: list[float],
        made: list[Sequence[DeviceArray]] | None = None,
    ) -> Sequence[DeviceArray]:
        """Runs the program, which must be compiled or a single instruction; returns its outputs.

        Args:
            inputs: JAX arrays on the structure's context. Donated ones cannot be used afterwards.
            scalars: the numbers, in the order of the instructions.
            made: a list to which the outputs are appended; see `dispatch`.

        Raises:
            Exception: a single instruction does not compile, or XLA refuses to run the program.
        """
        compiled = self.compiled
        if compiled is None:
            compiled, account = self.host, self.account
            if compiled is None or self.ready is not None or account.by_numpy.runs >= account.due:
                compiled = self._owner.obtain(self)
            else:
                account.launches += 1
                current.account = account
            if type(compiled) is HostProgram:
                try:
                    if events.observer is None:
                        return compiled(inputs, scalars)
                    return self._dispatch(compiled, inputs, scalars, made)
                except NoHostForm:
                    compiled = self.leave_host()
        if HostArray in map(type, inputs):
            place(self.code.ctx, inputs)
        if self.memory != 0:
            self.look_for_room()
        self.note_run(inputs, scalars)
        if events.observer is None:
            outputs = dispatch(self.code.ctx, compiled, inputs, scalars, made)
        else:
            outputs = self._dispatch(compiled, inputs, scalars, made)
        if self.memory:
            promise(self.memory, outputs)
        return outputs

    def take_over(self) -> Any:
        """Makes the executable in `ready` run the program from now on; returns the one in use then.

        Call it only before the launches 1, 3, 5, ..., so that the launches 1 and 2, 3 and 4, ...
        are computed in the same way. NumPy and XLA round differently; code that subtracts the
        results of two launches (as a numeric gradient does) would get that difference, magnified.
        """
        with _replacing:
            if self.ready is not None:  # None if another thread was quicker
                self.compiled, self.ready, self.steps = self.ready, None, None
            return self.compiled

    def find_host(self) -> HostProgram | None:
        """Returns what runs a structure of one instruction on NumPy arrays; None if nothing can."""
        if self.host is None:
            self.host = host_program(self.code, self.account)
        return self.host

    def leave_host(self) -> Any:
        """Returns the executable, as NumPy turned out not to be able to run the instruction."""
        return self._owner.obtain_compiled(self)

    def on_host(self) -> HostProgram | None:
        """Returns what runs it on NumPy arrays, as a step of a larger structure; None: XLA does."""
        if self.compiled is not None or events.observer is not None:
            return None
        host, account = self.host, self.account
        if host is not None and account.by_numpy.runs < account.due:
            return host
        return self._owner.host_of(self)

    def _dispatch(
        self,
        compiled: Executable,
        inputs: list[DeviceArray],
        scalars: list[float],
        made: list[Sequence[DeviceArray]] | None,
    ) -> Sequence[DeviceArray]:
        code = self.code
        if events.observer is not None:
            for watch in self._owner.watchers:
                watch(code, inputs, scalars)
            return _observed(code, compiled, inputs, scalars, made)
        return dispatch(code.ctx, compiled, inputs, scalars, made)

    def repays_passes(self) -> bool:
        """Whether optimization passes over its graphs are worth their time before it is compiled.

        What they leave may be rounded in another way, so this begins with a pair of launches, see
        `take_over`. They are run at once where operators are compiled one by one, which is what
        they save.
        """
        code, host = self.code, config.host()
        if host == "off" or not computes_by_numpy(code.ctx):
            return True
        return self.account.launches % 2 != 0 and repays_passes(self.account, prices, host)

    def look_for_room(self) -> None:
        """Checks that the memory of a run can be allocated. Needless if `memory` is 0.

        Raises:
            OutOfMemoryError: it cannot.
        """
        if self.memory is None:
            self.memory = memory_of(self.code, self.compiled, LEAST_BYTES)
        if self.memory:
            look_for_room(self.code, self.memory, self.compiled)

    def note_run(self, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> None:
        """Counts a run, and now and then has the improvers look at the program.

        Args:
            inputs: the arrays that it runs on.
            scalars: the numbers that it runs on.
        """
        account = current.account = self.account
        self._owner.dispatched += 1
        account.runs += 1
        if account.runs >= account.look:
            self._owner.look_at(self, inputs, scalars)
        now = perf_counter()
        if now > others.due:
            others.look(now)

    def look_again(self) -> None:
        """Sets it to be tuned again when it has run as many times more."""
        account = self.account
        account.tune = 2 * account.runs
        account.look = min(account.look, account.tune)

    def take(self, executable: Executable, *, in_pairs: bool) -> None:
        """Takes its first executable, at once or when a pair of launches begins."""
        with _replacing:
            if in_pairs:
                self.ready = executable
            else:
                self.compiled, self.steps = executable, None
            replaced[0] += 1

    def replace(self, executable: Executable) -> None:
        """Replaces its executable from now on, inside the same wrappers."""
        with _replacing:
            self.memory = None
            before = last_wrapper(self.compiled)
            if before is None:
                self.compiled = executable
            else:
                before.whole = executable
            replaced[0] += 1

    def give_up(self) -> None:
        """Gives it back to NumPy from the next launch on, which must begin a pair."""
        with _replacing:
            self.compiled = self.memory = None
            replaced[0] += 1

    def wrap(self, wrapper: ExecutableWrapper, *, alone: bool = False) -> None:
        """Puts a wrapper around the executable.

        Args:
            wrapper: it is called at each launch from now on. Its `whole` is set to what was called
                before.
            alone: whether to remove all other wrappers.
        """
        with _replacing:
            wrapper.whole = innermost(self.compiled) if alone else self.compiled
            self.compiled = wrapper
            replaced[0] += 1

    def unwrap(self, wrapper: ExecutableWrapper) -> None:
        """Removes the outermost wrapper."""
        with _replacing:
            self.compiled = wrapper.whole
            replaced[0] += 1

    def hold(self, holder: Holder) -> None:
        """Notes an object that keeps the executable, to tell it when the program is dropped."""
        with _replacing:
            if self._holders is None:
                self._holders = weakref.WeakSet()
            self._holders.add(holder)

    def without_executable(self) -> Program:
        """Returns a program of the same structure that is in no cache and has no executable."""
        return Program(self.code, self._owner)

    def forget(self) -> None:
        """Notes that the cache has dropped it, and tells the objects that keep its executable."""
        self.kept = False
        with _replacing:
            holders, self._holders = self._holders, None
            for holder in holders or ():
                holder.release()
        if len(self.code.instructions) == 1:
            # Plans of larger structures may still refer to it; running it compiles it anew.
            self.compiled = self.ready = None


def _observed(
    code: Code,
    compiled: Executable,
    inputs: list[DeviceArray],
    scalars: list[float],
    made: list[Sequence[DeviceArray]] | None,
) -> Sequence[DeviceArray]:
    """Dispatches a program while there is an observer."""
    kind = "host" if type(compiled) is HostProgram else "program"
    if not events.waits:
        with events.span(kind, code):
            return dispatch(code.ctx, compiled, inputs, scalars, made)
    with events.span("device", code):
        with events.span(kind, code):
            outputs = dispatch(code.ctx, compiled, inputs, scalars, made)
        for array in outputs:
            array.block_until_ready()
    return outputs
