"""Rent or buy: who runs a structure, and whether it is time to buy what runs it faster.

Nobody knows how often a structure will come again. To go on as it is until what was overpaid
reaches the price, and then to buy, never costs more than twice what the best choice in hindsight
would have (the ski-rental problem: Karlin, Manasse, Rudolph, Sleator, "Competitive snoopy caching",
1988).
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from .ledger import Account, Rent
from .prices import SAMPLES, Prices

_NEVER_DUE: Final = 1 << 62


class Purchase(Enum):
    """A kind of purchase: which program to read or compile for a structure, or none."""

    NONE = "nothing"
    READ = "its program on disk"
    COMPILE = "its program"
    LIBRARY = "its program once more, with oneDNN's calls"
    TUNED = "its program once more, with XLA's autotuners"
    BLOCKS = "its program once more, with its memory in blocks"
    CONSTANTS = "its program once more, for weights that stay the same"
    GO_BACK = "nothing: its program is given up, as NumPy is quicker"


class Whose(Enum):
    """The kind of structure that a decision is about."""

    WHOLE = "a structure of several instructions"
    ALONE = "one instruction by itself"
    PART = "one instruction as a step of others"


class Load(NamedTuple):
    """The circumstances of a decision, beside the structure.

    Attributes:
        host: HYBRIDNET_HOST.
        has_begun: whether JAX is loaded.
        share: how much of what the background does the loop feels, from 0 to 1: one part in so many
            as there are processors.
        again: how likely a purchase of this thread is to be used again, from 0 to 1.
        is_underway: whether a whole is being compiled.
        soon: whether everything is compiled at its second launch.
        whole: the account of the structure that this thread runs step by step, if it does.
    """

    host: str
    has_begun: bool = True
    share: float = 0.5
    again: float = 1.0
    is_underway: bool = False
    soon: bool = False
    whole: Account | None = None


class Decision(NamedTuple):
    """A decision about a structure: what to buy, and when to ask again.

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
        return _decide_back(account)
    if account.is_bought or load.host == "only":
        return Decision(Purchase.NONE, due=_NEVER_DUE)
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
    return _decide_known(account, prices, load)


def _decide_new(account: Account, prices: Prices, load: Load) -> Decision:
    """Decides about a new structure: to run by its steps means to make those that are missing."""
    steps = account.missing
    if not steps:
        return Decision(Purchase.NONE, due=2)
    reading = prices.reading(account.weight, account.kinds)
    if account.on_disk is not False and load.again > 0.5 and reading < steps:
        return Decision(Purchase.READ, waits=True, overpaid=steps, price=reading)
    compiling = _compiling(account, prices)
    if steps < compiling:
        return Decision(Purchase.NONE, due=2, overpaid=steps, price=compiling)
    return Decision(Purchase.COMPILE, waits=True, overpaid=steps, price=compiling)


def _decide_known(account: Account, prices: Prices, load: Load) -> Decision:
    """Decides about a structure that was launched again."""
    gain, waited = _gain(account, account.by_call, prices), account.overpaid
    if gain <= 0 and not waited:
        return _gains_nothing(account, prices, account.launches)
    here = load.again * (max(gain, 0.0) * account.launches + waited)
    loading = 0.0 if load.has_begun else prices.jax
    reading = prices.reading(account.weight, account.kinds)
    price = load.share * (loading + reading)
    overpaid = here + account.before * price
    if account.on_disk is not False and overpaid >= price:
        waits = load.has_begun and (gain >= reading or is_quick(account, prices))
        return Decision(Purchase.READ, waits, 0, overpaid, price)
    price = loading + _in_turn(account, prices, load)
    overpaid = here + account.before * price
    if overpaid >= price:
        return Decision(Purchase.COMPILE, _pauses(account, prices), 0, overpaid, price)
    due = _later(account.launches, min(1.25, price / overpaid))
    return Decision(Purchase.NONE, False, due, overpaid, price)


