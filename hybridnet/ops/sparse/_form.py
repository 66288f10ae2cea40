"""The dense arrays that sparse ones are made of, as the operators of this folder take them.

A row-sparse array is values (n, ...) and the rows (n,) they stand in, ascending; a CSR matrix is
values (n,), their columns (n,), and where each row begins and ends among them (rows + 1,). Either
may have room for more than it holds, so that the sizes of programs depend on no values: unused
rows have the number of rows as their position, and unused elements come after the last row's end.
Positions out of range are dropped or read as something that is dropped later.
"""

from __future__ import annotations

from typing import Annotated, Any

from hybridnet.base.attrs import Range
from hybridnet.base.dtype import INT64
from hybridnet.ops.host.namespace import jnp

#: How many rows or columns, or how much room.
Count = Annotated[int, Range(0)]


def elements(data: Any, indices: Any, indptr: Any, columns: int) -> tuple[Any, Any, Any]:
    """Returns value, row and column of each element; 0 and positions out of range for room."""
    rows = indptr.shape[0] - 1
    place = jnp.arange(data.shape[0], dtype=INT64)
    used = place < indptr[-1]
    row = jnp.searchsorted(indptr, place, side="right").astype(INT64) - 1
    return (
        jnp.where(used, data, jnp.zeros((), data.dtype)),
        jnp.where(used, row, rows),
        jnp.where(used, indices, columns),
    )
