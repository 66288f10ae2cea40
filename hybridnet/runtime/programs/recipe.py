"""Recipes: how a structure is made into a program, where there is a choice.

A structure says what is computed. XLA can be told how to go about it by compile options, which are
given with the one program (the process's XLA_FLAGS stay as they are), and operators can have
several lowerings (`hybridnet.ops.core.alternatives`). A recipe names both. What it leaves open is
decided by rules when the program is built; `hybridnet.tune` finds better ones by measurement.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

#: A value of a compile option.
Option = str | int | bool
#: Compile options, as `jax.stages.Lowered.compile` takes them.
Options = Mapping[str, Option]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The choices by which one program is made.

    Attributes:
        options: compile options; None: what the rules say.
        picks: key of a site -> name of the lowering there; the rules decide about other sites.
    """

    options: Options | None = None
    picks: Mapping[str, str] = field(default_factory=dict)

    def facts(self) -> Sequence[object]:
        """Returns all that it says, for `hybridnet.ops.core.fingerprint`."""
        return (None if self.options is None else dict(self.options), dict(self.picks))

    def to_json(self) -> str:
        """Returns it as text."""
        return json.dumps({"options": self.options, "picks": self.picks}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """Reads what `to_json` wrote.

        Raises:
            ValueError: it is something else.
        """
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ValueError("a recipe is an object")
        options, picks = found.get("options"), found.get("picks")
        if not isinstance(picks, dict) or not all(isinstance(pick, str) for pick in picks.values()):
            raise ValueError("picks must name lowerings by site")
        values = options.values() if isinstance(options, dict) else ()
        if options is not None and (
            not isinstance(options, dict) or not all(isinstance(value, Option) for value in values)
        ):
            raise ValueError("options must be None, or numbers and text by name")
        return cls(options, picks)


#: Everything as the rules say.
BY_RULES: Final = Recipe()
