"""Functions of np, npx, nd and sym give MXNet 1.9.1's answers: values, gradients and dtypes."""

from __future__ import annotations

import sys
from collections import Counter

import numpy as onp
import pytest
from helpers import naive
from oracle.case import HERE, answers

import hybridnet as mx

if str(HERE) not in sys.path:
    sys.path.append(str(HERE))  # where the makers of answers import from

from calls import FAMILIES, finish, make_arrays, run, run_on, run_symbols

_TOLERANCE = {"float64": (1e-9, 1e-9), "float32": (3e-5, 3e-6), "float16": (4e-3, 2e-3)}
#: How many calls of each function are run, spread evenly: all of numpy's would take minutes.
_MOST = {"numpy": 3, "functions": 12}
_FUNCTIONS = [
    (family, path)
    for family, cases in FAMILIES.items()
    for path in dict.fromkeys(c.op for c in cases)
]

#: Functions that read the values of arrays, or give no arrays: not to be traced.
_BY_VALUES = {
    "nd.histogram", "np.array_equal", "np.bincount", "np.genfromtxt", "np.insert",
    "np.linalg.eig", "np.linalg.eigvals", "np.nonzero", "np.shape", "np.unique",
    "npx.constraint_check", "npx.nonzero",
}  # fmt: skip


def _ours(path, cases):
    """Runs calls as one program, which is far faster to compile than one for each."""
    if path.startswith("sym."):
        return run_symbols(mx, cases)
    if path in _BY_VALUES:
        with naive():
            return [run(mx, case) for case in cases]

    @mx.function
    def whole(given):
        rest = [one.copy() for one in given]  # variables, each its own
        found = []
        for case in cases:
            own, rest = rest[: len(case.inputs)], rest[len(case.inputs) :]
            found.append(run_on(mx, case, own))
        return found

    made = whole([one for case in cases for one in make_arrays(mx, case)])
    return [finish(case, found) for case, found in zip(cases, made, strict=True)]


def test_every_function_has_ten_answers():
    for family, cases in FAMILIES.items():
        counts = Counter(case.op for case in cases if case.name in answers(family))
        assert set(counts) == {case.op for case in cases}
        assert min(counts.values()) >= 10, counts.most_common()[-5:]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "path"), _FUNCTIONS)
def test_answers_of_mxnet(family, path):
    expected = answers(family)
    # MXNet refuses others.
    known = [case for case in FAMILIES[family] if case.op == path and case.name in expected]
    count = min(len(known), _MOST[family])
    cases = [known[i * len(known) // count] for i in range(count)]
    for case, found in zip(cases, _ours(path, cases), strict=True):
        for key, wanted in expected[case.name].items():
            got, what = found[key], f"{case.name} {case.attrs} {key}"
            assert got.dtype == wanted.dtype, what
            assert got.shape == wanted.shape, what
            rtol, atol = _TOLERANCE.get(wanted.dtype.name, (0, 0))
            onp.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=what)
