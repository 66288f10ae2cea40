"""Ways to decide what is compiled, for tests that are not about when it is worth it."""

from __future__ import annotations

from hybridnet.runtime.tiers.choice import Decision, Load, Purchase, Whose, decide
from hybridnet.runtime.tiers.ledger import Account
from hybridnet.runtime.tiers.prices import Prices

__all__ = ["always_whole", "loops_soon", "never_whole"]

# The runtime calls what is here, in which a Ctrl-C is not between two statements of a user.
__name__ = "hybridnet.deciding"

# A loop goes on after so many launches; small things, as what is computed between steps, come
# often.
_LOOP, _SMALL_LOOP = 4, 16
_SMALL = 8
# What runs this often is worth a program of its own.
_OFTEN = 64


def never_whole(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
    """Runs structures step by step, always, and by NumPy what has a host form."""
    return Decision(Purchase.NONE, due=1 << 62)


def always_whole(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
    """Makes the program of each structure before it runs."""
    if whose is not Whose.WHOLE:
        return loops_soon(whose, account, prices, load)
    read = account.launches == 1 and account.on_disk is not False
    return Decision(Purchase.READ if read else Purchase.COMPILE, waits=True)


def loops_soon(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
    """Compiles what comes again as loops do, by counts: however long it takes, and for no clock."""
    found = decide(whose, account, prices, load)
    if found.purchase is Purchase.GO_BACK:
        return Decision(Purchase.NONE)
    if load.host != "auto" or load.soon or account.is_bought or account.launches == 1:
        return found
    if account.follow:  # little is left to gain
        return found
    if whose is Whose.ALONE and account.launches >= _OFTEN:
        return Decision(Purchase.COMPILE)
    if whose is Whose.WHOLE and account.launches > _in_a_row(account):
        return Decision(Purchase.COMPILE)
    return Decision(Purchase.NONE, due=account.by_numpy.runs + 1 if whose is not Whose.WHOLE else 0)


def _in_a_row(account: Account) -> int:
    return _LOOP if account.weight >= _SMALL else _SMALL_LOOP
