"""The parts of a server, as its driver keeps them: value and states, sum, record, in files or not.

A dense part has two slots (`slots.py`), a part of rows a table with a journal (`journal.py`).
Either has what it was before the last commit, too. Without a folder all of it is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.protocol.words import KeySpec, Name, Part, PartRecord, StoredPart
from hybridnet.kvstore.storage.dtypes import Array, dtype_of
from hybridnet.kvstore.storage.journal import Journal, JournalEntry
from hybridnet.kvstore.storage.pushed import part_of, shape_of
from hybridnet.kvstore.storage.slots import ArrayLayout, Slots
from hybridnet.kvstore.storage.sums import DenseSum, RowSum
from hybridnet.kvstore.storage.updates import PartOf, Updates
from hybridnet.kvstore.transport.mapped_lane import pack_span
from hybridnet.kvstore.transport.wire import Payload

_SUFFIX: Final = ".slots"


@dataclass(frozen=True, slots=True)
class _What:
    """A part and what its states belong to: the description in its file."""

    part: Part
    name: Name
    spec: KeySpec
    optimizer: str

    def of(self) -> PartOf:
        return part_of(self.name, self.spec, self.part)

    def layout(self, updates: Updates) -> list[ArrayLayout]:
        value = (shape_of(self.part, self.spec), dtype_of(self.spec.dtype))
        return [
            value,
            *((tuple(shape), np.dtype(kind)) for shape, kind in updates.states(self.of())),
        ]

    def json(self) -> dict[str, Any]:
        return {
            "part": asdict(self.part),
            "name": self.name,
            "spec": asdict(self.spec),
            "optimizer": self.optimizer,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> _What:
        spec = dict(found["spec"])
        spec["shape"] = tuple(spec["shape"])
        return cls(Part(**found["part"]), found["name"], KeySpec(**spec), found["optimizer"])


@final
class PartStore:
    """One part of a server.

    Args:
        what: which.
        slots: its arrays.
        folder: of its files; None: it has none.
        serial: how often its file was made anew.
        keeps_sum: whether `merged` is to be asked for.

    Attributes:
        serial: part of the file's name.
    """

    def __init__(
        self, what: _What, slots: Slots, folder: Path | None, serial: int, keeps_sum: bool
    ) -> None:
        self.serial = serial
        self._keeps_sum = keeps_sum
        self._what = what
        self._of = what.of()
        self._folder = folder
        self._take(slots)

    def _take(self, slots: Slots) -> None:
        self._slots = slots
        size = slots.current[0].nbytes
        spans = [pack_span(offsets[0], size) for offsets in slots.offsets]
        self._shared = [Payload((span,), 0, self.serial, size) for span in spans]
        shape, dtype = slots.layout[0]
        self.sum: DenseSum | RowSum
        self._journal: Journal | None = None
        self._last: JournalEntry | None = None  # of a table
        if self._of.is_rows:
            self.sum = RowSum(shape[1:], dtype)
            path = slots.file.path
            if path is not None:
                ranks = len(slots.record.pushes)
                self._journal = Journal(path.with_suffix(".journal"), slots.current, ranks)
                self._redo()
        else:
            self.sum = DenseSum(shape, dtype)

    # -- making ------------------------------------------------------------------------------

    @classmethod
    def create(
        cls, folder: Path | None, part: Part, name: Name, spec: KeySpec, record: PartRecord,
        optimizer: str, updates: Updates, value: Content, *, previous: Content | None = None,
        serial: int = 1, keeps_sum: bool = False,
    ) -> PartStore:  # fmt: skip
        """Makes a part with its first value and new states, or with a full copy of both.

        Args:
            folder: of its files; None: in memory only.
            part: which.
            name: of the key.
            spec: the key's.
            record: what counts from the start.
            optimizer: the name of what its states belong to.
            updates: that optimizer.
            value: the first value; or, of a full copy, what gives all arrays of a layout.
            previous: the same, of the round before; None: it is not known.
            serial: how often its file is made.
            keeps_sum: whether `merged` is to be asked for.

        Raises:
            KVStoreError: there is no room.
        """
        what = _What(part, name, spec, optimizer)
        slots = _slots(folder, what, serial, record, updates, value, previous)
        store = cls(what, slots, folder, serial, keeps_sum)
        store._note(updates, previous)
        return store

    @classmethod
    def open(cls, path: Path, *, keeps_sum: bool = False) -> PartStore:
        """Opens a part as a killed process left it.

        Raises:
            KVStoreError: the file is not whole.
        """
        slots = Slots.open(path)
        try:
            what = _What.from_json(slots.description)
        except (KeyError, TypeError) as error:
            raise KVStoreError(f"{path} does not say what it holds") from error
        return cls(what, slots, path.parent, int(path.name.split(".")[1]), keeps_sum)

    def adopt(self, optimizer: str, updates: Updates) -> None:
        """Gives the part the states of another optimizer; of the same one it keeps them."""
        what = _What(self._what.part, self._what.name, self._what.spec, optimizer)
        same = optimizer == self._what.optimizer
        if same and list(self._slots.layout) == what.layout(updates):
            return
        old, journal = self._slots, self._journal
        before = self.previous[0] if self.has_previous else None
        self._what = what
        self.serial += 1
        value = self.value.copy()
        self._take(_slots(self._folder, what, self.serial, old.record, updates, value, before))
        self._note(updates, before)
        old.remove()
        if journal is not None:
            journal.remove()

    # -- reading -----------------------------------------------------------------------------

    @property
    def stored(self) -> StoredPart:
        """The part as the server's machine is told of it at a restart."""
        what = self._what
        return StoredPart(what.part, what.name, what.spec, self.record, self.has_previous)

    @property
    def spec(self) -> KeySpec:
        """The specification of the key."""
        return self._what.spec

    @property
    def record(self) -> PartRecord:
        """The record of what is committed."""
        return self._slots.record

    @property
    def value(self) -> Array:
        """The value, not to be written; two commits later the memory is another value's."""
        return self._slots.current[0]

    @property
    def is_rows(self) -> bool:
        """Whether it is rows of a table."""
        return self._of.is_rows

    @property
    def first(self) -> int:
        """The first element or row of the key that is in the part."""
        return self._of.start

    @property
    def path(self) -> Path | None:
        """The file with the value; None: there is none."""
        return self._slots.file.path

    @property
    def value_bytes(self) -> memoryview:
        """The value as bytes; see `value`."""
        return self._slots.value_bytes

    @property
    def shared(self) -> Payload:
        """The place of the value in its file now, for who maps the file (`mapped_lane.py`)."""
        return self._shared[self._slots.copy]

    @property
    def has_previous(self) -> bool:
        """Whether what the part was a round before is known."""
        last = self._last
        return self._slots.has_previous or (last is not None and last.record == self.record)

    @property
    def previous_bytes(self) -> memoryview:
        """As `value_bytes`, of the round before; of a dense part that `has_previous`."""
        return self._slots.previous_bytes

    @property
    def previous_shared(self) -> Payload:
        """As `shared`, of the round before; of a dense part that `has_previous`."""
        return self._shared[1 - self._slots.copy]

    @property
    def all_arrays(self) -> Sequence[Array]:
        """The value and the states: a full copy."""
        return self._slots.current

    @property
    def previous(self) -> Sequence[Array]:
        """The same of the round before, where `has_previous`."""
        last = self._last
        if last is None:
            return self._slots.previous
        tables = [one.copy() for one in self._slots.current]
        for table, rows in zip(tables, last.before, strict=True):
            table[last.rows] = rows
        return tables

    @property
    def layout(self) -> Sequence[ArrayLayout]:
        """Shapes and dtypes of the value and the states."""
        return self._slots.layout

    # -- changing ----------------------------------------------------------------------------

    def fold(self, values: Array, rows: Array | None, *, first: bool) -> None:
        """Adds to the sum. The arrays must stay as they are until the commit."""
        if isinstance(self.sum, DenseSum):
            self.sum.fold(values, first=first)
        else:
            every = np.arange(self._of.start, self._of.stop, dtype=np.int64)
            self.sum.fold(every if rows is None else rows, values, first=first)

    def merged(self) -> tuple[Array | None, Array]:
        """Returns rows (of a table) and values of the sum of the last commit."""
        if isinstance(self.sum, RowSum):
            return self.sum.total()
        return None, self.sum.total()

    def _own(self, total: Array) -> Array:
        """The sum as an array that an update may write."""
        return total.copy() if self._keeps_sum else total

    def commit(self, record: PartRecord, updates: Updates, scale: tuple[int, int]) -> None:
        """Updates the value with the sum; when this returns, it is durable.

        Raises:
            Exception: the update failed; nothing has changed.
        """
        if isinstance(self.sum, RowSum):
            self._commit_rows(self.sum, record, updates, scale)
            return
        total = _scaled(self._own(self.sum.total()), scale)
        old, number = self._slots.current, record.round + record.ahead
        updates.update(self._of, number, total, old, self._slots.begin())
        self._slots.commit(record)

    def _commit_rows(
        self, total: RowSum, record: PartRecord, updates: Updates, scale: tuple[int, int]
    ) -> None:
        rows, gradient = total.total()
        gradient = _scaled(self._own(gradient), scale)
        here = rows - self._of.start
        old = [one[here] for one in self._slots.current]
        new = [np.empty_like(one) for one in old]
        if len(rows):
            number = record.round + record.ahead
            updates.update(self._of, number, gradient, old, new, rows)
        entry = JournalEntry(record, here, new, old)
        if self._journal is not None:
            self._journal.write(entry)
        self._apply(entry)

    def _note(self, updates: Updates, previous: Content | None) -> None:
        """Notes what a table was a round before, if that is known; slots have it of dense parts."""
        if previous is None or not self._of.is_rows:
            return
        before, now = _filled(self._what, updates, previous), self._slots.current
        differ = np.zeros(len(now[0]), np.bool_)
        for one, other in zip(now, before, strict=True):
            differ |= (_rows_of_bytes(one) != _rows_of_bytes(other)).any(axis=1)
        (rows,) = np.nonzero(differ)
        entry = JournalEntry(self.record, rows, [one[rows] for one in now],
                             [one[rows] for one in before])  # fmt: skip
        if self._journal is not None:
            self._journal.write(entry)
        self._last = entry

    def _apply(self, entry: JournalEntry) -> None:
        for table, rows in zip(self._slots.current, entry.arrays, strict=True):
            table[entry.rows] = rows
        self._slots.commit(entry.record)
        self._last = entry

    def _redo(self) -> None:
        """Finishes the update that the process before this one died in."""
        assert self._journal is not None
        entry = self._journal.read()
        if entry is not None and entry.record.round == self.record.round + 1:
            self._apply(entry)
        elif entry is not None and entry.record == self.record:
            self._last = entry

    def remove(self) -> None:
        """Removes the files."""
        self._slots.remove()
        if self._journal is not None:
            self._journal.remove()


