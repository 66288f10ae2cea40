"""Gradients of two operands of every storage type, for every request, of MXNet or hybridnet."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

_STORED = ("default", "row_sparse", "csr")
#: Tells matrices apart by one number.
_WEIGHTS = np.arange(1, 17, dtype=np.float32).reshape(4, 4) ** 2


def _matrix(seed: int) -> np.ndarray:
    """Whole numbers, of which some are 0, and the second row is."""
    random = np.random.RandomState(seed)
    made = random.randint(1, 5, (4, 4)).astype(np.float32)
    made[random.rand(4, 4) < 0.4] = 0
    made[1] = 0
    return made


#: Operators by name, of the module `nd` and two arrays.
_OPERATORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "elemwise_add": lambda nd, a, b: nd.elemwise_add(a, b),
    "elemwise_sub": lambda nd, a, b: nd.elemwise_sub(a, b),
    "elemwise_mul": lambda nd, a, b: nd.elemwise_mul(a, b),
    "elemwise_div": lambda nd, a, b: nd.elemwise_div(a, b + 1),
    "+": lambda nd, a, b: a + b,
    "-": lambda nd, a, b: a - b,
    "*": lambda nd, a, b: a * b,
    "dot": lambda nd, a, b: nd.dot(a, b),
    "dot_transpose_a": lambda nd, a, b: nd.dot(a, b, transpose_a=True),
    "dot_transpose_b": lambda nd, a, b: nd.dot(a, b, transpose_b=True),
    "add_n": lambda nd, a, b: nd.add_n(a, b, a),
    "broadcast_add": lambda nd, a, b: nd.broadcast_add(a, b),
    "broadcast_mul": lambda nd, a, b: nd.broadcast_mul(a, b),
    "concat": lambda nd, a, b: nd.concat(a, b, dim=0),
    "where": lambda nd, a, b: nd.where(a, b, b),
    "maximum": lambda nd, a, b: nd.maximum(a, b),
}


def numbers(mx: Any, name: str, stored: tuple[str, str], requests: tuple[str, str]) -> list[float]:
    """Runs a case twice; returns what stands for the result and for the gradients."""
    nd = mx.nd
    pair = [nd.array(_matrix(i + 1)).tostype(stype) for i, stype in enumerate(stored)]
    learned = [i for i, request in enumerate(requests) if request != "null"]
    for i in learned:
        pair[i].attach_grad(requests[i])
    for _ in range(2):
        with mx.autograd.record():
            made = head = _OPERATORS[name](nd, *pair)
            if made.stype == "default":
                head = (made * nd.arange(made.size).reshape(made.shape)).sum()
        head.backward()
    arrays = [made.tostype("default")[:4], *(pair[i].grad for i in learned)]
    return [float((array.asnumpy() * _WEIGHTS).sum()) for array in arrays]


#: Name -> the arguments of `numbers`.
CASES: dict[str, Any] = {
    " ".join((name, *stored, *requests)): (name, stored, requests)
    for name in _OPERATORS
    for stored in itertools.product(_STORED, repeat=2)
    for requests in itertools.product(("write", "add", "null"), repeat=2)
    if requests != ("null", "null")
}
