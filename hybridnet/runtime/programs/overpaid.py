"""The parts of prices that earlier processes overpaid for structures that got no program.

A script that runs for two seconds may never go on for long enough to be worth a compilation; one
that runs so ten times is. So a process that ends leaves for each such structure the part of the
price that it had reached, in a folder beside the programs, and the next one goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from hybridnet.base import config

from ..segments.code import Code
from .disk import ProgramFolder, cache_folder
from .program import Program
from .program_key import structure_key

# Bytes of all entries; one has some tens.
_MAX_BYTES: Final = 1 << 20
# The least part of a price that is written.
_MIN_PRICE_SHARE: Final = 0.1


def overpaid_folder() -> ProgramFolder | None:
    """Returns the folder of entries; None: off."""
    return cache_folder("overpaid", _MAX_BYTES)


class Overpaid:
    """Parts of prices, by structure; what other processes write meanwhile is not seen."""

    def __init__(self) -> None:
        self._folder: ProgramFolder | None = None
        # Names of the entries there were at the first use; None: not looked yet.
        self._names: set[str] | None = None

    def before(self, code: Code) -> float:
        """Returns the part of its price that was overpaid for a structure before this process."""
        if self._names is None:
            self._folder = folder = overpaid_folder()
            self._names = set() if folder is None else folder.names()
        key = structure_key(code) if self._names else None
        if self._folder is None or key is None or key not in self._names:
            return 0.0
        try:
            return min(1.0, max(0.0, float(self._folder.read(key) or 0.0)))
        except ValueError:
            return 0.0

    def keep(self, programs: Iterable[Program]) -> None:
        """Writes what was overpaid so far, as the process ends."""
        folder = overpaid_folder() if config.host() == "auto" else None
        if folder is None:
            return
        for program in programs:
            made, account = program.decision, program.account
            # At a first launch the price is of what its steps need.
            if made is None or not made.price or account.launches == 1 or program.is_alone:
                continue
            part = made.overpaid / made.price
            if part < _MIN_PRICE_SHARE or program.compiled is not None or account.by_program.runs:
                continue
            key = structure_key(program.code)
            if key is not None:
                folder.write(key, f"{min(1.0, part):.3f}".encode())
