"""The parts of a key, the shards that they are on, and the order in which their pushes leave.

Keys under `RunPlan.big` elements lie on one shard, as MXNet places them; others are spread in equal
ranges over all shards. Ranges are cut into parts, because messages of 1 to 4 MB travel fastest, and
because servers can sum the first part while the next is on its way. With `RunPlan.part_items` every
key is cut into small parts that take turns on the shards, and `PushQueue` sends urgent ones first,
after Jayarajan et al., "Priority-based parameter propagation for distributed DNN training"
(SysML 2019).

A key that is to stay whole (`KeySpec.is_whole`: an optimizer looks at its norm) is one part, on the
shard that has the least to hold. To cut it and have the servers exchange partial norms would make a
commit of one server depend on what the others have, and cost a round trip in every step.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

from hybridnet.kvstore.protocol.words import KeySpec, Name, Part, RunPlan

#: A prime that MXNet spreads keys over servers with.
_SPREAD: Final = 9973
#: Parts of rows may be this much larger: pushes hold few of the rows.
_ROWS_PART: Final = 16


def parts_of(
    number: int, name: Name, spec: KeySpec, plan: RunPlan, loads: Sequence[int] = ()
) -> tuple[Part, ...]:
    """Divides a key; every worker divides it in the same way.

    Args:
        number: the key's.
        name: what users call it; integers decide the shard of small keys.
        spec: what it holds.
        plan: how many shards there are, and how large a part may be.
        loads: how many bytes each shard has already; empty: nothing.

    Returns:
        Parts that cover all elements (or rows) in order, without overlap; none is empty but the
        only part of an empty key.
    """
    home = ((name if isinstance(name, int) else number) * _SPREAD) % plan.shards
    items = spec.rows or spec.size
    if spec.is_whole:
        lightest = min(range(plan.shards), key=lambda one: loads[one]) if loads else home
        return (Part(number, 0, lightest, 0, items),)
    limit = _items_of_a_part(spec, plan)
    if plan.part_items and not spec.rows:
        cuts = _cut(0, items, limit)
        shards = [(home + turn) % plan.shards for turn in range(len(cuts))]
    elif spec.size < plan.big or plan.shards == 1:
        cuts = _cut(0, items, limit)
        shards = [home] * len(cuts)
    else:
        cuts, shards = [], []
        for shard in range(plan.shards):
            first, last = _share(items, shard, plan.shards), _share(items, shard + 1, plan.shards)
            pieces = _cut(first, last, limit) if last > first else []
            cuts += pieces
            shards += [shard] * len(pieces)
    return tuple(
        Part(number, index, shard, first, last)
        for index, (shard, (first, last)) in enumerate(zip(shards, cuts, strict=True))
    )


def _items_of_a_part(spec: KeySpec, plan: RunPlan) -> int:
    """The number of elements or rows that a part may have."""
    if spec.rows:
        row = max(1, spec.size // spec.rows) * spec.item
        return max(1, plan.part_bytes * _ROWS_PART // row)
    return plan.part_items or max(1, plan.part_bytes // spec.item)


def _share(items: int, turn: int, turns: int) -> int:
    """Returns where the share of a turn begins, rounded to the nearest as MXNet's servers do."""
    return (2 * items * turn + turns) // (2 * turns)


def _cut(first: int, last: int, limit: int) -> list[tuple[int, int]]:
    """Cuts [first, last) into pieces of at most `limit`, all of nearly the same size."""
    count = max(1, -(-(last - first) // limit))
    edges = [first + _share(last - first, turn, count) for turn in range(count + 1)]
    return list(pairwise(edges))


@final
class PushQueue:
    """Pushes of parts that wait to be sent: the urgent first, few on their way at a time.

    On its way is what was taken and has not arrived. A push that a server has received is not: if
    it counted until its round closes, two workers could fill their windows with different parts and
    wait for each other for ever.

    Args:
        window: how many may be on their way; 0: any number.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._heap: list[tuple[int, int, int]] = []
        self._waiting: dict[int, int] = {}
        self._on_the_way: set[int] = set()
        self._added = 0

    @property
    def on_the_way(self) -> int:
        """The number of those that were taken and have not arrived."""
        return len(self._on_the_way)

    def add(self, ticket: int, priority: int) -> None:
        """Adds a push, or puts one back that is lost. Of equal priorities the older is first."""
        self._on_the_way.discard(ticket)
        self._added += 1
        self._waiting[ticket] = self._added
        heapq.heappush(self._heap, (-priority, self._added, ticket))

    def take(self) -> list[int]:
        """Takes those that are to be sent now."""
        taken = []
        while self._heap and (not self._window or len(self._on_the_way) < self._window):
            _, added, ticket = heapq.heappop(self._heap)
            if self._waiting.get(ticket) == added:
                del self._waiting[ticket]
                self._on_the_way.add(ticket)
                taken.append(ticket)
        return taken

    def arrived(self, ticket: int) -> None:
        """Says that a server has it, or that it is not to be sent any more."""
        self._on_the_way.discard(ticket)
        self._waiting.pop(ticket, None)
