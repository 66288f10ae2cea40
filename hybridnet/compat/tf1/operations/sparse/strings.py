"""``tf.string_split``: the parts of strings, of which there may be any number."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import int64, string
from ...graph.control import name_scope
from ..scripts import host_call
from ..strings import places_of, strings
from .tensor import SparseTensor

__all__ = ["string_split"]


def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> SparseTensor:
    """Returns the parts of each of some strings, as a row of a sparse tensor.

    Args:
        source: a vector of strings.
        sep: each of its characters parts; '' parts all; default a blank.
        skip_empty: whether parts without a character are left out.
        delimiter: the older name of `sep`.
        result_type: must be 'SparseTensor'.

    Raises:
        ValueError: another result is asked for.
    """
    if result_type != "SparseTensor":
        raise ValueError(f"string_split: result_type must be 'SparseTensor', got {result_type!r}")
    given = delimiter if sep is None else sep
    apart = " " if given is None else given
    marks = apart if isinstance(apart, bytes) else apart.encode()
    with name_scope(name, "StringSplit", [source]):
        text = strings("StringSplit", source, "source")

        def run(texts: np.ndarray[Any, Any]) -> list[Any]:
            rows = [_parts(one, marks, skip_empty) for one in texts]
            values = np.empty(sum(map(len, rows)), object)
            values[:] = [one for row in rows for one in row]
            places, shape = places_of(rows)
            return [places, values, shape]

        dims = [(None, 2), (None,), (2,)]
        return SparseTensor(*host_call("StringSplit", run, [text], [int64, string, int64], dims))


def _parts(text: bytes, marks: bytes, skip: bool) -> list[bytes]:
    if not marks:
        return [text[n : n + 1] for n in range(len(text))]
    for one in marks[1:]:
        text = text.replace(bytes([one]), marks[:1])
    return [one for one in text.split(marks[:1]) if one or not skip]
