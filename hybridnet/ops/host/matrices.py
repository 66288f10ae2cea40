"""Linear algebra on NumPy arrays, by the LAPACK that NumPy and SciPy bring.

XLA gives NaN for a matrix that has no answer; NumPy raises, and so the operator goes to XLA.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from hybridnet.base import lazy
from hybridnet.base.array_types import NumpyArray

from .namespace import NoHostForm, jnp
from .table import FUNCTIONS, named

# Rows of triangular systems for each of these, up to which they are solved together: a row of all
# takes some 3 us, a call of LAPACK 7 and more.
_ROWS_PER_SYSTEM: Final = 2


def _of_square(name: str) -> None:
    def function(x: NumpyArray) -> Any:
        if x.shape[-1] == 0:
            raise NoHostForm(f"linalg.{name} of nothing")
        return getattr(np.linalg, name)(x)

    FUNCTIONS[f"linalg.{name}"] = function


for _name in ("det", "slogdet"):
    _of_square(_name)
FUNCTIONS["linalg.inv"] = np.linalg.inv


def _symmetric(x: NumpyArray) -> NumpyArray:
    """Returns the symmetric part of matrices, which is what JAX factorizes."""
    part: NumpyArray = (x + x.mT) / 2
    return part


@named("linalg.eigh")
def _eigh(x: NumpyArray, symmetrize_input: bool = True) -> Any:
    values, vectors = np.linalg.eigh(_symmetric(x) if symmetrize_input else x)
    return values, vectors


@named("linalg.cholesky")
@named("lax.linalg.cholesky")
def _cholesky(x: NumpyArray) -> Any:
    return np.linalg.cholesky(_symmetric(x))


@named("lax.linalg.triangular_solve")
def _triangular_solve(
    a: NumpyArray,
    b: NumpyArray,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    if 0 in b.shape or 0 in a.shape:
        raise NoHostForm("lax.linalg.triangular_solve of nothing")
    if not left_side:  # x a = b is a^T x^T = b^T
        b, transpose_a = b.mT, not transpose_a
    if transpose_a:
        a, lower = a.mT, not lower
    solve = (
        _substitute
        if a.shape[-1] <= _ROWS_PER_SYSTEM * math.prod(b.shape[:-2])
        else _solve_one_by_one
    )
    made = solve(a, b, lower, unit_diagonal)
    return made if left_side else made.mT


def _substitute(a: NumpyArray, b: NumpyArray, lower: bool, unit_diagonal: bool) -> NumpyArray:
    """Solves many small triangular systems at once, one row of all of them after the other."""
    count = a.shape[-1]
    made = np.empty_like(b)
    for row in range(count) if lower else reversed(range(count)):
        known = slice(0, row) if lower else slice(row + 1, count)
        rest = b[..., row, :]
        if known.stop > known.start:
            rest = rest - (a[..., row, None, known] @ made[..., known, :])[..., 0, :]
        made[..., row, :] = rest if unit_diagonal else rest / a[..., row, row, None]
    return made


def _solve_one_by_one(a: NumpyArray, b: NumpyArray, lower: bool, unit_diagonal: bool) -> NumpyArray:
    made = np.empty_like(b)
    for place in np.ndindex(b.shape[:-2]):
        made[place] = lazy.linalg.solve_triangular(
            a[place], b[place], lower=lower, unit_diagonal=unit_diagonal, check_finite=False
        )
    return made


@named("linalg.solve")
def _solve(a: NumpyArray, b: NumpyArray) -> Any:
    # A vector is one only without others beside it, as JAX has it; NumPy changed its mind on that.
    made = np.linalg.solve(a, b[:, None] if b.ndim == 1 else b)
    return made[..., 0] if b.ndim == 1 else made


@named("linalg.svd")
def _svd(x: NumpyArray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if full_matrices and compute_uv:
        raise NoHostForm("linalg.svd with full matrices")
    if not compute_uv:
        return np.linalg.svd(x, compute_uv=False)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    return u, s, vt


@named("linalg.eig")
def _eig(x: NumpyArray) -> Any:
    values, vectors = np.linalg.eig(x)  # real where all are, as JAX never has it
    return values, vectors


FUNCTIONS["linalg.eigvals"] = np.linalg.eigvals
FUNCTIONS["real"] = np.real


@named("linalg.pinv")
def _pinv(x: NumpyArray, rtol: Any) -> Any:
    return np.linalg.pinv(x, rtol)


@named("linalg.qr")
def _qr(x: NumpyArray, mode: str = "reduced") -> Any:
    if mode != "reduced" or 0 in x.shape:
        raise NoHostForm("linalg.qr of nothing, or in another mode")
    q, r = np.linalg.qr(x)
    return q, r


@named("linalg.norm", composed=True)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is None:
        return jnp.sqrt(jnp.sum(jnp.square(x), axis=axis, keepdims=keepdims))
    if axis is None:
        axis = tuple(range(x.ndim))
    if isinstance(axis, int) or len(axis) == 1:
        return _of_vectors(x, ord, axis, keepdims)
    made = _of_matrices(jnp.moveaxis(x, axis, (-2, -1)), ord)
    for place in sorted(a % x.ndim for a in axis) if keepdims else ():
        made = jnp.expand_dims(made, place)
    return made


def _of_vectors(x: Any, ord: float, axis: Any, keepdims: bool) -> Any:
    """Norms of vectors of any order."""
    where = {"axis": axis, "keepdims": keepdims}
    if ord in (np.inf, -np.inf):
        return (jnp.max if ord > 0 else jnp.min)(jnp.abs(x), **where)
    if ord == 0:
        return jnp.sum(jnp.astype(x != 0, x.dtype), **where)
    if ord == 2:
        return jnp.sqrt(jnp.sum(jnp.square(x), **where))
    sizes = jnp.abs(x)
    if ord == 1:
        return jnp.sum(sizes, **where)
    return jnp.power(jnp.sum(jnp.power(sizes, np.array(ord, x.dtype)), **where), 1 / ord)


def _of_matrices(x: Any, ord: Any) -> Any:
    """Norms of the matrices in the last two axes."""
    if ord in (1, -1, np.inf, -np.inf):  # the largest or smallest sum of a column, or of a row
        sums = jnp.sum(jnp.abs(x), axis=-2 if abs(ord) == 1 else -1)
        return (jnp.max if ord > 0 else jnp.min)(sums, axis=-1)
    if ord == "fro":
        return jnp.sqrt(jnp.sum(jnp.square(x), axis=(-2, -1)))
    values = jnp.linalg.svd(x, compute_uv=False)
    if ord == "nuc":
        return jnp.sum(values, axis=-1)
    if ord not in (2, -2):
        raise NoHostForm(f"linalg.norm of matrices, of order {ord}")
    return (jnp.max if ord > 0 else jnp.min)(values, axis=-1)
