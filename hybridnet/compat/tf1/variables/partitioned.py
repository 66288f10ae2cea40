"""Variables in parts: `PartitionedVariable`, and the partitioners that say how many parts it has.

A table that is too large for one task, or that many workers read, is cut along one dimension; each
part is a variable of its own, so that the parts may be on different tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from ..dtypes import DType, as_dtype
from ..graph import Tensor, TensorShape, identity, register_tensor_conversion_function
from ..graph.control import control_dependencies, name_scope
from ..operations.joining import concat, split
from .variable import Variable

__all__ = [
    "fixed_size_partitioner", "min_max_variable_partitioner", "variable_axis_size_partitioner",
]  # fmt: skip

#: From a shape and a dtype to the number of parts along each dimension.
Partitioner = Callable[..., Sequence[int]]


@final
@dataclass(frozen=True)
class SliceInfo:
    """The place of a variable in the partitioned variable that it is a part of.

    Initializers of parts are given it, too.

    Attributes:
        full_name: the name of the partitioned variable, under which checkpoints have it.
        full_shape: the shape of the partitioned variable.
        var_offset: where the part begins, in each dimension.
        var_shape: the shape of the part.
    """

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]


def _on_parts(method: str, doc: str) -> Callable[..., list[Any]]:
    """Returns the method that calls one of each part, with its part of a value."""

    def changed(
        self: PartitionedVariable,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        parts = zip(self._parts, self._values(value), strict=True)
        return [getattr(one, method)(new, use_locking, name, read_value) for one, new in parts]

    changed.__name__ = method
    changed.__doc__ = f"""{doc}

        The value is of the shape of the whole, or a list of one for each part; arguments are those
        of `tf.Variable.{method}`.
        """
    return changed


@final
class PartitionedVariable:
    """The parts of one variable, cut along one dimension; `tf.get_variable` makes it.

    It is a tensor wherever a tensor is taken: the parts joined. `tf.nn.embedding_lookup` and losses
    over a few of many classes look rows up in each part instead, where that is.

    Args:
        name, shape: of the whole.
        dtype: of all parts.
        variable_list: the parts, in order.
        partitions: how many parts there are along each dimension.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        self.name = name
        self.shape = TensorShape(shape)
        self.dtype: DType = as_dtype(dtype)
        self.partitions = list(partitions)
        self._parts = list(variable_list)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self.name}' shape={self.shape} dtype={self.dtype.name} "
            f"parts={len(self)}>"
        )

    @property
    def axis(self) -> int:
        """The dimension along which it is cut."""
        return cut_along(self.partitions)

    def get_shape(self) -> TensorShape:
        """Returns the shape of the whole."""
        return self.shape

    def as_tensor(self) -> Tensor:
        """Returns the parts, joined; no block of `tf.control_dependencies` holds for it."""
        with control_dependencies(None):
            if len(self) == 1:
                joined: Any = self._parts[0]
            else:
                with name_scope(f"{self.name}/ConcatPartitions/"):
                    joined = concat(self._parts, self.axis)
            with name_scope(None):
                return identity(joined, name=self.name)

    assign = _on_parts("assign", "Returns what sets each part, to its part of a value.")
    assign_add = _on_parts("assign_add", "Returns what adds its part of a value to each part.")
    assign_sub = _on_parts("assign_sub", "Returns what subtracts its part of a value from each.")

    def _values(self, value: Any) -> list[Any]:
        if isinstance(value, (list, PartitionedVariable)):
            return list(value)
        return split(value, [one.shape[self.axis].value for one in self._parts], self.axis)


def _joined(value: PartitionedVariable, dtype: DType | None, name: str | None) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{value.dtype.name}'"
        )
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _joined)


def slice_like(made: Variable, primary: Any) -> None:
    """Notes that a variable beside a part is a part, too: of what is beside the whole.

    Args:
        made: the variable, whose name has that of the other one in it.
        primary: what it is beside, which may be a part or not.
    """
    info = getattr(primary, "_save_slice_info", None)
    if info is not None:
        before, _, own = made.op.name.rpartition(f"{primary.op.name}/")
        made._save_slice_info = replace(info, full_name=f"{before}{info.full_name}/{own}")


