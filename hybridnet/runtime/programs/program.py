"""`Program`: one structure, what has been made of it so far, and how it is run.

Who keeps a program (a prepared call) runs it without asking the cache again: `Program.run` starts
it, or `Program.note_run` counts a start that the caller makes by itself.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol, final

from hybridnet.ops.host.namespace import NoHostForm

from ..observe import events
from ..platform.blas_threads import others
from ..platform.jax_devices import place
from ..segments.code import Code
from .dispatch import dispatch
from .executable import ExecutableWrapper, innermost, last_wrapper
from .host_program import HostProgram, host_program
from .room import look_for_room, memory_of
from .steps import StepPlan

__all__ = [
    "ENOUGH_OF_PART",
    "FIRST_LOOK",
    "Holder",
    "Owner",
    "Program",
    "ProgramState",
    "Watcher",
    "replaced",
]

#: Is told of a launch before it, while somebody observes: (structure, inputs, scalars).
Watcher = Callable[[Code, list[Any], list[Any]], None]

#: Seconds for which a part of larger structures has run on the host when it may be compiled.
ENOUGH_OF_PART: Final = 1.0
#: The number of runs at which a program is looked at first.
FIRST_LOOK: Final = 2
#: How often an executable was replaced by a better one: who keeps one looks whether it still is.
replaced: Final = [0]
# Held while one is replaced, so that no number is seen twice. Re-entrant, like every lock here.
_replacing: Final = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replacing._at_fork_reinit)  # type: ignore[attr-defined]


class ProgramState(NamedTuple):
    """The state of a structure's program.

    Attributes:
        compiled: whether it has a program.
        runs: how often that was dispatched.
        launches: how often it was launched before there was one.
    """

    compiled: bool
    runs: int
    launches: int


class Owner(Protocol):
    """The cache that a program is of.

    Attributes:
        dispatched: dispatches of all its programs.
        watchers: who is told of them.
    """

    dispatched: int
    watchers: list[Watcher]

    def obtain(self, program: Program) -> Any:
        """Returns the executable of a program that has none; None: run it step by step."""

    def host_of(self, program: Program) -> HostProgram | None:
        """Returns what runs an instruction, which is a part of a larger structure, on the host."""

    def obtain_compiled(self, program: Program) -> Any:
        """Returns the executable of a program that the host cannot run, though it was to."""

    def look_at(self, program: Program, inputs: Sequence[Any], scalars: Sequence[Any]) -> None:
        """Looks at a program whose runs have reached `Program.look`, and sets the next number."""


class Holder(Protocol):
    """Who keeps a program's executable, to run it without asking the cache."""

    def release(self) -> None:
        """Lets go of the executable, which was dropped from the cache."""


