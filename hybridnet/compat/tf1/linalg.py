"""``tf.linalg``: products, inverses, diagonals and norms of matrices."""

from __future__ import annotations

from .operations.clipping import global_norm as global_norm
from .operations.matrices import diag_part as tensor_diag_part
from .operations.matrices import einsum as einsum
from .operations.matrices import eye as eye
from .operations.matrices import matmul as matmul
from .operations.matrices import matrix_determinant as det
from .operations.matrices import matrix_diag as diag
from .operations.matrices import matrix_diag_part as diag_part
from .operations.matrices import matrix_inverse as inv
from .operations.matrices import matrix_transpose as transpose
from .operations.matrices import matvec as matvec
from .operations.matrices import norm as norm
from .operations.matrices import tensordot as tensordot
from .operations.matrices import trace as trace
from .operations.nn.activation import l2_normalize as l2_normalize

__all__ = [
    "det", "diag", "diag_part", "einsum", "eye", "global_norm", "inv", "l2_normalize", "matmul",
    "matvec", "norm", "tensor_diag_part", "tensordot", "trace", "transpose",
]  # fmt: skip
