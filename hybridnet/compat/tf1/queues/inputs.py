"""Queues that feed a training loop: ``tf.train.batch``, ``tf.train.slice_input_producer``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..errors import OutOfRangeError
from ..graph import Operation, Tensor, TensorShape, convert_to_tensor, name_scope
from ..operations import gather, host_tensor, random_shuffle
from ..operations import shape as shape_of
from ..operations.creation import range as range_of
from .queue import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from .runner import QueueRunner, add_queue_runner

__all__ = [
    "batch", "input_producer", "limit_epochs", "range_input_producer", "shuffle_batch",
    "slice_input_producer",
]  # fmt: skip


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor that can be computed a number of times; then a run fails.

    Args:
        tensor: the tensor.
        num_epochs: how often; None for no limit.

    Raises (in a run):
        OutOfRangeError: it has been computed that often.
    """
    value = convert_to_tensor(tensor)
    if num_epochs is None:
        return value
    if num_epochs <= 0:
        raise ValueError("num_epochs must be > 0")
    left = [num_epochs]

    def counted(one: np.ndarray[Any, Any]) -> Any:
        if not left[0]:
            raise OutOfRangeError(f"Reached limit of {num_epochs}")
        left[0] -= 1
        return one

    with name_scope(name, "limit_epochs", [value]):
        kind = value.dtype.base_dtype
        return host_tensor("Identity", counted, [value], kind, value.shape._dims)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Returns a queue that a `QueueRunner` fills with the rows of a tensor, again and again.

    Args:
        input_tensor: the rows.
        element_shape: of a row, where the tensor does not tell.
        num_epochs: how often; None for ever.
        shuffle: whether the rows come in a new random order each time.
        seed: without meaning here; see `tf.set_random_seed`.
        capacity: of the queue.
        shared_name, summary_name: without meaning here.
        cancel_op: what the runner runs when it must stop.
    """
    with name_scope(name, "input_producer"):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(TensorShape(element_shape))
        if not shape.is_fully_defined():
            raise ValueError("input_producer: the shape of an element must be known")
        if shuffle:
            rows = random_shuffle(rows)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype.base_dtype], [shape])
        add_queue_runner(QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op))
        return queue


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Returns a queue of the numbers 0 to `limit` - 1; see `input_producer`."""
    with name_scope(name, "input_producer", [limit]) as scope:
        numbers = range_of(limit)
        return input_producer(numbers, [], num_epochs, shuffle, seed, capacity, name=scope)


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Returns one row of each of several tensors, the next ones in each run.

    Args:
        tensor_list: tensors with as many rows.
        capacity: of the queue of their numbers; the rest as for `input_producer`.

    Raises:
        ValueError: there is no tensor.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor(one) for one in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = shape_of(tensors[0])[0]  # type: ignore[index]  # overloaded
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity)
        index = queue.dequeue()
        return [gather(one, index) for one in tensors]


# Batches ------------------------------------------------------------------------------------------


def _listed(tensors: Any) -> tuple[list[Tensor], Any]:
    """Returns tensors as a list, and what makes of a list what they were given as."""
    if isinstance(tensors, Mapping):
        keys = sorted(tensors)
        listed = [convert_to_tensor(tensors[key]) for key in keys]
        return listed, lambda made: dict(zip(keys, made, strict=True))
    if not isinstance(tensors, (list, tuple)):
        return [convert_to_tensor(tensors)], lambda made: made[0]
    return [convert_to_tensor(one) for one in tensors], list


def _batched(
    tensors: Any,
    make: Callable[..., QueueBase],
    size: Any,
    threads: int,
    many: bool,
    shapes: Any,
    smaller: bool,
    name: str | None,
    kind: str,
) -> Any:
    """Returns batches of tensors, from a queue that is made of their dtypes and shapes."""
    listed, shaped = _listed(tensors)
    with name_scope(name, kind, listed) as scope:
        if shapes is None:
            sizes = [one.shape[1:] if many else one.shape for one in listed]
        else:
            sizes = [TensorShape(one) for one in shapes]
        queue = make([one.dtype.base_dtype for one in listed], sizes)
        put = queue.enqueue_many(listed) if many else queue.enqueue(listed)
        add_queue_runner(QueueRunner(queue, [put] * threads))
        take = queue.dequeue_up_to if smaller else queue.dequeue_many
        made = take(size, name=scope)
        return shaped(made if isinstance(made, list) else [made])


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of what tensors give run by run, which a `QueueRunner` collects.

    Args:
        tensors: a tensor, a list or a dict of tensors.
        batch_size: how many in a batch, known when the graph is built.
        num_threads: how many threads compute the tensors.
        capacity: of the queue.
        enqueue_many: whether the tensors hold several examples along their first axis.
        shapes: of an example, where the tensors do not tell.
        dynamic_pad: whether examples of different sizes are padded with 0.
        allow_smaller_final_batch: whether what is left at the end is given, too.
        shared_name: without meaning here.

    Returns:
        As `tensors`, with a first axis of `batch_size`.
    """
    return _batched(
        tensors, partial(PaddingFIFOQueue if dynamic_pad else FIFOQueue, capacity), batch_size,
        num_threads, enqueue_many, shapes, allow_smaller_final_batch, name, "batch",
    )  # fmt: skip


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches in a random order; arguments as those of `batch`, but for:

    Args:
        min_after_dequeue: how many examples must be left in the queue, for the order to be random.
        seed: where the queue's random numbers begin.
    """
    return _batched(
        tensors, partial(RandomShuffleQueue, capacity, min_after_dequeue, seed=seed), batch_size,
        num_threads, enqueue_many, shapes, allow_smaller_final_batch, name, "shuffle_batch",
    )  # fmt: skip
