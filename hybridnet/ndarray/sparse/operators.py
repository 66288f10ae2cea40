"""Rules of operators for sparse arrays, which do without making them dense.

The storage of a result is that of MXNet; an operator, or a mixture of storages, that has no rule
here is computed on dense arrays, and gives a dense one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import ShapeError
from hybridnet.ops.core import OpCall, Scalars, describe, registry
from hybridnet.ops.sparse import KEEPS_ZERO

from ..ndarray import NDArray
from ..storage_types import STORAGE_TYPES
from .base import RULES, BaseSparseNDArray, Rule, apply, dense, upload
from .csr import CSRNDArray
from .row_sparse import RowSparseNDArray

__all__: list[str] = []

#: Operators on an array and a number, and for which numbers they are 0 at 0.
_KEEPS_ZERO_WITH: Final[dict[str, Callable[[float], bool]]] = {
    "_plus_scalar": lambda number: number == 0,
    "_minus_scalar": lambda number: number == 0,
    "_not_equal_scalar": lambda number: number == 0,
    "_equal_scalar": lambda number: number != 0,
    "_greater_scalar": lambda number: number >= 0,
    "_greater_equal_scalar": lambda number: number > 0,
    "_lesser_scalar": lambda number: number <= 0,
    "_lesser_equal_scalar": lambda number: number < 0,
}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Returns the decorator that makes a function the rule of these operators."""

    def register(rule: Rule) -> Rule:
        for name in names:
            RULES[registry.get(name).name] = rule
        return rule

    return register


def _same(kind: type[BaseSparseNDArray], inputs: Sequence[NDArray]) -> bool:
    return all(type(x) is kind for x in inputs)


