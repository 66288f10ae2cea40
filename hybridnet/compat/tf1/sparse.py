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
from .sparse_tensor import SparseTensor as SparseTensor
from .sparse_tensor import sparse_placeholder as placeholder

__all__ = [
    "SparseTensor", "add", "from_dense", "matmul", "placeholder", "reduce_sum", "reorder",
    "reshape", "sparse_dense_matmul", "to_dense",
]  # fmt: skip
