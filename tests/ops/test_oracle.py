"""Operators give the answers of MXNet 1.9.1: outputs, gradients, and inputs that they overwrite.

Once by themselves, with their gradient rules, all the cases of an operator in one program (which
is compiled in a fraction of the time that a program for each case takes); and the first of them as
users call them: on arrays, recorded into segments and differentiated by the tape.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import thorough
from oracle.case import Case, all_cases, answers, head_gradient, make_inputs
from traced import Traced, quick, types_of

from hybridnet import autograd, nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.call import Backward, Call
from hybridnet.ops.core.registry import get
from hybridnet.ops.random.state import initial_state

_TOLERANCE = {"float64": (1e-9, 1e-9), "float32": (2e-5, 2e-6), "float16": (2e-3, 1e-3)}


def _by_operator() -> dict[str, list[Case]]:
    groups = defaultdict(list)
    for case in all_cases():
        groups[f"{case.family}-{case.op}"].append(case)
    few = thorough(sys.maxsize, 4)
    return {name: cases[:: -(-len(cases) // few)] for name, cases in groups.items()}


#: How many of an operator's cases are run on arrays too: there each costs a compilation or two.
_ON_ARRAYS = 2

#: Samples at the very edge of the image: rounding in another order puts them out of it.
_AS_USERS = ("_contrib_ROIAlign",)

_OPERATORS = pytest.mark.parametrize(
    "cases",
    [
        pytest.param(
            cases, id=name, marks=[pytest.mark.optimized] if cases[0].op in _AS_USERS else []
        )
        for name, cases in _by_operator().items()
    ],
)

pytestmark = pytest.mark.slow


def _compare(got: Any, wanted: np.ndarray, what: str) -> list[str]:
    """Returns what differs, in words."""
    rtol, atol = _TOLERANCE.get(wanted.dtype.name, (0, 0))
    try:
        assert got.dtype == wanted.dtype, f"dtype {got.dtype}, not {wanted.dtype}"
        np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)
    except AssertionError as error:
        return [f"{what}: {error}"]
    return []


def _heads(case: Case, outputs: Sequence[Any]) -> list[np.ndarray]:
    return [
        head_gradient(case, index, one.shape, one.dtype)
        for index, one in enumerate(outputs[: case.outputs])
    ]


def _bound(case: Case) -> tuple[Call, tuple[Any, ...]]:
    """Returns the call of a case and its scalars; sizes that only values tell are measured."""
    op, attrs = get(case.op), case.attrs
    if op.sizes:
        attrs = op.measured(attrs, [Traced(one) for one in make_inputs(case)])
    return op.bind(attrs, case.train)


def _outputs_and_gradients(case: Case, arrays: Sequence[Any], heads: Sequence[Any]) -> Any:
    call, scalars = _bound(case)
    inputs = [Traced(one) for one in arrays]
    if call.takes_state:
        inputs.append(Traced(jnp.asarray(initial_state(0))))
    outputs = Traced.apply_call(call, inputs, scalars)
    found: list[Any] = [None] * len(inputs)
    if case.grads and not call.no_gradient:
        grads = [Traced(one) for one in heads] + [None] * (len(outputs) - len(heads))
        back = Backward(call, inputs, outputs, grads, scalars, [True] * len(inputs))
        found = list(call.gradient(back))
    return [one.array for one in outputs], [one if one is None else one.array for one in found]


@_OPERATORS
def test_answers_of_mxnet(cases: list[Case]):
    arrays = [make_inputs(case) for case in cases]
    calls = [_bound(case)[0] for case in cases]
    state = (tensor_type((3,), np.dtype(np.uint32)),)
    heads = [
        _heads(case, call.infer(types_of(inputs) + (state if call.takes_state else ())))
        for case, call, inputs in zip(cases, calls, arrays, strict=True)
    ]
    with jax.enable_x64(True):
        results = jax.jit(
            lambda *given: [
                _outputs_and_gradients(*one) for one in zip(cases, *given, strict=True)
            ],
            compiler_options=None if cases[0].op in _AS_USERS else quick(),
        )(arrays, heads)
    problems = []
    for case, call, inputs, (outputs, grads) in zip(cases, calls, arrays, results, strict=True):
        expected = answers(case.family)[case.name]
        for index in range(call.num_visible):
            what = f"{case.name} output {index}"
            problems += _compare(np.asarray(outputs[index]), expected[f"out{index}"], what)
        for index in case.after:
            after = np.asarray(outputs[call.mutates[index]])
            problems += _compare(after, expected[f"after{index}"], f"{case.name} input {index}")
        for index in case.grads:
            # No gradient counts as zero.
            grad = (
                np.zeros_like(inputs[index]) if grads[index] is None else np.asarray(grads[index])
            )
            problems += _compare(grad, expected[f"grad{index}"], f"{case.name} gradient {index}")
    assert not problems, "\n".join(problems)


def _on_arrays(case: Case) -> list[tuple[str, nd.NDArray]]:
    """Calls the operator as users do; returns what is to be compared, with its answer's name."""
    arrays = [nd.array(one, dtype=one.dtype) for one in make_inputs(case)]
    for index in case.grads:
        arrays[index].attach_grad()
    with autograd.record(train_mode=case.train):
        result = nd.NDArray.apply_operator(get(case.op), arrays, case.attrs)
    outputs = result if isinstance(result, list) else [result]
    if case.grads:
        heads = [nd.array(one, dtype=one.dtype) for one in _heads(case, outputs)]
        autograd.backward(outputs[: case.outputs], heads)
    return [
        *((f"out{index}", output) for index, output in enumerate(outputs)),
        *((f"after{index}", arrays[index]) for index in case.after),
        *((f"grad{index}", arrays[index].grad) for index in case.grads),
    ]


@pytest.mark.filterwarnings("ignore:backward. requires an array of floats")
@_OPERATORS
def test_answers_of_mxnet_on_arrays(cases: list[Case]):
    found = [(case, _on_arrays(case)) for case in cases[:_ON_ARRAYS]]
    problems = []
    for case, results in found:
        expected = answers(case.family)[case.name]
        for key, array in results:
            problems += _compare(array.asnumpy(), expected[key], f"{case.name} {key}")
    assert not problems, "\n".join(problems)
