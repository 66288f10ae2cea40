"""`Ledger`: what this process and the others do together, in order, and where they part.

There is one for collective calls, and one for launches of programs on meshes over processes. It
knows no threads and sends nothing: it is told what is done and what the others say, and returns
what there is to be said. Whatever is done is a number and a text, and what has been done up to a
number is one more number, the *fold*, a checksum over all these texts: who has the same fold has
done the same, in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, final
from zlib import crc32

# Of how many of the last texts it is known what they were, in this process, and how many of them
# are sent where processes look for the first in which they differ. XLA lets a process run 32
# programs ahead of one that cannot end.
_KEPT: Final = 4096
_SENT: Final = 64
# Characters of a text at most: a message is a line of 64 KiB.
_LONGEST: Final = 800


class LedgerEntry(NamedTuple):
    """One thing that was done: its text, and the folds before it and with it."""

    what: str
    before: int
    fold: int


@final
class Ledger:
    """The log of what all processes do together, in order: calls, or launches.

    Args:
        kind: 'call' or 'launch'.
        size: how many processes there are.

    Attributes:
        kind: as given.
        count: how many there were of this process.
        agreed: the texts that all processes are known to have had at one time.
        theirs: what others have said of numbers that this process has not passed yet, by rank.
    """

    def __init__(self, kind: str, size: int) -> None:
        self.kind = kind
        self.count = 0
        self.agreed: set[str] = set()
        self.theirs: dict[int, dict[int, LedgerEntry]] = {}
        self._size = size
        self._fold = 0
        self._entries: deque[LedgerEntry] = deque(maxlen=_KEPT)
        self._stated: deque[int] = deque(maxlen=_SENT)

    def add(self, what: str) -> int:
        """Notes what this process does now; returns its number, from 1 on."""
        if len(what) > _LONGEST:
            what = f"{what[:_LONGEST]}... ({crc32(what.encode()):08x})"
        before, self._fold = self._fold, crc32(what.encode(), self._fold)
        self._entries.append(LedgerEntry(what, before, self._fold))
        self.count += 1
        if self.theirs:
            for old in [number for number in self.theirs if number < self.count]:
                del self.theirs[old]
        return self.count

    def agree(self, number: int) -> None:
        """Notes that all have said the same of a number."""
        self.agreed.add(self.own(number).what)

    def is_new(self, number: int) -> bool:
        """Whether not all processes are known to have done what a number stands for."""
        return self.own(number).what not in self.agreed

    def is_said_by_all(self, number: int) -> bool:
        """Whether all others have said what a number is."""
        return len(self.theirs.get(number, ())) == self._size - 1

    def statement(self, number: int, *, asks: bool = False) -> dict[str, Any]:
        """Returns what to tell the others of a number of this process.

        Args:
            asks: whether they shall say what it is to them.
        """
        self._stated.append(number)
        return {"of": self.kind, "at": number, "entry": self.own(number), "asks": asks}

    def has_stated(self, number: int) -> bool:
        """Whether the others were told of a number."""
        return number in self._stated

    def has(self, number: int) -> bool:
        """Whether it is known what a number was."""
        return self.count - len(self._entries) < number <= self.count

    def hear(self, sender: int, number: int, entry: LedgerEntry) -> bool:
        """Notes what another process says of a number.

        Returns:
            Whether it is known what that was to this process, which may not have come so far.
        """
        if number >= self.count:
            self.theirs.setdefault(number, {})[sender] = entry
        return self.has(number)

    def window(self) -> dict[str, Any]:
        """Returns the last texts, to tell those who have done something else."""
        first = max(self.count - min(len(self._entries), _SENT), 0) + 1
        texts = [self.own(number).what for number in range(first, self.count + 1)]
        return {"of": self.kind, "first": first, "window": texts}

    def first_difference(self, first: int, texts: Sequence[str]) -> tuple[int, str]:
        """Returns the first number at which another's text is not this one's, and that text.

        Where the last ones are the same, which are all that is known, the first of them.
        """
        for number, what in enumerate(texts, first):
            if self.has(number) and self.own(number).what != what:
                return number, what
        return max(first, self.count - len(self._entries) + 1), "something else before it"

    def own(self, number: int) -> LedgerEntry:
        """Returns what a number was to this process; it must be one of the last (`has`)."""
        return self._entries[number - self.count - 1]


def read_statement(message: Mapping[str, Any]) -> tuple[int, LedgerEntry] | None:
    """Returns the number and the entry of a statement; None where a message is none."""
    number, entry = message.get("at"), message.get("entry")
    if not isinstance(number, int) or not isinstance(entry, list) or len(entry) != 3:
        return None
    what, before, fold = entry
    if not (isinstance(what, str) and isinstance(before, int) and isinstance(fold, int)):
        return None
    return number, LedgerEntry(what, before, fold)


def read_window(message: Mapping[str, Any]) -> tuple[int, list[str]] | None:
    """Returns the first number and the texts of a window; None where a message is none."""
    first, texts = message.get("first"), message.get("window")
    if not isinstance(first, int) or not isinstance(texts, list):
        return None
    return first, [text for text in texts if isinstance(text, str)]
