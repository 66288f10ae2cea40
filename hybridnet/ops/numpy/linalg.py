"""NumPy's linear algebra, over stacks of matrices in the last two axes.

What LAPACK computes needs float32 or float64: narrower floats are computed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import Axis, Shape
from hybridnet.base.dtype import FLOAT64, is_float
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.checks import require_floats
from ..core.operator import describe
from ..core.registry import operator
from ..math.reduce import root


def _check(
    name: str, square: bool, names: Sequence[str] = ("a",), *, whole: bool = False
) -> Callable[..., None]:
    """Returns a check of the matrices: of two axes or more, square where need be.

    They must be floating, unless `whole` numbers are accepted, too.
    """

    def check(*types: TensorType, **_: Any) -> None:
        if not whole:
            require_floats(name, names, types)
        a = types[0]
        if len(a.shape) < 2 or (square and a.shape[-1] != a.shape[-2]):
            kind = "square matrices" if square else "matrices"
            got = describe(names, types)
            raise ShapeError(f"{name}: needs {kind} in the last two axes of {names[0]}, got {got}")

    return check


def _wide(a: Any) -> Any:
    return a if a.dtype in (np.float32, np.float64) else a.astype(np.float32)


def _where_finite(a: Any, function: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    """Applies a function of finite matrices; the results of others are NaN.

    LAPACK's singular value decomposition of a matrix with NaN or infinity may never end.
    """
    finite = jnp.isfinite(a).all((-2, -1))
    made = function(jnp.where(finite[..., None, None], a, 0))
    return tuple(
        jnp.where(finite.reshape(*finite.shape, *(1,) * (part.ndim - finite.ndim)), part, jnp.nan)
        for part in made
    )


def _of_matrix(
    name: str, function: Callable[..., Any], doc: str, outputs: int = 1, square: bool = True
) -> None:
    """Registers a function of square matrices."""

    def lowering(a: Any) -> Any:
        made = function(_wide(a))
        made = made if isinstance(made, tuple) else (made,)
        return tuple(part.astype(a.dtype) for part in made)

    operator(name, outputs=outputs, check=_check(name, square), doc=doc)(lowering)


_of_matrix(
    "_npi_cholesky",
    lambda a: jnp.linalg.cholesky(a),
    "Lower triangular factor of positive definite matrices; NaN where they are not.",
)
_of_matrix("_npi_det", lambda a: jnp.linalg.det(a), "Determinant.")
_of_matrix("_npi_inv", lambda a: jnp.linalg.inv(a), "Inverse matrices.")
_of_matrix(
    "_npi_slogdet",
    lambda a: tuple(jnp.linalg.slogdet(a)),
    "Sign of the determinant, and the logarithm of its size.",
    outputs=2,
)
_of_matrix(
    "_npi_svd",
    lambda a: _where_finite(a, lambda a: tuple(jnp.linalg.svd(a, full_matrices=False))),
    "Singular value decomposition: a = u @ diag(s) @ vt, with as many columns as the shorter side.",
    outputs=3,
    square=False,
)


def _as_floats(a: Any) -> Any:
    """Returns matrices as LAPACK takes them; of whole numbers in float64, as in MXNet."""
    return _wide(a) if is_float(np.dtype(a.dtype)) else a.astype(FLOAT64)


def _spectrum_dtype(a: Any) -> np.dtype[Any]:
    dtype = np.dtype(a.dtype)
    return dtype if is_float(dtype) else FLOAT64


def _eigenvalues_type(a: TensorType, **_: Any) -> tuple[TensorType]:
    return (tensor_type(a.shape[:-1], _spectrum_dtype(a)),)


def _spectrum_type(a: TensorType, **_: Any) -> tuple[TensorType, TensorType]:
    return (*_eigenvalues_type(a), tensor_type(a.shape, _spectrum_dtype(a)))


def _symmetric(a: Any, uplo: str) -> Any:
    half = jnp.tril(a) if uplo == "L" else jnp.triu(a)
    strict = jnp.tril(a, -1) if uplo == "L" else jnp.triu(a, 1)
    return half + jnp.swapaxes(strict, -1, -2)


@operator("_npi_eigh", outputs=2, check=_check("_npi_eigh", True, whole=True), infer=_spectrum_type)
def _eigh(a: Any, *, UPLO: Literal["L", "U"] = "L") -> Any:
    """Eigenvalues, ascending, and eigenvectors, as columns, of symmetric matrices.

    Args:
        a: the matrices; only one triangle is read.
        UPLO: which: the lower or the upper.
    """
    found = jnp.linalg.eigh(_symmetric(_as_floats(a), UPLO), symmetrize_input=False)
    return tuple(part.astype(_spectrum_dtype(a)) for part in found)


@operator("_npi_eigvalsh", check=_check("_npi_eigvalsh", True, whole=True), infer=_eigenvalues_type)
def _eigvalsh(a: Any, *, UPLO: Literal["L", "U"] = "L") -> Any:
    """Eigenvalues of symmetric matrices, ascending; see `_npi_eigh`."""
    values, _ = jnp.linalg.eigh(_symmetric(_as_floats(a), UPLO), symmetrize_input=False)
    return values.astype(_spectrum_dtype(a))


_MAYBE_COMPLEX: Final = "there may be complex ones, of which the result holds the real parts"


@operator(
    "_npi_eig",
    outputs=2,
    check=_check("_npi_eig", True, whole=True),
    infer=_spectrum_type,
    no_gradient=_MAYBE_COMPLEX,
)
def _eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors, as columns, of square matrices: their real parts."""
    found = jnp.linalg.eig(_as_floats(a))
    return tuple(jnp.real(part).astype(_spectrum_dtype(a)) for part in found)


