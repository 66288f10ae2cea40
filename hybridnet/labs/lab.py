"""`Lab`: one lab of the course, its files and its modules."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hybridnet.base.errors import ParameterError
from hybridnet.base.lazy import resources

from .names import NAMES
from .words import Words, read_table

_COURSE: Final = "hybridnet.labs.course"


@dataclass(frozen=True)
class Lab:
    """A lab.

    Attributes:
        name: of its folder.
    """

    name: str

    @staticmethod
    def find(name: str) -> Lab:
        """Returns the lab of a name, or of a number from 1.

        Raises:
            ParameterError: there is none.
        """
        if name.isdigit() and 1 <= int(name) <= len(NAMES):
            return Lab(NAMES[int(name) - 1])
        if name not in NAMES:
            raise ParameterError(f"there is no lab {name!r}; there are {', '.join(NAMES)}")
        return Lab(name)

    @property
    def number(self) -> int:
        """Its place in the course, from 1."""
        return NAMES.index(self.name) + 1

    def words(self, language: str) -> Words:
        """Returns what is said in it."""
        return Words(language, read_table(language), read_table(language, self.name))

    def text(self, language: str, file: str) -> str:
        """Returns a file of a language's: ``page.md`` or ``part.txt``, the stub."""
        place = resources.files(f"{_COURSE}.{self.name}") / language / file
        return place.read_text(encoding="utf-8")

    def solution(self) -> str:
        """Returns the text of the part that passes."""
        place = resources.files(f"{_COURSE}.{self.name}") / "solution.py"
        return place.read_text(encoding="utf-8")

    @property
    def checks(self) -> Sequence[Any]:
        """Its properties, of type `Check`, in their order."""
        checks: Sequence[Any] = self._module("checks").CHECKS
        return checks

    @property
    def runner(self) -> Any:
        """The module with its `run` and `figure`."""
        return self._module("run")

    def _module(self, name: str) -> Any:
        try:
            return importlib.import_module(f"{_COURSE}.{self.name}.{name}")
        except ModuleNotFoundError as error:
            if error.name != "hypothesis":
                raise
            message = "labs need the package hypothesis: pip install 'hybridnet[labs]'"
            raise ImportError(message) from error
