"""Products of matrices, and matrices made of others: ``tf.matmul``, ``tf.einsum``, ``tf.eye``."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..dtypes import as_dtype
from ..graph import as_floats, axes_of, convert_to_tensor, known_numbers, renamed, require_same
from ..graph.adding import EdgeHandle, Tensor, fused, handle, in_scope, name_scope, op, turned

__all__ = [
    "diag", "diag_part", "einsum", "eye", "matmul", "matrix_determinant", "matrix_diag",
    "matrix_diag_part", "matrix_inverse", "matrix_transpose", "matvec", "norm", "tensordot",
    "trace",
]  # fmt: skip


def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Returns the product of two matrices, or of stacks of matrices.

    Args:
        a: (..., rows, inner).
        b: (..., inner, columns), of the dtype of `a`; what stands before broadcasts.
        transpose_a: whether `a` is given as (..., inner, rows).
        transpose_b: whether `b` is given as (..., columns, inner).
        adjoint_a: as `transpose_a`: there are no complex numbers.
        adjoint_b: likewise.
        a_is_sparse, b_is_sparse: without meaning here.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not fit.
    """
    if (transpose_a and adjoint_a) or (transpose_b and adjoint_b):
        raise ValueError("Only one of `transpose` and `adjoint` can be True for each input.")
    first, second = bool(transpose_a or adjoint_a), bool(transpose_b or adjoint_b)
    with name_scope(name, "MatMul", [a, b]) as scope:
        pair = require_same("MatMul", "ab", (a, b))
        ranks = [one.shape.ndims for one in pair]
        for one, rank in zip("ab", ranks, strict=True):
            if rank is not None and rank < 2:
                raise ValueError(f"MatMul: {one} must have at least 2 dimensions, got {rank}")
        if ranks == [2, 2] or None in ranks:
            params = {"transpose_a": first, "transpose_b": second}
            return op("MatMul", "dot", pair, name=scope, **params)

        def product(a: EdgeHandle, b: EdgeHandle) -> EdgeHandle:
            return handle("_npi_matmul", turned(a) if first else a, turned(b) if second else b)

        return fused("BatchMatMulV2", product, pair, name=scope)


def matvec(
    a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, name: str | None = None
) -> Tensor:
    """Returns the product of a matrix (or a stack) and a vector; see `matmul`."""

    def product(a: EdgeHandle, b: EdgeHandle) -> EdgeHandle:
        a = turned(a) if transpose_a or adjoint_a else a
        made: EdgeHandle = handle("_npi_matmul", a, b.expand_dims(axis=-1)).squeeze(axis=-1)
        return made

    pair = require_same("MatMul", "ab", (a, b))
    return in_scope("Squeeze", product, pair, scope="MatVec", last="Squeeze", name=name)


def einsum(equation: str, *inputs: Any, name: str | None = None) -> Tensor:
    """Returns a sum of products, in Einstein's notation: ``einsum('ij,jk->ik', a, b)``."""
    with name_scope(name, "einsum", inputs):
        tensors = require_same("Einsum", [f"inputs_{i}" for i in range(len(inputs))], inputs)
        return op("Einsum", "_npi_einsum", tensors, subscripts=equation.replace(" ", ""))


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Returns the sum of products along pairs of axes.

    Args:
        a: a tensor.
        b: a tensor of the dtype of `a`.
        axes: how many axes, the last of `a` and the first of `b`; or two lists of axes.
    """
    pair = require_same("Tensordot", "ab", (a, b))
    given = known_numbers(axes)
    if isinstance(given, int):
        params: dict[str, Any] = {"axes": given}
        operator = "_npi_tensordot_int_axes"
    else:
        sides = [one if isinstance(one, list) else [one] for one in given]
        params = {"a_axes_summed": tuple(sides[0]), "b_axes_summed": tuple(sides[1])}
        operator = "_npi_tensordot"
    with name_scope(name, "Tensordot", pair) as scope:
        return op("Reshape", operator, pair, name=scope, **params)


# Diagonals ----------------------------------------------------------------------------------------


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Returns a matrix (or a stack of them) with ones on the diagonal.

    Args:
        num_rows: how many, known when the graph is built, as all sizes are.
        num_columns: default as many as rows.
        batch_shape: the dimensions of the stack.
        dtype: of the elements.
    """
    rows, columns = known_numbers(num_rows), known_numbers(num_columns) if num_columns else None
    kind = as_dtype(dtype).base_dtype
    stack = tuple(known_numbers(batch_shape)) if batch_shape is not None else ()
    params = {"N": rows, "M": rows if columns is None else columns, "dtype": kind.numpy.name}
    square = columns is None or columns == rows
    with name_scope(name, "eye"):
        called = ("MatrixDiagV3", "diag") if square else ("MatrixSetDiagV3", "set_diag")
        if not stack:
            return op(called[0], "_eye", [], name=called[1], **params)
        one = op("MatrixDiagV3", "_eye", [], name="one", **params)
        shape = (*stack, params["N"], params["M"])
        return op(called[0], "broadcast_to", [one], name=called[1], shape=shape)


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Returns the matrix with a vector on its diagonal, and zeros elsewhere."""
    return op("Diag", "diag", [convert_to_tensor(diagonal, name="diagonal")], name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """Returns the diagonal of a square matrix."""
    return op("DiagPart", "diag", [convert_to_tensor(input, name="input")], name=name)


def matrix_diag(diagonal: Any, name: str = "diag") -> Tensor:
    """Returns matrices with vectors, the last axis, on their diagonals."""
    return op("MatrixDiagV3", "_linalg_makediag", [convert_to_tensor(diagonal)], name=name)


def matrix_diag_part(input: Any, name: str = "diag_part") -> Tensor:
    """Returns the diagonals of matrices, the last two axes."""
    inputs = [convert_to_tensor(input)]
    return op("MatrixDiagPartV3", "_np_diagonal", inputs, name=name, axis1=-2, axis2=-1)


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Returns matrices with rows and columns swapped: the last two axes."""
    with name_scope(name, "matrix_transpose", [a]):
        matrices = convert_to_tensor(a)
        return op("Transpose", "SwapAxis", [matrices], name="transpose", dim1=-1, dim2=-2)