#: A value, or what gives all arrays of a layout.
Content = Array | Callable[[Sequence[ArrayLayout]], Sequence[Array]]


def _slots(
    folder: Path | None, what: _What, serial: int, record: PartRecord, updates: Updates,
    value: Content, previous: Content | None,
) -> Slots:  # fmt: skip
    layout = what.layout(updates)

    def fill(arrays: Sequence[Array]) -> None:
        _fill(arrays, what, updates, layout, value)

    def fill_previous(arrays: Sequence[Array]) -> None:
        assert previous is not None
        _fill(arrays, what, updates, layout, previous)

    key, index = what.part.id
    path = None if folder is None else folder / f"{key}-{index}.{serial}{_SUFFIX}"
    if path is not None:
        path.with_suffix(".journal").unlink(missing_ok=True)  # of a part that was being removed
    return Slots.create(
        path, what.json(), layout, record, fill, copies=1 if what.spec.rows else 2,
        previous=None if previous is None else fill_previous,
    )  # fmt: skip


def _fill(
    arrays: Sequence[Array], what: _What, updates: Updates, layout: Sequence[ArrayLayout],
    value: Content,
) -> None:  # fmt: skip
    """Writes a value and new states, or all of a full copy."""
    if callable(value):
        for there, given in zip(arrays, value(layout), strict=True):
            np.copyto(there, given)
    else:
        np.copyto(arrays[0], value)
        updates.begin(what.of(), arrays[0], arrays[1:])


