"""Products and sums of sparse arrays; see `operators`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hybridnet.base.errors import ShapeError
from hybridnet.ops.core import OpCall, Scalars, describe, registry
from hybridnet.tape import Leaf

from ..ndarray import NDArray
from .base import RULES, apply
from .csr import CSRNDArray
from .row_sparse import RowSparseNDArray

__all__: list[str] = []


def _dot(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    """A CSR matrix, or its transpose, times a dense matrix."""
    lhs, rhs = inputs
    attrs = call.attrs
    transpose_a, stype = attrs["transpose_a"], attrs["forward_stype"]
    if type(lhs) is not CSRNDArray:
        return _dense_dot_csr(call, inputs)
    if rhs.ndim != 2:
        got = describe(("lhs", "rhs"), (lhs.type, rhs.type))
        raise ShapeError(f"dot: beside a csr array rhs must have 2 dimensions, got {got}")
    natural = "row_sparse" if transpose_a and not attrs["transpose_b"] else "default"
    if type(rhs) is CSRNDArray:
        natural = "default"
    call.infer((lhs.type, rhs.type))  # raises where the shapes do not fit
    sparse_grad = wants_rows(rhs)
    dense = rhs.tostype("default") if rhs.stype != "default" else rhs
    dense = dense.T if attrs["transpose_b"] else dense
    parts = (lhs._data, *lhs._aux, dense)
    if (stype or natural) == "row_sparse" and transpose_a:
        values, rows = apply("_csr_dot_rows", *parts, columns=lhs.shape[1])
        shape = (lhs.shape[1], dense.shape[1])
        return [RowSparseNDArray.of(values, [rows], shape, exact=False)]
    made = apply(
        "_csr_dot",
        *parts,
        columns=lhs.shape[1],
        transpose_a=transpose_a,
        sparse_grad=sparse_grad and not transpose_a,
    )
    return [made if stype in (None, "default") else made.tostype(stype)]


def _dense_dot_csr(call: OpCall, inputs: Sequence[Any]) -> list[NDArray] | None:
    """A dense matrix times a CSR matrix, which MXNet gives as CSR matrix."""
    lhs, rhs = inputs
    attrs = call.attrs
    if type(rhs) is not CSRNDArray or lhs.stype != "default" or lhs.ndim != 2:
        return None
    call.infer((lhs.type, rhs.type))
    # (lhs . rhs) is the transpose of (rhs.T . lhs.T); a transposed lhs is such an lhs.T.
    across = lhs if attrs["transpose_a"] else lhs.T
    flipped = apply(
        "_csr_dot",
        rhs._data,
        *rhs._aux,
        across,
        columns=rhs.shape[1],
        transpose_a=not attrs["transpose_b"],
    )
    natural = "default" if attrs["transpose_a"] else "csr"
    stype = attrs["forward_stype"] or natural
    return [flipped.T if stype == "default" else flipped.T.tostype(stype)]


def wants_rows(x: Any) -> bool:
    """Whether an array is a variable whose gradient is stored as row-sparse array."""
    edge = x.edge
    if edge is None or type(edge.node) is not Leaf or edge.node.grad is None:
        return False
    return bool(edge.node.grad.stype == "row_sparse")


def _total(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    """The sum or mean over an axis, or all."""
    (x,) = inputs
    attrs = call.attrs
    axis = attrs["axis"]
    axes = range(x.ndim) if axis in (None, ()) else (axis,) if isinstance(axis, int) else axis
    if attrs["exclude"] or not all(-x.ndim <= number < x.ndim for number in axes):
        return None
    summed = sorted({number % x.ndim for number in axes})
    if type(x) is CSRNDArray:
        along = None if len(summed) == 2 else summed[0]
        made = apply("_csr_sum", x._data, *x._aux, columns=x.shape[1], axis=along)
    elif summed[0] == 0:
        made = apply("sum", x._data, axis=tuple(summed))
    else:
        return None
    if call.name == "mean":
        made = made / math.prod(x.shape[number] for number in summed)
    kept = tuple(1 if i in summed else size for i, size in enumerate(x.shape))
    dropped = tuple(size for i, size in enumerate(x.shape) if i not in summed) or (1,)
    return [made.reshape(kept if attrs["keepdims"] else dropped)]


def _norm(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    """The norm of all elements: that of those stored."""
    (x,) = inputs
    attrs = call.attrs
    if attrs["axis"] not in (None, ()) or attrs["out_dtype"]:
        return None
    made = apply("norm", x.trimmed()._data.reshape((-1,)), ord=attrs["ord"])
    return [made.reshape((1,) * x.ndim) if attrs["keepdims"] else made]


def _square_sum(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    """The sum of squares; over the second axis that of each row stored."""
    (x,) = inputs
    attrs = call.attrs
    squares = x.square()
    if type(x) is RowSparseNDArray and x.ndim == 2 and attrs["axis"] in (1, (1,), -1, (-1,)):
        data = squares._data.sum(axis=1, keepdims=True)
        made = x.of(data, x._aux, (x.shape[0], 1), x._exact)
        return [made if attrs["keepdims"] else made.to_dense().reshape((-1,))]
    total = registry.get("sum").bind(attrs)[0]
    return type(x).apply_call(total, (squares,))  # type: ignore[no-any-return]


RULES["dot"] = _dot
RULES["sum"] = RULES["mean"] = _total
RULES["norm"] = _norm
RULES["_square_sum"] = _square_sum
