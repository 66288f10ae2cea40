"""What each structure has cost so far, by who ran it, and how soon it comes again."""

from __future__ import annotations

import threading
from math import inf
from typing import Any, Final, final

__all__ = ["FIRST_LOOK", "Account", "Habits", "Rent", "current"]

#: The number of runs after which the improvers look at a program for the first time.
FIRST_LOOK: Final = 2
# The most launches of a thread between two of one structure that count as near, as in a loop.
_NEAR: Final = 8
# As if programs of so many operators had been used again, before anything is known. (Initializing a
# network takes some tens of small ones that run once.)
_PRIOR: Final = 512
# The most operators that one program counts for: a single large one does not mean change.
_MOST_OF_ONE: Final = 128


@final
class Rent:
    """How often something ran, and how quickly at best.

    Slower runs may have been held up by other work on the machine; so the time of all runs is taken
    to be what it would be, had each been as quick as the quickest one.

    Attributes:
        runs: how often it ran.
        best: the seconds of the quickest run; infinite before the first.
    """

    __slots__ = ("best", "runs")

    def __init__(self) -> None:
        self.runs = 0
        self.best = inf

    def note(self, took: float) -> None:
        """Notes a run of so many seconds."""
        self.runs += 1
        if took < self.best:
            self.best = took

    @property
    def seconds(self) -> float:
        """The seconds of all runs."""
        return self.runs * self.best if self.runs else 0.0


@final
class Account:
    """What is known of the launches of one structure.

    Args:
        weight: the number of its operators.

    Attributes:
        weight: as given.
        kinds: how many of them differ, by kind or by shapes; None before it is known.
        draws: how many of those draw random numbers; 0 before it is known.
        operations: its floating-point operations; as `kinds`.
        nbytes: the bytes of its inputs; as `kinds`.
        launches: how often it was launched while it was not compiled.
        runs: how often its executable was dispatched.
        reads: of how many launches the thread that made them waited for the results at once.
        by_steps: running it step by step; or a single instruction by NumPy, alone, which includes
            making arrays of JAX of its results.
        by_numpy: running it, a single instruction, on NumPy arrays, alone or as a step of others.
        by_program: running its executable until its results are there, where that was timed.
        is_by_numpy: whether NumPy ran all its steps last time: what XLA runs may be computing yet.
        missing: what the programs cost that its steps need and that there are not, in seconds;
            known from the first launch on.
        missed: how many new structures had it as a step while it was not compiled.
        turn: the number of its last launch among all launches of its thread, while not compiled.
        streak: how often in a row it was launched again soon after its last launch.
        on_disk: whether there is a file of it on disk; None if nobody has looked.
        due: the launch, or the run on NumPy arrays, at which the next decision is due.
        is_bought: whether somebody makes an executable of it, or has.
        is_plain: whether its executable does without oneDNN, which was not built yet.
        look: the number of runs at which the improvers look at it next.
        watch: what `hybridnet.runtime.specialize` has noted of its inputs; None if nothing yet.
        tune: the number of runs from which on it is worth tuning; 0 if not known yet.
    """

    __slots__ = (
        *("by_numpy", "by_program", "by_steps", "draws", "due", "is_bought", "is_by_numpy"),
        *("is_plain", "kinds", "launches", "look", "missed", "missing", "nbytes", "on_disk"),
        *("operations", "reads", "runs", "streak", "tune", "turn", "watch", "weight"),
    )

    def __init__(self, weight: int) -> None:
        self.weight = weight
        self.kinds: int | None = None
        self.draws = 0
        self.operations = 0.0
        self.nbytes = 0
        self.launches = 0
        self.runs = 0
        self.reads = 0
        self.by_steps = Rent()
        self.by_program = Rent()
        self.by_numpy = Rent()
        self.is_by_numpy = False
        self.missing = 0.0
        self.missed = 0
        self.turn = 0
        self.streak = 0
        self.on_disk: bool | None = None
        self.due = 0
        self.is_bought = False
        self.is_plain = False
        self.look = FIRST_LOOK
        self.watch: Any = None
        self.tune = 0

    @property
    def read_share(self) -> float:
        """Of how many of its launches the results are waited for at once, from 0 to 1."""
        launches = self.launches + self.runs
        return self.reads / launches if launches else 0.0

    def note_read(self) -> None:
        """Notes that the thread that launched it last waits for its results."""
        if self.reads < self.launches + self.runs:
            self.reads += 1


@final
class Habits(threading.local):
    """What is known of a thread's purchases.

    Attributes:
        turn: the number of launches of wholes that were not compiled.
        bought: the operators of the programs that were compiled for it.
        again: those of the programs among them that ran a second time.
        told: whether the user has been told that the structures keep changing.
        soon: whether everything is compiled at its second launch.
    """

    turn = 0
    bought = 0
    again = 0
    told = False
    soon = False

    @property
    def unused(self) -> int:
        """The operators of the programs that did not run again so far."""
        return self.bought - self.again

    @property
    def share_again(self) -> float:
        """How likely a purchase is to be used again, by what became of those before."""
        return (_PRIOR + self.again) / (_PRIOR + self.bought)

    def note_bought(self, account: Account) -> None:
        """Notes that a program is compiled for this thread."""
        self.bought += min(account.weight, _MOST_OF_ONE)

    def note_ran_again(self, account: Account) -> None:
        """Notes that a program ran a second time in this thread."""
        self.again = min(self.bought, self.again + min(account.weight, _MOST_OF_ONE))

    def note_launch(self, account: Account) -> None:
        """Notes how soon after its last launch this thread has launched a structure again."""
        self.turn += 1
        if account.launches > 1:
            account.streak = account.streak + 1 if self.turn - account.turn <= _NEAR else 0
        account.turn = self.turn


class _Current(threading.local):
    """The account of a thread's last launch."""

    account: Account | None = None


#: The account of the calling thread's last launch, as `account`.
current: Final = _Current()