# -- how many parts ----------------------------------------------------------------------------


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Returns a partitioner that cuts a variable into so many parts; fewer where it is smaller.

    Args:
        num_shards: how many.
        axis: along which dimension.
    """

    def partitioner(shape: TensorShape, **_: Any) -> list[int]:
        sizes = _sizes(shape)
        return _along(sizes, axis, min(num_shards, sizes[axis]))

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Returns a partitioner that makes as many parts as it may, none of them too small.

    Args:
        max_partitions: how many parts there may be.
        axis: along which dimension.
        min_slice_size: the bytes of a part at least.
        bytes_per_string_element: without meaning here: no variable holds strings.
    """

    def partitioner(shape: TensorShape, dtype: Any) -> list[int]:
        if axis >= len(shape):
            raise ValueError(
                f"Cannot partition variable along axis {axis} when shape is only {shape}"
            )
        sizes = _sizes(shape)
        total = math.prod(sizes) * as_dtype(dtype).size
        fitting = math.ceil(total / min_slice_size)
        return _along(sizes, axis, max(1, min(sizes[axis], max_partitions, fitting)))

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Returns a partitioner that makes as few parts as it can, none of them too large.

    Args:
        max_shard_bytes: the bytes of a part at most, unless one row has more.
        axis: along which dimension.
        bytes_per_string_element: without meaning here: no variable holds strings.
        max_shards: how many parts there may be, which counts for more.

    Raises:
        ValueError: a number is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive. Currently, "
            f"max_shard_bytes is {max_shard_bytes} and bytes_per_string_element is "
            f"{bytes_per_string_element}"
        )
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: TensorShape, dtype: Any) -> list[int]:
        if not isinstance(shape, TensorShape) or not shape.is_fully_defined():
            raise ValueError(f"shape is not a fully defined TensorShape: {shape}")
        sizes = _sizes(shape)
        row = math.prod(sizes) / sizes[axis] * as_dtype(dtype).size
        count = math.ceil(sizes[axis] / max(1, math.floor(max_shard_bytes / row)))
        return _along(sizes, axis, min(max_shards, count) if max_shards else count)

    return partitioner


def _sizes(shape: TensorShape) -> list[int]:
    sizes: Any = shape.as_list()
    return list(sizes)


def _along(sizes: list[int], axis: int, count: int) -> list[int]:
    made = [1] * len(sizes)
    made[axis] = count
    return made


def partitions_of(partitioner: Partitioner, shape: TensorShape, dtype: DType) -> list[int]:
    """Returns how many parts a partitioner wants along each dimension.

    Raises:
        ValueError: a shape is not known or has no dimension, or the answer makes no sense for it.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    if not len(shape):
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    found = partitioner(shape=shape, dtype=dtype)
    if not isinstance(found, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {found}")
    if len(found) != len(shape):
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{found} vs. {shape}"
        )
    if any(one < 1 for one in found):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {found}")
    if sum(one > 1 for one in found) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {found}"
        )
    return list(found)


def cut_along(partitions: Sequence[int]) -> int:
    """Returns the dimension that has several parts; the first if none has."""
    return next((axis for axis, count in enumerate(partitions) if count > 1), 0)


def slices_of(name: str, whole: TensorShape, partitions: Sequence[int]) -> Iterator[SliceInfo]:
    """Yields where the parts of a whole begin and end; the first ones have the rows left over."""
    axis, sizes = cut_along(partitions), _sizes(whole)
    least, more = divmod(sizes[axis], partitions[axis])
    offset = [0] * len(sizes)
    for number in range(partitions[axis]):
        shape = list(sizes)
        shape[axis] = least + (number < more)
        yield SliceInfo(name, list(sizes), list(offset), shape)
        offset[axis] += shape[axis]
