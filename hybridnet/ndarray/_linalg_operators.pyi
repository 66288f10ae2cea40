# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, overload

from hybridnet.base.array_types import Real, Switch, Whole
from hybridnet.ndarray.ndarray import NDArray

def det(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Determinant of a matrix. It has a gradient where the matrix is singular too.

    Args:
        A: (..., n, n).

    Returns:
        The leading dimensions of `A`; (1,) where there are none.
    """

def extractdiag(
    A: NDArray, offset: Whole = 0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """A diagonal of a square matrix.

    Args:
        A: (..., n, n).
        offset: which: 0 is the main one, 1 that above it, -1 that below it.

    Returns:
        (..., n - abs(offset)).
    """

@overload
def extracttrian(
    A: NDArray,
    offset: Whole = 0,
    lower: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A triangle of a square matrix as a vector: the lower one by rows, the upper one by columns.

    Args:
        A: (..., n, n).
        offset: the diagonal it begins at: 0 is the main one; above 0 the upper triangle from the
            diagonal so far above it, below 0 the lower triangle likewise.
        lower: which triangle where `offset` is 0.

    Returns:
        (..., m * (m + 1) / 2) with ``m = n - abs(offset)``.
    """

@overload
def extracttrian(A: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def gelqf(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> list[NDArray]:
    """LQ factorization: ``A = L Q`` with lower triangular L and orthonormal rows in Q.

    Args:
        A: (..., n, m), n at most m, of rank n.

    Returns:
        Q, (..., n, m), and L, (..., n, n). The signs are LAPACK's.
    """

@overload
def gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    beta: Real = 1.0,
    axis: Whole = -2,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product of matrices, added to a third: ``alpha * op(A) op(B) + beta * C``.

    Args:
        A: (..., n, k).
        B: (..., k, m), with the leading dimensions of `A`.
        C: (..., n, m).
        transpose_a: `A` is (..., k, n), and is transposed.
        transpose_b: `B` is (..., m, k), and is transposed.
        alpha: the factor of the product.
        beta: the factor of `C`.
        axis: the axis that holds the rows; the columns are the last one.

    Returns:
        (..., n, m).
    """

@overload
def gemm(
    A: NDArray,
    B: NDArray,
    C: NDArray,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    beta: Real = 1.0,
    axis: Whole = -2,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def gemm(
    A: NDArray, B: NDArray, C: NDArray, *, _unpacked: object, **options: object
) -> NDArray: ...
@overload
def gemm2(
    A: NDArray,
    B: NDArray,
    *,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    axis: Whole = -2,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product of matrices: ``alpha * op(A) op(B)``.

    Args:
        A: (..., n, k).
        B: (..., k, m), with the leading dimensions of `A`.
        transpose_a: `A` is (..., k, n), and is transposed.
        transpose_b: `B` is (..., m, k), and is transposed.
        alpha: a factor.
        axis: the axis that holds the rows; the columns are the last one.

    Returns:
        (..., n, m).
    """

@overload
def gemm2(
    A: NDArray,
    B: NDArray,
    transpose_a: Switch = False,
    transpose_b: Switch = False,
    alpha: Real = 1.0,
    axis: Whole = -2,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def gemm2(A: NDArray, B: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def inverse(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Inverse of a matrix.

    Args:
        A: (..., n, n), not singular.

    Returns:
        The shape of `A`.
    """

def makediag(
    A: NDArray, offset: Whole = 0, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """A square matrix that has a diagonal and zeros elsewhere.

    Args:
        A: (..., n), the diagonal.
        offset: which: 0 is the main one, 1 that above it, -1 that below it.

    Returns:
        (..., m, m) with ``m = n + abs(offset)``.
    """

@overload
def maketrian(
    A: NDArray,
    offset: Whole = 0,
    lower: Switch = True,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """A square matrix that has a triangle and zeros elsewhere; undoes `extracttrian`.

    Args:
        A: (..., m * (m + 1) / 2), the triangle as `extracttrian` gives it.
        offset: see `extracttrian`.
        lower: which triangle where `offset` is 0.

    Returns:
        (..., n, n) with ``n = m + abs(offset)``.
    """

@overload
def maketrian(A: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
def potrf(
    A: NDArray, lower: Switch = True, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Cholesky factor: the lower triangular L with positive diagonal and ``A = L L^T``.

    Args:
        A: (..., n, n), symmetric and positive definite. Of other matrices the symmetric part
            counts, so that the gradient is symmetric.
        lower: give L; else the upper triangular ``L^T``.

    Returns:
        The factor, of the shape of `A`.
    """

def potri(
    A: NDArray, lower: Switch = True, *, out: NDArray | Any = None, name: str | Any = None
) -> NDArray:
    """Inverse of a matrix from its Cholesky factor: ``A^-T A^-1``.

    Args:
        A: (..., n, n), triangular, as `potrf` returns it; only that triangle is read.
        lower: whether it is the lower one; else the result is ``A^-1 A^-T``.

    Returns:
        The inverse of ``A A^T``, or of ``A^T A``, of the shape of `A`.
    """

def slogdet(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> list[NDArray]:
    """Sign of the determinant of a matrix, and logarithm of its absolute value.

    Args:
        A: (..., n, n).

    Returns:
        The signs, -1, 0 or 1, which have no gradient; and the logarithms. Both have the leading
        dimensions of `A`; (1,) where there are none.
    """

def sumlogdiag(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> NDArray:
    """Sum of the logarithms of the diagonal.

    Of a Cholesky factor this is half the logarithm of the determinant of its product.

    Args:
        A: (..., n, n), with a positive diagonal.

    Returns:
        The leading dimensions of `A`; (1,) where there are none.
    """

def syevd(A: NDArray, *, out: NDArray | Any = None, name: str | Any = None) -> list[NDArray]:
    """Eigenvectors and eigenvalues of a symmetric matrix: ``U A = diag(L) U``.

    The gradient needs eigenvalues that differ.

    Args:
        A: (..., n, n), symmetric. Of other matrices the symmetric part counts, so that the
            gradient is symmetric.

    Returns:
        U, (..., n, n), whose rows are the eigenvectors, each with its largest element positive;
        and L, (..., n), the eigenvalues in ascending order.
    """

@overload
def syrk(
    A: NDArray,
    transpose: Switch = False,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product of a matrix with its transpose: ``alpha * A A^T``.

    Args:
        A: (..., n, m).
        transpose: ``alpha * A^T A`` instead.
        alpha: a factor.

    Returns:
        (..., n, n), or (..., m, m) with `transpose`; symmetric.
    """

@overload
def syrk(A: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def trmm(
    A: NDArray,
    B: NDArray,
    *,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Product with a triangular matrix: ``alpha * op(A) B``.

    Args:
        A: (..., n, n); only its lower triangle is read, or the upper one.
        B: (..., n, m), or (..., m, n) with `rightside`.
        transpose: `A` is transposed.
        rightside: ``alpha * B op(A)`` instead.
        lower: whether `A` is lower triangular.
        alpha: a factor.

    Returns:
        The shape of `B`.
    """

@overload
def trmm(
    A: NDArray,
    B: NDArray,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def trmm(A: NDArray, B: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
@overload
def trsm(
    A: NDArray,
    B: NDArray,
    *,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray:
    """Solution X of a triangular system: ``op(A) X = alpha * B``.

    Args:
        A: (..., n, n), without zeros on the diagonal; only its lower triangle is read, or the
            upper one.
        B: (..., n, m), or (..., m, n) with `rightside`.
        transpose: `A` is transposed.
        rightside: of ``X op(A) = alpha * B`` instead.
        lower: whether `A` is lower triangular.
        alpha: a factor.

    Returns:
        X, of the shape of `B`.
    """

@overload
def trsm(
    A: NDArray,
    B: NDArray,
    transpose: Switch = False,
    rightside: Switch = False,
    lower: Switch = True,
    alpha: Real = 1.0,
    *,
    out: NDArray | Any = None,
    name: str | Any = None,
) -> NDArray: ...
@overload
def trsm(A: NDArray, B: NDArray, *, _unpacked: object, **options: object) -> NDArray: ...
