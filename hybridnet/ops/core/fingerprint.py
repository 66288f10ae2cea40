"""Fingerprints: what a call computes, as bytes that are the same in every process.

Within a process equal calls are one object, and structures are compared by identity. Programs that
are kept on disk need a name that outlives the process; it is made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from hybridnet.base.lazy import hashlib
from hybridnet.base.tensor_type import TensorType

#: Bytes of a fingerprint.
SIZE: Final = 20


class Unstable(Exception):
    """A fact has no text that means the same in another process (a function, an object)."""


def fingerprint(*facts: Any) -> bytes:
    """Returns a hash of facts: None, numbers, text, bytes, dtypes, types, slices; tuples of them.

    Raises:
        Unstable: a fact is of another kind.
    """
    pieces: list[bytes] = []
    _write(facts, pieces)
    return hashlib.blake2b(b"".join(pieces), digest_size=SIZE).digest()


def _write(fact: Any, pieces: list[bytes]) -> None:
    """Appends a form of the fact from which it could be read back, so that no two share one."""
    kind = type(fact)
    if kind is tuple or kind is list:
        pieces.append(b"(")
        for part in fact:
            _write(part, pieces)
        pieces.append(b")")
    elif kind is bytes:
        pieces.append(b"x%d:" % len(fact))
        pieces.append(fact)
    elif kind is str:
        text = fact.encode()
        pieces.append(b"s%d:" % len(text))
        pieces.append(text)
    elif fact is None or fact is Ellipsis or kind in (bool, int, float):
        pieces.append(f"{kind.__name__} {fact!r};".encode())
    elif kind is slice:
        _write(("slice", fact.start, fact.stop, fact.step), pieces)
    elif isinstance(fact, np.dtype):
        _write(("dtype", fact.name), pieces)
    elif kind is TensorType:
        _write(("type", fact.dtype.name, fact.shape), pieces)
    elif isinstance(fact, Mapping):
        _write(("mapping", *sorted(fact.items())), pieces)
    else:
        raise Unstable(f"{fact!r} of {kind.__name__}")
