"""Functions of `np` and `npx` give the answers of MXNet 1.9.1: values, gradients and dtypes."""

from __future__ import annotations

import sys

import numpy as onp
import pytest
from oracle.case import HERE, answers

import hybridnet as mx

if str(HERE) not in sys.path:
    sys.path.append(str(HERE))  # where the makers of answers import from

from numpy_cases import CASES, make_inputs, run, run_on

_TOLERANCE = {"float64": (1e-9, 1e-9), "float32": (3e-5, 3e-6), "float16": (4e-3, 2e-3)}
#: How many calls of each function are run, spread evenly: all of them would take minutes.
_MOST = 3
_FUNCTIONS = {case.op: [one for one in CASES if one.op == case.op] for case in CASES}


#: Functions whose results have shapes that only values tell: not to be traced.
_BY_VALUES = {"np.bincount", "np.nonzero", "np.unique", "npx.nonzero"}


def _ours(cases):
    """Runs calls as one program, which is far faster to compile than one for each."""
    if cases[0].op in _BY_VALUES:
        return [run(mx, case) for case in cases]

    @mx.function
    def whole(arrays):
        rest = [one.copy() for one in arrays]  # variables, each its own
        found = []
        for case in cases:
            own, rest = rest[: len(case.inputs)], rest[len(case.inputs) :]
            found.append(run_on(mx, case, own))
        return found

    hosts = [one for case in cases for one in make_inputs(case)]
    made = whole([mx.np.array(one, dtype=one.dtype) for one in hosts])
    return [{key: one.asnumpy() for key, one in found.items()} for found in made]


@pytest.mark.slow
@pytest.mark.parametrize("path", _FUNCTIONS)
def test_answers_of_mxnet(path):
    expected = answers("numpy")
    known = [case for case in _FUNCTIONS[path] if case.name in expected]  # MXNet refuses others
    cases = known[:: -(-len(known) // _MOST)]
    for case, found in zip(cases, _ours(cases), strict=True):
        for key, wanted in expected[case.name].items():
            got, what = found[key], f"{case.name} {case.attrs} {key}"
            assert got.dtype == wanted.dtype, what
            assert got.shape == wanted.shape, what
            rtol, atol = _TOLERANCE.get(wanted.dtype.name, (0, 0))
            onp.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=what)