@final
class Program:
    """One structure, and what has been made of it so far.

    Args:
        code: the structure.
        owner: the cache that it is of.

    Attributes:
        code: as given.
        compiled: the executable, or a wrapper of it; None: there is none yet.
        ready: the executable that was made in the background, until it takes over; see `take_over`.
        host: what runs it on NumPy arrays while it is not compiled; None: nothing can; not there
            before `find_host`.
        part: the same, once it ran as a part of a larger structure.
        memory: the bytes that it allocates at each run, if they are many; None: not known yet.
        kept: whether it is in the cache.
        used: whether it was used again since it was put in, or spared.
        then: the program that the same thread launched next, last time.
        launches: launches while it was not compiled.
        runs: dispatches of what was compiled.
        size: about how many bytes of host memory the executable takes; 0: there is none.
        look: the number of runs at which it is looked at next.
        watch: what who specializes programs has noted of its inputs; None: nothing yet.
        tune: the number of runs at which it is worth tuning; 0: not known yet.
        submitted: whether it is being compiled in the background, or was.
        is_looked_for: whether it was looked for on disk when it had come again.
        seconds: what running it step by step has taken in all, by the quickest run; see
            `HostProgram`.
        turn: the number of its last launch among those of its thread, while it was not compiled.
        streak: how often in a row it came again soon.
        steps: how to run it step by step; kept from the second time on.
        missed: new structures that it was part of while it was not compiled.
        on_disk: whether there is a file of it; None: not asked.
    """

    __slots__ = (
        "_holders",
        "_owner",
        "_quickest",
        "code",
        "compiled",
        "host",
        "is_alone",
        "is_looked_for",
        "kept",
        "launches",
        "look",
        "memory",
        "missed",
        "on_disk",
        "part",
        "ready",
        "runs",
        "seconds",
        "size",
        "steps",
        "streak",
        "submitted",
        "then",
        "tune",
        "turn",
        "used",
        "watch",
    )

    def __init__(self, code: Code, owner: Owner) -> None:
        self._owner = owner
        self._holders: weakref.WeakSet[Holder] | None = None
        self.code = code
        instructions = code.instructions
        self.is_alone = len(instructions) == 1 and not instructions[0][0].has_parts
        self.compiled: Any = None
        self.ready: Any = None
        self.kept = True
        self.used = False
        self.then: Program | None = None
        self.launches = 0
        self.runs = 0
        self.size = 0
        self.look = FIRST_LOOK
        self.memory: int | None = None
        self.watch: Any = None
        self.tune = 0
        self.submitted = False
        self.part: HostProgram | None = None
        self.is_looked_for = False
        self.seconds = 0.0
        self._quickest = inf
        self.turn = 0
        self.streak = 0
        self.steps: StepPlan | None = None
        self.missed = 0
        self.on_disk: bool | None = None

    @property
    def state(self) -> ProgramState:
        """Whether it is compiled, and how often it ran."""
        return ProgramState(self.compiled is not None, self.runs, self.launches)

    def run(
        self,
        inputs: list[Any],
        scalars: list[Any],
        made: list[Sequence[Any]] | None = None,
    ) -> Sequence[Any]:
        """Dispatches it, compiled or a single instruction; returns its outputs.

        Args:
            inputs: JAX arrays on the structure's context; donated ones are consumed.
            scalars: numbers, in the order of the instructions.
            made: see `dispatch`.

        Raises:
            Exception: a single instruction does not compile, or XLA has something against it.
        """
        compiled = self.compiled
        if compiled is None:
            compiled = self._owner.obtain(self)
            if type(compiled) is HostProgram:
                try:
                    return self._dispatch(compiled, inputs, scalars, made)
                except NoHostForm:
                    compiled = self.leave_host()
        place(self.code.ctx, inputs)
        if self.memory != 0:
            self.look_for_room()
        self.note_run(inputs, scalars)
        return self._dispatch(compiled, inputs, scalars, made)

    def take_over(self) -> Any:
        """Lets what is ready run it from now on; returns what does.

        It is to happen where a pair of launches begins: 1 and 2, 3 and 4, ... are run alike. Two
        tiers round differently, and who takes the difference of two runs (of a loss at two points,
        for a numeric gradient) would find that instead, magnified.
        """
        with _replacing:
            if self.ready is not None:  # else another thread was quicker
                self.compiled, self.ready, self.steps = self.ready, None, None
            return self.compiled

    def find_host(self) -> HostProgram | None:
        """Returns what runs it on NumPy arrays, a structure of one instruction; None: nothing."""
        try:
            return self.host
        except AttributeError:
            self.host: HostProgram | None = host_program(self.code)
            return self.host

    def leave_host(self) -> Any:
        """Returns the executable, where the host cannot run it, though it was to."""
        return self._owner.obtain_compiled(self)

    def on_host(self) -> HostProgram | None:
        """Returns what runs it on the host, as a part of something; None: it is an executable."""
        if self.compiled is not None or events.observer is not None:
            return None
        host = self.part
        if host is not None and host.seconds <= ENOUGH_OF_PART:
            return host
        host = self.part = self._owner.host_of(self)
        return host

    def _dispatch(
        self,
        compiled: Any,
        inputs: list[Any],
        scalars: list[Any],
        made: list[Sequence[Any]] | None,
    ) -> Sequence[Any]:
        code = self.code
        if events.observer is not None:
            for watch in self._owner.watchers:
                watch(code, inputs, scalars)
            return _observed(code, compiled, inputs, scalars)
        return dispatch(code.ctx, compiled, inputs, scalars, made)

    def note_steps(self, took: float) -> None:
        """Takes notice that running it step by step took so many seconds."""
        if took < self._quickest:
            self._quickest = took
        self.seconds = self.launches * self._quickest

    def look_for_room(self) -> None:
        """Sees that there is room for what it makes, to be asked while `memory` is not 0.

        Raises:
            OutOfMemoryError: there is none.
        """
        if self.memory is None:
            self.memory = memory_of(self.code, self.compiled)
        if self.memory:
            look_for_room(self.code, self.memory)

    def note_run(self, inputs: Sequence[Any], scalars: Sequence[Any]) -> None:
        """Counts a dispatch; what runs often is looked at now and then, whether it can be improved.

        Args:
            inputs: what it runs on.
            scalars: numbers, likewise.
        """
        if self.runs:  # the run that it was made for is none that it was kept for
            self.used = True
        self._owner.dispatched += 1
        self.runs += 1
        if self.runs >= self.look:
            self._owner.look_at(self, inputs, scalars)
        now = perf_counter()
        if now > others.due:
            others.look(now)

    def look_again(self) -> None:
        """Has it tuned when it has run as often again."""
        self.tune = 2 * self.runs
        self.look = min(self.look, self.tune)

    def replace(self, executable: Any) -> None:
        """Lets it be run by another executable from now on; its wrappers stay."""
        with _replacing:
            self.memory = None
            before = last_wrapper(self.compiled)
            if before is None:
                self.compiled = executable
            else:
                before.whole = executable
            replaced[0] += 1

    def wrap(self, wrapper: ExecutableWrapper, *, alone: bool = False) -> None:
        """Puts a wrapper around the executable.

        Args:
            wrapper: what launches are handed to from now on; its `whole` is set.
            alone: whether other wrappers go.
        """
        with _replacing:
            wrapper.whole = innermost(self.compiled) if alone else self.compiled
            self.compiled = wrapper
            replaced[0] += 1

    def unwrap(self, wrapper: ExecutableWrapper) -> None:
        """Takes the outermost wrapper away."""
        with _replacing:
            self.compiled = wrapper.whole
            replaced[0] += 1

    def hold(self, holder: Holder) -> None:
        """Notes who keeps the executable; it is told when the program is dropped."""
        with _replacing:
            if self._holders is None:
                self._holders = weakref.WeakSet()
            self._holders.add(holder)

    def without_executable(self) -> Program:
        """Returns one of the same structure that is in no cache and has no executable."""
        return Program(self.code, self._owner)

    def forget(self) -> None:
        """Notes that it is in the cache no more, and has who keeps it let go of it."""
        self.kept, self.then = False, None
        with _replacing:
            holders, self._holders = self._holders, None
            for holder in holders or ():
                holder.release()
        if len(self.code.instructions) == 1:
            # Steps of larger programs keep it; who runs it makes it again.
            self.compiled = self.ready = None


def _observed(code: Code, compiled: Any, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
    """Dispatches a program while somebody listens."""
    kind = "host" if type(compiled) is HostProgram else "program"
    if not events.waits:
        with events.span(kind, code):
            return dispatch(code.ctx, compiled, inputs, scalars)
    with events.span("device", code):
        with events.span(kind, code):
            outputs = dispatch(code.ctx, compiled, inputs, scalars)
        for array in outputs:
            array.block_until_ready()
    return outputs
