"""Queues: ``tf.FIFOQueue`` and its kin, which hold arrays on the host between runs.

A queue is on the task of a cluster that its device says, for all who use its name; in one process
it is that of its graph: what is in it is the same in all sessions of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtypes import DType, as_dtype, int32, int64
from ..dtypes import bool as bool_
from ..graph import Operation, Tensor, TensorShape, convert_to_tensor, known_numbers
from ..operations.shared import SharedRef

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]


class QueueBase:
    """A queue of elements, each of one or several arrays.

    Args:
        kind: the type of its Operation.
        capacity: how many elements it holds at most; below 0 any number.
        dtypes: of the components of an element.
        shapes: of them; None where they may differ.
        names: of them; elements are dicts then.
        name: of the queue.
        shared_name: by which other graphs of a cluster know it; default its name.
        about: what `hybridnet.clusters.shared` makes of it, besides.

    Attributes:
        dtypes, shapes, names: lists of those of the components; `names` may be None.
        queue_ref: its Operation.
        name: that of the Operation.

    Raises:
        ValueError: there are not as many shapes or names as dtypes.
    """

    def __init__(
        self,
        kind: str,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any,
        name: str,
        shared_name: str | None,
        about: Mapping[str, Any],
    ) -> None:
        several = isinstance(dtypes, (list, tuple))
        self.dtypes = [as_dtype(one).base_dtype for one in (dtypes if several else [dtypes])]
        self.shapes = _shapes(shapes, len(self.dtypes))
        self.names = [names] if isinstance(names, str) else names
        if self.names is not None and len(self.names) != len(self.dtypes):
            raise ValueError(
                f"names must have as many entries as dtypes ({len(self.dtypes)}), got {names}"
            )
        sizes = [None if one._dims is None else list(one._dims) for one in self.shapes]
        kinds = [one.name for one in self.dtypes]
        whole = {**about, "capacity": int(capacity), "dtypes": kinds, "shapes": sizes}
        self._ref = SharedRef(kind, whole, shared_name, name)
        self.queue_ref, self.name = self._ref.op, self._ref.name

    # -- what it is --------------------------------------------------------------------------

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
        """
        given, name = self._tensors(vals, 0), name or f"{self.name}_enqueue"
        return self._ref.tell("QueueEnqueueV2", "put", given, {}, name)

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Returns the Operation that puts an element for each row of the tensors."""
        given, name = self._tensors(vals, 1), name or f"{self.name}_EnqueueMany"
        return self._ref.tell("QueueEnqueueManyV2", "put", given, {"many": True}, name)

    def _tensors(self, vals: Any, extra: int) -> list[Tensor]:
        if isinstance(vals, dict):
            if self.names is None or sorted(vals) != sorted(self.names):
                raise ValueError(f"enqueue: values must have the names {self.names}, got {vals}")
            vals = [vals[one] for one in self.names]
        listed = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(listed) != len(self.dtypes):
            raise ValueError(
                f"enqueue: needs {len(self.dtypes)} values, one for each component, got "
                f"{len(listed)}"
            )
        found = []
        for one, dtype, shape in zip(listed, self.dtypes, self.shapes, strict=True):
            made = convert_to_tensor(one, dtype)
            if shape.ndims is not None:
                wanted = TensorShape([*[None] * extra, *shape.as_list()])
                made.shape.assert_is_compatible_with(wanted)
            found.append(made)
        return found

    # -- taking ------------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Returns the next element; a run waits for it while the queue is empty.

        Raises (in a run):
            OutOfRangeError: the queue is closed and empty.
        """
        dims = [one._dims for one in self.shapes]
        return self._taken("QueueDequeueV2", {"count": 1}, dims, name or f"{self.name}_Dequeue")

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Returns the next `n` elements, joined along a new first axis.

        Raises (in a run):
            OutOfRangeError: the queue is closed, and holds fewer.
        """
        count = known_numbers(n)
        dims = [_with_rows(one, count if isinstance(count, int) else None) for one in self.shapes]
        words = {"count": n if count is None else count, "many": True}
        return self._taken("QueueDequeueManyV2", words, dims, name or f"{self.name}_DequeueMany")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Returns the next `n` elements, or those that are left in a closed queue.

        Raises (in a run):
            OutOfRangeError: the queue is closed and empty.
        """
        count = known_numbers(n)
        dims = [_with_rows(one, None) for one in self.shapes]
        words = {"count": n if count is None else count, "many": True, "fewer": True}
        return self._taken("QueueDequeueUpToV2", words, dims, name or f"{self.name}_DequeueUpTo")

    def _taken(self, kind: str, words: Mapping[str, Any], dims: Any, name: str) -> Any:
        made = self._ref.ask(kind, "take", (), self.dtypes, dims, words, name)
        if self.names is not None:
            parts = made if isinstance(made, tuple) else (made,)
            return dict(zip(self.names, parts, strict=True))
        return list(made) if isinstance(made, tuple) else made

    # -- the rest ----------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Returns the Operation after which nothing more can be put.

        Args:
            cancel_pending_enqueues: whether what waits to be put then fails, and is not put.
        """
        words, name = {"cancel": bool(cancel_pending_enqueues)}, name or f"{self.name}_Close"
        return self._ref.tell("QueueCloseV2", "close", (), words, name)

    def is_closed(self, name: str | None = None) -> Tensor:
        """Returns whether it is closed."""
        return self._asked("QueueIsClosedV2", "is_closed", bool_, name or f"{self.name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements in it."""
        return self._asked("QueueSizeV2", "size", int32, name or f"{self.name}_Size")

    def _asked(self, kind: str, method: str, dtype: DType, name: str) -> Tensor:
        made: Tensor = self._ref.ask(kind, method, (), [dtype], [()], name=name)
        return made


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which they were put.

    Args:
        capacity: how many elements it holds at most.
        dtypes: of the components of an element, or one dtype.
        shapes: of the components; default they may differ, and several elements cannot be taken.
        names: of the components; elements are dicts then.
        shared_name: by which other graphs of a cluster know it; default its name.
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
        about = {"kind": "first"}
        super().__init__("FIFOQueueV2", capacity, dtypes, shapes, names, name, shared_name, about)


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
        about, kind = {"kind": "padding"}, "PaddingFIFOQueueV2"
        super().__init__(kind, capacity, dtypes, shapes, names, name, shared_name, about)


class PriorityQueue(QueueBase):
    """A queue that gives the elements of the smallest number first.

    An element begins with its number, int64; those of equal numbers come as they were put.

    Args:
        capacity: as for `FIFOQueue`.
        types: the dtypes of what comes after the number.
        shapes: of that, likewise.
        names: of all components, the number's first.
        shared_name: as for `FIFOQueue`.
        name: of the queue.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        several = types if isinstance(types, (list, tuple)) else [types]
        sizes = [TensorShape(()), *_shapes(shapes, len(several))]
        about, kind = {"kind": "priority"}, "PriorityQueueV2"
        kinds = [int64, *several]
        super().__init__(kind, capacity, kinds, sizes, names, name, shared_name, about)


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in a random order.

    Args:
        min_after_dequeue: how many must be left, while it is open, for the order to be random.
        seed: where its random numbers begin.
        capacity, dtypes, shapes, names, shared_name, name: as for `FIFOQueue`.
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
        about = {"kind": "shuffling", "least": int(min_after_dequeue), "seed": seed}
        kind = "RandomShuffleQueueV2"
        super().__init__(kind, capacity, dtypes, shapes, names, name, shared_name, about)


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