@operator(
    "_npi_eigvals",
    check=_check("_npi_eigvals", True, whole=True),
    infer=_eigenvalues_type,
    no_gradient=_MAYBE_COMPLEX,
)
def _eigvals(a: Any) -> Any:
    """Eigenvalues of square matrices: their real parts."""
    return jnp.real(jnp.linalg.eigvals(_as_floats(a))).astype(_spectrum_dtype(a))


@operator("_npi_solve", check=_check("_npi_solve", True, ("a", "b")))
def _solve(a: Any, b: Any) -> Any:
    """Solutions x of a @ x = b, for vectors b (as many axes less one as a) or matrices b."""
    wide = [_wide(side) for side in (a, b)]
    vector = b.ndim == a.ndim - 1
    made = jnp.linalg.solve(wide[0], wide[1][..., None] if vector else wide[1])
    return (made[..., 0] if vector else made).astype(b.dtype)


@operator("_npi_pinv", check=_check("_npi_pinv", False, ("A", "rcond")))
def _pinv(A: Any, rcond: Any, *, hermitian: bool = False) -> Any:
    """Pseudo-inverse; singular values up to rcond times the largest count as zero."""
    return _pseudo_inverse(_wide(A), rcond).astype(A.dtype)


@operator("_npi_pinv_scalar_rcond", check=_check("_npi_pinv_scalar_rcond", False))
def _pinv_scalar_rcond(a: Any, *, rcond: float = 1e-15, hermitian: bool = False) -> Any:
    """Pseudo-inverse; singular values up to rcond times the largest count as zero."""
    a32 = _wide(a)
    # As in MXNet, not below what the dtype can tell from zero.
    least = max(rcond, float(jnp.finfo(a32.dtype).eps))
    return _pseudo_inverse(a32, jnp.asarray(least, a32.dtype)).astype(a.dtype)


def _pseudo_inverse(a: Any, rcond: Any) -> Any:
    return _where_finite(a, lambda a: (jnp.linalg.pinv(a, rtol=rcond.astype(a.dtype)),))[0]


@operator("_npi_tensorinv")
def _tensorinv(a: Any, *, ind: int = 2) -> Any:
    """Inverse of an array seen as a matrix whose rows are its first `ind` axes."""
    rows, columns = a.shape[:ind], a.shape[ind:]
    if ind < 1 or math.prod(rows) != math.prod(columns):
        raise ShapeError(
            f"_npi_tensorinv: the first {ind} axes of a must hold as many elements as the others, "
            f"got {tuple(a.shape)}"
        )
    made = jnp.linalg.inv(_wide(a).reshape(math.prod(rows), math.prod(columns)))
    return made.reshape((*columns, *rows)).astype(a.dtype)


@operator("_npi_tensorsolve")
def _tensorsolve(a: Any, b: Any, *, a_axes: Shape = ()) -> Any:
    """Solutions x of tensordot(a, x, x.ndim) = b.

    The first axes of `a`, as many as `b` has, stand for the equations, whatever their sizes, and
    the others for x; where `b` has as many axes as `a` or more, so many of a's are left out.

    Args:
        a: the coefficients.
        b: the right-hand side, as many elements as x.
        a_axes: axes of `a` that are moved to the end first.
    """
    rank = a.ndim
    moved = [axis % rank for axis in a_axes]
    order = [i for i in range(rank) if i not in moved] + moved
    turned = jnp.transpose(_wide(a), order)
    shape = turned.shape[-(rank - b.ndim) :]
    count = math.prod(shape)
    if count * count != a.size or b.size != count:
        raise ShapeError(
            "_npi_tensorsolve: a must hold the square of the elements of b, got "
            f"a {tuple(a.shape)} and b {tuple(b.shape)}"
        )
    made = jnp.linalg.solve(turned.reshape(count, count), _wide(b).reshape(count, 1))
    return made.reshape(shape).astype(b.dtype)


@operator("_npi_norm")
def _norm(
    data: Any,
    *,
    ord: float = 2.0,
    axis: Axis = None,
    keepdims: bool = False,
    flag: Literal["flat", "vector", "fro", "nuc", "matrix"] = "flat",
) -> Any:
    """Norm of vectors or matrices.

    Args:
        ord: the order, where `flag` is 'vector' or 'matrix'.
        axis: the axis of vectors, or the two axes of matrices.
        keepdims: keep these axes with size 1.
        flag: what is computed: the root of the sum of squares of everything ('flat') or over two
            axes ('fro'), the norm of an order, or the sum of singular values ('nuc').
    """
    x = _wide(data)
    if flag == "flat" or flag == "fro" or (flag == "vector" and ord == 2.0):
        made = root(jnp.sum(x * x, axis=axis, keepdims=keepdims))
    elif flag == "vector" and ord == 1.0:
        # Not jnp.abs, whose gradient at 0 is 1, and not 0.
        made = jnp.sum(x * jnp.sign(x), axis=axis, keepdims=keepdims)
    else:
        order: Any = "nuc" if flag == "nuc" else ord
        made = jnp.linalg.norm(x, order, axis, keepdims)
    return made.astype(data.dtype if jnp.issubdtype(data.dtype, jnp.floating) else np.float32)
