"""Drawn calls of operators, also at kinks and ties, give the answers of MXNet 1.9.1, or differ as
the docs say.

The first table in `docs/differences.md` is read here: each row's operators and kinds of difference.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
from drawn_ops import differences, matches
from helpers import thorough
from oracle.drawn import DRAWN, KINKS, load
from places import ROOT

from hybridnet.compat_report import read_checklist
from hybridnet.ops.core.registry import REGISTRY

pytestmark = pytest.mark.slow

_TABLE = ROOT / "docs" / "differences.md"
_KINDS = {
    "accepted", "refused", "shape", "dtype", "result", "gradient", "special", "kink", "whole"
}  # fmt: skip
_FILES = [load(DRAWN), load(KINKS)]
_CASES = [case for cases, _ in _FILES for case in cases.values()]
_OPERATORS = sorted({case.op for case in _CASES} & set(REGISTRY))
_SHARDS = 24  # of operators: each is a test
_TRIED = range(0, _SHARDS, thorough(1, 3))


def _rows() -> list[tuple[str, set[str]]]:
    """Returns the operators and the kinds of each row of the table."""
    first = _TABLE.read_text().split("\n# At the edges")[0]
    lines = [line for line in first.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [(row[0], set(re.split(r", ", row[1]))) for row in cells]


@pytest.mark.parametrize("shard", _TRIED)
def test_drawn_calls_give_the_answers_of_mxnet_or_are_explained(shard):
    rows, unexplained = _rows(), []
    for operator, (drawn, answers) in product(_OPERATORS[shard::_SHARDS], _FILES):
        for one in differences([case for case in drawn.values() if case.op == operator], answers):
            if not any(one.kinds & kinds and matches(names, operator) for names, kinds in rows):
                unexplained.append(f"{one.case.name} {one.case.attrs}: {one.kind}: {one.text}")
    assert not unexplained, "\n".join(unexplained)


def test_every_row_of_the_table_is_of_operators_that_are_drawn():
    for names, kinds in _rows():
        assert kinds <= _KINDS, names
        for pattern in names.split(","):
            name = pattern.strip(" `")
            assert any(matches(name, one) for one in REGISTRY), f"there is no operator {name}"
        assert any(matches(names, one) for one in _OPERATORS), f"none of {names} is drawn"


def test_core_and_common_operators_have_drawn_calls():
    counts = Counter(REGISTRY[case.op].name for case in _CASES if case.op in REGISTRY)
    rows = {row.operator for row in read_checklist() if row.tier != "rare"} & set(REGISTRY)
    without = sorted(name for name in rows if not counts[REGISTRY[name].name])
    assert len(without) < 0.05 * len(rows), without
