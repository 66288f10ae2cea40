"""Plain values in a store: each in a cell with an engine Var, every action a task.

Consistency is the engine's: a key's value lives in one cell for good, so the tasks of a key run in
the order of the calls, tasks of different keys in parallel, and an updater may work in place. A
task that fails poisons the cell it writes; the error is raised where the cell is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.engine import Engine, Var
from hybridnet.engine import get as process_engine
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.messages import Key
from hybridnet.kvstore.store import Actions

_COMPUTE: Final = "priority"  # merging and updating; not behind long tasks of the compute lane
_COPY: Final = "copy"


class Cell:
    """One value that engine tasks read and write.

    Attributes:
        value: the content; read it in a task that names `var`, or with `get`.
        var: stands for the content in the engine.
    """

    __slots__ = ("value", "var")

    def __init__(self, value: Any = None, name: str | None = None) -> None:
        self.value = value
        self.var = Var(name)

    def get(self, engine: Engine | None = None) -> Any:
        """Returns the value, after the tasks that write it.

        Args:
            engine: the one that runs these tasks; by default the process-wide one.

        Raises:
            TaskError: one of them failed.
        """
        (engine or process_engine()).wait_for_var(self.var)
        return self.value


@final
class CellActions(Actions[Cell]):
    """Actions on cells, made of plain callables on their contents.

    Args:
        reduce: `reduce(values) -> value` sums a list of at least two; it leaves them as they are.
        copy: `copy(value) -> value`, an independent copy.
        update: `update(key, merged, stored) -> stored`; may change `stored` in place and return it.
            Needed by a store whose `set_updater(True)` was called.
        engine: runs the tasks; by default the process-wide one.
    """

    def __init__(
        self,
        reduce: Callable[[list[Any]], Any],
        copy: Callable[[Any], Any],
        update: Callable[[Key, Any, Any], Any] | None = None,
        engine: Engine | None = None,
    ) -> None:
        self._reduce = reduce
        self._copy = copy
        self._update = update
        self._engine = engine

    def keep(self, key: Key, value: Cell) -> Cell:
        """See `Actions.keep`."""
        stored = Cell(name=f"key {key}")
        self._push_copy(value, stored, f"init {key}", _COPY, 0)
        return stored

    def merge(self, key: Key, values: Sequence[Cell], priority: int) -> Cell:
        """See `Actions.merge`."""
        merged = Cell(name=f"merged {key}")

        def run() -> None:
            merged.value = self._reduce([cell.value for cell in values])

        reads = [cell.var for cell in values]
        self._push(run, reads, merged, f"merge {key}", _COMPUTE, priority)
        return merged

    def update(self, key: Key, merged: Cell, stored: Cell, priority: int) -> Cell:
        """See `Actions.update`."""
        update = self._update
        if update is None:
            raise KVStoreError("a store with an updater requires CellActions(update=...)")

        def run() -> None:
            stored.value = update(key, merged.value, stored.value)

        reads = [merged.var, stored.var]
        self._push(run, reads, stored, f"update {key}", _COMPUTE, priority)
        return stored

    def replace(self, key: Key, merged: Cell, stored: Cell, priority: int) -> Cell:
        """See `Actions.replace`."""
        self._push_copy(merged, stored, f"replace {key}", _COMPUTE, priority)
        return stored

    def send(self, key: Key, stored: Cell, targets: Sequence[Cell], priority: int) -> None:
        """See `Actions.send`."""
        for target in targets:
            self._push_copy(stored, target, f"pull {key}", _COPY, priority)

    def _push_copy(self, source: Cell, target: Cell, name: str, lane: str, priority: int) -> None:
        def run() -> None:
            target.value = self._copy(source.value)

        self._push(run, [source.var], target, name, lane, priority)

    def _push(
        self,
        run: Callable[[], None],
        reads: Sequence[Var],
        target: Cell,
        name: str,
        lane: str,
        priority: int,
    ) -> None:
        engine = self._engine or process_engine()
        engine.push(run, reads, [target.var], priority=priority, lane=lane, name=name)
