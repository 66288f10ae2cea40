"""Operators give the answers of MXNet 1.9.1: outputs, gradients, and inputs that they overwrite.

Once by themselves, each compiled alone with its gradient rule, and once as users call them: on
arrays, recorded into segments and differentiated by the tape.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import run_gradient, run_op
from oracle.case import Case, all_cases, answers, head_gradient, make_inputs

from hybridnet import autograd, nd
from hybridnet.ops.registry import get

_TOLERANCE = {"float64": (1e-9, 1e-9), "float32": (2e-5, 2e-6), "float16": (2e-3, 1e-3)}
_EVERY = pytest.mark.parametrize(
    "case", [pytest.param(one, id=f"{one.family}-{one.name}") for one in all_cases()]
)

pytestmark = pytest.mark.slow


def _assert_close(got, wanted, what):
    assert got.dtype == wanted.dtype, what
    rtol, atol = _TOLERANCE.get(wanted.dtype.name, (0, 0))
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol, err_msg=what)


def _heads(case, outputs):
    return [
        head_gradient(case, index, one.shape, one.dtype)
        for index, one in enumerate(outputs[: case.outputs])
    ]


@_EVERY
def test_answers_of_mxnet(case: Case):
    expected, inputs = answers(case.family)[case.name], make_inputs(case)
    outputs = run_op(case.op, *inputs, train=case.train, **case.attrs)
    call, _ = get(case.op).bind(case.attrs, case.train)
    for index in range(call.num_visible):
        _assert_close(outputs[index], expected[f"out{index}"], f"output {index}")
    for index in case.after:
        _assert_close(outputs[call.mutates[index]], expected[f"after{index}"], f"input {index}")
    if not case.grads:
        return
    if call.no_gradient:
        grads = [None] * len(inputs)  # the tape does not go back through it
    else:
        heads = _heads(case, outputs)
        grads = run_gradient(case.op, *inputs, heads=heads, train=case.train, **case.attrs)
    for index in case.grads:
        # No gradient counts as zero.
        grad = np.zeros_like(inputs[index]) if grads[index] is None else grads[index]
        _assert_close(grad, expected[f"grad{index}"], f"gradient {index}")


@_EVERY
def test_answers_of_mxnet_on_arrays(case: Case):
    expected = answers(case.family)[case.name]
    arrays = [nd.array(one, dtype=one.dtype) for one in make_inputs(case)]
    for index in case.grads:
        arrays[index].attach_grad()
    with autograd.record(train_mode=case.train):
        result = nd.NDArray.apply_operator(get(case.op), arrays, case.attrs)
    outputs = result if isinstance(result, list) else [result]
    for index, output in enumerate(outputs):
        _assert_close(output.asnumpy(), expected[f"out{index}"], f"output {index}")
    if case.grads:
        heads = [nd.array(one, dtype=one.dtype) for one in _heads(case, outputs)]
        autograd.backward(outputs[: case.outputs], heads)
    for index in case.after:
        _assert_close(arrays[index].asnumpy(), expected[f"after{index}"], f"input {index}")
    for index in case.grads:
        _assert_close(arrays[index].grad.asnumpy(), expected[f"grad{index}"], f"gradient {index}")
