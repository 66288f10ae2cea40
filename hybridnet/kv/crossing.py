"""Arrays that go from one device to another together, as one task of the engine.

To and from a mesh nothing is copied: an array there has the memory of its devices' arrays. So this
memory has two names, and is given to no program to be written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import Any, final

from hybridnet.base.context import Context
from hybridnet.base.mesh import Mesh
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.kvstore import Key, traffic
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.copies import send
from hybridnet.runtime.contexts import device_of, on_each, stacked
from hybridnet.runtime.placing import Rent
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.tasks import push_task

__all__ = ["Crossing"]


@final
class Crossing:
    """Arrays that go from one device to another together.

    Args:
        what: for what they do.
        priority: of the task among others of the engine.
        rent: notes how long it takes to start them.
    """

    def __init__(self, what: traffic.What, priority: int, rent: Rent) -> None:
        self._what = what
        self._priority = priority
        self._rent = rent
        self._keys: dict[Key, None] = {}
        self._reads: list[Value] = []
        self._types: list[TensorType] = []
        # What makes results, and of how many of the arrays that are read.
        self._steps: list[tuple[Callable[..., Sequence[Any]], int]] = []
        # The results that have the memory of what is read.
        self._views: list[int] = []

    def copy(self, array: NDArray, ctx: Context, key: Key, number: int) -> None:
        """Adds a copy of an array to a device: one result.

        Args:
            array: dense.
            ctx: where to.
            key: whose value it is.
            number: of the push, for who watches the traffic.
        """
        value = array.read()
        told = self._what, key, str(array.context), str(ctx)
        self._add(key, partial(_copied, device_of(ctx), told, number), [value], [value.type])

    def stack(self, values: Sequence[NDArray], mesh: Mesh, key: Key) -> None:
        """Adds one array on a mesh of arrays on its devices, one below the other: one result."""
        reads = [value.read() for value in values]
        rows, *others = reads[0].type.shape
        kind = tensor_type((rows * len(reads), *others), reads[0].type.dtype)
        self._view(reads, 1)
        self._add(key, partial(_stacked, mesh), reads, [kind])

    def part(self, array: NDArray, mesh: Mesh, key: Key) -> None:
        """Adds what each device has of an array on a mesh: a result for each device."""
        value = array.read()
        count = len(mesh.contexts)
        self._view([value], count)
        self._add(key, partial(_parts, mesh), [value], [value.type] * count)

    def _view(self, reads: Sequence[Value], count: int) -> None:
        """Notes that the next results have the memory of what is read."""
        _share(reads)
        self._views += range(len(self._types), len(self._types) + count)

    def _add(
        self,
        key: Key,
        make: Callable[..., Sequence[Any]],
        reads: Sequence[Value],
        types: Sequence[TensorType],
    ) -> None:
        self._keys[key] = None
        self._reads += reads
        self._types += types
        self._steps.append((make, len(reads)))

    def start(self) -> list[Value]:
        """Starts what was added; returns the results in their order, which are pending."""
        if not self._steps:
            return []
        first, *others = self._keys
        name = f"kv {self._what} {first}" + (f" and {len(others)} more" if others else "")
        made = push_task(self._run, self._reads, self._types, priority=self._priority, name=name)
        _share([made[number] for number in self._views])
        recorder.mark()
        return made

    def _run(self, *arrays: Any) -> Sequence[Any]:
        start = perf_counter()
        given: Iterator[Any] = iter(arrays)
        made: list[Any] = []
        for make, count in self._steps:
            made += make(*[next(given) for _ in range(count)])
        self._rent.note(perf_counter() - start)
        return made


def _share(values: Sequence[Value]) -> None:
    """Notes that memory has two names, or may have."""
    for value in values:
        value.shared = value.shared or True


def _copied(
    device: Any, told: tuple[traffic.What, Key, str, str], number: int, source: Any
) -> Sequence[Any]:
    start = perf_counter_ns()
    arrived = send(source, device)
    if traffic.observer is not None:
        sent = source.nbytes, 0, start, perf_counter_ns(), number
        traffic.observer(traffic.Exchange(*told, *sent))
    return (arrived,)


def _stacked(mesh: Mesh, *parts: Any) -> Sequence[Any]:
    return (stacked(parts, mesh),)


def _parts(mesh: Mesh, array: Any) -> Sequence[Any]:
    return on_each(array, mesh)
