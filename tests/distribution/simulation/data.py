"""What workers push and servers add up: numbers that tell which pushes are in them, and how often.

The push of a rank in a step is one unit of a digit of its own. A part's value is a list of such
numbers, one for each of its rows, or one.

Above these digits is what a push follows from: as a gradient does from the weights, it depends on
all values that its worker read in the step before. `trained` computes it one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from distribution.simulation.drawn import Store

from hybridnet.kvstore.protocol.words import KeySpec, Part, PartId

#: What a push is worth: divisible by all numbers of workers, for sums of fewer than all.
UNIT = 12
BASE = 1 << 10
STEPS = 8
#: In what nobody may add up any more: a digit above those of four ranks.
STALE = UNIT * BASE ** (STEPS * 4)
#: What follows from values that were read begins here.
LEARNT = BASE ** (STEPS * 4 + 2)
_GRADIENTS = 1 << 20
#: What a worker has read: the value of a cell, or row, of a part.
Seen = Mapping[tuple[PartId, int], int]


def pushed(rank: int, step: int) -> int:
    """What a rank pushes in a step, counted from 1."""
    return UNIT * BASE ** (STEPS * rank + step - 1)


def gradient(seen: Seen) -> int:
    """What follows from values that were read, to be added to a push."""
    return LEARNT * UNIT * (hash(tuple(sorted(seen.items()))) % _GRADIENTS)


def rows_read(rank: int, step: int, spec: KeySpec, with_push: bool) -> tuple[int, ...]:
    """The rows that a rank reads after a step: those that it pushes, or every other one."""
    return rows_pushed(rank, step, spec) if with_push else tuple(range(step % 2, spec.rows, 2))


def trained(
    parts: Mapping[Part, KeySpec],
    stores: Sequence[Store],
    workers: int,
    steps: int,
    with_push: bool,
) -> dict[PartId, list[int]]:
    """The values after so many steps in which nothing went wrong, of stores with rounds."""
    values = {part.id: [0] * cells(part, spec) for part, spec in parts.items()}
    for step in range(1, steps + 1):
        sums = {part.id: [0] * cells(part, spec) for part, spec in parts.items()}
        for rank in range(workers):
            seen = {}
            for part, spec in parts.items():
                rows = rows_read(rank, step - 1, spec, with_push) if spec.rows else None
                for cell, value in enumerate(values[part.id]):
                    place = part.first + cell if spec.rows else cell
                    if rows is None or place in rows:
                        seen[part.id, place] = value
            payload = pushed(rank, step) + gradient(seen)
            for part, spec in parts.items():
                rows = rows_pushed(rank, step, spec) if spec.rows else None
                add(sums[part.id], part, payload, rows)
        for part, spec in parts.items():
            store = stores[spec.store]
            old, times = values[part.id] if store.adds else None, max(store.worth(step))
            made = [times * one for one in sums[part.id]]
            values[part.id] = (
                made if old is None else [a + b for a, b in zip(old, made, strict=True)]
            )
    return values


def digit(value: int, rank: int, step: int) -> int:
    """How often this push is in a value, in units of `UNIT`-ths."""
    return (value // BASE ** (STEPS * rank + step - 1)) % BASE


def through(store: Store, workers: int, step: int) -> int:
    """What the pushes of all workers up to a step make of a value, in a store with rounds."""
    steps = range(1 if store.adds else max(1, step), step + 1)
    return sum(max(store.worth(s)) * pushed(r, s) for r in range(workers) for s in steps)


def rows_pushed(rank: int, step: int, spec: KeySpec) -> tuple[int, ...]:
    """The rows that a rank pushes in a step: every other one, all in two steps or by two ranks."""
    return tuple(row for row in range(spec.rows) if (row + rank + step) % 2 == 0)


def cells(part: Part, spec: KeySpec) -> int:
    """How many numbers a part's value has."""
    return part.last - part.first if spec.rows else 1


def add(sums: list[int], part: Part, payload: int, rows: Sequence[int] | None) -> None:
    """Adds a push to a sum: all of it, or rows of the key that lie in the part."""
    if rows is None:
        for cell in range(len(sums)):
            sums[cell] += payload
        return
    for row in rows:
        if part.first <= row < part.last:
            sums[row - part.first] += payload


def describe(value: int, workers: int) -> str:
    """Which pushes are in a value, for people."""
    found = []
    for rank in range(workers):
        for step in range(1, STEPS + 1):
            units = digit(value, rank, step)
            if units:
                times = "" if units == UNIT else f"×{units}/{UNIT}"
                found.append(f"{rank}.{step}{times}")
    return "{" + " ".join(found) + "}"
