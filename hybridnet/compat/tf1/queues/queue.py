"""Queues: ``tf.FIFOQueue`` and its kin, which hold arrays on the host between runs.

A queue is that of its graph: what is in it is the same in all sessions of the graph.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..dtypes import DType, as_dtype, int32
from ..dtypes import bool as bool_
from ..errors import CancelledError, InvalidArgumentError, OutOfRangeError
from ..graph.arguments import known_numbers
from ..graph.building import apply
from ..graph.shapes import TensorShape
from ..graph.tensor import Operation, Tensor
from ..graph.values import convert_to_tensor
from ..operations.scripts import host_call

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "QueueBase", "RandomShuffleQueue"]

Element = list[np.ndarray[Any, Any]]


class QueueBase:
    """A queue of elements, each of one or several arrays.

    Args:
        kind: the type of its Operation.
        capacity: how many elements it holds at most; below 0 any number.
        dtypes: of the components of an element.
        shapes: of them; None where they may differ.
        names: of them; elements are dicts then.
        name: of the queue.

    Raises:
        ValueError: there are not as many shapes or names as dtypes.
    """

    def __init__(
        self, kind: str, capacity: int, dtypes: Any, shapes: Any, names: Any, name: str
    ) -> None:
        several = isinstance(dtypes, (list, tuple))
        self._dtypes = [as_dtype(one).base_dtype for one in (dtypes if several else [dtypes])]
        self._shapes = _shapes(shapes, len(self._dtypes))
        self._names = [names] if isinstance(names, str) else names
        if self._names is not None and len(self._names) != len(self._dtypes):
            raise ValueError(
                f"names must have as many entries as dtypes ({len(self._dtypes)}), got {names}"
            )
        self._capacity = capacity
        self._ref: Operation = apply(kind, "_no_op", (), name=name)
        self._held: deque[Element] = deque()
        self._closed = False
        self._changed: Final = threading.Condition()

    # -- what it is --------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of its Operation."""
        return self._ref.name

    @property
    def queue_ref(self) -> Operation:
        """Its Operation."""
        return self._ref

    @property
    def dtypes(self) -> list[DType]:
        """Those of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """Those of the components, as far as they are known."""
        return self._shapes

    @property
    def names(self) -> Any:
        """Those of the components, or None."""
        return self._names

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """Returns one of several queues by number, which must be known."""
        found = known_numbers(index)
        if not isinstance(found, int):
            raise TypeError("from_list: index must be a number that is known")
        return queues[found]

    # -- putting -----------------------------------------------------------------------------

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Returns the Operation that puts one element; it waits while the queue is full.

        Args:
            vals: a tensor for each component; a dict where they have names.
            name: of the Operation.
        """
        tensors = self._tensors(vals, 0)

        def put(*arrays: Any) -> list[Any]:
            self._put(list(arrays))
            return []

        made: Operation = host_call(
            "QueueEnqueueV2", put, tensors, [], name=name or f"{self.name}_enqueue"
        )
        return made

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Returns the Operation that puts an element for each row of the tensors."""
        tensors = self._tensors(vals, 1)

        def put(*arrays: Any) -> list[Any]:
            for row in zip(*arrays, strict=True):
                self._put([np.asarray(one) for one in row])
            return []

        made: Operation = host_call(
            "QueueEnqueueManyV2", put, tensors, [], name=name or f"{self.name}_EnqueueMany"
        )
        return made

    def _tensors(self, vals: Any, extra: int) -> list[Tensor]:
        if isinstance(vals, dict):
            if self._names is None or sorted(vals) != sorted(self._names):
                raise ValueError(f"enqueue: values must have the names {self._names}, got {vals}")
            vals = [vals[one] for one in self._names]
        listed = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(listed) != len(self._dtypes):
            raise ValueError(
                f"enqueue: needs {len(self._dtypes)} values, one for each component, got "
                f"{len(listed)}"
            )
        found = []
        for one, dtype, shape in zip(listed, self._dtypes, self._shapes, strict=True):
            made = convert_to_tensor(one, dtype)
            if shape.ndims is not None:
                wanted = TensorShape([*[None] * extra, *shape.as_list()])
                made.shape.assert_is_compatible_with(wanted)
            found.append(made)
        return found

    def _put(self, element: Element) -> None:
        for one, shape in zip(element, self._shapes, strict=True):
            if not shape.is_compatible_with(one.shape):
                raise InvalidArgumentError(
                    None, None, f"Queue '{self.name}': shape {one.shape} must be {shape}"
                )
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not self._is_full())
            if self._closed:
                raise CancelledError(None, None, f"Queue '{self.name}' is closed.")
            self._held.append(element)
            self._changed.notify_all()

    def _is_full(self) -> bool:
        return 0 <= self._capacity <= len(self._held)

    # -- taking ------------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Returns the next element; a run waits for it while the queue is empty.

        Raises (in a run):
            OutOfRangeError: the queue is closed and empty.
        """
        dims = [one._dims for one in self._shapes]
        return self._taken(
            "QueueDequeueV2", lambda: self._take(1, False)[0], dims, name or f"{self.name}_Dequeue"
        )

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Returns the next `n` elements, joined along a new first axis.

        Raises (in a run):
            OutOfRangeError: the queue is closed, and holds fewer.
        """
        count = self._count(n)
        dims = [_with_rows(one, count) for one in self._shapes]
        return self._taken(
            "QueueDequeueManyV2",
            lambda: self._joined(self._take(count, False)),
            dims,
            name or f"{self.name}_DequeueMany",
        )

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Returns the next `n` elements, or those that are left in a closed queue.

        Raises (in a run):
            OutOfRangeError: the queue is closed and empty.
        """
        count = self._count(n)
        dims = [_with_rows(one, None) for one in self._shapes]
        return self._taken(
            "QueueDequeueUpToV2",
            lambda: self._joined(self._take(count, True)),
            dims,
            name or f"{self.name}_DequeueUpTo",
        )

    def _count(self, n: Any) -> int:
        found = known_numbers(n)
        if not isinstance(found, int):
            raise ValueError(f"Queue: n must be known when the graph is built, got {n}")
        return found

    def _taken(self, kind: str, take: Callable[[], Element], dims: Any, name: str) -> Any:
        made = host_call(kind, take, [], self._dtypes, dims, name=name)
        if self._names is not None:
            parts = made if isinstance(made, tuple) else (made,)
            return dict(zip(self._names, parts, strict=True))
        return list(made) if isinstance(made, tuple) else made

    def _take(self, count: int, fewer: bool) -> list[Element]:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._available() >= count)
            there = self._available()
            if there < count and not (fewer and there):
                raise OutOfRangeError(
                    None,
                    None,
                    f"Queue '{self.name}' is closed and has insufficient elements (requested "
                    f"{count}, current size {there})",
                )
            found = [self._next() for _ in range(min(count, there))]
            self._changed.notify_all()
            return found

    def _available(self) -> int:
        return len(self._held)

    def _next(self) -> Element:
        return self._held.popleft()

    def _joined(self, elements: Sequence[Element]) -> Element:
        return [np.stack(parts) for parts in zip(*elements, strict=True)]

    # -- the rest ----------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Returns the Operation after which nothing more can be put.

        Args:
            cancel_pending_enqueues: without meaning here: what waits to be put fails anyway.
            name: of the Operation.
        """

        def close() -> list[Any]:
            with self._changed:
                self._closed = True
                self._changed.notify_all()
            return []

        made: Operation = host_call(
            "QueueCloseV2", close, [], [], name=name or f"{self.name}_Close"
        )
        return made

    def is_closed(self, name: str | None = None) -> Tensor:
        """Returns whether it is closed."""
        made: Tensor = host_call(
            "QueueIsClosedV2",
            lambda: [np.array(self._closed)],
            [],
            [bool_],
            [()],
            name=name or f"{self.name}_Is_Closed",
        )
        return made

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements in it."""
        made: Tensor = host_call(
            "QueueSizeV2",
            lambda: [np.array(len(self._held), np.int32)],
            [],
            [int32],
            [()],
            name=name or f"{self.name}_Size",
        )
        return made


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which they were put.

    Args:
        capacity: how many elements it holds at most.
        dtypes: of the components of an element, or one dtype.
        shapes: of the components; default they may differ, and several elements cannot be taken.
        names: of the components; elements are dicts then.
        shared_name: without meaning here.
        name: of the queue.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        super().__init__("FIFOQueueV2", capacity, dtypes, shapes, names, name)


