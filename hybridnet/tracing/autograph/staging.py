"""Loops that become part of the graph.

The body is traced with arrays that stand for the variables it assigns. What comes out says whether
that was right: a number may turn out to become an array, a whole number a float, an item of a list
to be changed. Then the body is traced again with what is known now; what was found out is kept, so
that loops inside of loops are not traced over and over.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, final

from hybridnet import tape
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ndarray import NDArray

from ..bodies import Body, Flow, as_type, filled
from ..structure import flatten, unflatten
from .appended import forget_rows, note_row
from .number import Kind, Number, is_number, number_dtype
from .slots import HOW, Slot, StagingError, StagingKindError, slot_of
from .state import (
    Containers,
    Leaves,
    Undefined,
    UndefinedReturnValue,
    described,
    same_plain,
)

_TRIES: Final = 8
_OVERWRITTEN: Final = (
    "{line}: the loop changes {name!r} in place, and then assigns another array to it; of an array "
    "from outside a loop that is part of the graph can do one of these only: write {name} = {name} "
    "+ y for {name} += y, or copy it before"
)


class _LoopMemory(threading.local):
    """The loops that this thread has traced, while it traces, and what they turned out to be."""

    def __init__(self) -> None:
        self.loops: dict[Hashable, tuple[list[Any], list[Any]]] = {}
        # What stands for arrays that the function has made: nobody else sees them change.
        self.made: set[Hashable] = set()


_memory: Final = _LoopMemory()


def forget_loops() -> None:
    """Forgets what is known of loops: another function is traced next."""
    _memory.loops.clear()
    _memory.made.clear()
    forget_rows()


class Variables(NamedTuple):
    """The variables that a loop assigns.

    Attributes:
        names: their names.
        get, set: read and assign all of them.
        rebound: those to which it assigns other objects, and not only ``x += y``.
        blocks: the functions that the loop consists of.
    """

    names: Sequence[str]
    get: Callable[[], tuple[Any, ...]]
    set: Callable[[tuple[Any, ...]], None]
    rebound: frozenset[str]
    blocks: tuple[Callable[..., object] | None, ...]


class _Retry(Exception):
    """The variables were taken for something else than they are; it is right now."""


@final
class StagedLoop:
    """A loop that is to become part of the graph.

    Args:
        variables: that it assigns.
        row_types: of what stands for the rows that a turn is given.
        row_kinds: the classes of that.
    """

    def __init__(
        self,
        variables: Variables,
        line: str,
        ctx: Context,
        row_types: Sequence[TensorType] = (),
        row_kinds: Sequence[Kind] = (),
    ) -> None:
        self.line = line
        self._variables = variables
        self._ctx = ctx
        self._row_types, self._row_kinds = row_types, row_kinds
        self._start = list(variables.get())
        self._containers = Containers(variables.blocks)
        # Items of containers that the body changes: the container's number, and the key.
        self._items: list[tuple[int, Any]] = []
        # What the body appends to lists: the list's number, and how many.
        self._appended: dict[int, int] = {}
        self._flatten_start()
        self._key = self._key_of_loop()
        self._recall()

    def _flatten_start(self) -> None:
        self._leaves = Leaves(self._start)
        self._slots: list[Slot] = []
        variables = self._variables
        for name, (first, stop, _) in zip(variables.names, self._leaves.spans, strict=True):
            assigned = name in variables.rebound
            leaves = self._leaves.all[first:stop]
            self._slots += [slot_of(name, leaf, assigned) for leaf in leaves]

    def _key_of_loop(self) -> Any:
        codes = [id(getattr(block, "__code__", None)) for block in self._variables.blocks]
        found = [slot.type or type(slot.start) for slot in self._slots]
        return (*codes, *found)

    def _recall(self) -> None:
        """Takes the variables for what they turned out to be the last time."""
        known = _memory.loops.get(self._key)
        if known is None:
            return
        types, items = known
        for number, key in items:
            self._add_item(number, key)
        if len(types) == len(self._slots):
            pairs = zip(self._slots, types, strict=True)
            self._slots = [replace(slot, type=type, kind=kind) for slot, (type, kind) in pairs]

    # -- tracing -----------------------------------------------------------------------------

    def traced(self, what: str, run: Callable[..., object]) -> Body:
        """Traces a condition: given what stands for the rows, `run` returns one value."""

        def function(*arrays: NDArray) -> list[Any]:
            found, _, _ = self._run(run, arrays)
            return [found]

        return self._body(what, function)

    def traced_body(self, run: Callable[..., object]) -> Body:
        """Traces the body until the types of the variables no longer change.

        Raises:
            StagingError: the loop cannot become part of the graph.
        """

        def function(*arrays: NDArray) -> list[Any]:
            _, values, changes = self._run(run, arrays)
            return self._flattened(values, changes)

        for _ in range(_TRIES):
            try:
                body = self._body("the body", function)
            except _Retry:
                continue
            if self._types_hold(body):
                types = [(slot.type, slot.kind) for slot in self._slots]
                _memory.loops[self._key] = types, list(self._items)
                return body
        names = ", ".join(dict.fromkeys(slot.name for slot in self._slots))
        raise StagingError(f"{self.line}: the types of {names} do not settle; {HOW}")

    def _body(self, what: str, function: Callable[..., list[Any]]) -> Body:
        carried = [slot for slot in self._slots if slot.type is not None]
        types = [*self._row_types, *(slot.type for slot in carried if slot.type is not None)]
        kinds = [*self._row_kinds, *(slot.kind for slot in carried)]
        return Body(f"{what} of the loop at {self.line}", function, types, self._ctx, kinds, True)

    def _run(
        self, run: Callable[..., object], arrays: Sequence[NDArray]
    ) -> tuple[Any, tuple[Any, ...], dict[int, Any]]:
        """Runs a part of the loop; returns what it gives, and what variables and containers are."""
        count = len(self._row_types)
        given = iter(arrays[count:])
        leaves = [slot.start if slot.type is None else next(given) for slot in self._slots]
        for slot, leaf in zip(self._slots, leaves, strict=True):
            if slot.type is not None and not _is_from_outside(slot.start):
                _memory.made.add(leaf.storage)
        self._assign(leaves)
        try:
            found = run(*arrays[:count])
            values = self._variables.get()
        finally:
            self._variables.set(tuple(self._start))
            changes = self._containers.take_back()
        return found, values, changes

    def _assign(self, leaves: Sequence[object]) -> None:
        """Sets variables and items of containers."""
        count = len(self._leaves.all)
        self._variables.set(tuple(self._leaves.values(leaves[:count])))
        for (number, key), leaf in zip(self._items, leaves[count:], strict=True):
            self._containers.all[number].set_item(key, leaf)

    def _flattened(self, values: Sequence[object], contents: dict[int, Any]) -> list[Any]:
        """Returns the leaves of the variables, of the items, and of what was appended."""
        leaves: list[Any] = []
        for number, value in enumerate(values):
            leaves += self._leaves_of(number, value)
        self._appended = {}
        more: list[Any] = []
        for number, items in contents.items():
            more += self._new_items(number, items)
        for number, key in self._items:
            leaves.append(contents.get(number, self._containers.all[number].before)[key])
        return [*leaves, *more]

    def _leaves_of(self, number: int, value: object) -> list[object]:
        """Returns the leaves of a variable, which must be as many as before the turn."""
        first, stop, tree = self._leaves.spans[number]
        found, new_tree = flatten(value)
        if new_tree == tree:
            return found
        start = self._leaves.all[first] if tree is None else None
        if isinstance(start, Undefined) or isinstance(value, UndefinedReturnValue):
            return [value] * (1 if tree is None else stop - first)
        if isinstance(start, UndefinedReturnValue):
            self._start[number] = unflatten(new_tree, [start] * len(found))
            self._flatten_start()
            self._items = []
            raise _Retry
        raise StagingKindError(
            f"{self.line}: variable {self._variables.names[number]!r} is "
            f"{described(self._start[number])} before the loop, and {described(value)} of another "
            f"structure after a turn; {HOW}"
        )

    def _new_items(self, number: int, items: Any) -> list[Any]:
        """Finds out what a turn does to a container; returns what it appends."""
        before, name = self._containers.all[number].before, self._containers.all[number].name
        count = len(before)
        longer = isinstance(before, list) and len(items) > count
        if longer and all(a is b for a, b in zip(items, before, strict=False)):
            self._appended[number] = len(items) - count
            return list(items[count:])
        keys = _keys(before)
        if isinstance(before, set) or keys != _keys(items):
            raise StagingKindError(
                f"{self.line}: the loop changes what {name!r} holds: {count} items before a turn, "
                f"{len(items)} after it, or others; {HOW}"
            )
        changed = [key for key in keys if items[key] is not before[key]]
        new = [key for key in changed if (number, key) not in self._items]
        for key in new:
            self._add_item(number, key)
        if new:
            raise _Retry
        return []

    def _add_item(self, number: int, key: object) -> None:
        """Adds an item of a container to what goes from turn to turn."""
        container = self._containers.all[number]
        start, label = container.before[key], container.label(key)
        if flatten(start)[1] is not None:
            raise StagingKindError(
                f"{self.line}: {label} is {described(start)}, which the loop replaces; {HOW}"
            )
        self._items.append((number, key))
        self._slots.append(slot_of(label, start, True))

    def _types_hold(self, body: Body) -> bool:
        """Compares what a turn gives with what it was given; notes what must be otherwise."""
        holds = True
        for number, (slot, place) in enumerate(self._places()):
            leaf = body.leaves[number]
            replaced = place in body.overwritten and leaf is not body.given[place]
            if replaced and _is_from_outside(slot.start):
                raise StagingKindError(_OVERWRITTEN.format(line=self.line, name=slot.name))
            found = slot.after(leaf, self.line)
            if found is not slot:
                self._slots[number] = found
                holds = False
        if any(number in body.overwritten for number in range(len(self._row_types))):
            raise StagingKindError(
                f"{self.line}: the loop changes the rows that it goes over in place; go over "
                "range(len(x)), and write x[i] = ..."
            )
        return holds

    def _places(self) -> list[tuple[Slot, int]]:
        """Returns the slots, and where among what the body is given each stands; -1: nowhere."""
        found, place = [], len(self._row_types)
        for slot in self._slots:
            found.append((slot, -1 if slot.type is None else place))
            place += slot.type is not None
        return found

    # -- results -----------------------------------------------------------------------------

    def starts(self) -> list[NDArray]:
        """Returns the first values of what goes from turn to turn."""
        return [slot.array(self._ctx) for slot in self._slots if slot.type is not None]

    def flows(self, body: Body) -> list[Flow]:
        """Returns the new values of what goes from turn to turn."""
        found = []
        for number, slot in enumerate(self._slots):
            leaf, type = body.leaves[number], slot.type
            if type is None:
                continue
            if isinstance(leaf, NDArray):
                flow = body.result(number)
                found.append(flow if leaf.type is type else as_type(flow, type))
            else:
                found.append(filled(leaf if is_number(leaf) else 0, type))
        return found

    def appended(self, body: Body) -> list[tuple[Flow, TensorType, Kind]]:
        """Returns what a turn appends to lists."""
        found: list[tuple[Flow, TensorType, Kind]] = []
        for number in range(len(self._slots), len(body.leaves)):
            leaf = body.leaves[number]
            if isinstance(leaf, NDArray):
                found.append((body.result(number), leaf.type, type(leaf)))
            elif is_number(leaf):
                kind = tensor_type((), number_dtype(leaf))
                found.append((filled(leaf, kind), kind, Number))
            else:
                names = ", ".join(self._containers.all[i].name for i in self._appended)
                raise StagingKindError(
                    f"{self.line}: the loop appends {described(leaf)} to {names}; a loop that is "
                    "part of the graph can append arrays and numbers only"
                )
        return found

    def refuse_appended(self) -> None:
        """Raises where the loop appends to lists, and nobody knows how often."""
        for number in self._appended:
            name = self._containers.all[number].name
            raise StagingKindError(
                f"{self.line}: the loop appends to {name!r}, but how often it runs is known only "
                "when it runs; make an array before it, nd.zeros((most, ...)), and assign its rows,"
                f" {name}[i] = ..., or go over a range of known length"
            )

    def finish(
        self,
        body: Body,
        outputs: Sequence[NDArray],
        lasts: dict[int, object] | None,
        holding: Sequence[int] = (),
    ) -> None:
        """Sets variables and containers to what they are after the loop.

        Args:
            outputs: the last values of what went from turn to turn.
            lasts: by the ids of what stood for rows, the last row; None where the loop may not
                have been run at all.
            holding: what is known to be true after the loop, by its place among what the body is
                given.
        """
        values = iter(outputs)
        made = []
        for number, (slot, place) in enumerate(self._places()):
            leaf = body.leaves[number]
            if slot.type is None:
                made.append(self._object_after(slot, leaf, lasts))
                continue
            output = next(values).as_kind(slot.kind)
            if place in holding:
                made.append(True)
                continue
            in_place = place in body.overwritten and leaf is body.given[place]
            made.append(_array_after(slot, leaf, output, in_place, lasts))
        self._assign(made)

    def _object_after(self, slot: Slot, leaf: object, lasts: dict[int, object] | None) -> Any:
        if lasts is not None and id(leaf) in lasts:
            return lasts[id(leaf)]
        if isinstance(slot.start, Undefined) and not isinstance(leaf, Undefined):
            name = slot.name
            return Undefined(
                name,
                f"variable {name!r} gets its value in the loop at {self.line}, which may not be "
                "run at all; assign it before the loop",
            )
        return slot.start

    def extend(
        self, stacked: Sequence[NDArray], appended: Sequence[tuple[Any, TensorType, Any]]
    ) -> None:
        """Appends to Python lists what the turns of a compiled loop have appended.

        Args:
            stacked: for each value that was appended in a turn, an array with a row for each turn.
            appended: for each list, by its number, the types and classes of these values.
        """
        first = 0
        for number, width in self._appended.items():
            chosen = slice(first, first + width)
            first += width
            parts = list(zip(stacked[chosen], appended[chosen], strict=True))
            found = self._containers.all[number].container
            for turn in range(stacked[0].shape[0]):
                for part, (_, type, kind) in parts:
                    row = part.view(turn * type.size, type.shape).as_kind(kind)
                    if row.shape and row.shape == part.shape[1:]:
                        note_row(row, part, turn)
                    found.append(row)


def _is_from_outside(value: object) -> bool:
    """Whether a value is an array that was not made while tracing, so that others see it too."""
    if not isinstance(value, NDArray) or value.storage in _memory.made:
        return False
    owner: Any = value.storage.owner
    return owner is None or value.storage in owner.formals


def _array_after(
    slot: Slot, leaf: object, output: NDArray, in_place: bool, lasts: dict[int, object] | None
) -> Any:
    """Returns what a variable is after a loop that carried it."""
    if lasts is not None and id(leaf) in lasts:
        return lasts[id(leaf)]
    if not isinstance(leaf, NDArray):
        constant = lasts is not None and slot.kind is Number
        if not is_number(leaf) or constant or same_plain(leaf, slot.start):
            return leaf  # the same after each turn
        return output
    if in_place and isinstance(slot.start, NDArray):
        slot.start.write(output.read())
        if slot.start.offset is None and tape.state.recording:
            slot.start.set_edge(output.edge)
        return slot.start
    return output


def _keys(items: Any) -> list[object]:
    return list(items) if isinstance(items, dict) else list(range(len(items)))
