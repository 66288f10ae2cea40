"""``tf.linalg``: products, inverses, diagonals and norms of matrices."""

from __future__ import annotations

from .clip_ops import global_norm as global_norm
from .matrix_ops import diag_part as tensor_diag_part
from .matrix_ops import einsum as einsum
from .matrix_ops import eye as eye
from .matrix_ops import matmul as matmul
from .matrix_ops import matrix_determinant as det
from .matrix_ops import matrix_diag as diag
from .matrix_ops import matrix_diag_part as diag_part
from .matrix_ops import matrix_inverse as inv
from .matrix_ops import matrix_transpose as transpose
from .matrix_ops import matvec as matvec
from .matrix_ops import norm as norm
from .matrix_ops import tensordot as tensordot
from .matrix_ops import trace as trace
from .nn_ops import l2_normalize as l2_normalize

__all__ = [
    "det", "diag", "diag_part", "einsum", "eye", "global_norm", "inv", "l2_normalize", "matmul",
    "matvec", "norm", "tensor_diag_part", "tensordot", "trace", "transpose",
]  # fmt: skip
