"""The operations of a key-value store on arrays.

Every action only records: summing, updating and copying are operators in the segment of the key's
context, so with one device a whole training step, push and pull included, is one program, and a
pull costs nothing. What crosses from one device to another is an engine task with the caller's
priority; operators that read its result wait for it in the engine, and the user's thread never
does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, final

from hybridnet.base.context import Context, cpu
from hybridnet.base.mesh import Mesh
from hybridnet.kvstore import Actions, Key, Kind, traffic
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import send
from hybridnet.runtime.contexts import device_of
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.tasks import push_task

#: `updater(key, merged, stored)`: changes `stored` in place by recorded operators.
Updater = Callable[[Key, NDArray, NDArray], Any]


@final
class ArrayActions(Actions[NDArray]):
    """Actions on arrays.

    A key has a home, the context where its values are summed and its own value is. It is chosen at
    the first push: the context of the values if they share one, else what the store's kind says.

    Args:
        kind: of the store.

    Attributes:
        updater: what a push calls; None while pushes replace.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._homes: dict[Key, Context] = {}
        self._rounds: dict[Key, int] = {}  # how often each key was pushed
        # Whether a task was pushed that what is recorded now may have to wait for.
        self._crossed = False
        self.updater: Updater | None = None

    def begin_push(self, key: Key) -> None:
        """Counts a push of a key, for who watches the traffic."""
        self._rounds[key] = self._rounds.get(key, 0) + 1

    def keep(self, key: Key, value: NDArray) -> NDArray:
        """See `Actions.keep`."""
        if value.stype != "default":
            return value.tostype("default")
        return self._moved(value, value.context, "init", key, 0)

    def merge(self, key: Key, values: Sequence[NDArray], priority: int) -> NDArray:
        """See `Actions.merge`. The order of the sum is that of the values."""
        home = self._home(key, values)
        total, *rest = [self._moved(value, home, "push", key, priority) for value in values]
        for value in rest:
            total = total + value
        return total

    def update(self, key: Key, merged: NDArray, stored: NDArray, priority: int) -> NDArray:
        """See `Actions.update`. The updater may change the merged value: nobody else sees it."""
        merged, stored = self._bring_home(key, merged, stored, priority)
        assert self.updater is not None
        self.updater(key, merged, stored)
        self._part()
        return stored

    def replace(self, key: Key, merged: NDArray, stored: NDArray, priority: int) -> NDArray:
        """See `Actions.replace`. The key keeps its dtype."""
        merged, stored = self._bring_home(key, merged, stored, priority)
        stored.assign(merged.tostype("default") if merged.stype != "default" else merged)
        self._part()
        return stored

    def send(self, key: Key, stored: NDArray, targets: Sequence[NDArray], priority: int) -> None:
        """See `Actions.send`. A target keeps its dtype, and on a mesh its placement."""
        copies: dict[Context, NDArray] = {stored.context: stored}
        for target in targets:
            ctx = target.context
            if ctx not in copies:
                copies[ctx] = self._moved(stored, ctx, "pull", key, priority)
            target.assign(copies[ctx])
        self._part()

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
        if array.stype != "default" or _are_others(array.context, ctx):
            return array.detach().as_in_context(ctx)
        value = array.read()
        if array.context.computes_on is not ctx.computes_on:
            device, number = device_of(ctx), self._rounds.get(key, 0)
            places = str(array.context), str(ctx)

            def transfer(source: Any) -> Sequence[Any]:
                start = perf_counter_ns()
                arrived = send(source, device)
                if traffic.observer is not None:
                    told = (what, key, *places, source.nbytes, 0, start, perf_counter_ns(), number)
                    traffic.observer(traffic.Exchange(*told))
                return (arrived,)

            name = f"kv {what} {key}"
            (value,) = push_task(transfer, [value], (value.type,), priority=priority, name=name)
            self._crossed = True
            recorder.mark()
        return NDArray.from_value(value, ctx)

    def _part(self) -> None:
        """If a task was pushed since the last call, launches what was recorded since then.

        A segment starts only when all its inputs are there. So what waits for the task must not be
        in one segment with other work, which would have to wait, too.
        """
        if self._crossed:
            self._crossed = False
            recorder.mark()


def _are_others(first: Context, second: Context) -> bool:
    """Whether contexts differ, and one of them is a mesh: no task carries an array there."""
    return first.computes_on is not second.computes_on and Mesh in (type(first), type(second))
