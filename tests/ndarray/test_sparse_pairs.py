"""Two operands of every storage type have MXNet's gradients, in `sparse_gradient_cases.py`."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from oracle.sparse_gradient_cases import CASES, numbers
from places import ORACLE

import hybridnet as mx

ANSWERS = json.loads((ORACLE / "sparse_gradients.json").read_text())
#: MXNet gives both operands one array for their gradients, to which it then adds twice.
SHARED = {
    name
    for name, (operator, stored, requests) in CASES.items()
    if operator == "elemwise_add" and stored[0] == "default" and requests[0] == "add"
}


@pytest.mark.slow
@pytest.mark.parametrize("operator", sorted({case[0] for case in CASES.values()}))
def test_gradients_are_mxnets(operator: str) -> None:
    wrong = {}
    for name, case in CASES.items():
        wanted = ANSWERS[name]
        if case[0] != operator or name in SHARED:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = numbers(mx, *case)  # also where MXNet refuses
        if wanted is not None and not np.allclose(found, wanted, rtol=1e-5):
            wrong[name] = found, wanted
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["dot", "dot_transpose_a", "*", "elemwise_add"])
def test_a_request_for_one_changes_nothing_of_the_other(operator: str) -> None:
    """Nor does it where MXNet refuses."""
    for name, case in CASES.items():
        _, stored, requests = case
        if case[0] != operator or "null" in requests:
            continue
        both = numbers(mx, *case)
        first = numbers(mx, operator, stored, (requests[0], "null"))
        second = numbers(mx, operator, stored, ("null", requests[1]))
        assert np.allclose(both, [both[0], first[1], second[1]]), name
