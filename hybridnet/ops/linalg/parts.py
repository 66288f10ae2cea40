"""Diagonals and triangles of matrices as vectors, and matrices made from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp

from ..core.checks import require_floats
from ..core.registry import operator
from ._matrices import require_square


def _triangle(size: int, offset: int, lower: bool) -> tuple[Any, Any]:
    """Returns the rows and columns of a triangle's elements, in the order of its vector.

    An offset below 0 means the lower triangle from that diagonal on, above 0 the upper one; `lower`
    says which where it is 0. The lower triangle is taken row by row, the upper one column by
    column, so that a matrix and its transpose have the same vector.
    """
    rows, columns = np.tril_indices(size, -abs(offset))
    below = lower if offset == 0 else offset < 0
    return (rows, columns) if below else (columns, rows)


def _has_diagonal(op: str) -> Callable[..., None]:
    def check(A: TensorType, *, offset: int, **_: Any) -> None:
        require_square(op, "A", A)
        if abs(offset) >= A.shape[-1]:
            raise ParameterError(
                f"{op}: offset must be from {1 - A.shape[-1]} to {A.shape[-1] - 1} for A {A}, "
                f"got {offset}"
            )

    return check


def _check_vectors(op: str, A: TensorType) -> None:
    require_floats(op, ("A",), (A,))
    if not A.shape:
        raise ShapeError(f"{op}: A must be (..., n), got A {A}")


@operator(
    "_linalg_extractdiag",
    aliases=("linalg_extractdiag",),
    check=_has_diagonal("_linalg_extractdiag"),
    infer=lambda A, *, offset: (tensor_type((*A.shape[:-2], A.shape[-1] - abs(offset)), A.dtype),),
)
def extractdiag(A: Any, *, offset: int = 0) -> Any:
    """A diagonal of a square matrix.

    Args:
        A: (..., n, n).
        offset: which: 0 is the main one, 1 that above it, -1 that below it.

    Returns:
        (..., n - abs(offset)).
    """
    return jnp.diagonal(A, offset, axis1=-2, axis2=-1)


def _made(A: TensorType, size: int) -> tuple[TensorType]:
    return (tensor_type((*A.shape[:-1], size, size), A.dtype),)


@operator(
    "_linalg_makediag",
    aliases=("linalg_makediag",),
    check=lambda A, **_: _check_vectors("_linalg_makediag", A),
    infer=lambda A, *, offset: _made(A, A.shape[-1] + abs(offset)),
)
def makediag(A: Any, *, offset: int = 0) -> Any:
    """A square matrix that has a diagonal and zeros elsewhere.

    Args:
        A: (..., n), the diagonal.
        offset: which: 0 is the main one, 1 that above it, -1 that below it.

    Returns:
        (..., m, m) with ``m = n + abs(offset)``.
    """
    size = A.shape[-1] + abs(offset)
    rows = np.arange(A.shape[-1]) + max(-offset, 0)
    return at(jnp.zeros((*A.shape[:-1], size, size), A.dtype))[..., rows, rows + offset].set(A)


def _extracttrian_type(A: TensorType, *, offset: int, lower: bool) -> tuple[TensorType]:
    side = A.shape[-1] - abs(offset)
    return (tensor_type((*A.shape[:-2], side * (side + 1) // 2), A.dtype),)


@operator(
    "_linalg_extracttrian",
    aliases=("linalg_extracttrian",),
    check=_has_diagonal("_linalg_extracttrian"),
    infer=_extracttrian_type,
)
def extracttrian(A: Any, *, offset: int = 0, lower: bool = True) -> Any:
    """A triangle of a square matrix as a vector: the lower one by rows, the upper one by columns.

    Args:
        A: (..., n, n).
        offset: the diagonal it begins at: 0 is the main one; above 0 the upper triangle from the
            diagonal so far above it, below 0 the lower triangle likewise.
        lower: which triangle where `offset` is 0.

    Returns:
        (..., m * (m + 1) / 2) with ``m = n - abs(offset)``.
    """
    return A[(..., *_triangle(A.shape[-1], offset, lower))]


def _side(elements: int) -> int:
    """Returns the side of the triangle with so many elements, rounded down."""
    return (math.isqrt(8 * elements + 1) - 1) // 2


def _check_maketrian(A: TensorType, *, offset: int, lower: bool) -> None:
    _check_vectors("_linalg_maketrian", A)
    side = _side(A.shape[-1])
    if side * (side + 1) // 2 != A.shape[-1]:
        raise ShapeError(
            "_linalg_maketrian: A must be (..., m * (m + 1) / 2) for a whole number m "
            f"(1, 3, 6, 10, ...), got A {A}"
        )


@operator(
    "_linalg_maketrian",
    aliases=("linalg_maketrian",),
    check=_check_maketrian,
    infer=lambda A, *, offset, lower: _made(A, _side(A.shape[-1]) + abs(offset)),
)
def maketrian(A: Any, *, offset: int = 0, lower: bool = True) -> Any:
    """A square matrix that has a triangle and zeros elsewhere; undoes `extracttrian`.

    Args:
        A: (..., m * (m + 1) / 2), the triangle as `extracttrian` gives it.
        offset: see `extracttrian`.
        lower: which triangle where `offset` is 0.

    Returns:
        (..., n, n) with ``n = m + abs(offset)``.
    """
    size = _side(A.shape[-1]) + abs(offset)
    rows, columns = _triangle(size, offset, lower)
    return at(jnp.zeros((*A.shape[:-1], size, size), A.dtype))[..., rows, columns].set(A)
