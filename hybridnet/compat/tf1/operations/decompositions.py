"""Matrices as products, equations with matrices, parts of matrices: ``tf.cholesky``, ``tf.svd``.

All are of stacks of matrices, the last two axes.
"""

from __future__ import annotations

from typing import Any

from ..graph import as_floats, compose, convert_to_tensor, known_numbers, require_same
from ..graph.adding import EdgeHandle, Tensor, fused, handle, name_scope, op, turned
from .gathering import gather

__all__ = [
    "cholesky", "cholesky_solve", "cross", "matrix_band_part", "matrix_set_diag", "matrix_solve",
    "matrix_triangular_solve", "qr", "self_adjoint_eig", "self_adjoint_eigvals", "svd",
]  # fmt: skip


def cholesky(input: Any, name: str | None = None) -> Tensor:
    """Returns the lower triangular L with L L' = input, which is symmetric and positive."""
    return op("Cholesky", "_npi_cholesky", [as_floats("Cholesky", input, "input")], name=name)


def _solved(a: EdgeHandle, b: EdgeHandle, lower: bool, transposed: bool) -> EdgeHandle:
    return handle("_linalg_trsm", a, b, lower=lower, transpose=transposed)


def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """Returns X with L L' X = rhs.

    Args:
        chol: L, what `cholesky` gives.
        rhs: (..., rows, columns).
    """

    def solve(lower: EdgeHandle, b: EdgeHandle) -> EdgeHandle:
        return _solved(lower, _solved(lower, b, True, False), True, True)

    with name_scope(name, "cholesky_solve", [chol, rhs]):
        pair = require_same("MatrixTriangularSolve", ("matrix", "rhs"), (chol, rhs))
        return fused("MatrixTriangularSolve", solve, pair, name="MatrixTriangularSolve_1")


def matrix_solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Returns X with matrix X = rhs; with `adjoint` of the matrix transposed."""

    def solve(a: EdgeHandle, b: EdgeHandle) -> EdgeHandle:
        return handle("_npi_solve", turned(a) if adjoint else a, b)

    pair = require_same("MatrixSolve", ("matrix", "rhs"), (matrix, rhs))
    return fused("MatrixSolve", solve, pair, name=name)


def matrix_triangular_solve(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Returns X with matrix X = rhs.

    Args:
        matrix: of which only the triangle counts.
        rhs: (..., rows, columns).
        lower: whether that is the lower one.
        adjoint: whether the matrix is transposed.
    """
    with name_scope(name, "triangular_solve", [matrix, rhs]):
        pair = require_same("MatrixTriangularSolve", ("matrix", "rhs"), (matrix, rhs))
        return fused("MatrixTriangularSolve", lambda a, b: _solved(a, b, lower, adjoint), pair)


def self_adjoint_eig(tensor: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the eigenvalues of symmetric matrices, ascending, and eigenvectors as columns."""
    made: tuple[Tensor, Tensor] = compose(
        "SelfAdjointEigV2", lambda x: handle("_npi_eigh", x),
        [as_floats("SelfAdjointEigV2", tensor, "input")], name=name or "SelfAdjointEigV2",
    )  # fmt: skip
    return made


def self_adjoint_eigvals(tensor: Any, name: str | None = None) -> Tensor:
    """Returns the eigenvalues of symmetric matrices, ascending."""
    matrices = as_floats("SelfAdjointEigV2", tensor, "input")
    return op("SelfAdjointEigV2", "_npi_eigvalsh", [matrices], name=name)


def svd(
    tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None
) -> Any:
    """Returns singular values s, and u and v with tensor = u diag(s) v'.

    Args:
        tensor: (..., rows, columns).
        full_matrices: must be False.
        compute_uv: whether u and v are returned, too.

    Returns:
        s, u and v; only s without `compute_uv`.
    """
    if full_matrices:
        raise ValueError("svd: full_matrices must be False")
    matrices = as_floats("Svd", tensor, "input")
    dims = matrices.shape._dims
    if dims is None or None in dims[-2:]:
        raise ValueError(f"svd: rows and columns must be known, got shape {matrices.shape}")
    wide = dims[-2] <= dims[-1]  # type: ignore[operator]  # both are known

    def parts(x: EdgeHandle) -> tuple[EdgeHandle, ...]:
        found: Any = handle("_npi_svd", x if wide else turned(x))
        left, s, right = found
        return (s, left, turned(right)) if wide else (s, turned(right), left)

    made: tuple[Tensor, ...] = compose("Svd", parts, [matrices], name=name)
    return made if compute_uv else made[0]


def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Any:
    """Returns q with orthogonal columns, and the upper triangular r, with input = q r.

    Args:
        input: (..., rows, columns), not fewer rows than columns.
        full_matrices: must be False.
    """
    if full_matrices:
        raise ValueError("qr: full_matrices must be False")

    def parts(x: EdgeHandle) -> tuple[EdgeHandle, ...]:
        found: Any = handle("_linalg_gelqf", turned(x))
        return tuple(map(turned, found))

    return compose("Qr", parts, [as_floats("Qr", input, "input")], name=name)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Returns matrices of which only a band about the diagonal is left, and zeros beside it.

    Args:
        input: (..., rows, columns).
        num_lower: how many diagonals below the main one stay, below 0 all of them.
        num_upper: how many above, likewise.
    """
    below, above = known_numbers(num_lower), known_numbers(num_upper)
    if not isinstance(below, int) or not isinstance(above, int):
        raise ValueError("matrix_band_part: num_lower and num_upper must be known numbers")

    def band(x: EdgeHandle) -> EdgeHandle:
        x = x if below < 0 else handle("_npi_triu", x, k=-below)
        x = x if above < 0 else handle("_npi_tril", x, k=above)
        return handle("_copy", x)

    return fused("MatrixBandPart", band, [convert_to_tensor(input)], name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag") -> Tensor:
    """Returns square matrices with other diagonals.

    Args:
        input: (..., size, size).
        diagonal: (..., size).

    Raises:
        ValueError: the matrices are known not to be square.
    """
    pair = require_same("MatrixSetDiagV3", ("input", "diagonal"), (input, diagonal))
    dims = pair[0].shape._dims
    if dims is not None and None not in dims[-2:] and dims[-1] != dims[-2]:
        raise ValueError(f"matrix_set_diag: matrices must be square, got shape {pair[0].shape}")

    def changed(x: EdgeHandle, diagonal: EdgeHandle) -> EdgeHandle:
        beside = handle("elemwise_add", handle("_npi_triu", x, k=1), handle("_npi_tril", x, k=-1))
        return handle("elemwise_add", beside, handle("_linalg_makediag", diagonal))

    return fused("MatrixSetDiagV3", changed, pair, name=name)


def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Returns the cross products of vectors of three numbers, the last axis."""
    with name_scope(name, "Cross", [a, b]) as scope:
        first, second = require_same("Cross", "ab", (a, b))
        axis = (first.shape.ndims or 1) - 1
        once = [gather(one, [1, 2, 0], axis=axis) for one in (first, second)]
        twice = [gather(one, [2, 0, 1], axis=axis) for one in (first, second)]

        def product(a: EdgeHandle, b: EdgeHandle, c: EdgeHandle, d: EdgeHandle) -> EdgeHandle:
            products = handle("elemwise_mul", a, b), handle("elemwise_mul", c, d)
            return handle("elemwise_sub", *products)

        inputs = [once[0], twice[1], twice[0], once[1]]
        return fused("Cross", product, inputs, name=scope)
