"""``tf.sparse``: sparse tensors, by their newer names."""

from .operations.sparse.functions import sparse_add as add
from .operations.sparse.functions import sparse_from_dense as from_dense
from .operations.sparse.functions import sparse_reduce_sum as reduce_sum
from .operations.sparse.functions import sparse_reorder as reorder
from .operations.sparse.functions import sparse_reshape as reshape
from .operations.sparse.functions import sparse_tensor_dense_matmul as matmul
from .operations.sparse.functions import sparse_tensor_dense_matmul as sparse_dense_matmul
from .operations.sparse.functions import sparse_tensor_to_dense as to_dense
from .operations.sparse.parts import sparse_concat as concat
from .operations.sparse.parts import sparse_fill_empty_rows as fill_empty_rows
from .operations.sparse.parts import sparse_retain as retain
from .operations.sparse.parts import sparse_slice as slice
from .operations.sparse.tensor import SparseTensor
from .operations.sparse.tensor import sparse_placeholder as placeholder

__all__ = [
    "SparseTensor", "add", "concat", "fill_empty_rows", "from_dense", "matmul", "placeholder",
    "reduce_sum", "reorder", "reshape", "retain", "slice", "sparse_dense_matmul", "to_dense",
]  # fmt: skip
