"""The costs of each structure so far, by who ran it, and how soon it comes again."""

from __future__ import annotations

import threading
from math import inf
from typing import Any, Final, final

from .prices import AGAIN

#: The number of runs after which the improvers look at a program for the first time.
FIRST_LOOK: Final = 2
# What is due then is never due.
_NEVER_DUE: Final = 1 << 61


@final
class Rent:
    """The runs of something: their number, their seconds, and the quickest.

    Slower runs may have been held up by other work on the machine, which is no reason to do them in
    another way; so one counts at most twice as much as the quickest.

    Attributes:
        runs: how often it ran.
        best: the seconds of the quickest run; infinite before the first.
        paid: the seconds of all that were timed, of each at most twice `best`.
        timed: how many these are.
    """

    runs = timed = 0
    best = inf
    paid = 0.0

    def note(self, took: float) -> None:
        """Notes a run of so many seconds."""
        if took < self.best:
            self.best = took
            self.paid = min(self.paid, 2 * took * self.timed)
        self.paid += min(took, 2 * self.best)
        self.runs += 1
        self.timed += 1

    @property
    def mean(self) -> float:
        """The seconds of a run; infinite before the first."""
        return self.paid / self.timed if self.timed else inf

    @property
    def seconds(self) -> float:
        """The seconds of all runs, had each been as quick as the quickest one."""
        return self.runs * self.best if self.runs else 0.0


@final
class Account:
    """The account of one structure: its launches so far, and what they took.

    Args:
        weight: the number of its operators.

    Attributes:
        weight: as given.
        kinds: how many of them differ, by kind or by shapes, or draw random numbers; None before it
            is known.
        launches: how often it was launched while it was not compiled.
        runs: how often its executable was dispatched.
        reads: of how many launches the thread that made them waited for the results at once.
        by_steps: running it step by step; or a single instruction by NumPy, alone, which includes
            making arrays of JAX of its results.
        by_call: the same from its recording on, where it is a call of its own (a traced function),
            whose program will be started without being recorded; else `by_steps` itself.
        by_numpy: running it, a single instruction, on NumPy arrays, alone or as a step of others.
        by_program: running its executable until its results are there, where that was timed.
        in_row: the seconds that one run more takes where nobody waits for the one before; 0 as long
            as `by_program` knows nothing.
        samples: the seconds of each such run, and of one more, until they are enough for the two.
        is_by_numpy: whether NumPy ran all its steps last time: what XLA runs may be computing yet.
        waited: the seconds for which its launches, computed on the host, waited for what an
            accelerator was still computing.
        follow: how many steps it takes after the program that it begins with; 0: there is none.
        before: the part of its price that earlier processes have overpaid for it.
        missing: what the programs cost that its steps need and that there are not, in seconds;
            known from the first launch on.
        missed: how many new structures had it as a step while it was not compiled.
        on_disk: whether there is a file of it on disk; None if nobody has looked.
        due: the launch, or the run on NumPy arrays, at which the next decision is due.
        is_bought: whether somebody makes an executable of it, or has.
        is_plain: whether its executable does without oneDNN, which was not built yet.
        is_untuned: whether its executable does without XLA's autotuners, for which somebody would
            have had to wait.
        is_in_blocks: whether its memory comes in blocks, or is to.
        look: the number of runs at which the improvers look at it next.
        watch: what `hybridnet.runtime.specialize` has noted of its inputs; None if nothing yet.
        tune: the number of runs from which on it is worth tuning; 0 if not known yet.
    """

    # Most structures of code that runs once change little of this, so it stands in the class.
    kinds: int | None = None
    launches = runs = reads = missed = due = tune = follow = 0
    samples: tuple[tuple[float, float], ...] = ()
    before = missing = in_row = waited = 0.0
    on_disk: bool | None = None
    is_by_numpy = is_bought = is_plain = is_untuned = is_in_blocks = False
    look = FIRST_LOOK
    watch: Any = None

    def __init__(self, weight: int) -> None:
        self.weight = weight
        self.by_steps = self.by_call = Rent()
        self.by_program = Rent()
        self.by_numpy = Rent()

    @property
    def read_share(self) -> float:
        """Of how many of its launches the results are waited for at once, from 0 to 1."""
        launches = self.launches + self.runs
        return self.reads / launches if launches else 0.0

    def note_call(self, took: float) -> None:
        """Notes that a call of its own took so many seconds to be recorded and launched."""
        if self.runs:  # its program ran
            return
        if self.by_call is self.by_steps:
            self.by_call = Rent()
        self.by_call.note(took)

    def note_waited(self, took: float) -> None:
        """Notes that a launch on the host waited so many seconds for an accelerator."""
        before = self.waited
        self.waited += took
        # When it has doubled somebody looks whether it has reached a price. (Not where it was
        # decided that NumPy is quicker, or that nothing is ever bought.)
        if self.waited >= 2 * before and not self.by_program.runs and self.due < _NEVER_DUE:
            self.due = 0

    @property
    def overpaid(self) -> float:
        """The seconds of `waited` that a program would not have: nobody waited for its results."""
        return self.waited * (1 - self.read_share) if self.waited else 0.0

    def note_read(self) -> None:
        """Notes that the thread that launched it last waits for its results."""
        if self.reads < self.launches + self.runs:
            self.reads += 1


@final
class Habits(threading.local):
    """The record of a thread's purchases, and of how many were used again.

    Attributes:
        bought: the operators of the programs that were compiled for it.
        again: those of the programs among them that ran a second time.
        told: whether the user has been told that the structures keep changing.
        soon: whether everything is compiled at its second launch.
        whole: the account of the structure that was launched last and is not compiled.
    """

    bought = 0
    again = 0
    told = False
    soon = False
    whole: Account | None = None

    @property
    def unused(self) -> int:
        """The operators of the programs that did not run again so far."""
        return self.bought - self.again

    @property
    def share_again(self) -> float:
        """The probability that a purchase is used again, by what became of those before."""
        return (AGAIN + self.again) / (AGAIN + self.bought)

    def note_bought(self, account: Account) -> None:
        """Notes that a program is compiled for this thread."""
        self.bought += account.weight

    def note_ran_again(self, account: Account) -> None:
        """Notes that a program ran a second time in this thread."""
        self.again = min(self.bought, self.again + account.weight)


class _Current(threading.local):
    """The account of a thread's last launch."""

    account: Account | None = None


#: The account of the calling thread's last launch, as `account`.
current: Final = _Current()


def note_call(took: float) -> None:
    """Notes what this thread's last launch took in all, of a call of its own; see `Account`."""
    account = current.account
    if account is not None:
        account.note_call(took)
