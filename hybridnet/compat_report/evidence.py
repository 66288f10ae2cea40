"""Which names are compared with answers of MXNet 1.9.1, as far as the source tree tells."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Final

import numpy as np

from hybridnet.ops.registry import REGISTRY

from .rows import Row

__all__ = ["answered", "is_testable", "is_tested"]

_ORACLE: Final = Path(__file__).resolve().parents[2] / "tests" / "oracle"
# Namespaces whose functions compute arrays from arrays.
_COMPUTING: Final = frozenset(
    f"{front}{part}"
    for front in ("nd", "sym", "np", "npx")
    for part in ("", ".linalg", ".contrib", ".image", ".sparse", ".op")
)
# Functions in them that make, keep, move or ask about arrays, and so have no answer to compare;
# those that draw random numbers have their distributions tested.
_NO_ANSWER: Final = re.compile(
    r"\b(save|load\w*|waitall|imdecode|from_\w+|to_dlpack\w+|empty\w*|set_np|reset_np|seed|"
    r"is_np\w*|use_np\w*|cpu|gpu|num_gpus|current_context|may_share_memory|shares_memory|"
    r"Custom|shuffle|\w*random\w*|sample_\w+|uniform|normal|gamma|exponential|poisson|"
    r"negative_binomial|generalized_negative_binomial|uniform_n|normal_n|bernoulli|"
    r"set_printoptions|dtype|finfo|iinfo|get_include|Variable|var|Group|fromjson|"
    r"\w*multinomial|Dropout|dropout|rand\w*)$"
)


@functools.cache
def answered() -> frozenset[str] | None:
    """Returns the names that cases with MXNet's answers call; None outside a source tree.

    Of an operator every name counts; other calls are known by their path, as 'np.add'.
    """
    if not _ORACLE.is_dir():
        return None
    names: set[str] = set()
    for path in _ORACLE.glob("answers_*.npz"):
        with np.load(path) as file:
            cases = {entry[0] for entry in json.loads(bytes(file["index"]).decode())}
        for name in {case.rpartition("-")[0] for case in cases}:
            row = REGISTRY.get(name)
            names |= {name} if row is None else {row.name, *row.aliases}
    return frozenset(names)


def is_testable(row: Row) -> bool:
    """Whether a row has results that can be compared with MXNet's."""
    if row.raises or _NO_ANSWER.search(row.name):
        return False
    if row.kind == "method":
        return bool(row.forwards)
    return row.kind in ("op", "function") and row.namespace in _COMPUTING


def is_tested(row: Row) -> bool:
    """Whether answers of MXNet's exist for what a testable row does."""
    names = answered() or frozenset()
    last = row.name.rpartition(".")[2]
    if row.operator in names or row.name in names:
        return True
    own = REGISTRY.get(row.operator)
    if own is not None and own.name in names:
        return True
    # A method is its function; sym's functions run the operators of nd's.
    return row.forwards.rpartition(".")[2] in names or (f"nd.{last}" in names and row.kind != "op")
