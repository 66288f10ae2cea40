"""The recipes that tuning has found, by structure: in memory, and in a folder beside the programs.

An entry is named as the structure's program is (`program_key`): JAX, platform, CPU and hybridnet's
own source are part of the name, so what was measured elsewhere is not found. Each is one file,
written under another name and then renamed: a tuner that is killed leaves whole entries only, and
of two that tune the same program one wins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from hybridnet.base import config
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from ..observe.program_log import log
from ..segments.code import Code
from .disk import ProgramFolder, cache_folder
from .program_key import key_of
from .recipe import BY_RULES, Recipe

# Bytes of all entries; one has some kilobytes.
_MAX_BYTES: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Trial:
    """One thing that was tried.

    Attributes:
        what: the program, or the site, that was measured.
        candidate: what was tried there.
        before: seconds of what it was compared with, the median.
        after: seconds of the candidate, the median.
        spread: half the distance between the quartiles of the ratios, round by round.
        verdict: 'faster', 'no faster', 'differs' (from the reference, by more than its tolerance),
            or why it could not be tried.
    """

    what: str
    candidate: str
    before: float | None
    after: float | None
    spread: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The findings of tuning a program.

    Attributes:
        program: its operators, for people.
        recipe: how to make it.
        trials: all that was tried.
    """

    program: str
    recipe: Recipe
    trials: Sequence[Trial] = field(default=())

    def to_json(self) -> str:
        """Returns it as text."""
        trials = [asdict(trial) for trial in self.trials]
        facts = {"program": self.program, "recipe": self.recipe.to_json(), "trials": trials}
        return json.dumps(facts, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Entry:
        """Reads what `to_json` wrote.

        Raises:
            ValueError, TypeError, KeyError: it is something else.
        """
        found: Mapping[str, Any] = json.loads(text)
        trials = tuple(Trial(**trial) for trial in found["trials"])
        return cls(str(found["program"]), Recipe.from_json(found["recipe"]), trials)


def tuned_folder() -> ProgramFolder | None:
    """Returns the folder of entries, in that of HYBRIDNET_CACHE_DIR; None: off."""
    return cache_folder("tuned", _MAX_BYTES)


class RecipeBook:
    """Entries by structure; safe from many threads and processes.

    Args:
        folder: where they are kept; default that of HYBRIDNET_CACHE_DIR, asked for at the first
            use.
    """

    def __init__(self, folder: ProgramFolder | None = None) -> None:
        self._folder = folder
        self._opened = folder is not None
        # Names of the files there were at the first use; None: not looked yet.
        self._names: set[str] | None = None
        self._entries: dict[str, Entry | None] = {}
        self._by_code: dict[Code, Entry] = {}
        self._lock = free_in_children(RLock())

    def recipe(self, code: Code) -> Recipe:
        """Returns how to make the program of a structure: what was found, or `BY_RULES`."""
        entry = self.entry(code)
        return BY_RULES if entry is None else entry.recipe

    def entry(self, code: Code) -> Entry | None:
        """Returns what tuning has found for a structure; None: it was not tuned."""
        if config.tuning() == "off":
            return None
        if self._by_code:
            entry = self._by_code.get(code)
            if entry is not None:
                return entry
        names = self._names
        if names is None:
            folder = self._open()
            names = self._names = set() if folder is None else folder.names()
        if not names:  # as a rule, and then the structure needs no name
            return None
        key = key_of(code)
        if key is None or key not in names:
            return None
        if key not in self._entries:
            self._entries[key] = self._read(key)
        return self._entries[key]

    def keep(self, code: Code, entry: Entry) -> None:
        """Notes what tuning has found for a structure."""
        folder = self._open()
        key = None if folder is None else key_of(code)
        with self._lock:
            self._by_code[code] = entry
            self._entries.pop(key or "", None)
        if folder is not None and key is not None:
            folder.write(key, entry.to_json().encode())

    def entries(self) -> list[Entry]:
        """Returns what this process has found, and what it has used of earlier findings."""
        read = [entry for entry in list(self._entries.values()) if entry is not None]
        return [*list(self._by_code.values()), *read]

    def forget(self) -> None:
        """Forgets what is in memory; files stay, and are looked for anew."""
        with self._lock:
            self._names = None
            self._entries.clear()
            self._by_code.clear()

    def _read(self, key: str) -> Entry | None:
        folder = self._open()
        data = None if folder is None else folder.read(key)
        if folder is None or data is None:
            return None
        try:
            return Entry.from_json(data.decode())
        except (ValueError, TypeError, KeyError) as error:
            log.info("what tuning found earlier cannot be read: %s", error)
            folder.remove(key)
            return None

    def _open(self) -> ProgramFolder | None:
        if not self._opened:
            self._folder = tuned_folder()
            self._opened = True
        return self._folder


book: Final = RecipeBook()
