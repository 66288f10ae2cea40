"""Operators give the answers of MXNet 1.9.1: outputs, gradients, and inputs that they overwrite."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_gradient, run_op
from oracle.cases import CASES, Case, answers, head_gradient, make_inputs

from hybridnet.ops.registry import get

_TOLERANCE = {"float64": (1e-9, 1e-9), "float32": (2e-5, 2e-6), "float16": (2e-3, 1e-3)}


def _assert_close(got, wanted, what):
    assert got.dtype == wanted.dtype, what
    rtol, atol = _TOLERANCE.get(wanted.dtype.name, (0, 0))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=what)


# Each case compiles two programs: the first one of every operator is for every day.
_PARAMS = [
    pytest.param(one, id=one.name, marks=() if one.name.endswith("-0") else pytest.mark.slow)
    for one in CASES
]


@pytest.mark.parametrize("case", _PARAMS)
def test_answers_of_mxnet(case: Case):
    expected, inputs = answers()[case.name], make_inputs(case)
    outputs = run_op(case.op, *inputs, train=case.train, **case.attrs)
    call, _ = get(case.op).bind(case.attrs, case.train)
    for index in range(call.num_visible):
        _assert_close(outputs[index], expected[f"out{index}"], f"output {index}")
    for index in case.after:
        _assert_close(outputs[call.mutates[index]], expected[f"after{index}"], f"input {index}")
    if case.grads:
        heads = [
            head_gradient(case, index, one.shape, one.dtype)
            for index, one in enumerate(outputs[: case.outputs])
        ]
        grads = run_gradient(case.op, *inputs, heads=heads, train=case.train, **case.attrs)
        for index in case.grads:
            # No gradient counts as zero.
            grad = np.zeros_like(inputs[index]) if grads[index] is None else grads[index]
            _assert_close(grad, expected[f"grad{index}"], f"gradient {index}")
