"""``tf.sparse``: sparse tensors, by their newer names."""

from __future__ import annotations

from .sparse_ops import sparse_add as add
from .sparse_ops import sparse_from_dense as from_dense
from .sparse_ops import sparse_reduce_sum as reduce_sum
from .sparse_ops import sparse_reorder as reorder
from .sparse_ops import sparse_reshape as reshape
from .sparse_ops import sparse_tensor_dense_matmul as matmul
from .sparse_ops import sparse_tensor_dense_matmul as sparse_dense_matmul
from .sparse_ops import sparse_tensor_to_dense as to_dense
from .sparse_parts import sparse_concat as concat
from .sparse_parts import sparse_fill_empty_rows as fill_empty_rows
from .sparse_parts import sparse_retain as retain
from .sparse_parts import sparse_slice as slice
from .sparse_tensor import SparseTensor as SparseTensor
from .sparse_tensor import sparse_placeholder as placeholder

__all__ = [
    "SparseTensor", "add", "concat", "fill_empty_rows", "from_dense", "matmul", "placeholder",
    "reduce_sum", "reorder", "reshape", "retain", "slice", "sparse_dense_matmul", "to_dense",
]  # fmt: skip
