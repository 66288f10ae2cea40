"""The operations of a key-value store on arrays.

Every action only records: summing, updating and copying are operators in the segment of the key's
context, so with one device a whole training step, push and pull included, is one program, and a
pull costs nothing. What crosses from one device to another is an engine task with the caller's
priority; operators that read its result wait for it in the engine, and the user's thread never
does.

Keys that are pushed together cross together. Where that has taken as long as it takes to compile a
program, those of several devices, as a trainer pushes them, are from then on summed and updated by
one program over a mesh of these devices, each of which has the keys' values then: nothing goes from
one to another but what the sums take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from hybridnet import ndarray
from hybridnet.base import config
from hybridnet.base.context import Context, cpu
from hybridnet.base.mesh import Mesh
from hybridnet.kvstore import Actions, Key, Kind, traffic
from hybridnet.ndarray import NDArray
from hybridnet.optimizer import Updater as OptimizerUpdater
from hybridnet.runtime.contexts import mesh_over
from hybridnet.runtime.placing import Rent, prices
from hybridnet.runtime.recording import recorder

from .crossing import Crossing

#: `updater(key, merged, stored)`: changes `stored` in place by recorded operators.
Updater = Callable[[Key, NDArray, NDArray], Any]
#: How many operators a program over a mesh has for each key: to sum it, to update it.
_OPERATORS: Final = 4


@final
class ArrayActions(Actions[NDArray]):
    """Actions on arrays.

    A key has a home, the context where its values are summed and its own value is. It is chosen at
    the first push: the context of the values if they share one, else what the store's kind says.
    Of keys that are pushed together by several devices it may become the mesh of these.

    Args:
        kind: of the store.

    Attributes:
        updater: what a push calls; None while pushes replace.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._homes: dict[Key, Context] = {}
        self._rounds: dict[Key, int] = {}  # how often each key was pushed
        # What `gather` has brought home of keys that are being pushed: those that are to be summed.
        self._gathered: dict[Key, list[NDArray]] = {}
        # What it took so far that keys together have crossed.
        self._rent = Rent()
        # What an optimizer is to update by `end_pushes`, by context; None: at once.
        self._updates: dict[Context, list[tuple[Key, NDArray, NDArray]]] | None = None
        # What is to be sent by `scatter`; None: at once.
        self._sends: list[tuple[Key, NDArray, Sequence[NDArray]]] | None = None
        # Whether a task was pushed that what is recorded now may have to wait for.
        self._crossed = False
        self.updater: Updater | None = None

    def begin_push(self, key: Key) -> None:
        """Counts a push of a key, for who watches the traffic."""
        self._rounds[key] = self._rounds.get(key, 0) + 1

    # -- keys together -----------------------------------------------------------------------

    def begin_pushes(self, pairs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Begins pushes of several keys: until `end_pushes` an optimizer waits for all of them."""
        updater: Any = self.updater
        if isinstance(updater, OptimizerUpdater):
            self._updates = {}
        self.gather(pairs, priority)

    def end_pushes(self) -> None:
        """Ends what `begin_pushes` has begun: has the optimizer update what was pushed since."""
        self._gathered.clear()  # what a push has not taken that failed
        updates, self._updates = self._updates or {}, None
        updater: Any = self.updater
        for listed in updates.values():
            keys, merged, stored = map(list, zip(*listed, strict=True))
            updater(keys, merged, stored)
        if updates:
            self._part()

    def gather(self, pairs: Mapping[Key, Sequence[NDArray]], priority: int) -> None:
        """Brings what is pushed together to where it is summed, where `merge` will find it."""
        crossing = Crossing("push", priority, self._rent)
        asked: list[tuple[Key, Context, list[NDArray | None]]] = []
        repays = self._repays_program(pairs)
        for key, values in pairs.items():
            if len(values) < 2 or any(value.stype != "default" for value in values):
                continue
            mesh = self._mesh_over(values)
            home = self._home(key, values)
            if repays and mesh and type(home) is not Mesh:
                home = self._move_home(key, mesh)
            if home is mesh:
                crossing.stack(values, mesh, key)
                asked.append((key, home, [None]))
            elif type(home) is not Mesh:
                here = [x if x.context.computes_on is home else None for x in values]
                for value, there in zip(values, here, strict=True):
                    if there is None:
                        crossing.copy(value, home, key, self._rounds.get(key, 0))
                asked.append((key, home, here))
        made = iter(crossing.start())
        for key, home, arrays in asked:
            self._gathered[key] = [
                NDArray.from_value(next(made), home) if array is None else array for array in arrays
            ]

    def _repays_program(self, pairs: Mapping[Key, Sequence[NDArray]]) -> bool:
        """Whether keys have crossed for as long as it takes to compile a program that does it."""
        if config.deterministic():
            return True  # whatever the clock says: a program adds up in another order
        if self._rent.paid < prices.program:
            return False
        types = {(values[0].shape, values[0].dtype) for values in pairs.values()}
        weight, kinds = _OPERATORS * len(pairs), _OPERATORS * len(types)
        return self._rent.paid >= prices.compiling(weight, kinds)

    def _move_home(self, key: Key, mesh: Mesh) -> Mesh:
        self._homes[key] = mesh
        updater: Any = self.updater
        if isinstance(updater, OptimizerUpdater):
            updater.states_synced[key] = False  # they go where the value is
        return mesh

    def _mesh_over(self, values: Sequence[NDArray]) -> Mesh | None:
        """Returns the mesh of devices of several arrays, if they are to be summed by them all."""
        updater: Any = self.updater
        ours = updater is None or isinstance(updater, OptimizerUpdater)
        if not ours or not values[0].shape or recorder.current_trace() is not None:
            return None
        return mesh_over(tuple([value.context.computes_on for value in values]))

    def collect(self) -> None:
        """Makes what is sent from now on wait for `scatter`."""
        self._sends = []

    def scatter(self, priority: int) -> None:
        """Sends what was asked for since `collect`, together."""
        sends, self._sends = self._sends or [], None
        self._send(sends, priority)

    # -- one key -----------------------------------------------------------------------------

    def keep(self, key: Key, value: NDArray) -> NDArray:
        """See `Actions.keep`."""
        if value.stype != "default":
            return value.tostype("default")
        return self._moved(value, value.context, "init", key, 0)

    def merge(self, key: Key, values: Sequence[NDArray], priority: int) -> NDArray:
        """See `Actions.merge`. The order of the sum is that of the values, but on a mesh."""
        home = self._home(key, values)
        if key not in self._gathered and type(home) is Mesh:
            self.gather({key: values}, priority)
        arrays = self._gathered.pop(key, None)
        if arrays is None:
            arrays = [self._moved(value, home, "push", key, priority) for value in values]
        elif type(home) is Mesh:
            rows, *others = values[0].shape
            return arrays[0].reshape((len(values), rows, *others)).sum(axis=0)
        total: NDArray = ndarray.add_n(*arrays)
        return total

    def update(self, key: Key, merged: NDArray, stored: NDArray, priority: int) -> NDArray:
        """See `Actions.update`. The updater may change the merged value: nobody else sees it."""
        merged, stored = self._bring_home(key, merged, stored, priority)
        assert self.updater is not None
        if self._updates is None:
            self.updater(key, merged, stored)
            self._part()
        else:
            self._updates.setdefault(stored.context, []).append((key, merged, stored))
        return stored

    def replace(self, key: Key, merged: NDArray, stored: NDArray, priority: int) -> NDArray:
        """See `Actions.replace`. The key keeps its dtype."""
        merged, stored = self._bring_home(key, merged, stored, priority)
        stored.assign(merged.tostype("default") if merged.stype != "default" else merged)
        self._part()
        return stored

    def send(self, key: Key, stored: NDArray, targets: Sequence[NDArray], priority: int) -> None:
        """See `Actions.send`. A target keeps its dtype."""
        if self._sends is None:
            self._send([(key, stored, targets)], priority)
        else:
            self._sends.append((key, stored, targets))

    def _send(self, sends: Sequence[tuple[Key, NDArray, Sequence[NDArray]]], priority: int) -> None:
        crossing = Crossing("pull", priority, self._rent)
        arriving: list[list[Context]] = []
        for key, stored, targets in sends:
            home = stored.context.computes_on
            contexts = [target.context.computes_on for target in targets]
            if type(home) is Mesh and set(contexts) <= set(home.contexts):
                crossing.part(stored, home, key)
                arriving.append(list(home.contexts))
            elif type(home) is Mesh or stored.stype != "default":
                arriving.append([])  # `assign` copies it
            else:
                elsewhere = [ctx for ctx in dict.fromkeys(contexts) if ctx is not home]
                for ctx in elsewhere:
                    crossing.copy(stored, ctx, key, self._rounds.get(key, 0))
                arriving.append(elsewhere)
        made = crossing.start()
        values = iter(made)
        for (_, stored, targets), contexts in zip(sends, arriving, strict=True):
            copies = {ctx: NDArray.from_value(next(values), ctx) for ctx in contexts}
            for target in targets:
                target.assign(copies.get(target.context.computes_on, stored))
        if made:
            recorder.mark()

    # -- where -------------------------------------------------------------------------------

    def _home(self, key: Key, values: Sequence[NDArray]) -> Context:
        home = self._homes.get(key)
        if home is None:
            first = values[0].context.computes_on
            shared = all(value.context.computes_on is first for value in values)
            home = first if shared or self._kind.merges_on == "device" else cpu(0)
            self._homes[key] = home
        return home

    def _bring_home(
        self, key: Key, merged: NDArray, stored: NDArray, priority: int
    ) -> tuple[NDArray, NDArray]:
        home = self._home(key, [merged])
        merged = self._moved(merged, home, "push", key, priority)
        if stored.context is not home:
            stored = self._moved(stored, home, "push", key, priority)
        return merged, stored

    def _moved(
        self, array: NDArray, ctx: Context, what: traffic.What, key: Key, priority: int
    ) -> NDArray:
        """Returns an array on `ctx` with the value that `array` has now, whatever is written later.

        On its own context that is another handle on the same value, and no copy. What a sparse
        array is made of is copied by the caller's thread, whatever the priority.
        """
        here = array.context.computes_on
        if array.stype != "default" or (here is not ctx and Mesh in (type(here), type(ctx))):
            return array.detach().as_in_context(ctx)
        if here is ctx.computes_on:
            return NDArray.from_value(array.read(), ctx)
        crossing = Crossing(what, priority, Rent())
        crossing.copy(array, ctx, key, self._rounds.get(key, 0))
        (value,) = crossing.start()
        self._crossed = True
        return NDArray.from_value(value, ctx)

    def _part(self) -> None:
        """If a task was pushed since the last call, launches what was recorded since then.

        A segment starts only when all its inputs are there. So what waits for the task must not be
        in one segment with other work, which would have to wait, too.
        """
        if self._crossed:
            self._crossed = False
            recorder.mark()
