"""Modules give MXNet 1.9.1's numbers, in the cases of `module_cases.py`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from oracle.module_cases import CASES
from places import ORACLE

import hybridnet as mx

ANSWERS = json.loads((ORACLE / "module.json").read_text())


def assert_same(found, wanted, where):
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), where
        for key, value in wanted.items():
            assert_same(found[key], value, f"{where}, {key}")
    elif isinstance(wanted, list) and wanted and isinstance(wanted[0], (list, str)):
        assert len(found) == len(wanted), where
        for one, other in zip(found, wanted, strict=True):
            assert_same(one, other, where)
    elif isinstance(wanted, (list, float)):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5, err_msg=where)
    else:
        assert found == wanted, where


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_mxnets(name):
    assert_same(CASES[name](mx), ANSWERS[name], name)
