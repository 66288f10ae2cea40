"""The makers of arrays of other storage types than the dense one; `nd.sparse` fills the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.base.sparse_parts import SparseParts

from ._host import AbstractArray

__all__ = ["STORAGE_TYPES", "StorageType", "sparse_kind", "storage_type"]


class StorageType(NamedTuple):
    """The ways to get an array of a storage type.

    Attributes:
        cast: makes one of a dense array.
        zeros: makes one that stores nothing, of a shape, on a context, of a dtype.
        to_parts: returns an array's parts on the host, as files hold them; waits for them.
        from_parts: makes an array of such, which must be right, on a context.
        of_rows: makes one of rows, their positions, and how many rows there are in all; of
            row-sparse arrays only.
        of_matrix: makes one of a matrix of `scipy.sparse`, on a context, of a dtype; of csr arrays
            only.
    """

    cast: Callable[[Any], Any]
    zeros: Callable[[tuple[int, ...], Context, Any], Any]
    to_parts: Callable[[Any], SparseParts]
    from_parts: Callable[[SparseParts, Context], Any]
    of_rows: Callable[[Any, Any, int], Any] | None = None
    of_matrix: Callable[[Any, Context, Any], Any] | None = None


#: The storage types by MXNet's names, 'row_sparse' and 'csr'.
STORAGE_TYPES: Final[dict[str, StorageType]] = {}


def storage_type(stype: str, what: str) -> StorageType:
    """Returns how arrays of a storage type are made.

    Args:
        stype: the storage type, not 'default'.
        what: who asks, for messages.

    Raises:
        ParameterError: there is none of this name.
    """
    try:
        return STORAGE_TYPES[stype]
    except (KeyError, TypeError):
        known = ", ".join(["'default'", *map(repr, STORAGE_TYPES)])
        raise ParameterError(f"{what}: stype must be one of {known}, got {stype!r}") from None


def sparse_kind(inputs: Any) -> Any:
    """Returns the class of the first sparse array among the inputs of a call; None without one."""
    for x in inputs:
        if isinstance(x, AbstractArray) and x.stype != "default":
            return type(x)
    return None
