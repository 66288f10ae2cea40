"""`SparseTensor` and `IndexedSlices`: few elements, or rows, of tensors that are 0 elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dtypes import DType, int64
from ...graph import constant, convert_to_tensor, placeholder, register_tensor_conversion_function
from ...graph.adding import Operation, Tensor, apply_shaped, name_scope
from ...graph.arguments import dims_of, static_value
from ...graph.shapes import TensorShape
from ...session.session import register_session_run_conversion_functions
from ..elementwise import cast

__all__ = [
    "IndexedSlices", "IndexedSlicesValue", "SparseTensor", "SparseTensorValue",
    "convert_to_tensor_or_sparse_tensor", "sparse_placeholder",
]  # fmt: skip


class SparseTensorValue(NamedTuple):
    """The value of a `SparseTensor`: what a run gives for one, and is fed for one.

    Attributes:
        indices: (n, rank) int64, where the elements are.
        values: (n,).
        dense_shape: (rank,) int64.
    """

    indices: Any
    values: Any
    dense_shape: Any


class _OfValues:
    """The base class of `SparseTensor` and `IndexedSlices`: values and their indices.

    Attributes:
        indices: of the elements, (n, rank) int64; or the numbers of the rows, (n,).
        values: the elements, (n,); or the rows, (n, ...).
        dtype: of the elements.
        op: the Operation of the elements.
        graph: the graph they are in.
    """

    def __init__(self, indices: Tensor, values: Tensor) -> None:
        self.indices, self.values = indices, values
        self.dtype, self.op, self.graph = values.dtype, values.op, values.graph


class SparseTensor(_OfValues):
    """A tensor of which only some elements are there; the others are 0.

    Args:
        indices: (n, rank) whole numbers, where they are, in row-major order.
        values: (n,).
        dense_shape: (rank,) whole numbers.

    Attributes:
        dense_shape: the shape as a tensor, (rank,) int64.
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            places = convert_to_tensor(indices, int64, name="indices")
            super().__init__(places, convert_to_tensor(values, name="values"))
            self.dense_shape = convert_to_tensor(dense_shape, int64, name="dense_shape")
        self.indices.shape.with_rank(2)
        self.values.shape.with_rank(1)
        self.dense_shape.shape.with_rank(1)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Returns the sparse tensor of a `SparseTensorValue`; of a sparse tensor itself."""
        if isinstance(sparse_tensor_value, SparseTensor):
            return sparse_tensor_value
        if not isinstance(sparse_tensor_value, (SparseTensorValue, tuple)):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}")
        return cls(*sparse_tensor_value)

    @property
    def shape(self) -> TensorShape:
        """The shape, as far as it is known."""
        return self.get_shape()

    def get_shape(self) -> TensorShape:
        """Returns the shape, as far as it is known."""
        return TensorShape(dims_of(self.dense_shape))

    def with_values(self, new_values: Any) -> SparseTensor:
        """Returns the sparse tensor with other elements at the same places."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def consumers(self) -> list[Operation]:
        """Returns the Operations that read it."""
        return list(dict.fromkeys(op for one in _parts(self) for op in one.consumers()))

    def eval(
        self, feed_dict: Mapping[Any, Any] | None = None, session: Any = None
    ) -> SparseTensorValue:
        """Computes it in a session; default the one that is the default."""
        found: SparseTensorValue = self.graph.session_for(session, "evaluate tensor").run(
            self, feed_dict
        )
        return found

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self.indices}, values={self.values}, "
            f"dense_shape={self.dense_shape})"
        )


def _parts(sparse: Any) -> list[Tensor]:
    return [sparse.indices, sparse.values, sparse.dense_shape]


def _fed(sparse: Any, value: Any) -> list[tuple[Tensor, Any]]:
    pairs = list(zip(_parts(sparse), value, strict=True))
    # A shape that is a constant cannot be fed, and need not be.
    return [(key, one) for key, one in pairs if key.op.type != "Const"]


