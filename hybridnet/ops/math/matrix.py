"""Products of matrices, and of arrays of more dimensions by MXNet's rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from hybridnet.base.attrs import Platform
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.families import promoted
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import promote_types, refuse_bool
from .few_rows import apart

_SIDES = ("lhs", "rhs")
StorageType = Literal["default", "csr", "row_sparse"]


def _dot_axes(lhs: Any, rhs: Any, transpose_a: bool, transpose_b: bool) -> tuple[int, int]:
    """The axis of each array that is summed over; the others keep their order."""
    left = 0 if transpose_a else len(lhs.shape) - 1
    right = len(rhs.shape) - 1 if transpose_b else 0
    return left, right


def _check_dot(
    lhs: TensorType, rhs: TensorType, *, transpose_a: bool, transpose_b: bool, **_: Any
) -> None:
    refuse_bool("dot")(lhs, rhs)
    if not lhs.shape or not rhs.shape:
        raise ShapeError(
            f"dot: lhs and rhs must have at least one dimension, got {describe(_SIDES, (lhs, rhs))}"
        )
    left, right = _dot_axes(lhs, rhs, transpose_a, transpose_b)
    if lhs.shape[left] != rhs.shape[right]:
        raise ShapeError(
            f"dot: lhs.shape[{left}] must equal rhs.shape[{right}] with transpose_a={transpose_a} "
            f"and transpose_b={transpose_b}, got {describe(_SIDES, (lhs, rhs))}"
        )


def _without(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _dot_type(
    lhs: TensorType, rhs: TensorType, *, transpose_a: bool, transpose_b: bool, **_: Any
) -> tuple[TensorType]:
    left, right = _dot_axes(lhs, rhs, transpose_a, transpose_b)
    shape = _without(lhs.shape, left) + _without(rhs.shape, right)
    return (tensor_type(shape or (1,), promote_types((lhs, rhs))),)


def _dot_cost(
    lhs: TensorType, rhs: TensorType, *, transpose_a: bool, transpose_b: bool, **_: Any
) -> float:
    """A multiplication and an addition for each pair of elements that meet."""
    right = _dot_axes(lhs, rhs, transpose_a, transpose_b)[1]
    return 2.0 * lhs.size * (rhs.size // max(rhs.shape[right], 1))


@operator("dot", check=_check_dot, infer=_dot_type, cost=_dot_cost)
def _dot(
    lhs: Any,
    rhs: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: StorageType | None = None,
    platform: Platform,
) -> Any:
    """Sum of products over the last axis of `lhs` and the first axis of `rhs`.

    Of two matrices this is their product, of two vectors the inner product, of shape (1,). Of more
    dimensions, (a, b, c) and (c, d, e) give (a, b, d, e).

    Args:
        lhs: an array of at least one dimension.
        rhs: an array of at least one dimension.
        transpose_a: sum over the first axis of `lhs` instead.
        transpose_b: sum over the last axis of `rhs` instead.
        forward_stype: the storage of the result in MXNet; results here are always dense.
    """
    axes = _dot_axes(lhs, rhs, transpose_a, transpose_b)
    lhs, rhs = promoted(lhs, rhs)
    product = jnp.tensordot(lhs, rhs, axes=axes)
    return apart(product, platform) if product.ndim else product.reshape(1)


def _batch_sizes(matrices: TensorType, transpose: bool) -> tuple[int, int]:
    """Returns the rows and columns of the matrices."""
    rows, columns = matrices.shape[-2:]
    return (columns, rows) if transpose else (rows, columns)


def _check_batch_dot(
    lhs: TensorType, rhs: TensorType, *, transpose_a: bool, transpose_b: bool, **_: Any
) -> None:
    refuse_bool("batch_dot")(lhs, rhs)
    got = describe(_SIDES, (lhs, rhs))
    if len(lhs.shape) < 3 or len(rhs.shape) < 3 or lhs.shape[:-2] != rhs.shape[:-2]:
        raise ShapeError(
            "batch_dot: lhs and rhs must be (batch, ..., rows, columns) with equal batch "
            f"dimensions, got {got}"
        )
    if _batch_sizes(lhs, transpose_a)[1] != _batch_sizes(rhs, transpose_b)[0]:
        raise ShapeError(
            "batch_dot: the columns of lhs must be as many as the rows of rhs, with "
            f"transpose_a={transpose_a} and transpose_b={transpose_b}, got {got}"
        )


def _batch_dot_type(
    lhs: TensorType, rhs: TensorType, *, transpose_a: bool, transpose_b: bool, **_: Any
) -> tuple[TensorType]:
    rows, columns = _batch_sizes(lhs, transpose_a)[0], _batch_sizes(rhs, transpose_b)[1]
    return (tensor_type((*lhs.shape[:-2], rows, columns), promote_types((lhs, rhs))),)


def _batch_dot_cost(lhs: TensorType, rhs: TensorType, *, transpose_b: bool, **_: Any) -> float:
    return 2.0 * lhs.size * _batch_sizes(rhs, transpose_b)[1]


@operator("batch_dot", check=_check_batch_dot, infer=_batch_dot_type, cost=_batch_dot_cost)
def _batch_dot(
    lhs: Any,
    rhs: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    forward_stype: StorageType | None = None,
) -> Any:
    """Matrix products of two batches of matrices, (batch, n, k) and (batch, k, m).

    Args:
        lhs: matrices with any number of batch dimensions in front.
        rhs: as many matrices.
        transpose_a: transpose the matrices of `lhs` first.
        transpose_b: transpose the matrices of `rhs` first.
        forward_stype: the storage of the result in MXNet; results here are always dense.
    """
    lhs, rhs = promoted(lhs, rhs)
    if transpose_a:
        lhs = lhs.mT
    if transpose_b:
        rhs = rhs.mT
    return jnp.matmul(lhs, rhs)


def _check_khatri_rao(*types: TensorType, **_: Any) -> None:
    refuse_bool("khatri_rao")(*types)
    first = types[0].shape
    if any(len(matrix.shape) != 2 or matrix.shape[1:] != first[1:] for matrix in types):
        got = describe([f"args{i}" for i in range(len(types))], types)
        raise ShapeError(f"khatri_rao: all must be matrices with as many columns each, got {got}")


def _khatri_rao_type(*types: TensorType, **_: Any) -> tuple[TensorType]:
    rows = math.prod(matrix.shape[0] for matrix in types)
    return (tensor_type((rows, types[0].shape[1]), promote_types(types)),)


@operator("khatri_rao", check=_check_khatri_rao, infer=_khatri_rao_type)
def _khatri_rao(*args: Any, num_args: int = 0) -> Any:
    """Kronecker product of each column of matrices with those of the others (Khatri and Rao, 1968).

    Args:
        args: matrices (n, columns), (m, columns), ...

    Returns:
        (n * m * ..., columns).
    """
    product, *others = promoted(*args)
    for matrix in others:
        product = (product[:, None] * matrix[None]).reshape(-1, product.shape[1])
    return product
