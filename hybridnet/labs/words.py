"""The sentences of the labs, in the user's language."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any, Final, final

from hybridnet.base.errors import ParameterError
from hybridnet.base.lazy import resources

LANGUAGES: Final = ("en", "zh")


def own_language() -> str:
    """The language of the user's terminal, where it is one of ours; else English."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        found = os.environ.get(variable)
        if found:
            return found[:2] if found[:2] in LANGUAGES else "en"
    return "en"


@final
class Words:
    """Sentences by key; values stand in them as ``{name}``.

    Args:
        language: of the sentences.
        tables: where they are; keys of tables in tables are joined by dots.

    Attributes:
        language: as given.
    """

    def __init__(self, language: str, *tables: Mapping[str, Any]) -> None:
        self.language: Final = language
        self._sentences: dict[str, str] = {}
        for table in tables:
            self._sentences |= flat(table)

    def __call__(self, key: str, **values: object) -> str:
        """Returns the sentence of a key."""
        return self._sentences[key].format(**values)

    def __contains__(self, key: str) -> bool:
        return key in self._sentences


def flat(table: Mapping[str, Any], before: str = "") -> dict[str, str]:
    """Returns the sentences of a table by keys with dots."""
    found: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{key}.")
        else:
            found[before + key] = value.strip()
    return found


def read_table(language: str, lab: str | None = None) -> dict[str, Any]:
    """Reads what a lab says, or what all labs do.

    Raises:
        ParameterError: there is no such language.
    """
    if language not in LANGUAGES:
        raise ParameterError(f"language must be {' or '.join(LANGUAGES)}, got {language!r}")
    if lab is None:
        place = resources.files("hybridnet.labs") / f"words.{language}.toml"
    else:
        place = resources.files(f"hybridnet.labs.course.{lab}") / language / "words.toml"
    return tomllib.loads(place.read_text(encoding="utf-8"))
