"""Names that are compared with answers of MXNet 1.9.1, as far as the source tree tells."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Final

import numpy as np

from hybridnet.ops.core.registry import REGISTRY

from .rows import Row

_ORACLE: Final = Path(__file__).resolve().parents[2] / "tests" / "oracle"
# Namespaces whose functions compute arrays from arrays.
_COMPUTING: Final = frozenset(
    f"{front}{part}"
    for front in ("nd", "sym", "np", "npx")
    for part in ("", ".linalg", ".contrib", ".image", ".sparse", ".op")
)
#: Why functions in them have no answer to compare -> patterns of their names.
_NO_ANSWER: Final = {
    "reads, writes, shares or waits for memory": (
        r"save|load\w*|waitall|imdecode|from_\w+|to_dlpack\w+|may_share_memory|shares_memory"
    ),
    "its values are not determined": r"empty\w*",
    "draws random numbers: their distributions are tested": (
        r"random|random_(?!pdf)\w+|rand(int|n|_zipfian)|sample_\w+|uniform|uniform_n|normal|normal_n|"
        r"exponential|poisson|negative_binomial|generalized_negative_binomial|bernoulli|"
        r"\w*multinomial|shuffle|[Dd]ropout|seed"
    ),
    "switches or tells a setting or a context": (
        r"set_np|reset_np|is_np\w*|use_np\w*|cpu|cpu_pinned|gpu|num_gpus|current_context|"
        r"set_printoptions|get_include"
    ),
    "is a type, or tells about one": r"dtype|finfo|iinfo",
    "makes symbols: their structure is tested": r"sym\.(Variable|var|Group)|fromjson",
    "runs the user's code": r"Custom",
    "fails in MXNet, which has no such operator": r"deg2rad|rad2deg",
}
_WITHOUT: Final = re.compile(rf"\b({'|'.join(_NO_ANSWER.values())})$")


@functools.cache
def answered() -> frozenset[str] | None:
    """Returns the names that cases with MXNet's answers call; None outside a source tree.

    Files of arrays have the name at the head of each case's own: of an operator, all of whose
    names count then, or a path as 'np.add'. Other files list the paths of what they call.
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
    for path in _ORACLE.glob("*.json"):
        names.update(json.loads(path.read_text(encoding="utf-8")).get("called", ()))
    return frozenset(names)


def is_testable(row: Row) -> bool:
    """Whether a row has results that can be compared with MXNet's."""
    if row.raises or _WITHOUT.search(row.name):
        return False
    if row.kind == "method":
        return bool(row.forwards)
    return row.kind in ("op", "function") and row.namespace in _COMPUTING


def is_tested(row: Row) -> bool:
    """Whether answers of MXNet's exist for what a testable row does."""
    names = answered() or frozenset()
    if row.operator in names or row.name in names:
        return True
    own = REGISTRY.get(row.operator)
    if own is not None and own.name in names:
        return True
    # A method is its function.
    return row.forwards in names or row.forwards.rpartition(".")[2] in names
