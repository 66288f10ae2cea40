"""Factorizations of matrices and what follows from them: inverses, determinants.

All take batches (..., n, n). float16 and bfloat16 are accepted too and computed in float32.
A matrix that has no such factorization gives NaN, as nothing can be raised from within a program;
MXNet stops at the next wait there. So does `potrf` of arrays, at which a task looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.errors import OpError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import wide
from ..core.registry import operator
from ..core.rules import same_type
from ._matrices import require_matrices, require_square


def _square(op: str) -> Any:
    return lambda A, **_: require_square(op, "A", A)


def _wide(A: Any) -> Any:
    return A.astype(wide(A.dtype))


def _definite(**_: Any) -> Any:
    def look(inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        if not np.isfinite(outputs[0]).all() and np.isfinite(inputs[0]).all():
            raise OpError("_linalg_potrf: A must be positive definite, got one that is not")

    return look


@operator(
    "_linalg_potrf",
    aliases=("linalg_potrf",),
    check=_square("_linalg_potrf"),
    infer=same_type,
    look=_definite,
)
def potrf(A: Any, *, lower: bool = True) -> Any:
    """Cholesky factor: the lower triangular L with positive diagonal and ``A = L L^T``.

    Args:
        A: (..., n, n), symmetric and positive definite. Of other matrices the symmetric part
            counts, so that the gradient is symmetric.
        lower: give L; else the upper triangular ``L^T``.

    Returns:
        The factor, of the shape of `A`.
    """
    factor = lax.linalg.cholesky(_wide(A)).astype(A.dtype)
    return factor if lower else factor.mT


@operator(
    "_linalg_potri", aliases=("linalg_potri",), check=_square("_linalg_potri"), infer=same_type
)
def potri(A: Any, *, lower: bool = True) -> Any:
    """Inverse of a matrix from its Cholesky factor: ``A^-T A^-1``.

    Args:
        A: (..., n, n), triangular, as `potrf` returns it; only that triangle is read.
        lower: whether it is the lower one; else the result is ``A^-1 A^-T``.

    Returns:
        The inverse of ``A A^T``, or of ``A^T A``, of the shape of `A`.
    """
    factor = _wide(A if lower else A.mT)
    unit = jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=factor.dtype), factor.shape)
    inverse = lax.linalg.triangular_solve(factor, unit, left_side=True, lower=True)
    return jnp.matmul(inverse.mT, inverse).astype(A.dtype)


def _check_gelqf(A: TensorType) -> None:
    require_matrices("_linalg_gelqf", ("A",), (A,))
    if A.shape[-2] > A.shape[-1]:
        raise ShapeError(
            "_linalg_gelqf: A must have at least as many columns as rows, got A "
            f"{A}; transpose it with swapaxes(-1, -2)"
        )


@operator(
    "_linalg_gelqf",
    aliases=("linalg_gelqf",),
    outputs=2,
    check=_check_gelqf,
    infer=lambda A: (A, tensor_type((*A.shape[:-1], A.shape[-2]), A.dtype)),
    output_names=("output0", "output1"),
)
def gelqf(A: Any) -> Any:
    """LQ factorization: ``A = L Q`` with lower triangular L and orthonormal rows in Q.

    Args:
        A: (..., n, m), n at most m, of rank n.

    Returns:
        Q, (..., n, m), and L, (..., n, n). The signs are LAPACK's.
    """
    q, r = jnp.linalg.qr(_wide(A).mT)
    return q.mT.astype(A.dtype), r.mT.astype(A.dtype)


@operator(
    "_linalg_syevd",
    aliases=("linalg_syevd",),
    outputs=2,
    check=_square("_linalg_syevd"),
    infer=lambda A: (A, tensor_type(A.shape[:-1], A.dtype)),
    output_names=("output0", "output1"),
)
def syevd(A: Any) -> Any:
    """Eigenvectors and eigenvalues of a symmetric matrix: ``U A = diag(L) U``.

    The gradient needs eigenvalues that differ.

    Args:
        A: (..., n, n), symmetric. Of other matrices the symmetric part counts, so that the
            gradient is symmetric.

    Returns:
        U, (..., n, n), whose rows are the eigenvectors, each with its largest element positive;
        and L, (..., n), the eigenvalues in ascending order.
    """
    values, columns = jnp.linalg.eigh(_wide(A))
    rows = columns.mT
    largest = jnp.argmax(jnp.abs(rows), axis=-1, keepdims=True)
    signs = jnp.where(jnp.take_along_axis(rows, largest, axis=-1) < 0, -1, 1)
    return (rows * signs).astype(A.dtype), values.astype(A.dtype)


@operator(
    "_linalg_inverse",
    aliases=("linalg_inverse",),
    check=_square("_linalg_inverse"),
    infer=same_type,
)
def inverse(A: Any) -> Any:
    """Inverse of a matrix.

    Args:
        A: (..., n, n), not singular.

    Returns:
        The shape of `A`.
    """
    return jnp.linalg.inv(_wide(A)).astype(A.dtype)


def _number_for_each(A: TensorType) -> TensorType:
    """MXNet has no 0-d arrays: of a single matrix the number has shape (1,)."""
    return tensor_type(A.shape[:-2] or (1,), A.dtype)


def _numbers(values: Any, A: Any) -> Any:
    return values.reshape(A.shape[:-2] or (1,)).astype(A.dtype)


@operator(
    "_linalg_det",
    aliases=("linalg_det",),
    check=_square("_linalg_det"),
    infer=lambda A: (_number_for_each(A),),
)
def det(A: Any) -> Any:
    """Determinant of a matrix. It has a gradient where the matrix is singular too.

    Args:
        A: (..., n, n).

    Returns:
        The leading dimensions of `A`; (1,) where there are none.
    """
    return _numbers(jnp.linalg.det(_wide(A)), A)


@operator(
    "_linalg_slogdet",
    aliases=("linalg_slogdet",),
    outputs=2,
    check=_square("_linalg_slogdet"),
    infer=lambda A: (_number_for_each(A),) * 2,
    output_names=("output0", "output1"),
)
def slogdet(A: Any) -> Any:
    """Sign of the determinant of a matrix, and logarithm of its absolute value.

    Args:
        A: (..., n, n).

    Returns:
        The signs, -1, 0 or 1, which have no gradient; and the logarithms. Both have the leading
        dimensions of `A`; (1,) where there are none.
    """
    sign, logarithm = jnp.linalg.slogdet(_wide(A))
    return _numbers(sign, A), _numbers(logarithm, A)


@operator(
    "_linalg_sumlogdiag",
    aliases=("linalg_sumlogdiag",),
    check=_square("_linalg_sumlogdiag"),
    infer=lambda A: (_number_for_each(A),),
)
def sumlogdiag(A: Any) -> Any:
    """Sum of the logarithms of the diagonal.

    Of a Cholesky factor this is half the logarithm of the determinant of its product.

    Args:
        A: (..., n, n), with a positive diagonal.

    Returns:
        The leading dimensions of `A`; (1,) where there are none.
    """
    diagonal = jnp.diagonal(_wide(A), axis1=-2, axis2=-1)
    return _numbers(jnp.log(diagonal).sum(-1), A)
