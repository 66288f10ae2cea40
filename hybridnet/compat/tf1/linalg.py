"""``tf.linalg``: products, inverses, diagonals and norms of matrices."""

from .operations import global_norm
from .operations import matrix_transpose as transpose
from .operations import self_adjoint_eigvals as eigvalsh
from .operations.decompositions import cholesky, cholesky_solve, cross, qr, svd
from .operations.decompositions import matrix_band_part as band_part
from .operations.decompositions import matrix_set_diag as set_diag
from .operations.decompositions import matrix_solve as solve
from .operations.decompositions import matrix_triangular_solve as triangular_solve
from .operations.decompositions import self_adjoint_eig as eigh
from .operations.matrices import diag_part as tensor_diag_part
from .operations.matrices import einsum, eye, matmul, matvec, norm, tensordot, trace
from .operations.matrices import matrix_determinant as det
from .operations.matrices import matrix_diag as diag
from .operations.matrices import matrix_diag_part as diag_part
from .operations.matrices import matrix_inverse as inv
from .operations.nn.activation import l2_normalize

__all__ = [
    "band_part", "cholesky", "cholesky_solve", "cross", "det", "diag", "diag_part", "eigh",
    "eigvalsh", "einsum", "eye", "global_norm", "inv", "l2_normalize", "matmul", "matvec", "norm",
    "qr", "set_diag", "solve", "svd", "tensor_diag_part", "tensordot", "trace", "transpose",
    "triangular_solve",
]  # fmt: skip
