"""Rent or buy: who runs a structure, and whether it is time to buy what runs it faster.

Nobody knows how often a structure will come again. To go on as it is until what was overpaid
reaches the price, and then to buy, never costs more than twice what the best choice in hindsight
would have (the ski-rental problem: Karlin, Manasse, Rudolph, Sleator, "Competitive snoopy caching",
1988). What comes again and again as loops do is likely to go on for a multiple of what it did.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import Final, NamedTuple

from .ledger import Account
from .prices import Prices

__all__ = [
    "TIMED_RUNS",
    "Decision",
    "Load",
    "Purchase",
    "Whose",
    "decide",
    "felt_share",
    "is_quick",
    "is_worth_timing",
    "is_worth_twice",
    "recurs",
    "repays_passes",
]

# As a loop has gone on so far, it goes on for so many times longer, seen from outside. (The regret
# over 29 recordings, see benchmarks/replay.py: at 2 72 s, at 5 79, at 7 92, at 10 94; training
# loops, which are the longest, lose 0.3 s each at 2 against 5.)
_LOOP_GOES_ON: Final = 5.0
# So many launches in a row, each soon after the one before, are a loop.
_LOOP: Final = 4
# A step of other structures gets a program of its own only where none of these is bought instead:
# when what was overpaid for it has reached the price of a typical one.
_TYPICAL: Final = 32
# What was missing in more new structures than this is a step of others to come. (The first two
# steps of a training loop differ, and evaluation is a third.)
_RECURS: Final = 3
#: How often a program is timed that took over from NumPy; the quickest run counts.
TIMED_RUNS: Final = 5
# If a loop feels more than this of what the background does, that does one thing at a time.
_MOST_FELT: Final = 0.4
_NEVER: Final = 1 << 62


class Purchase(Enum):
    """What can be bought."""

    NONE = "nothing"
    READ = "its program on disk"
    COMPILE = "its program"
    GO_BACK = "nothing: its program is given up, as NumPy is quicker"


class Whose(Enum):
    """What a decision is about."""

    WHOLE = "a structure of several instructions"
    ALONE = "one instruction by itself"
    PART = "one instruction as a step of others"


class Load(NamedTuple):
    """What else counts, beside the structure.

    Attributes:
        host: HYBRIDNET_HOST.
        has_begun: whether JAX is loaded.
        share: how much of what the background does the loop feels, from 0 to 1.
        again: how likely a purchase of this thread is to be used again, from 0 to 1.
        is_underway: whether a whole is being compiled.
        soon: whether everything is compiled at its second launch.
    """

    host: str
    has_begun: bool = True
    share: float = 0.6
    again: float = 1.0
    is_underway: bool = False
    soon: bool = False


class Decision(NamedTuple):
    """What to do now.

    Attributes:
        purchase: what to buy.
        waits: whether the launch waits for it.
        due: the launch at which to ask again, if nothing is bought.
        overpaid: seconds that were overpaid, times what is likely to come.
        price: what it costs the loop, in seconds.
    """

    purchase: Purchase
    waits: bool = False
    due: int = 0
    overpaid: float = 0.0
    price: float = 0.0

    @property
    def why(self) -> str:
        """The reason in words."""
        if not self.price:
            return "asked for" if self.purchase is not Purchase.NONE else "nothing is missing"
        found = f"overpaid {self.overpaid:.2g} s, price {self.price:.2g} s"
        return found if self.purchase is not Purchase.NONE else f"{found}, next at {self.due}"


def decide(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
    """Decides whether to buy a program for a structure, or to give up the one that was bought.

    Args:
        whose: what is decided about.
        account: what is known of the structure; this launch counts.
        prices: those of its platform.
        load: what else counts.
    """
    if account.by_program.runs:
        return _decide_back(account, prices)
    if account.is_bought or load.host == "only":
        return Decision(Purchase.NONE, due=_NEVER)
    if whose is not Whose.WHOLE:
        return _decide_single(whose, account, prices, load)
    if account.launches == 1:
        return _decide_new(account, prices, load)
    if load.host == "off" or load.soon:
        due = 2 if load.soon else round(2 / load.again)
        if account.launches < due:
            return Decision(Purchase.NONE, due=due)
        if account.on_disk is not False and load.has_begun:
            return Decision(Purchase.READ, waits=True)
        return Decision(Purchase.COMPILE)
    return _decide_again(account, prices, load)


def _decide_new(account: Account, prices: Prices, load: Load) -> Decision:
    """Decides about a new structure: to run by its steps means to make those that are missing."""
    steps = account.missing
    if not steps:
        return Decision(Purchase.NONE, due=2)
    reading = prices.reading(account.weight)
    if account.on_disk is not False and load.again > 0.5 and reading < steps:
        return Decision(Purchase.READ, waits=True, overpaid=steps, price=reading)
    compiling = _compiling(account, prices)
    if steps < compiling:
        return Decision(Purchase.NONE, due=2, overpaid=steps, price=compiling)
    return Decision(Purchase.COMPILE, waits=True, overpaid=steps, price=compiling)


def _decide_again(account: Account, prices: Prices, load: Load) -> Decision:
    """Decides about a structure that was launched again."""
    gain = _gain(account, account.by_steps.best, prices, account.read_share)
    if gain <= 0:
        return _gains_nothing(account, prices, account.launches)
    goes_on = _LOOP_GOES_ON if account.streak >= _LOOP else 1.0
    overpaid = goes_on * load.again * gain * account.launches
    loading = 0.0 if load.has_begun else prices.jax
    reading = prices.reading(account.weight)
    price = load.share * (loading + reading)
    if account.on_disk is not False and overpaid >= price:
        waits = load.has_begun and gain >= reading
        return Decision(Purchase.READ, waits, 0, overpaid, price)
    price = loading + load.share * _compiling(account, prices)
    # One after the other: the first is there sooner, and may be all that is needed.
    waits_its_turn = load.is_underway and load.share > _MOST_FELT
    if overpaid >= price and not waits_its_turn:
        return Decision(Purchase.COMPILE, False, 0, overpaid, price)
    return Decision(Purchase.NONE, False, account.launches + 1, overpaid, price)


def _decide_single(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
    """Decides about a structure of one instruction that NumPy runs."""
    alone = whose is Whose.ALONE
    rent = account.by_steps if alone else account.by_numpy
    if not rent.runs:
        return Decision(Purchase.NONE, due=account.by_numpy.runs + 1)
    read = account.read_share if alone else 0.0
    gain = _gain(account, rent.best, prices, read)
    if gain <= 0:
        return _gains_nothing(account, prices, account.by_numpy.runs)
    overpaid = gain * rent.runs
    loading = 0.0 if load.has_begun else prices.jax
    if not alone:
        price = loading + prices.compiling(_TYPICAL)
    else:
        price = loading + load.share * _compiling(account, prices)
    if overpaid >= price and (alone or not load.is_underway):
        return Decision(Purchase.COMPILE, False, 0, overpaid, price)
    most = max(1.25, min(2.0, price / overpaid))
    return Decision(Purchase.NONE, False, _later(account.by_numpy.runs, most), overpaid, price)


def _compiling(account: Account, prices: Prices) -> float:
    """Returns how many seconds XLA takes to compile a structure."""
    return prices.compiling(account.weight, account.kinds, account.draws)


def _gain(account: Account, now: float, prices: Prices, read: float) -> float:
    """Returns how many seconds less than now a launch of a program would take."""
    if now == inf or account.weight > prices.large:
        return 0.0
    best = prices.launch(account.operations, account.nbytes, read)
    return now - max(best, prices.usual * now)


def _gains_nothing(account: Account, prices: Prices, runs: int) -> Decision:
    """Decides to go on as it is, and to ask again after as many runs more."""
    price = _compiling(account, prices)
    return Decision(Purchase.NONE, due=_later(runs, 2.0), price=price)


def is_worth_timing(account: Account, prices: Prices) -> bool:
    """Whether to time a program that took over from NumPy takes less than half of its price."""
    price = _compiling(account, prices)
    return TIMED_RUNS * account.by_steps.best <= price / 2


def is_worth_twice(account: Account, prices: Prices) -> bool:
    """Whether to compile a program without oneDNN first, while what calls that is built.

    Without it XLA's own kernels take 1.1 to 1.2 times as long (an LSTM's step, LeNet's); so the
    first program is worth its time where it is there long before the other can be.
    """
    return 4 * _compiling(account, prices) < prices.onednn


def _decide_back(account: Account, prices: Prices) -> Decision:
    """Decides whether a program is given up that was bought and has been timed."""
    took, read = account.by_program.best, account.read_share
    unread = max(prices.dispatch, took - prices.handover)
    by_program, by_steps = read * took + (1 - read) * unread, account.by_steps.best
    back = by_program > by_steps
    return Decision(Purchase.GO_BACK if back else Purchase.NONE, False, 0, by_program, by_steps)


def repays_passes(account: Account, prices: Prices, host: str) -> bool:
    """Whether passes over a structure's graphs are worth their time before it is compiled.

    They are when they would have saved by now what they take. Where the same bits are wanted each
    time (HYBRIDNET_HOST=only) no clock decides: then they are after so many launches that it is so
    for an operator of usual length.
    """
    if host == "only":
        return account.launches * prices.passes_gain > 1
    return account.by_steps.seconds * prices.passes_gain >= prices.passes * account.weight


def felt_share(processors: int) -> float:
    """Returns how much of what the background does a loop feels, on so many processors.

    Measured on two: a step of LeNet takes 1.6 times as long beside a compilation.
    """
    return min(1.0, 1.2 / processors)


def is_quick(account: Account, prices: Prices) -> bool:
    """Whether a structure runs step by step in less time than it takes to wait for XLA."""
    return account.by_steps.best <= prices.waiting


def recurs(account: Account) -> bool:
    """Whether a step was missing in so many new structures that more of them are to come."""
    return account.missed > _RECURS


def _later(runs: int, times: float) -> int:
    return max(runs + 1, round(times * runs))