register_session_run_conversion_functions(
    SparseTensor,
    lambda sparse: (_parts(sparse), lambda values: SparseTensorValue(*values)),
    _fed,
)


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor whose value is given to each run, by ``feed_dict``.

    Args:
        dtype: of the elements.
        shape: of it, where it is known: numbers, None for those that are not; or a tensor.
    """
    given = isinstance(shape, Tensor)
    known = None if shape is None or given else TensorShape(shape)
    rank = shape.shape.as_list()[0] if given else None if known is None else known.ndims
    with name_scope(name, "SparsePlaceholder"):
        values = placeholder(dtype, [None], name="values")
        indices = placeholder(int64, [None, rank], name="indices")
        if given:
            sizes = shape if shape.dtype.base_dtype is int64 else cast(shape, int64)
        elif known is not None and known.is_fully_defined():
            sizes = constant(np.array(known.as_list(), np.int64), name="shape")
        else:
            sizes = placeholder(int64, [rank], name="shape")
    return SparseTensor(indices, values, sizes)


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Any:
    """Returns a sparse tensor for one and its value, and a tensor for all else."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    return value if isinstance(value, SparseTensor) else convert_to_tensor(value, dtype, name)


# Rows ---------------------------------------------------------------------------------------------


class IndexedSlicesValue(NamedTuple):
    """The value of `IndexedSlices`."""

    values: Any
    indices: Any
    dense_shape: Any


class IndexedSlices(_OfValues):
    """Rows of a tensor that is 0 elsewhere; what is there several times is added up.

    `tf.gradients` gives tensors, never these; optimizers and clips take them.

    Args:
        values: (n, ...), the rows.
        indices: (n,) whole numbers, which they are.
        dense_shape: of the tensor, where it is known.

    Attributes:
        dense_shape: as a tensor; None if it is not known.
        name, device: of the rows.
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        rows = convert_to_tensor(values)
        super().__init__(convert_to_tensor(indices), rows)
        self.dense_shape = None if dense_shape is None else convert_to_tensor(dense_shape)
        self.name, self.device = rows.name, rows.device

    def with_values(self, new_values: Any) -> IndexedSlices:
        """Returns the same rows with other elements."""
        return IndexedSlices(new_values, self.indices, self.dense_shape)

    def __str__(self) -> str:
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{shape})"


def _dense_rows(slices: IndexedSlices, dtype: DType | None, name: str | None) -> Tensor:
    if slices.dense_shape is None:
        raise ValueError(
            f"Tensor conversion requested for IndexedSlices without dense_shape: {slices}"
        )
    sizes = slices.dense_shape
    known = static_value(sizes)
    rows: Any = sizes[0] if known is None else int(known[0])  # type: ignore[index]  # overloaded
    dims = [None if known is None else rows, *(slices.values.shape._dims or (None,))[1:]]
    made = apply_shaped(
        "UnsortedSegmentSum", "_segment_reduce", [slices.values, slices.indices],
        {"num_segments": rows}, dtype=slices.dtype, dims=dims, name=name,
    )  # fmt: skip
    return convert_to_tensor(made, dtype)


register_tensor_conversion_function(IndexedSlices, _dense_rows)


def _slices_parts(slices: Any) -> Any:
    parts: Sequence[Any] = [slices.values, slices.indices]
    if slices.dense_shape is None:
        return parts, lambda values: IndexedSlicesValue(values[0], values[1], None)
    return [*parts, slices.dense_shape], IndexedSlicesValue._make


def _slices_fed(slices: Any, value: Any) -> list[tuple[Tensor, Any]]:
    parts = [slices.values, slices.indices, slices.dense_shape]
    return [(key, one) for key, one in zip(parts, value, strict=False) if key is not None]


register_session_run_conversion_functions(IndexedSlices, _slices_parts, _slices_fed)
