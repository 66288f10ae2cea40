"""`Agreement`: that all processes of a gang do the same, in the same order.

What is called or launched for the first time waits until all processes have said that they do the
same (`Ledger`). After that nobody is asked: a process tells the others how far it has come where
it stands still, and rank 0 at each beat, and whoever has done something else by then says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, final

from hybridnet.base.errors import MXNetError
from hybridnet.engine import RLock

from .errors import LostPeerError
from .ledger import Ledger, LedgerEntry, read_statement, read_window

_MUST: Final = {
    "call": "make the same collective calls in the same order, with the same shapes and dtypes",
    "launch": (
        "launch the same programs on their mesh in the same order; what lies in parts is read "
        "(asnumpy, print) by all, too"
    ),
}


@final
class Agreement:
    """The comparison of what this process does with what the others do.

    Args:
        rank: of this process.
        size: how many processes there are.
        named: returns the name of a rank, for messages.
        tell: tells all others something.
        refuse: called with the error where another process has done something else, or has left.

    Attributes:
        calls: the collective calls.
        launches: the launches of programs on meshes over the gang.
        suspects: whether somebody has done something else, and it is not known yet what.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        named: Callable[[int], str],
        tell: Callable[[Mapping[str, Any]], None],
        refuse: Callable[[MXNetError], None],
    ) -> None:
        self.calls = Ledger("call", size)
        self.launches = Ledger("launch", size)
        self.suspects = False
        self._rank = rank
        self._named = named
        self._tell = tell
        self._refuse = refuse
        self._stopped = False
        # How many of each a process had, that has left; and how it has.
        self._left: dict[int, tuple[Mapping[str, int], str]] = {}
        # By kind, up to where the others were told, and what there was at the last beat.
        self._told: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        # Taken by itself: see `background._Exit`.
        self._lock = RLock()
        self._changed = threading.Condition(self._lock)

    @property
    def _ledgers(self) -> tuple[Ledger, Ledger]:
        return self.calls, self.launches

    def enter(self, ledger: Ledger, what: str) -> None:
        """Notes what this process does; where that is new, waits until all have said the same."""
        with self._lock:
            number = ledger.add(what)
            is_new = ledger.is_new(number)
            said = dict(ledger.theirs.get(number, ())) if ledger.theirs else {}
        if is_new:
            self._tell(ledger.statement(number, asks=True))
        elif said and not ledger.has_stated(number):
            self._tell(ledger.statement(number))
        for sender, entry in said.items():
            self._compare(ledger, sender, number, entry)
        if self._left:
            self._look_who_left()
        if is_new:
            with self._lock:
                self._changed.wait_for(lambda: self._stopped or ledger.is_said_by_all(number))
            if not self._stopped:
                ledger.agree(number)

    def stop(self) -> None:
        """Ends all waiting, now and later: the gang is broken."""
        with self._lock:
            self._stopped = True
            self._changed.notify_all()

    def beat(self) -> None:
        """Tells how far this process has come, where it is rank 0 or stands still."""
        for ledger in self._ledgers:
            with self._lock:
                count = ledger.count
                stands = self._rank == 0 or count == self._seen.get(ledger.kind)
                self._seen[ledger.kind] = count
                if not stands or self._told.get(ledger.kind, 0) == count:
                    continue
                self._told[ledger.kind] = count
                statement = ledger.statement(count)
            self._tell(statement)

    def leave(self, how: str, *, compare: bool) -> None:
        """Tells the others that this process leaves.

        Args:
            how: 'ended', or why it failed.
            compare: whether they shall compare all that it did.
        """
        for ledger in self._ledgers:
            if ledger.count and compare:
                self._tell(ledger.statement(ledger.count))
        self._tell({"left": how, "counts": {one.kind: one.count for one in self._ledgers}})

    # -- what the others say -----------------------------------------------------------------

    def note_left(self, sender: int, counts: Mapping[str, int], how: str) -> None:
        """Takes that another process has left, after so many calls and launches."""
        with self._lock:
            self._left.setdefault(sender, (counts, how))
        self._look_who_left()

    def hear(self, sender: int, message: Mapping[str, Any]) -> None:
        """Takes what another process says of what it does."""
        ledger = self.calls if message["of"] == self.calls.kind else self.launches
        statement, window = read_statement(message), read_window(message)
        if statement is not None:
            number, entry = statement
            with self._lock:
                is_known = ledger.hear(sender, number, entry)
                self._changed.notify_all()
            if not is_known or self._stopped:
                return
            if message.get("asks") and not ledger.has_stated(number):
                self._tell(ledger.statement(number))
            self._compare(ledger, sender, number, entry)
        elif window is not None and not self._stopped:
            self._suspect(ledger)
            self._part(ledger, sender, *ledger.first_difference(*window))

    def _compare(self, ledger: Ledger, sender: int, number: int, entry: LedgerEntry) -> None:
        """Refuses to go on if another process has done something else up to a number."""
        mine = ledger.own(number)
        if mine.fold == entry.fold:
            return
        if mine.before != entry.before:  # it began earlier: who has done what?
            self._suspect(ledger)
            return
        if not ledger.has_stated(number):
            self._tell(ledger.statement(number))
        self._part(ledger, sender, number, entry.what)

    def _suspect(self, ledger: Ledger) -> None:
        """Tells the others, once, what this process did last, for them to find the difference."""
        if not self.suspects:
            self.suspects = True
            self._tell(ledger.window())

    def _part(self, ledger: Ledger, sender: int, number: int, what: str) -> None:
        """Refuses to go on, since another process has done something else."""
        mine = self._rank, ledger.own(number).what
        (low, first), (high, second) = sorted([mine, (sender, what)])
        self._refuse(
            MXNetError(
                f"distributed: all processes must {_MUST[ledger.kind]}; {ledger.kind} {number} is "
                f"{first} in rank {low} and {second} in rank {high}"
            )
        )

    def _look_who_left(self) -> None:
        """Refuses to go on if a process has left before it did what this one does."""
        for other, (counts, how) in list(self._left.items()):
            for ledger in self._ledgers:
                if counts.get(ledger.kind, 0) < ledger.count:
                    last = ledger.own(ledger.count).what
                    self._refuse(
                        LostPeerError(
                            f"distributed: {self._named(other)} has {how}, while others still call "
                            f"it ({ledger.kind} {ledger.count}, {last}); all of a gang end together"
                        )
                    )