def _filled(what: _What, updates: Updates, value: Content) -> list[Array]:
    """The same in new arrays."""
    layout = what.layout(updates)
    arrays = [np.zeros(shape, dtype) for shape, dtype in layout]
    _fill(arrays, what, updates, layout, value)
    return arrays


def _rows_of_bytes(table: Array) -> Array:
    return np.ascontiguousarray(table).reshape(len(table), -1).view(np.uint8)


def _scaled(total: Array, scale: tuple[int, int]) -> Array:
    if scale[0] != scale[1]:
        np.multiply(total, scale[0] / scale[1], out=total, casting="unsafe")
    return total


def open_parts(folder: Path, *, keeps_sum: bool = False) -> list[PartStore]:
    """Opens all parts of a server's folder, and removes what nobody needs.

    Files that were being made when the process died are left out: nobody was told of them.

    Raises:
        KVStoreError: a file is damaged.
    """
    for rest in folder.glob("*.new"):
        rest.unlink()
    newest: dict[str, Path] = {}
    for path in sorted(folder.glob(f"*{_SUFFIX}"), key=lambda one: int(one.name.split(".")[1])):
        part = path.name.split(".")[0]
        older = newest.get(part)
        newest[part] = path
        if older is not None:  # its process died between making the newer and removing it
            older.unlink()
            older.with_suffix(".journal").unlink(missing_ok=True)
    return [PartStore.open(path, keeps_sum=keeps_sum) for path in newest.values()]