def trace(x: Any, name: str | None = None) -> Tensor:
    """Returns the sum of the diagonal of each matrix, the last two axes."""

    def total(x: EdgeHandle) -> EdgeHandle:
        return handle("_np_sum", handle("_np_diagonal", x, axis1=-2, axis2=-1), axis=(-1,))

    with name_scope(name, "Trace", [x]) as scope:
        return fused("Sum", total, [convert_to_tensor(x)], name=scope)


def matrix_inverse(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Returns the inverses of matrices, the last two axes."""
    matrices = as_floats("MatrixInverse", input, "input")
    return op("MatrixInverse", "_linalg_inverse", [matrices], name=name)


def matrix_determinant(input: Any, name: str | None = None) -> Tensor:
    """Returns the determinants of matrices, the last two axes."""
    matrices = as_floats("MatrixDeterminant", input, "input")
    return op("MatrixDeterminant", "_npi_det", [matrices], name=name)


# Norms --------------------------------------------------------------------------------------------


def _vector_norm(x: EdgeHandle, power: float, axes: Any, keep: bool) -> EdgeHandle:
    size = x.abs()
    if power == np.inf:
        return handle("_shared_max", size, axis=axes, keepdims=keep)
    if power == 1:
        return handle("_np_sum", size, axis=axes, keepdims=keep)
    raised = x.square() if power == 2 else handle("_power_scalar", size, scalar=power)
    total = handle("_np_sum", raised, axis=axes, keepdims=keep)
    return total.sqrt() if power == 2 else handle("_power_scalar", total, scalar=1.0 / power)


def _matrix_norm(x: EdgeHandle, power: float, axes: Any, keep: bool) -> EdgeHandle:
    if power == 2:
        return handle("_npi_norm", x, ord=2.0, axis=axes, keepdims=keep, flag="matrix")
    within, across = axes if power == 1 else axes[::-1]
    sums = handle("_np_sum", x.abs(), axis=within, keepdims=True)
    found = handle("_shared_max", sums, axis=across, keepdims=True)
    return found if keep else handle("squeeze", found, axis=axes)


def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
    keep_dims: Any = None,
) -> Tensor:
    """Returns the norm of vectors along an axis, of matrices along two, or of all elements.

    Args:
        tensor: floating point.
        ord: of vectors 'euclidean', 1, 2, a number > 0, or infinity; of matrices 'euclidean',
            'fro' (both Frobenius'), 1 or infinity (the largest sum of a column, or of a row), or 2
            (the largest singular value).
        axis: one, or a pair; default all elements as one vector.
        keepdims: whether the axes stay, with size 1.
        keep_dims: the older name of `keepdims`.

    Raises:
        ValueError: `ord` or `axis` is something else.
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    x = as_floats("Norm", tensor, "tensor")
    matrices = isinstance(axis, (list, tuple))
    if matrices and len({*axis}) != 2:
        raise ValueError(
            f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}"
        )
    axes = axes_of("Norm", axis, x.shape.ndims)
    entrywise = ord in (("euclidean", "fro") if matrices else ("euclidean",))
    power = 2.0 if entrywise else ord
    if isinstance(power, str) or not power > 0 or (matrices and power not in (1, 2, np.inf)):
        kind = "matrix" if matrices else "vector"
        raise ValueError(f"'ord' must be a supported {kind} norm, got {ord}")
    of = _matrix_norm if matrices and not entrywise else _vector_norm

    def length(x: EdgeHandle) -> EdgeHandle:
        return of(x, power, axes, keep)

    with name_scope(name, "norm", [x]):
        shape = () if axes is None and not keep else None
        return fused("Squeeze", length, [x], name="Squeeze", shape=shape)
