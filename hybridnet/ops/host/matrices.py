"""Linear algebra on NumPy arrays, by the LAPACK that NumPy and SciPy bring.

XLA gives NaN for a matrix that has no answer; NumPy raises, and so the operator goes to XLA.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet.base import lazy

from .namespace import NoHostForm, jnp
from .table import FUNCTIONS, Array, named

__all__: list[str] = []


def _of_square(name: str) -> None:
    def function(x: Array) -> Any:
        if x.shape[-1] == 0:
            raise NoHostForm(f"linalg.{name} of nothing")
        return getattr(np.linalg, name)(x)

    FUNCTIONS[f"linalg.{name}"] = function


for _name in ("det", "inv", "slogdet"):
    _of_square(_name)


def _symmetric(x: Array) -> Array:
    """Returns the symmetric part of matrices, which is what JAX factorizes."""
    part: Array = (x + x.mT) / 2
    return part


@named("linalg.eigh")
def _eigh(x: Array, symmetrize_input: bool = True) -> Any:
    values, vectors = np.linalg.eigh(_symmetric(x) if symmetrize_input else x)
    return values, vectors


@named("linalg.cholesky")
@named("lax.linalg.cholesky")
def _cholesky(x: Array) -> Any:
    return np.linalg.cholesky(_symmetric(x))


@named("lax.linalg.triangular_solve")
def _triangular_solve(
    a: Array,
    b: Array,
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
    made = np.empty_like(b)
    for place in np.ndindex(b.shape[:-2]):
        made[place] = lazy.linalg.solve_triangular(
            a[place],
            b[place],
            trans="T" if transpose_a else "N",
            lower=lower,
            unit_diagonal=unit_diagonal,
            check_finite=False,
        )
    return made if left_side else made.mT


@named("linalg.solve")
def _solve(a: Array, b: Array) -> Any:
    if a.ndim != 2 or 0 in a.shape:
        raise NoHostForm("linalg.solve of batches, or of nothing")
    return np.linalg.solve(a, b)


@named("linalg.qr")
def _qr(x: Array, mode: str = "reduced") -> Any:
    if mode != "reduced" or 0 in x.shape:
        raise NoHostForm("linalg.qr of nothing, or in another mode")
    q, r = np.linalg.qr(x)
    return q, r


@named("linalg.norm", composed=True)
def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is not None or isinstance(axis, (tuple, list)):
        raise NoHostForm("linalg.norm but of all elements or of vectors")
    return jnp.sqrt(jnp.sum(jnp.square(x), axis=axis, keepdims=keepdims))
