"""The collectives of a launch on a mesh, in words: for which operators they are, and at which line.

all-reduce of 2.0 KiB among 4 devices, for sum (train.py:12)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from hybridnet import engine
from hybridnet.base.mesh import Mesh
from hybridnet.base.units import size_words

from ..observe import journal
from ..programs.cache import cache
from ..programs.collectives import Collective, collectives_in, count_collectives
from ..programs.executable import innermost
from ..programs.mesh_program import MeshExecutable
from ..segments.code import Code

__all__ = ["MeshLaunch", "on_mesh"]

#: What words list before they only count.
_NAMED: Final = 3
_LISTED_COLLECTIVES: Final = 8


@final
class MeshLaunch(NamedTuple):
    """A launch on a mesh: what is needed to tell its collectives later.

    Attributes:
        executable: XLA's.
        code: the structure.
        lines: where its instructions were recorded, by the numbers of their first results.
    """

    executable: Any
    code: Code
    lines: Mapping[int, engine.Origin | None]

    def collectives(self) -> tuple[Collective, ...]:
        """Returns what its devices tell each other; the first time takes some milliseconds."""
        return collectives_in(self.executable)

    def name_of(self, one: Collective) -> str:
        """Returns the name of a collective: ``all-reduce for dense0/fullyconnected0``."""
        return f"{one.kind} for {self._purpose(one, 1)}"

    def words(self) -> list[str]:
        """Returns a summary of its collectives, and a line for each, the largest first.

        After some lines it only counts; without collectives there is nothing.
        """
        found = sorted(self.collectives(), key=lambda one: -one.nbytes)
        if not found:
            return []
        lines = [self._words(one) for one in found[:_LISTED_COLLECTIVES]]
        rest = len(found) - _LISTED_COLLECTIVES
        return [_summary(found), *lines, *([f"and {rest} smaller ones"] if rest > 0 else [])]

    def _words(self, one: Collective) -> str:
        among = f" among {one.devices} devices" if one.devices else ""
        places = journal.ranges(self._lines(one))
        where = f" ({places})" if places else ""
        return f"{one.kind} of {size_words(one.nbytes)}{among}, for {self._purpose(one)}{where}"

    def _purpose(self, one: Collective, most: int = _NAMED) -> str:
        """Returns what it is for: operators, with nodes of graphs, or inputs; `most` of them."""
        names = [self._operator(number, node) for number, node in one.instructions]
        names += [f"input{slot} ({self.code.input_types[slot]})" for slot in one.inputs]
        names = list(dict.fromkeys(names)) or ["what XLA does not name"]
        rest = len(names) - most
        return ", ".join(names[:most]) + (f" + {rest} more" if rest > 0 else "")

    def _operator(self, number: int, node: str) -> str:
        call = self.code.instructions[number][0]
        return f"{call.name}/{node}" if node and call.has_parts else call.name

    def _lines(self, one: Collective) -> list[engine.Origin | None]:
        wanted = {number for number, _ in one.instructions}
        found, result = [], 0
        for number, (call, _) in enumerate(self.code.instructions):
            if number in wanted:
                found.append(self.lines.get(result))
            result += call.num_outputs
        return found


def on_mesh(
    code: Code, lines: Mapping[int, engine.Origin | None] | None = None
) -> MeshLaunch | None:
    """Returns what a structure's last launch on a mesh was; None if there is none.

    Args:
        code: the structure.
        lines: where it was recorded; default what the journal knows.
    """
    if type(code.ctx) is not Mesh:
        return None
    program = cache.compiled(code)
    made = None if program is None else innermost(program.compiled)
    if not isinstance(made, MeshExecutable) or made.last is None:
        return None
    return MeshLaunch(made.last, code, journal.lines_of(code) if lines is None else lines)


def _summary(collectives: Sequence[Collective]) -> str:
    """Returns how many collectives there are of each kind, with their bytes."""
    texts = []
    for kind, count in count_collectives(collectives).items():
        size = sum(one.nbytes for one in collectives if one.kind == kind)
        texts.append(f"{count} {kind} ({size_words(size)})")
    return ", ".join(texts)
