"""Products of matrices and solving with triangular ones, after BLAS level 3.

All take batches: matrices (..., rows, columns) whose leading dimensions are equal. float16 and
bfloat16 are accepted too; triangular systems in them are solved in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridnet.base.attrs import Scalar
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import require_shape, wide
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import one_axis
from ._matrices import require_matrices, require_square

_FACTORS = ("A", "B")


def _product_type(
    op: str, A: TensorType, B: TensorType, transpose_a: bool, transpose_b: bool, axis: int
) -> TensorType:
    """Returns the type of the product, after checking that there is one."""
    require_matrices(op, _FACTORS, (A, B))
    rows, got = one_axis(op, axis, A), describe(_FACTORS, (A, B))
    last = len(A.shape) - 1
    if rows == last:
        raise ShapeError(f"{op}: axis must not be the last one, which is the columns, got {axis}")
    left, right = ((matrices.shape[rows], matrices.shape[last]) for matrices in (A, B))
    (n, inner), (again, m) = left[:: -1 if transpose_a else 1], right[:: -1 if transpose_b else 1]
    batch = [
        [size for i, size in enumerate(matrices.shape) if i not in (rows, last)]
        for matrices in (A, B)
    ]
    if inner != again or batch[0] != batch[1]:
        raise ShapeError(
            f"{op}: the columns of A must be as many as the rows of B, and all other dimensions "
            f"equal, with transpose_a={transpose_a}, transpose_b={transpose_b} and axis={axis}, "
            f"got {got}"
        )
    shape = list(A.shape)
    shape[rows], shape[last] = n, m
    return tensor_type(tuple(shape), A.dtype)


def _product(A: Any, B: Any, transpose_a: bool, transpose_b: bool, axis: int) -> Any:
    if axis in (-2, A.ndim - 2):
        return jnp.matmul(A.mT if transpose_a else A, B.mT if transpose_b else B)
    left, right = (jnp.moveaxis(matrices, axis, -2) for matrices in (A, B))
    product = jnp.matmul(left.mT if transpose_a else left, right.mT if transpose_b else right)
    return jnp.moveaxis(product, -2, axis)


def _product_cost(A: TensorType, B: TensorType, *_: TensorType, transpose_b: bool, axis: int,
                  **__: Any) -> float:  # fmt: skip
    return 2.0 * A.size * (B.shape[axis] if transpose_b else B.shape[-1])


def _check_gemm2(A: TensorType, B: TensorType, *, alpha: Any = None, **params: Any) -> None:
    _product_type("_linalg_gemm2", A, B, **params)


@operator(
    "_linalg_gemm2",
    aliases=("linalg_gemm2",),
    check=_check_gemm2,
    infer=lambda A, B, **params: (_product_type("_linalg_gemm2", A, B, **params),),
    cost=_product_cost,
)
def gemm2(
    A: Any,
    B: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: Scalar = 1.0,
    axis: int = -2,
) -> Any:
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
    return alpha * _product(A, B, transpose_a, transpose_b, axis)


def _check_gemm(A: TensorType, B: TensorType, C: TensorType, **params: Any) -> None:
    require_matrices("_linalg_gemm", ("A", "B", "C"), (A, B, C))
    product = _product_type("_linalg_gemm", A, B, **params)
    require_shape("_linalg_gemm", "C", C, product.shape, "the product of A and B")


@operator(
    "_linalg_gemm",
    aliases=("linalg_gemm",),
    check=_check_gemm,
    infer=lambda A, B, C, **_: (C,),
    cost=_product_cost,
)
def gemm(
    A: Any,
    B: Any,
    C: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: Scalar = 1.0,
    beta: Scalar = 1.0,
    axis: int = -2,
) -> Any:
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
    return alpha * _product(A, B, transpose_a, transpose_b, axis) + beta * C


def _syrk_type(A: TensorType, *, transpose: bool) -> tuple[TensorType]:
    size = A.shape[-1 if transpose else -2]
    return (tensor_type((*A.shape[:-2], size, size), A.dtype),)


@operator(
    "_linalg_syrk",
    aliases=("linalg_syrk",),
    check=lambda A, **_: require_matrices("_linalg_syrk", ("A",), (A,)),
    infer=_syrk_type,
    cost=lambda A, *, transpose: 2.0 * A.size * A.shape[-1 if transpose else -2],
)
def syrk(A: Any, *, transpose: bool = False, alpha: Scalar = 1.0) -> Any:
    """Product of a matrix with its transpose: ``alpha * A A^T``.

    Args:
        A: (..., n, m).
        transpose: ``alpha * A^T A`` instead.
        alpha: a factor.

    Returns:
        (..., n, n), or (..., m, m) with `transpose`; symmetric.
    """
    return alpha * (jnp.matmul(A.mT, A) if transpose else jnp.matmul(A, A.mT))


def _triangular(op: str) -> Callable[..., None]:
    def check(A: TensorType, B: TensorType, *, rightside: bool, **_: Any) -> None:
        require_square(op, "A", A)
        require_matrices(op, _FACTORS, (A, B))
        side = -1 if rightside else -2
        if A.shape[:-2] != B.shape[:-2] or A.shape[-1] != B.shape[side]:
            raise ShapeError(
                f"{op}: B must have the leading dimensions of A, and as many "
                f"{'columns' if rightside else 'rows'} as A with rightside={rightside}, got "
                f"{describe(_FACTORS, (A, B))}"
            )

    return check


def _like_second(A: TensorType, B: TensorType, **_: Any) -> Sequence[TensorType]:
    return (B,)


@operator(
    "_linalg_trmm", aliases=("linalg_trmm",), check=_triangular("_linalg_trmm"), infer=_like_second
)
def trmm(
    A: Any,
    B: Any,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: Scalar = 1.0,
) -> Any:
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
    triangle = jnp.tril(A) if lower else jnp.triu(A)
    triangle = triangle.mT if transpose else triangle
    return alpha * (jnp.matmul(B, triangle) if rightside else jnp.matmul(triangle, B))


@operator(
    "_linalg_trsm", aliases=("linalg_trsm",), check=_triangular("_linalg_trsm"), infer=_like_second
)
def trsm(
    A: Any,
    B: Any,
    *,
    transpose: bool = False,
    rightside: bool = False,
    lower: bool = True,
    alpha: Scalar = 1.0,
) -> Any:
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
    kind = wide(A.dtype)
    solution = lax.linalg.triangular_solve(
        A.astype(kind),
        (alpha * B).astype(kind),
        left_side=not rightside,
        lower=lower,
        transpose_a=transpose,
    )
    return solution.astype(B.dtype)