class PaddingFIFOQueue(QueueBase):
    """A `FIFOQueue` whose elements may differ in sizes given as None: several are padded with 0."""

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        super().__init__("PaddingFIFOQueueV2", capacity, dtypes, shapes, names, name)

    def _joined(self, elements: Sequence[Element]) -> Element:
        return [_padded(parts) for parts in zip(*elements, strict=True)]


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in a random order.

    Args:
        capacity: as for `FIFOQueue`.
        min_after_dequeue: how many must be left, while it is open, for the order to be random.
        dtypes: as for `FIFOQueue`.
        shapes: likewise.
        names: likewise.
        seed: where its random numbers begin.
        shared_name: without meaning here.
        name: of the queue.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        super().__init__("RandomShuffleQueueV2", capacity, dtypes, shapes, names, name)
        self._least = min_after_dequeue
        self._random = np.random.default_rng(seed)

    def _available(self) -> int:
        return max(len(self._held) - (0 if self._closed else self._least), 0)

    def _next(self) -> Element:
        self._held.rotate(-int(self._random.integers(len(self._held))))
        return self._held.popleft()


def _shapes(shapes: Any, count: int) -> list[TensorShape]:
    if shapes is None:
        return [TensorShape(None)] * count
    listed = shapes if isinstance(shapes, (list, tuple)) else [shapes]
    if count == 1 and not any(isinstance(one, (list, tuple, TensorShape)) for one in listed):
        listed = [shapes]
    if len(listed) != count:
        raise ValueError(f"shapes must have as many entries as dtypes ({count}), got {shapes}")
    return [TensorShape(one) for one in listed]


def _with_rows(shape: TensorShape, rows: int | None) -> Any:
    return None if shape._dims is None else (rows, *shape._dims)


def _padded(parts: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    sizes = np.max([one.shape for one in parts], axis=0)
    found = np.zeros((len(parts), *sizes), parts[0].dtype)
    for number, one in enumerate(parts):
        found[number][tuple(slice(size) for size in one.shape)] = one
    return found