def _decide_single(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
    """Decides about a structure of one instruction that NumPy runs."""
    alone = whose is Whose.ALONE
    rent = account.by_call if alone else account.by_numpy
    if not rent.runs:
        return Decision(Purchase.NONE, due=account.by_numpy.runs + 1)
    # The next step, which NumPy runs, waits for what XLA makes.
    gain = _gain(account, rent, prices) - (0.0 if alone else prices.handover)
    waited = account.overpaid if alone else 0.0
    if gain <= 0 and not waited:
        return _gains_nothing(account, prices, account.by_numpy.runs)
    overpaid = max(gain, 0.0) * rent.runs + waited
    loading = 0.0 if load.has_begun else prices.jax
    if alone:
        price = loading + _in_turn(account, prices, load)
    else:  # with the program of the whole it would have no use any more
        price = loading + _compiling(load.whole or account, prices)
    if overpaid >= price and (alone or not load.is_underway):
        return Decision(Purchase.COMPILE, alone and _pauses(account, prices), 0, overpaid, price)
    most = max(1.25, min(2.0, price / overpaid))
    return Decision(Purchase.NONE, False, _later(account.by_numpy.runs, most), overpaid, price)


def _compiling(account: Account, prices: Prices) -> float:
    """Returns how many seconds XLA takes to compile a structure."""
    return prices.compiling(account.weight, account.kinds)


def _in_turn(account: Account, prices: Prices, load: Load) -> float:
    """Returns how many seconds of it the loop feels; of two that are compiled at once, of both."""
    return load.share * _compiling(account, prices) * (2 if load.is_underway else 1)


def _gain(account: Account, rent: Rent, prices: Prices) -> float:
    """Returns how many seconds less than now a launch of a program would take, at most.

    Whether a thread would have to wait for XLA's nobody knows before; that is timed afterwards.
    """
    if account.follow:  # all else a program does for it already
        return account.follow * prices.handover
    if not rent.timed or account.weight > prices.large:
        return 0.0
    computing = min(rent.best, account.by_steps.best)  # a call of its own is recorded as well
    return rent.mean - prices.usual * computing


def _pauses(account: Account, prices: Prices) -> bool:
    """Whether a launch waits for a compilation that was put off until it is worth its price.

    Beside a loop of small work, which is all Python's, tracing gets the interpreter's lock for a
    moment at a time: what takes 40 ms then takes a second, and the loop 1.4 times as long.
    """
    return is_quick(account, prices) and _compiling(account, prices) <= prices.jax


def _gains_nothing(account: Account, prices: Prices, runs: int) -> Decision:
    """Decides to go on as it is, and to ask again after as many runs more."""
    price = _compiling(account, prices)
    return Decision(Purchase.NONE, due=_later(runs, 2.0), price=price)


def is_worth_timing(account: Account, prices: Prices) -> bool:
    """Whether to time a program that took over from NumPy takes less than half of its price."""
    price = _compiling(account, prices)
    return SAMPLES * account.by_steps.best <= price / 2


def is_worth_twice(account: Account, prices: Prices) -> bool:
    """Whether to compile a program without oneDNN first, while what calls that is built.

    So it is where the first program is there long before the other can be; see `Prices.onednn`.
    """
    return 4 * _compiling(account, prices) < prices.building()


def _decide_back(account: Account) -> Decision:
    """Decides whether a program is given up that was bought and has been timed."""
    read, by_steps = account.read_share, account.by_call.best
    by_program = read * account.by_program.best + (1 - read) * account.in_row
    back = by_program > by_steps
    return Decision(Purchase.GO_BACK if back else Purchase.NONE, False, 0, by_program, by_steps)


def decide_again(account: Account, prices: Prices, load: Load, memory: int) -> Decision:
    """Decides whether a program that runs is compiled once more for what it did without.

    Args:
        account: what is known of the structure.
        prices: those of its platform.
        load: what else counts.
        memory: the bytes that a run of its program allocates.

    Returns:
        The decision; `Decision.due` is a number of runs.
    """
    if account.is_plain:  # it was compiled so since that takes no time beside what is built now
        return Decision(Purchase.LIBRARY)
    if account.is_untuned:
        gain = prices.tuned * _launch(account, prices)
        return _decide_once_more(Purchase.TUNED, gain, account, prices, load)
    gain = 0.0 if account.is_in_blocks else prices.page * memory
    return _decide_once_more(Purchase.BLOCKS, gain, account, prices, load)


def decide_constants(account: Account, prices: Prices, load: Load) -> Decision:
    """Decides whether a program is compiled once more for weights that stay the same.

    Returns:
        The decision; `Decision.due` is a number of runs.
    """
    gain = prices.constants * _launch(account, prices)
    return _decide_once_more(Purchase.CONSTANTS, gain, account, prices, load)


def _launch(account: Account, prices: Prices) -> float:
    """Returns how long a launch of a program takes; 0 if that is not known."""
    if account.by_program.runs:
        return account.by_program.best
    return prices.usual * account.by_steps.best if account.by_steps.runs else 0.0


def _decide_once_more(
    purchase: Purchase, gain: float, account: Account, prices: Prices, load: Load
) -> Decision:
    """Decides about what saves so many seconds a run of a program that is there.

    Its program computes on all processors, so the loop feels all of what is done beside it.
    """
    if gain <= 0:
        return Decision(Purchase.NONE, due=_NEVER_DUE)
    overpaid = load.again * gain * account.runs
    price = _compiling(account, prices)
    if overpaid >= price:
        return Decision(purchase, False, 0, overpaid, price)
    due = _later(account.runs, min(2.0, price / overpaid))
    return Decision(Purchase.NONE, False, due, overpaid, price)


def repays_passes(account: Account, prices: Prices, host: str) -> bool:
    """Whether passes over a structure's graphs are worth their time before it is compiled.

    They are when they would have saved by now what they take. Where the same bits are wanted each
    time (HYBRIDNET_HOST=only) no clock decides: each operator counts as long as a handover takes.
    """
    if host == "only":
        return account.launches * prices.handover >= prices.passes
    return account.by_steps.seconds >= prices.passes * account.weight


def is_quick(account: Account, prices: Prices) -> bool:
    """Whether a structure runs step by step in less time than it takes to wait for XLA."""
    return account.by_steps.best <= prices.waiting


def is_small(rent: Rent, prices: Prices) -> bool:
    """Whether one operator, as a step of others, is never worth a program of its own.

    A run counts at most twice what the quickest took, and the next step waits for what XLA makes.
    """
    return (2 - prices.usual) * rent.best <= prices.handover


def is_read(account: Account) -> bool:
    """Whether the thread that launches a structure waits for its results at once, mostly."""
    return 2 * account.reads >= account.launches


def recurs(account: Account, prices: Prices) -> bool:
    """Whether a step was missing in so many new structures that more of them are to come.

    As a part of their programs it has cost by now what a program of its own does.
    """
    return (account.missed - 1) * prices.kind >= prices.program + prices.kind


def _later(runs: int, times: float) -> int:
    return max(runs + 1, round(times * runs))
