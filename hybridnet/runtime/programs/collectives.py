"""The collectives of a program on a mesh: what XLA has devices tell each other, read from its text.

XLA names them after what they belong to: instructions of the structure and nodes of its graphs, as
`lower` has named them, or an input. One in a loop is in the text once.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, final
from weakref import WeakKeyDictionary

__all__ = [
    "Collective",
    "collectives_in",
    "count_collectives",
    "instruction_name",
    "read_collectives",
]

_KINDS: Final = "all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute"
#: Its name, the types of its result, which one it is, and all else.
_COLLECTIVE: Final = re.compile(rf"(?m)^\s*(?:ROOT )?%?(\S+) = (.*?) ({_KINDS})(-start)?\((.*)$")
_TYPE: Final = re.compile(r"\b([a-z]+)(\d*)\w*\[([\d,]*)\]")
_NAME: Final = re.compile(r'op_name="([^"]*)')
#: The number of an instruction, its name, and what follows: a node of its graph, or JAX's own.
_INSTRUCTION: Final = re.compile(r"(?<![\w.])(\d+)\.([^/:()]+)(?:/([^/:()]+))?")
_INPUT: Final = re.compile(r"args\[(\d+)\]")
#: The devices of one group: written out, as a grid, or by names of axes with their sizes.
_WRITTEN: Final = re.compile(r"replica_groups=\{\{([\d,]+)\}")
_GRID: Final = re.compile(r"replica_groups=\[\d+,(\d+)\]")
_AXES: Final = re.compile(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}")
_AXIS: Final = re.compile(r"'([^']*)'=(\d+)")


@final
@dataclass(frozen=True, slots=True)
class Collective:
    """Something that devices tell each other.

    Attributes:
        name: XLA's, as in its traces.
        kind: "all-reduce", "all-gather", "reduce-scatter", "all-to-all" or "collective-permute".
        nbytes: of what each device has afterwards.
        devices: how many do it together; 0 where the text does not tell.
        instructions: for which instructions of the structure, by number, with what XLA's name says
            next: the node, where the instruction is a graph.
        inputs: for which inputs of the structure.
    """

    name: str
    kind: str
    nbytes: int
    devices: int
    instructions: tuple[tuple[int, str], ...] = ()
    inputs: tuple[int, ...] = ()


def instruction_name(number: int, operator: str) -> str:
    """Returns the name under which an instruction of a structure is traced for a mesh."""
    return f"{number}.{operator}"


def read_collectives(text: str) -> tuple[Collective, ...]:
    """Returns the collectives of a compiled program, in the order of its text."""
    return tuple(_read(*found) for found in _COLLECTIVE.findall(text))


def count_collectives(collectives: Iterable[Collective]) -> dict[str, int]:
    """Returns how many there are of each kind."""
    return dict(Counter(one.kind for one in collectives))


_known: Final[WeakKeyDictionary[Any, tuple[Collective, ...]]] = WeakKeyDictionary()


def collectives_in(executable: Any) -> tuple[Collective, ...]:
    """Returns the collectives of an executable of XLA's; its text is read once."""
    found = _known.get(executable)
    if found is None:
        found = _known[executable] = read_collectives(executable.as_text())
    return found


def _read(operation: str, result: str, kind: str, begins: str, rest: str) -> Collective:
    types = [_bytes(*one) for one in _TYPE.findall(result)]
    if begins and kind in ("all-gather", "collective-permute"):  # what goes in stands there, too
        types = types[len(types) // 2 :][: max(len(types) // 2, 1)]
    name = "".join(_NAME.findall(rest)[:1])
    numbers = ((int(number), node) for number, _, node in _INSTRUCTION.findall(name))
    return Collective(
        operation,
        kind,
        sum(types),
        _devices(rest),
        tuple(dict.fromkeys(numbers)),
        tuple(dict.fromkeys(map(int, _INPUT.findall(name)))),
    )


def _bytes(kind: str, bits: str, shape: str) -> int:
    """Returns the size of an array by XLA's name of its type: ``f32[8,16]``."""
    item = int(bits) / 8 if bits else 1  # pred
    return int(item * math.prod(int(size) for size in shape.split(",") if size))


def _devices(text: str) -> int:
    """Returns how many devices are in a group."""
    written, grid, axes = _WRITTEN.search(text), _GRID.search(text), _AXES.search(text)
    if written is not None:
        return written[1].count(",") + 1
    if grid is not None:
        return int(grid[1])
    if axes is None:
        return 0
    sizes = {name: int(size) for name, size in _AXIS.findall(axes[1])}
    return math.prod(sizes.get(name, 1) for name in re.findall(r"'([^']*)'", axes[2]))