@_rule(*KEEPS_ZERO, "_mul_scalar", "_div_scalar")
def _of_values(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    (x,) = inputs
    return [x.with_data(NDArray.apply_call(call, (x._data,), scalars)[0])]


@_rule(*_KEEPS_ZERO_WITH)
def _with_number(call: OpCall, inputs: Sequence[object], scalars: Scalars) -> list[NDArray] | None:
    (number,) = scalars
    if type(number) is float and _KEEPS_ZERO_WITH[call.name](number):
        return _of_values(call, inputs, scalars)
    return None


@_rule("clip")
def _clip(call: OpCall, inputs: Sequence[object], scalars: Scalars) -> list[NDArray] | None:
    low, high = scalars
    if type(low) is type(high) is float and low <= 0 <= high:
        return _of_values(call, inputs, scalars)
    return None


@_rule("zeros_like")
def _zeros_like(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    (x,) = inputs
    return [STORAGE_TYPES[x.stype].zeros(x.shape, x.context, x.dtype)]


@_rule("cast_storage")
def _cast_storage(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    return [inputs[0].tostype(call.attrs["stype"])]


def _keys(x: BaseSparseNDArray) -> NDArray:
    """Returns the positions of what an array stores as one number each, ascending."""
    if type(x) is RowSparseNDArray:
        return x._aux[0]
    keys: NDArray = apply("_csr_keys", *x._aux, columns=x.shape[1])
    return keys


def _at(x: BaseSparseNDArray, keys: NDArray) -> NDArray:
    """Returns an array's values at some positions, 0 where it stores none."""
    values: NDArray = apply("_lookup", x._data, _keys(x), keys)
    return values


def _from_keys(like: BaseSparseNDArray, values: NDArray, keys: NDArray) -> NDArray:
    """Returns an array with values at ascending positions, with room."""
    rows = like.shape[0]
    if type(like) is RowSparseNDArray:
        return like.of(values, [keys], like.shape, exact=False)
    aux = apply("_keys_csr", keys, rows=rows, columns=like.shape[1])
    return like.of(values, aux, like.shape, exact=False)


def _union(inputs: Sequence[BaseSparseNDArray]) -> NDArray:
    """Returns the positions that any of some arrays stores, ascending, with room."""
    shape = inputs[0].shape
    bound = shape[0] if type(inputs[0]) is RowSparseNDArray else shape[0] * shape[1]
    every = apply("Concat", *map(_keys, inputs), dim=0)
    keys: NDArray = apply("_distinct", every, bound=bound)
    return keys


def _check_shapes(call: OpCall, inputs: Sequence[NDArray]) -> None:
    if any(x.shape != inputs[0].shape for x in inputs):
        types = [x.type for x in inputs]
        got = describe(call.input_names(len(inputs)), types)
        raise ShapeError(f"{call.name}: the inputs must have equal shapes, got {got}")


@_rule("elemwise_add", "elemwise_sub")
def _sum_of_two(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    if not (_same(CSRNDArray, inputs) or _same(RowSparseNDArray, inputs)):
        return None
    _check_shapes(call, inputs)
    lhs, rhs = inputs
    if lhs._aux is rhs._aux:
        return [lhs.with_data(NDArray.apply_call(call, (lhs._data, rhs._data), scalars)[0])]
    keys = _union(inputs)
    values = NDArray.apply_call(call, (_at(lhs, keys), _at(rhs, keys)), scalars)[0]
    return [_from_keys(lhs, values, keys)]


@_rule("add_n")
def _sum_of_many(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    if not _same(RowSparseNDArray, inputs):
        return None
    _check_shapes(call, inputs)
    keys = _union(inputs)
    values = apply("add_n", *(_at(x, keys) for x in inputs))
    return [_from_keys(inputs[0], values, keys)]


@_rule("elemwise_mul")
def _product(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    lhs, rhs = inputs
    if "default" in (lhs.stype, rhs.stype):
        _check_shapes(call, inputs)
        x, other = (rhs, lhs) if lhs.stype == "default" else (lhs, rhs)
        if type(x) is CSRNDArray:
            beside = apply("_csr_pick", other, *x._aux)
        else:
            beside = apply("_take_rows", other, x._aux[0])
        pair = (x._data, beside) if x is lhs else (beside, x._data)
    elif type(lhs) is type(rhs):
        _check_shapes(call, inputs)
        x, pair = lhs, (lhs._data, _at(rhs, _keys(lhs)))
    else:
        return None
    return [x.with_data(NDArray.apply_call(call, pair, scalars)[0])]


@_rule("broadcast_mul", "broadcast_div")
def _beside_dense(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    lhs, rhs = inputs
    if type(lhs) is not CSRNDArray or rhs.stype != "default" or rhs.ndim > 2:
        return None
    sizes = (1,) * (2 - rhs.ndim) + rhs.shape
    if any(a not in (1, b) for a, b in zip(sizes, lhs.shape, strict=True)):
        return None  # not of the shape of lhs; or refused, by the dense operator
    beside = apply("_csr_pick", rhs.reshape(sizes), *lhs._aux)
    return [lhs.with_data(NDArray.apply_call(call, (lhs._data, beside), scalars)[0])]


@_rule("_sparse_retain")
def _retain(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    x, wanted = inputs
    if type(x) is not RowSparseNDArray or wanted.stype != "default":
        return None
    if not len(x._data):  # nothing is stored, and so no rows of zeros
        return [STORAGE_TYPES[x.stype].zeros(x.shape, x.context, x.dtype)]
    rows = apply("_distinct", wanted, bound=x.shape[0])
    return [x.of(_at(x, rows), [rows], x.shape, exact=False)]


@_rule("slice")
def _slice(call: OpCall, inputs: Sequence[object], scalars: Scalars) -> list[NDArray] | None:
    (x,) = inputs
    begin, end, step = (call.attrs[name] or () for name in ("begin", "end", "step"))
    if type(x) is not CSRNDArray or len(begin) > 2 or any(size not in (None, 1) for size in step):
        return None
    spans = [slice(a, b).indices(size)[:2] for a, b, size in zip(begin, end, x.shape, strict=False)]
    made = x.rows(*spans[0])
    if len(spans) == 2 and spans[1] != (0, x.shape[1]):
        made = made.columns(*spans[1])
    return [made]


@_rule("take")
def _take(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    """Rows of a CSR matrix, by their numbers; waits for these, and for where the rows begin."""
    x, indices = inputs
    if type(x) is not CSRNDArray or call.attrs["axis"] not in (0, -2) or indices.ndim != 1:
        return None
    if call.attrs["mode"] not in ("clip", "wrap") or not x.shape[0]:
        return None
    wanted = indices.asnumpy().astype(np.int64)
    if call.attrs["mode"] == "clip":
        rows = np.clip(wanted, 0, x.shape[0] - 1)
    else:
        rows = wanted % x.shape[0]
    x.trimmed()
    starts = x._aux[1].asnumpy()
    lengths = np.diff(starts)[rows]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(starts[rows] - ends[:-1], lengths) + np.arange(ends[-1])
    aux = [upload(ends.astype(np.int64), x.context)]
    data, columns = x._data[:0], x._aux[0][:0]
    if len(places):
        where = upload(places, x.context)
        data, columns = (apply("take", part, where) for part in (x._data, x._aux[0]))
    return [x.of(data.copy(), [columns.copy(), *aux], (len(rows), x.shape[1]))]


@_rule("FullyConnected")
def _fully_connected(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    """A row-sparse bias is a matrix of one column, as it must have rows."""
    if len(inputs) < 3 or inputs[2].stype != "row_sparse" or inputs[2].ndim != 2:
        return None
    data, weight, bias = (dense(x) for x in inputs)
    return NDArray.apply_call(call, [data, weight, bias.reshape((-1,))], scalars)


@_rule("Concat")
def _concat(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    wide = {x.shape[1:] for x in inputs}
    if not _same(CSRNDArray, inputs) or call.attrs["dim"] not in (0, -2) or len(wide) > 1:
        return None
    parts = [x.trimmed() for x in inputs]
    ends, count = [parts[0]._aux[1][:1]], 0
    for part in parts:
        ends.append(part._aux[1][1:] + count)
        count += part._data.size
    data = apply("Concat", *(part._data for part in parts), dim=0)
    indices = apply("Concat", *(part._aux[0] for part in parts), dim=0)
    rows = sum(part.shape[0] for part in parts)
    aux = [indices, apply("Concat", *ends, dim=0)]
    return [CSRNDArray.of(data, aux, (rows, parts[0].shape[1]))]
