"""`np.linalg`: linear algebra over stacks of matrices in the last two axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hybridnet.base.array_types import Axes
from hybridnet.base.errors import ParameterError

from .calls import (
    apply,
    apply_all,
    operand,
    shape_of,
)
from .fallback import LINALG_FALLBACKS
from .multiarray import ndarray
from .operands import ArrayLike

__all__ = [
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "norm",
    "pinv",
    "slogdet",
    "solve",
    "svd",
    "tensorinv",
    "tensorsolve",
    *sorted(LINALG_FALLBACKS),
]

if TYPE_CHECKING:
    from ._linalg_functions import *  # noqa: F403

globals().update(LINALG_FALLBACKS)


def norm(x: ArrayLike, ord: Any = None, axis: Axes = None, keepdims: bool = False) -> ndarray:
    """Returns the norm of vectors or matrices.

    Args:
        x: an array.
        ord: the order: a number, 'fro' or 'nuc'; None for the root of the sum of squares.
        axis: the axis of vectors, or the two axes of matrices; None for all of `x`.
        keepdims: keep these axes with size 1.
    """
    ord = float(ord) if ord in ("inf", "-inf") else ord
    axes = axis if axis is None or isinstance(axis, tuple) else (axis,)
    if ord is None and (axes is None or len(axes) <= 2):
        return apply("_npi_norm", x, axis=axes, keepdims=keepdims, flag="flat")
    x = operand(x)
    axes = tuple(range(len(shape_of("linalg.norm", x)))) if axes is None else axes
    if len(axes) == 1 and not isinstance(ord, str):
        flag, order = "vector", float(ord)
    elif len(axes) == 2 and ord in ("fro", "nuc"):
        flag, order = ord, 2.0
    elif len(axes) == 2 and not isinstance(ord, str):
        flag, order = "matrix", float(ord)
    else:
        raise ParameterError(f"np.linalg.norm: there is no order {ord!r} over axes {axes}")
    where: ArrayLike = axes[0] if flag == "vector" else axes
    return apply("_npi_norm", x, ord=order, axis=where, keepdims=keepdims, flag=flag)


def cholesky(a: ArrayLike) -> ndarray:
    """Returns lower triangular factors of positive definite matrices."""
    return apply("_npi_cholesky", a)


def det(a: ArrayLike) -> ndarray:
    """Returns determinants."""
    return apply("_npi_det", a)


def slogdet(a: ArrayLike) -> list[ndarray]:
    """Returns the signs of determinants, and the logarithms of their sizes."""
    return apply_all("_npi_slogdet", a)


def inv(a: ArrayLike) -> ndarray:
    """Returns inverse matrices."""
    return apply("_npi_inv", a)


def svd(a: ArrayLike) -> tuple[ndarray, ...]:
    """Returns u, s and vt of ``a = u @ diag(s) @ vt``, with as many columns as the shorter side."""
    return tuple(apply_all("_npi_svd", a))


def eig(a: ArrayLike) -> tuple[ndarray, ...]:
    """Returns eigenvalues and eigenvectors, as columns, of square matrices: their real parts."""
    return tuple(apply_all("_npi_eig", a))


def eigvals(a: ArrayLike) -> ndarray:
    """Returns eigenvalues of square matrices: their real parts."""
    return apply("_npi_eigvals", a)


def eigh(a: ArrayLike, UPLO: str = "L") -> tuple[ndarray, ...]:
    """Returns eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices."""
    return tuple(apply_all("_npi_eigh", a, UPLO=UPLO.upper()))


def eigvalsh(a: ArrayLike, UPLO: str = "L") -> ndarray:
    """Returns eigenvalues of symmetric matrices, ascending."""
    return apply("_npi_eigvalsh", a, UPLO=UPLO.upper())


def solve(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns x of ``a @ x = b``."""
    return apply("_npi_solve", a, b)


def pinv(a: ArrayLike, rcond: ArrayLike = 1e-15, hermitian: bool = False) -> ndarray:
    """Returns pseudo-inverses; singular values up to rcond times the largest count as zero."""
    if hermitian:
        raise ParameterError("np.linalg.pinv: hermitian must be False")
    if isinstance(rcond, (int, float)):
        return apply("_npi_pinv_scalar_rcond", a, rcond=float(rcond))
    return apply("_npi_pinv", a, rcond)


def tensorinv(a: ArrayLike, ind: int = 2) -> ndarray:
    """Returns the inverse of an array seen as a matrix whose rows are its first `ind` axes."""
    return apply("_npi_tensorinv", a, ind=ind)


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> ndarray:
    """Returns x of ``tensordot(a, x, x.ndim) = b``; `axes` of `a` are moved to the end first."""
    return apply("_npi_tensorsolve", a, b, a_axes=tuple(axes or ()))
