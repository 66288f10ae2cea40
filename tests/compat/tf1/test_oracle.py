"""Programs for TensorFlow's 1.x API give its answers: values, shapes, dtypes, names, errors.

The programs are those of ``oracle/tf1_*_cases.py``. Not compared are the names of what gradients
are made of, which are our own.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from oracle.tf1_case import SCRIPTS, all_cases, answers, run

import hybridnet.compat.tf1 as tf

_TOLERANCE = {"float64": (1e-6, 1e-7), "float32": (5e-5, 1e-5), "float16": (2e-3, 1e-3)}


def _compare(got: Any, wanted: Any, where: str) -> list[str]:
    """Returns what differs, in words."""
    if isinstance(wanted, dict) and "data" in wanted:
        return _compare_arrays(got, wanted, where)
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return [f"{where}: {got!r} and not {wanted!r}"]
        pairs = zip(got, wanted, strict=True)
        return [x for i, pair in enumerate(pairs) for x in _compare(*pair, f"{where}[{i}]")]
    if isinstance(wanted, dict):
        if not isinstance(got, dict) or got.keys() != wanted.keys():
            return [f"{where}: {got!r} and not {wanted!r}"]
        return [x for key in wanted for x in _compare(got[key], wanted[key], f"{where}.{key}")]
    if where.endswith(".tensor") and "'gradients" in wanted:
        got, wanted = (re.sub(r"'\S*'", "", one) for one in (got, wanted))
    return [] if got == wanted else [f"{where}: {got!r} and not {wanted!r}"]


def _compare_arrays(got: Any, wanted: Any, where: str) -> list[str]:
    if not isinstance(got, dict) or "data" not in got:
        return [f"{where}: {got!r} and not {wanted!r}"]
    facts = [(one["dtype"], one["shape"]) for one in (got, wanted)]
    if facts[0] != facts[1]:
        return [f"{where}: {facts[0]} and not {facts[1]}"]
    if wanted["dtype"] == "object":
        return [] if got["data"] == wanted["data"] else [f"{where}: {got} and not {wanted}"]
    rtol, atol = _TOLERANCE.get(wanted["dtype"], (0, 0))
    try:
        np.testing.assert_allclose(got["data"], wanted["data"], rtol=rtol, atol=atol)
    except AssertionError as error:
        return [f"{where}: {error}"]
    return []


@pytest.mark.slow
@pytest.mark.parametrize("name", all_cases())
def test_answers_of_tensorflow(name: str):
    problems = _compare(run(tf, all_cases()[name]), answers()[name], "")
    assert not problems, "\n".join(problems)


def test_every_answer_has_its_program():
    assert answers().keys() == {*all_cases(), *SCRIPTS, "signatures"}
