"""Sparse arrays in an executor: which are made dense, and how the user is told of it."""

from __future__ import annotations

import logging
from functools import cache
from typing import Final

from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import storage_type, zeros_of

_log: Final = logging.getLogger("hybridnet")


@cache
def _say_dense(text: str) -> None:
    _log.warning(text)


def warn_made_dense(names: str) -> None:
    """Warns, once in a process, that executors make sparse arrays dense.

    Args:
        names: the arrays of this executor that are, for the message.
    """
    if not _say_dense.cache_info().currsize:
        _say_dense(
            f"the sparse arrays of {names} are made dense for each forward pass of an executor, as "
            "programs take dense arrays (said once; MXNet's storage fallback)"
        )


def dense(array: NDArray) -> NDArray:
    """Returns a dense copy of a sparse array."""
    return array.tostype("default")


def zeros_like_stored(old: NDArray, shape: tuple[int, ...]) -> NDArray:
    """Returns zeros of another shape, in the storage type of `old`."""
    if old.stype == "default":
        return zeros_of(shape, old.context, old.dtype)
    made: NDArray = storage_type(old.stype, "reshape").zeros(shape, old.context, old.dtype)
    return made
