"""NumPy's products of arrays, diagonals and triangles."""

from __future__ import annotations

from typing import Any, Final

from hybridnet.base.attrs import Shape
from hybridnet.base.dtype import BOOL, INT64
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import fill
from ..core.families import promoted
from ..core.operator import Shapes, describe
from ..core.registry import operator
from ..core.rules import UNKNOWN, broadcast_shape, promote_types


def _fit(name: str, a: TensorType, b: TensorType, fits: bool, rule: str) -> None:
    if not fits:
        raise ShapeError(f"{name}: {rule}, got {describe(('a', 'b'), (a, b))}")


def _dot_type(a: TensorType, b: TensorType) -> tuple[TensorType]:
    dtype = promote_types((a, b))
    if not a.shape or not b.shape:
        return (tensor_type(a.shape or b.shape, dtype),)
    axis = len(b.shape) - 2 if len(b.shape) > 1 else 0
    fits = a.shape[-1] == b.shape[axis]
    _fit("_np_dot", a, b, fits, f"the last axis of a must have the size of axis {axis} of b")
    return (tensor_type(a.shape[:-1] + b.shape[:axis] + b.shape[axis + 1 :], dtype),)


def _dot_shapes(shapes: Shapes) -> Shapes:
    """The axes that are summed over have one size: what is known of one holds for the other."""
    a, b = shapes
    if not a or not b:
        return shapes
    axis = max(len(b) - 2, 0)
    return [
        fill(a, (*(UNKNOWN for _ in a[1:]), b[axis])),
        fill(b, tuple(a[-1] if at == axis else UNKNOWN for at in range(len(b)))),
    ]


@operator("_np_dot", infer=_dot_type, complete=_dot_shapes)
def _dot(a: Any, b: Any) -> Any:
    """Sum of products over the last axis of a and the last but one (or only) axis of b."""
    return jnp.dot(*promoted(a, b))


def _matmul_type(a: TensorType, b: TensorType) -> tuple[TensorType]:
    ranked = bool(a.shape and b.shape)
    _fit("_npi_matmul", a, b, ranked, "a and b must have at least one axis; multiply with *")
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    fits = left[-1] == right[-2]
    _fit("_npi_matmul", a, b, fits, "the columns of a must be as many as the rows of b")
    heads = [tensor_type(shape[:-2], BOOL) for shape in (left, right)]
    shape = broadcast_shape("_npi_matmul", ("a[..., 0, 0]", "b[..., 0, 0]"), heads)
    shape += left[-2:-1] if len(a.shape) > 1 else ()
    shape += right[-1:] if len(b.shape) > 1 else ()
    return (tensor_type(shape, promote_types((a, b))),)


@operator("_npi_matmul", infer=_matmul_type)
def _matmul(a: Any, b: Any) -> Any:
    """Matrix product over the last two axes; the others broadcast."""
    return jnp.matmul(*promoted(a, b))


@operator("_npi_tensordot")
def _tensordot(a: Any, b: Any, *, a_axes_summed: Shape, b_axes_summed: Shape) -> Any:
    """Sum of products over axes of a and as many of b."""
    a, b = promoted(a, b)
    return jnp.tensordot(a, b, axes=(a_axes_summed, b_axes_summed))


@operator("_npi_tensordot_int_axes")
def _tensordot_int_axes(a: Any, b: Any, *, axes: int) -> Any:
    """Sum of products over the last axes of a and the first of b, `axes` of them."""
    a, b = promoted(a, b)
    return jnp.tensordot(a, b, axes=axes)


@operator("_npi_einsum")
def _einsum(*data: Any, subscripts: str, optimize: int = 0, num_args: int = 0) -> Any:
    """Sums of products in Einstein's notation.

    Args:
        data: the arrays.
        subscripts: a letter for each axis of each array and of the result: ``ij,jk->ik``.
        optimize: accepted: XLA is given the cheapest order of the products in any case.
        num_args: how many arrays; saved symbols hold it, calls need not give it.
    """
    return jnp.einsum(subscripts, *promoted(*data), optimize="optimal")


@operator("_np_trace")
def _trace(data: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Sum of a diagonal of two axes.

    Args:
        offset: which diagonal, counted from the main one.
        axis1: the first of the axes.
        axis2: the second.
    """
    dtype = data.dtype if data.dtype != BOOL else INT64
    return jnp.trace(data, offset, axis1, axis2, dtype=dtype)


@operator("_np_diagonal")
def _diagonal(data: Any, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal of two axes, as the last axis.

    Args:
        offset: which diagonal, counted from the main one.
        axis1: the first of the axes.
        axis2: the second.
    """
    return jnp.diagonal(data, offset, axis1, axis2)


@operator("_np_diag")
def _diag(data: Any, *, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or a matrix with the array on it."""
    return jnp.diag(data, k)


def _diagflat_type(data: TensorType, *, k: int) -> tuple[TensorType]:
    side = data.size + abs(k)
    return (tensor_type((side, side), data.dtype),)


@operator("_np_diagflat", infer=_diagflat_type)
def _diagflat(data: Any, *, k: int = 0) -> Any:
    """A matrix with the flattened array on the k-th diagonal."""
    return jnp.diagflat(data, k)


@operator("_npi_tril")
def _tril(data: Any, *, k: int = 0) -> Any:
    """The lower triangle: zero above the k-th diagonal of the last two axes."""
    data = data if data.ndim > 1 else jnp.broadcast_to(data, (data.shape[0], data.shape[0]))
    return jnp.tril(data, k)


@operator("_npi_triu")
def _triu(data: Any, *, k: int = 0) -> Any:
    """The upper triangle: zero below the k-th diagonal of the last two axes."""
    data = data if data.ndim > 1 else jnp.broadcast_to(data, (data.shape[0], data.shape[0]))
    return jnp.triu(data, k)


# Coefficients that are written out one by one; more are gone through in a loop.
_MAX_WRITTEN_OUT: Final = 64


def _polyval_type(p: TensorType, x: TensorType) -> tuple[TensorType]:
    if len(p.shape) != 1:
        raise ShapeError(f"_npi_polyval: p must have 1 dimension, got p {p}")
    return (tensor_type(x.shape, promote_types((p, x))),)


@operator("_npi_polyval", infer=_polyval_type)
def _polyval(p: Any, x: Any) -> Any:
    """A polynomial at points: p holds its coefficients, the highest power first."""
    p, x = promoted(p, x)
    value = jnp.zeros(x.shape, x.dtype)
    if p.shape[0] > _MAX_WRITTEN_OUT:
        return lax.scan(lambda value, factor: (value * x + factor, None), value, p)[0]
    for i in range(p.shape[0]):
        value = value * x + p[i]
    return value


@operator("_npi_diff")
def _diff(a: Any, *, n: int = 1, axis: int = -1) -> Any:
    """Differences of neighbors along an axis, taken n times."""
    return jnp.diff(a, n, axis)
