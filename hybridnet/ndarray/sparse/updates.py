"""Optimizers' updates by row-sparse gradients: only the rows that have one are touched.

So a step costs what its rows cost, however many the weight has. Momentum and running means of
other rows do not decay meanwhile, nor do their weights: it is not the update that a dense gradient
with zeros makes, which ``lazy_update=False`` asks for. MXNet's ``ftrl_update`` does so where the
weight is row-sparse too; here it always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.ops.core import OpCall, Scalars

from ..ndarray import NDArray
from .base import RULES, apply, dense
from .row_sparse import RowSparseNDArray

__all__: list[str] = []


def _update_rows(call: OpCall, inputs: Sequence[Any], scalars: Scalars) -> list[NDArray] | None:
    weight, grad, *states = inputs
    if type(grad) is not RowSparseNDArray or not call.attrs.get("lazy_update", True):
        return None
    call.infer(tuple(value.type for value in inputs))  # raises where they do not fit
    rows = grad._aux[0]
    # Room in the gradient reads the last row, and writes none.
    whole = [dense(state) for state in (weight, *states)]
    before = [apply("take", state, rows) for state in whole]
    after = NDArray.apply_call(call, (before[0], grad._data, *before[1:]), scalars)
    made = [apply("_put_rows", x, rows, new) for x, new in zip(whole, after, strict=True)]
    for index, output in call.mutates.items():
        inputs[index].assign(made[output].tostype(inputs[index].stype))
    return made


for _name in (
    "sgd_update",
    "sgd_mom_update",
    "adam_update",
    "ftrl_update",
    "_sparse_adagrad_update",
):
    RULES[_name] = _update_rows
