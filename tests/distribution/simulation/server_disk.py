"""A server's disk and what its driver does with the actions on data: two slots for each part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from distribution.simulation import data

from hybridnet.kvstore.protocol.words import (
    Commit,
    Content,
    Execute,
    Fold,
    Install,
    KeySpec,
    Name,
    Part,
    PartId,
    PartRecord,
    Post,
    ServerMemory,
    StoredPart,
    StoreSettings,
)


class Wrong(Exception):
    """Something happened that the protocol promises not to."""


@dataclass
class Slot:
    """One of the two places of a part: a value, and the record that makes it count."""

    record: PartRecord
    value: list[int]
    whole: bool = True


@dataclass
class PartFile:
    """A part on a disk."""

    part: Part
    name: Name
    spec: KeySpec
    slots: list[Slot] = field(default_factory=list)

    def now(self) -> Slot:
        """The slot that counts: the last that is whole."""
        return next(slot for slot in reversed(self.slots) if slot.whole)

    def before(self) -> Slot | None:
        """What counted before: known until the next commit is begun."""
        return self.slots[0] if len(self.slots) == 2 and self.slots[1].whole else None


@dataclass
class Disk:
    """What a killed server leaves."""

    memory: ServerMemory | None = None
    parts: dict[PartId, PartFile] = field(default_factory=dict)

    def stored(self) -> list[StoredPart]:
        """What a server finds at its start; a torn record is none."""
        for file in self.parts.values():
            if file.before() is None:
                file.slots = [file.now()]
        return [
            StoredPart(
                file.part, file.name, file.spec, file.now().record, file.before() is not None
            )
            for file in self.parts.values()
        ]


class ServerDriver:
    """Carries out a server's actions on data.

    Args:
        disk: outlives it.
        in_order: no worker can come back late: sums are in the order of ranks.
    """

    def __init__(self, disk: Disk, in_order: bool) -> None:
        self.disk = disk
        self._optimizers: dict[int, tuple[bool, int]] = {}
        self._in_order = in_order
        self._sums: dict[PartId, list[int]] = {}
        self._ranks: dict[PartId, list[int]] = {}
        self._spent: set[PartId] = set()
        self._executed: set[tuple[Any, int]] = set()
        #: The part whose commit failed, until the machine is told.
        self.broken: PartId | None = None

    def adopt(self, settings: StoreSettings) -> None:
        """Takes a store's optimizer: "add n" or "set n", where a sum counts n times."""
        what, _, times = settings.optimizer.partition(" ")
        self._optimizers[settings.store] = (what == "add", int(times or 1))

    def execute(self, action: Execute) -> None:
        """Carries out a command: once, however often it is asked for."""
        key = (action.worker, action.ticket)
        if key in self._executed:
            raise Wrong(f"a command of {action.worker} is carried out twice")
        self._executed.add(key)

    def fold(self, action: Fold) -> None:
        """Adds to a part's sum."""
        file = self.disk.parts[action.part]
        ranks = self._ranks.setdefault(action.part, [])
        if action.first:
            self._sums[action.part] = [0] * data.cells(file.part, file.spec)
            ranks.clear()
        elif action.part in self._spent:
            raise Wrong(f"a push of part {action.part} is added to a sum that was committed")
        self._spent.discard(action.part)
        if action.rank in ranks:
            raise Wrong(f"rank {action.rank} is twice in a sum of part {action.part}")
        if self._in_order and ranks and action.rank < ranks[-1]:
            raise Wrong(f"rank {action.rank} is added after rank {ranks[-1]}")
        ranks.append(action.rank)
        if action.rank < 0:
            sums = self._sums[action.part]
            for cell, one in enumerate(action.payload):
                sums[cell] += one
        else:
            data.add(self._sums[action.part], file.part, action.payload, action.rows)

    def commit(self, action: Commit, torn: bool = False) -> None:
        """Puts a new value into the other slot, then its record; torn: dies in the middle."""
        file = self.disk.parts[action.part]
        old = file.now()
        times, present = action.scale
        adds, factor = self._optimizers.get(file.spec.store, (False, 1))
        sums = [factor * one * times // present for one in self._sums[action.part]]
        if action.record.round != old.record.round + 1:
            raise Wrong(f"round {action.record.round} follows {old.record.round}")
        value = [a + b for a, b in zip(old.value, sums, strict=True)] if adds else sums
        if torn:
            value = list(old.value)  # not all of it is there
        file.slots = [old, Slot(action.record, value, not torn)]
        self._spent.add(action.part)

    def install(self, action: Install) -> None:
        """Makes or overwrites a part."""
        count = data.cells(action.part, action.spec)
        value = list(action.payload) if action.full else [0] * count
        if len(value) != count * (1 + action.previous):
            raise Wrong(f"part {action.part.id} of {count} cells is installed with {len(value)}")
        file = PartFile(action.part, action.name, action.spec)
        file.slots = [Slot(action.record, value[:count])]
        if action.previous:
            record = replace(action.record, round=action.record.round - 1)
            file.slots.insert(0, Slot(record, value[count:]))
        self.disk.parts[action.part.id] = file

    def content(self, action: Post) -> Any:
        """What goes out in place of `Content`."""
        message: Any = action.message
        part = getattr(message, "part", None)
        if isinstance(part, Part):
            part = part.id
        if message.payload is Content.MERGED:
            if part not in self._spent:
                raise Wrong(f"the sum of part {part} is wanted, and is gone")
            return list(self._sums[part])
        file = self.disk.parts[part]
        before = file.before()
        if (message.payload is Content.PREVIOUS or getattr(message, "previous", False)) and (
            before is None or before.record.round != file.now().record.round - 1
        ):
            raise Wrong(f"the round before is wanted of part {part}, and is gone")
        value = file.now().value
        if message.payload is Content.PREVIOUS:
            assert before is not None
            value = before.value
        elif getattr(message, "previous", False):
            assert before is not None
            return [*value, *before.value]
        rows = getattr(message, "rows", None)
        if rows is None or not file.spec.rows:
            return list(value)
        first = file.part.first
        return {row: value[row - first] for row in rows if first <= row < file.part.last}
